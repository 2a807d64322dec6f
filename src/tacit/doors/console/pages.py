"""What each page shows, for one seat: a template and its content. Nothing here decides about privacy.

Promise: a question is asked only by the form that an estimate was shown with, and that form carries the estimated
question and price as they were: what is charged is what was shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from tacit import parameters
from tacit.answer import Answer, Estimate
from tacit.answer.shown import readable, safe
from tacit.answer.standing import charges_of, price_of
from tacit.curator.walk import Walk
from tacit.doors.console import drawn, owner_pages, published_pages, report_pages, study_pages, watch_pages
from tacit.doors.console.page import Page, sentence
from tacit.doors.console.words import facts, receipt_of, tables_of
from tacit.doors.http import forms
from tacit.doors.http.datasets import Seat
from tacit.doors.http.replies import Request
from tacit.doors.http.roles import ASKERS
from tacit.doors.readable import in_words
from tacit.errors import TacitError
from tacit.ledger import Entry
from tacit.plan.asked import Asked

_PRICE: Final = ("epsilon", "delta", "within")
_MOST_ENTRIES: Final = 200


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
    return Page("estimate.html", {"said": said, "policy": facts(seat), **_estimated(seat, said)})


def ask(seat: Seat, request: Request) -> Page:
    """The answer, paid for; or the stored one, free."""
    said = _said(request)
    try:
        answer = seat.curator.ask(said["sql"], _price(said))
    except TacitError as refusal:
        content = {"said": said, "tables": tables_of(seat.curator.policy), "policy": facts(seat)}
        return Page("ask.html", {**content, "refusal": sentence(refusal, seat)})
    return _answered(answer, said)


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
    "page_studies": study_pages.gallery,
    "page_study": study_pages.form,
    "page_study_estimate": study_pages.estimate,
    **published_pages.PAGES,
    **watch_pages.PAGES,
    **owner_pages.PAGES,
    **report_pages.PAGES,
}


def _said(request: Request) -> dict[str, str]:
    form = request.query
    return {"sql": form.get("sql", "")[:100_000], **{name: form.get(name, "").strip()[:100] for name in _PRICE}}


def _price(said: Mapping[str, str]) -> Asked:
    return Asked.of(**{name: said[name] for name in _PRICE if said[name]})  # type: ignore[arg-type]  # texts, all three


def _estimated(seat: Seat, said: Mapping[str, str]) -> dict[str, Any]:
    """What an estimate shows, or the sentence that refuses it."""
    try:
        asked, walk = _price(said), seat.curator.walk(said["sql"])
        found = seat.curator.estimate(walk, asked)
        steps = list(found.plan.sentences)
    except TacitError as refusal:
        return {"refusal": sentence(refusal, seat)}
    errors = _bars(found, _at_default(seat, walk, said))
    notes = [*found.picked, *(f"{note}." for note in found.plan.notes)]
    price = readable(parameters.as_text(found.epsilon))
    return {"estimate": {"cost": found.cost, "errors": errors, "notes": notes, "steps": steps, "price": price}}


def _at_default(seat: Seat, walk: Walk, said: Mapping[str, str]) -> dict[tuple[str, int | None], float]:
    """How far each column would be off at the policy's default price: what the drawn error bars are compared with."""
    try:
        found = seat.curator.estimate(walk, seat.curator.policy.default_epsilon, delta=said["delta"] or None)
    except TacitError:
        return {}
    return {(each.name, each.rows): each.within_95 for each in (*found.errors, *found.for_example)}


def _bars(found: Estimate, usual: Mapping[tuple[str, int | None], float]) -> list[dict[str, Any]]:
    """Each column's error in words, and the ends of its bar and of the usual one in thousandths of the drawing."""
    bars = []
    for each in (*found.errors, *found.for_example):
        other = usual.get((each.name, each.rows), 0.0)
        drawing = drawn.bar(each.within_95, other) if other > 0 else None
        rows = None if each.rows is None else f"{each.rows:,}"
        bars.append({"name": safe(each.name), "within": f"{each.within_95:,.4g}", "rows": rows, "bar": drawing})
    return bars


def _answered(answer: Answer, said: Mapping[str, str] | None) -> Page:
    drawing, entry = drawn.of_answer(answer), answer.facts.get("entry", "")
    content = {
        "drawing": drawing,
        "receipt": receipt_of(answer.receipt),
        "notes": [safe(each) for each in answer.notes],
        "repeated": answer.repeated,
        "entry": entry,
        "several": answer.united,
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
