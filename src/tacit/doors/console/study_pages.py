"""Statistics, models and synthetic data as forms that are made from their signatures; and their results.

Promise: a study is run only by the form that its price was shown with, which carries exactly what was estimated.
It is run as a job of the server, so that it may take its time, and may be taken back until it is charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit import parameters
from tacit.answer.drawings import drawings
from tacit.answer.report import html_table
from tacit.answer.shown import readable, safe
from tacit.doors.console import drawn
from tacit.doors.console.page import Page, sentence
from tacit.doors.console.words import facts, receipt_of, tables_of
from tacit.doors.http.datasets import Seat
from tacit.doors.http.replies import Request
from tacit.doors.studies.parameters import Parameter
from tacit.doors.studies.registry import Named, named, registry
from tacit.doors.studies.running import Made, Wanted, price
from tacit.errors import TacitError
from tacit.policy import Policy, Table

OPTION: Final = "o_"
_FIELDS: Final = ("sql", "target", "rows_per_unit")
_MOST_DRAWN: Final = 200


def gallery(seat: Seat, request: Request) -> Page:
    """Everything that can be named, by kind."""
    rooms: dict[str, list[dict[str, str]]] = {}
    for each in registry().values():
        rooms.setdefault(each.room, []).append({"name": each.name, "title": _title(each), "says": each.says})
    return Page("studies.html", {"rooms": rooms})


def form(seat: Seat, request: Request) -> Page:
    """The form of one study, with rows to begin with."""
    study = named(request.path["name"])
    said = {"sql": _example(study, seat.curator.policy), "target": "", "rows_per_unit": ""}
    return _form(seat, study, {**said, **{name: request.query[name] for name in _FIELDS if name in request.query}})


def estimate(seat: Seat, request: Request) -> Page:
    """What the study would cost, and how far it would be off; free."""
    study, said = named(request.path["name"]), _said(request)
    try:
        found = price(wanted_of(study, said), seat.curator)
    except TacitError as refusal:
        return _form(seat, study, said, {"refusal": sentence(refusal, seat)})
    exact = found.asked.epsilon
    cost = readable(parameters.as_text(exact)) if exact is not None else str(found.asked.rho)
    return _form(seat, study, said, {"estimate": {"cost": found.cost, "lines": found.widths, "price": cost}})


def wanted_of(study: Named, said: Mapping[str, str]) -> Wanted:
    """What a form says about a study."""
    known = {each.name: each for each in study.parameters}
    options = {
        name.removeprefix(OPTION): known[name.removeprefix(OPTION)].read_text(text)
        for name, text in said.items()
        if name.startswith(OPTION) and text and name.removeprefix(OPTION) in known
    }
    rows = said.get("rows_per_unit", "")
    return Wanted(
        study,
        said.get("sql", ""),
        (),
        None if not rows else parameters.whole("rows_per_unit", int(rows) if rows.isdigit() else rows, least=1),
        said.get("target") or None,
        options,
    )


def made_content(made: Made) -> dict[str, Any]:
    """What a page shows of a result: drawings, the table, notes and the receipt."""
    shown = made.finding.reported()
    is_table = made.kind == "finding"
    parts = drawings(shown.columns, shown.drawing) if is_table and len(made.finding) <= _MOST_DRAWN else ()
    body = "".join(parts) + (html_table(shown.columns) if is_table else "")
    return {
        "drawing": drawn.unstyled(body),
        "title": made.finding.title,
        "says": "" if is_table else safe(str(made.thing)),
        "kind": made.kind,
        "notes": [safe(each) for each in made.finding.notes],
        "receipt": receipt_of(made.finding.receipt),
        "repeated": made.finding.repeated,
        "level": f"{100 * made.finding.level:g}",
    }


def _said(request: Request) -> dict[str, str]:
    return {
        name: value.strip()[:100_000]
        for name, value in request.query.items()
        if name in _FIELDS or name.startswith(OPTION)
    }


def _form(seat: Seat, study: Named, said: Mapping[str, str], more: Mapping[str, Any] | None = None) -> Page:
    fields = [
        {
            "name": OPTION + each.name,
            "label": each.name.replace("_", " "),
            "needed": each.needed,
            "hint": _hint(each),
            "value": said.get(OPTION + each.name, ""),
            "decimal": each.kind in ("number", "whole"),
        }
        for each in sorted(study.parameters, key=lambda each: not each.needed)
    ]
    content = {
        "study": {"name": study.name, "title": _title(study), "says": study.says, "takes_target": study.takes_target},
        "fields": fields,
        "said": dict(said),
        "tables": tables_of(seat.curator.policy),
        "policy": facts(seat),
    }
    return Page("study.html", {**content, **(more or {})})


def _title(each: Named) -> str:
    return each.name if each.is_model else each.name.replace("_", " ")


def _hint(each: Parameter) -> str:
    if each.needed:
        return "needed"
    kinds = {
        "number": "a number",
        "whole": "a whole number",
        "truth": "true or false",
        "text": "a word",
        "json": "JSON",
    }
    usual = "" if each.default is None else f", {each.default} if left out"
    return kinds[each.kind] + usual


def _example(study: Named, policy: Policy) -> str:
    """Rows to begin with: of the first table with people in it, one column for a statistic, all for the rest."""
    for name, table in policy.tables.items():
        columns = [] if table.public else _usable(table)
        if columns:
            chosen = columns[:1] if study.room == "statistics" else columns
            return f"SELECT {', '.join(map(_quoted, chosen))} FROM {_quoted(name)}"  # noqa: S608  # to be read and changed
    return ""


def _usable(table: Table) -> list[str]:
    unit = getattr(table.unit, "column", None)
    return [name for name, each in table.columns.items() if name != unit and (each.bounded or each.values is not None)]


def _quoted(name: str) -> str:
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit() and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'
