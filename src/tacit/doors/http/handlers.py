"""What each route does, for one seat. A handler translates: it calls the curator, and gives the result as JSON.

Promise: a handler names no analyst. The person in the seat is the asker (`Seat.of`), so that nothing in a request can
charge anyone else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tacit import __version__, parameters
from tacit.answer import Answer
from tacit.doors.contents import answer_content, estimate_content, plan_content
from tacit.doors.http import bodies, wire
from tacit.doors.http.datasets import Seat
from tacit.doors.http.published import pages
from tacit.doors.http.replies import Reply, Request
from tacit.doors.http.study_handlers import STUDY_HANDLERS
from tacit.question.stack import room

MOST_ENTRIES: Final = 5_000


def me(seat: Seat, request: Request) -> Reply:
    """Whose token this is."""
    token = seat.token
    return Reply(
        {
            "name": token.name,
            "role": str(token.role),
            "pays_as": seat.pays_as,
            "dataset": seat.dataset.name,
            "expires": token.expires,
            "version": __version__,
        }
    )


def tables(seat: Seat, request: Request) -> Reply:
    """What may be asked about, and what is public about it."""
    return Reply(wire.policy_out(seat.curator.policy, seat.pays_as))


def estimate(seat: Seat, request: Request) -> Reply:
    """Cost and error before spending; free."""
    sql, asked = bodies.question(request.body)
    found = seat.curator.estimate(sql, asked)
    return Reply({**estimate_content(found), "sentence": str(found)})


def explain(seat: Seat, request: Request) -> Reply:
    """How it would be answered, in sentences; free."""
    sql, asked = bodies.question(request.body)
    with room():
        return Reply(plan_content(seat.curator.planned(sql, asked)))


def ask(seat: Seat, request: Request) -> Reply:
    """The answer, paid for; or the stored one, free."""
    sql, asked = bodies.question(request.body)
    answer = seat.curator.ask(sql, asked)
    return Reply(_answered(answer), answer)


def ask_all(seat: Seat, request: Request) -> Reply:
    """Several answers for one price."""
    said = bodies.read(request.body, bodies.QUESTIONS, "questions")
    answers = seat.curator.ask_all(said.pop("questions"), **said)
    return Reply({"answers": [_answered(each) for each in answers]})


def suggest(seat: Seat, request: Request) -> Reply:
    """Bounds for a column that has none yet, bought."""
    said = bodies.read(request.body, bodies.COLUMN, "column")
    found = seat.curator.suggest(said.pop("column"), **said)
    return Reply(
        {
            "table": found.table,
            "column": found.column,
            "lower": found.lower,
            "upper": found.upper,
            "epsilon": parameters.as_text(found.epsilon),
            "repeated": found.repeated,
            "line": found.line,
            "sureness": found.sureness,
        }
    )


def budget(seat: Seat, request: Request) -> Reply:
    """How the dataset's budget stands, or `?analyst=` one's own."""
    whose = request.query.get("analyst")
    if whose is not None and not _may_see(seat, whose):
        raise parameters.refuse("analyst", f"{seat.pays_as!r}, who is asking", whose)
    curator = seat.curator
    return Reply(
        {
            "standing": wire.standing_out(curator.budget(whose)),
            "spent": curator.spent(whose).to_dict(),
            "remaining": curator.remaining(whose).to_dict(),
        }
    )


def ledger(seat: Seat, request: Request) -> Reply:
    """Who asked what, when, at which price: everything for the owner and the auditor, one's own for an analyst."""
    whose = request.query.get("analyst")
    after = _number(request.query.get("after", "0"), "after")
    if whose is not None and not _may_see(seat, whose):
        raise parameters.refuse("analyst", f"{seat.pays_as!r}, who is asking", whose)
    found = [each for each in seat.curator.ledger(whose) if each.sequence > after]
    return Reply({"entries": [each.to_dict() for each in found[:MOST_ENTRIES]], "more": len(found) > MOST_ENTRIES})


def check(seat: Seat, request: Request) -> Reply:
    """Whether the ledger is as it was sealed."""
    report = seat.curator.verify()
    return Reply(
        {"sound": report.sound, "entries": report.entries, "sealed": report.sealed, "findings": list(report.findings)}
    )


def answers(seat: Seat, request: Request) -> Reply:
    """The stored answer of an entry of the ledger; free."""
    answer = seat.curator.stored(_number(request.path["entry"], "entry"))
    return Reply(_answered(answer), answer)


def resume(seat: Seat, request: Request) -> Reply:
    """The owner's word that what failed was looked at."""
    said = bodies.read(request.body, bodies.RESUME)
    resumed = seat.curator.resume(said.get("analyst"), entry=said.get("entry"))
    return Reply({"entries": [each.to_dict() for each in resumed]})


def published(seat: Seat, request: Request) -> Reply:
    """The pages for readers, and their files; free."""
    return Reply({"pages": pages(seat.dataset)})


Handler = Callable[[Seat, Request], Reply]
_OWN: Final = (me, tables, estimate, explain, ask, ask_all, suggest, budget, ledger, check, answers, resume, published)
HANDLERS: Final[Mapping[str, Handler]] = {**{each.__name__: each for each in _OWN}, **STUDY_HANDLERS}


def _answered(answer: Answer) -> dict[str, Any]:
    return {**answer_content(answer), **wire.answer_out(answer)}


def _may_see(seat: Seat, analyst: str) -> bool:
    return seat.curator.analyst in ("owner", analyst)


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise parameters.refuse(name, "a whole number of at least 0", text[:80])
    return int(text)
