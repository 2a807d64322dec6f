"""What each page shows, for one seat: a template and what goes into it. Nothing here decides about privacy.

Promise: a question is asked only by the form that an estimate was shown with, and that form carries the estimated
question and price as they were: what is charged is what was shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tacit import parameters
from tacit.answer import Answer
from tacit.answer.shown import readable, safe
from tacit.answer.standing import charges_of, price_of
from tacit.doors.console import drawn
from tacit.doors.http import forms
from tacit.doors.http.datasets import Seat
from tacit.doors.http.handlers import Request
from tacit.doors.http.roles import ASKERS
from tacit.doors.readable import in_words
from tacit.errors import TacitError
from tacit.ledger import Entry
from tacit.plan import UnitedPlan
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Table

_PRICE: Final = ("epsilon", "delta", "within")
_MOST_LISTED: Final = 12
_MOST_ENTRIES: Final = 200


@dataclass(frozen=True, slots=True)
class Page:
    """A template and its content; or, with `raw`, a file."""

    template: str
    content: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    raw: tuple[bytes, str, str] | None = None
    """Bytes, media type, file name."""


def overview(seat: Seat, request: Request) -> Page:
    """The budget, drawn, and what may be asked about."""
    curator = seat.curator
    standings = [curator.budget()]
    if seat.pays_as in curator.policy.analysts and seat.token.role in ASKERS:
        standings.append(curator.budget(seat.pays_as))
    budgets = [{"sentence": str(each), "share": drawn.share(each), "payer": each.payer} for each in standings]
    return Page("overview.html", {"budgets": budgets, "tables": tables_of(curator.policy)})


def ask_form(seat: Seat, request: Request) -> Page:
    """A question to be estimated."""
    said = {"sql": request.query.get("sql", ""), "epsilon": "", "delta": "", "within": ""}
    return Page("ask.html", {"said": said, "tables": tables_of(seat.curator.policy), "policy": facts(seat)})


def estimate(seat: Seat, request: Request) -> Page:
    """What the question would cost and be worth; free."""
    said = _said(request)
    content = {"said": said, "tables": tables_of(seat.curator.policy), "policy": facts(seat), **_estimated(seat, said)}
    return Page("ask.html", content)


def preview(seat: Seat, request: Request) -> Page:
    """The same, without the page around it, for the script."""
    said = _said(request)
    return Page("estimate.html", {"said": said, **_estimated(seat, said)})


def ask(seat: Seat, request: Request) -> Page:
    """The answer, paid for; or the stored one, free."""
    said = _said(request)
    try:
        answer = seat.curator.ask(said["sql"], **_price(said))
    except TacitError as refusal:
        content = {"said": said, "tables": tables_of(seat.curator.policy), "policy": facts(seat)}
        return Page("ask.html", {**content, "refusal": _sentence(refusal, seat)})
    several = isinstance(seat.curator.planned(said["sql"], **_price(said)), UnitedPlan)
    return _answered(answer, said, several=several)


def stored(seat: Seat, request: Request) -> Page:
    """A stored answer; free."""
    return _answered(seat.curator.stored(_entry(request)), None)


def download(seat: Seat, request: Request) -> Page:
    """A stored answer as a file; free."""
    kinds = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
    ending = request.path["ending"]
    if ending not in kinds:
        raise parameters.refuse("ending", f"one of {', '.join(kinds)}", ending[:20])
    entry = _entry(request)
    content = forms.encoded(seat.curator.stored(entry), kinds[ending])
    return Page("", raw=(content, kinds[ending], f"answer-{entry}.{ending}"))


def ledger(seat: Seat, request: Request) -> Page:
    """Who asked what, when, and at which price."""
    entries = seat.curator.ledger()
    outcomes = {each.details.get("charge"): str(each.kind) for each in entries if each.kind in _OUTCOMES}
    wanted = request.query.get("who", "")
    numbered = list(enumerate(charges_of(entries), start=1))
    people = sorted({each.analyst or "" for _, each in numbered})
    rows = [_row(number, each, outcomes) for number, each in numbered if wanted in ("", each.analyst)]
    most = {"left_out": max(0, len(rows) - _MOST_ENTRIES), "rows": rows[-_MOST_ENTRIES:][::-1]}
    may_open = seat.token.role in ASKERS
    return Page("ledger.html", {**most, "people": people, "who_chosen": wanted, "may_open": may_open})


_OUTCOMES: Final = ("answered", "failed", "interrupted")
Handler = Callable[[Seat, Request], Page]
PAGES: Final[Mapping[str, Handler]] = {
    "page_overview": overview,
    "page_ask": ask_form,
    "page_estimate": estimate,
    "page_preview": preview,
    "page_asked": ask,
    "page_stored": stored,
    "page_download": download,
    "page_ledger": ledger,
}


def tables_of(policy: Policy) -> list[dict[str, Any]]:
    """Tables and columns with what is public about them, in words."""
    return [
        {
            "name": safe(name),
            "unit": _unit(table),
            "columns": [{"name": safe(each), "facts": _facts(column)} for each, column in table.columns.items()],
        }
        for name, table in policy.tables.items()
    ]


def facts(seat: Seat) -> dict[str, str]:
    """Prices that the policy names."""
    policy = seat.curator.policy
    return {
        "default": readable(parameters.as_text(policy.default_epsilon)),
        "largest": readable(parameters.as_text(policy.largest_epsilon)),
    }


def _unit(table: Table) -> str:
    if table.public:
        return "public: says nothing about anyone"
    unit = table.unit
    if isinstance(unit, ColumnUnit):
        return safe(f"protects everyone by {unit.column}, at most {table.rows_per_unit:,} rows each")
    if isinstance(unit, PathUnit):
        return safe(f"protects everyone through {unit.table}, at most {table.rows_per_unit:,} rows each")
    return "protects every row"


def _facts(column: Column) -> str:
    if column.values is not None:
        listed = ", ".join(safe(str(each)) for each in column.values[:_MOST_LISTED])
        more = f", and {len(column.values) - _MOST_LISTED:,} more" if len(column.values) > _MOST_LISTED else ""
        return f"{column.kind}: {listed}{more}"
    if column.lower is not None:
        return f"{column.kind} from {column.lower} to {column.upper}"
    return f"{column.kind}, bounds to be bought" if column.auto else column.kind


def _said(request: Request) -> dict[str, str]:
    form = request.query
    return {"sql": form.get("sql", "")[:100_000], **{name: form.get(name, "").strip()[:100] for name in _PRICE}}


def _price(said: Mapping[str, str]) -> dict[str, Any]:
    return {name: said[name] for name in _PRICE if said[name]}


def _estimated(seat: Seat, said: Mapping[str, str]) -> dict[str, Any]:
    """What an estimate shows, or the sentence that refuses it."""
    try:
        found = seat.curator.estimate(said["sql"], **_price(said))
        steps = list(found.plan.sentences)
    except TacitError as refusal:
        return {"refusal": _sentence(refusal, seat)}
    errors = [
        {"name": safe(e.name), "within": f"{e.within_95:,.4g}", "rows": None if e.rows is None else f"{e.rows:,}"}
        for e in (*found.errors, *found.for_example)
    ]
    notes = [*found.picked, *(f"{note}." for note in found.plan.notes)]
    price = readable(parameters.as_text(found.epsilon))
    return {"estimate": {"cost": found.cost, "errors": errors, "notes": notes, "steps": steps, "price": price}}


def _answered(answer: Answer, said: Mapping[str, str] | None, *, several: bool = False) -> Page:
    drawing, entry = drawn.of_answer(answer), answer.facts.get("entry", "")
    receipt = {name: safe(value) for name, value in answer.receipt.items() if name not in ("notes", "chosen")}
    content = {
        "drawing": drawing,
        "receipt": receipt,
        "notes": [safe(each) for each in answer.notes],
        "repeated": answer.repeated,
        "entry": entry,
        "several": several,
        "said": said,
        "card": answer.card(),
    }
    return Page("answer.html", content)


def _row(number: int, charge: Entry, outcomes: Mapping[Any, str]) -> dict[str, Any]:
    asked = charge.asked
    kind = json.loads(charge.question or "null")
    return {
        "one": isinstance(kind, dict) and kind.get("is") == "Question",
        "number": number,
        "entry": charge.sequence,
        "when": charge.when[:19].replace("T", " "),
        "who": safe(charge.analyst or ""),
        "price": "" if asked is None else price_of(asked),
        "question": safe(in_words(charge.question or "")),
        "outcome": outcomes.get(charge.sequence, "open"),
    }


def _entry(request: Request) -> int:
    text = request.path["entry"]
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise parameters.refuse("entry", "a whole number", text[:20])
    return int(text)


def _sentence(refusal: TacitError, seat: Seat) -> str:
    from tacit.doors.http.problems import content_of

    return str(content_of(refusal, to_owner=seat.is_owner)["detail"])
