"""A set of released statistics as files: a CSV each, one JSON with all intervals, and an HTML page with drawings.

Promise: made of released values only, so any number of files cost nothing. The page needs no network and runs no
script; text that came from a table or a question is escaped. File names are made of letters, digits and dashes.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.answer.answer import Answer
from tacit.answer.drawings import Drawn, drawings
from tacit.answer.nested import in_csv
from tacit.answer.pages import page
from tacit.answer.shown import in_html, label, places_of, readable, rounded, safe

_MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Reported:
    """A released table as a report shows it, whatever released it."""

    columns: Sequence[Drawn]
    notes: tuple[str, ...]
    csv: str
    title: str = ""
    drawing: str = "bars"
    level: float | None = None  # of its intervals, where it is not that of the whole report


def write_report(
    folder: Path, title: str, results: Mapping[str, Reported], receipt: Mapping[str, str], level: float, standing: str
) -> tuple[Path, ...]:
    """Write all files into a folder that is there; their paths: the page, the JSON, and a CSV for each statistic.

    `standing` says how the budget stands, for readers of the page.
    """
    names = file_names(list(results))
    written = []
    for name, result in results.items():
        path = folder / f"{names[name]}.csv"
        path.write_text(result.csv, encoding="utf-8")
        written.append(path)
    content = {
        "title": title,
        "receipt": dict(receipt),
        "level": level,
        "budget": standing,
        "statistics": {name: _plain(result) for name, result in results.items()},
    }
    record = folder / "statistics.json"
    record.write_text(json.dumps(content, indent=1, sort_keys=True, default=str), encoding="utf-8")
    index = folder / "index.html"
    index.write_text(_page(title, results, names, receipt, level, standing), encoding="utf-8")
    return (index, record, *written)


def file_names(names: list[str]) -> dict[str, str]:
    """For each name one of letters, digits and dashes, all different."""
    found: dict[str, str] = {}
    for name in names:
        base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "statistic"
        made, number = base, 1
        while made in found.values():
            number += 1
            made = f"{base}-{number}"
        found[name] = made
    return found


def reported(answer: Answer, level: float) -> Reported:
    """An answer with its intervals at a level."""
    intervals = answer.intervals(level)
    drawn: list[Drawn] = []
    for name, values in zip(answer.names, answer.columns, strict=True):
        ends = intervals.get(name)
        low = None if ends is None else tuple(None if end is None else end[0] for end in ends)
        high = None if ends is None else tuple(None if end is None else end[1] for end in ends)
        drawn.append(Drawn(name, values, low, high))
    notes = ("Ranges cover the noise, not the clamping.", *(f"{note}." for note in answer.notes))
    return Reported(drawn, notes, _csv(drawn))


def _csv(columns: Sequence[Drawn]) -> str:
    """All rows, with the ends of intervals next to their values; digits far below the noise are left out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header: list[str] = []
    for each in columns:
        header += [each.name] if each.low is None else [each.name, f"{each.name}_low", f"{each.name}_high"]
    writer.writerow(header)
    for row in range(len(columns[0].values) if columns else 0):
        cells: list[Any] = []
        for each in columns:
            ends = each.ends(row)
            cells.append(_figure(each.values[row], ends))
            if each.low is not None:
                cells += [None, None] if ends is None else [_figure(_like(each.values[row], end), ends) for end in ends]
        writer.writerow(cells)
    return out.getvalue()


def _figure(value: Any, ends: tuple[float, float] | None) -> Any:
    places = places_of(ends)
    return round(value, places + 2) if places is not None and isinstance(value, float) else in_csv(value)


def _plain(result: Reported) -> dict[str, Any]:
    columns = {
        each.name: {"values": list(each.values)}
        | ({} if each.low is None or each.high is None else {"low": list(each.low), "high": list(each.high)})
        for each in result.columns
    }
    return {"columns": columns, "title": result.title, "notes": list(result.notes)}


def html_table(columns: Sequence[Drawn]) -> str:
    """The first rows; all of them are in the CSV."""

    def side(each: Drawn) -> str:
        return ' class="n"' if each.is_number else ""

    def cell(each: Drawn, row: int) -> str:
        if each.low is None:
            return f"<td{side(each)}>{in_html(label(each.values[row]))}</td>"
        said, ends = in_html(each.said(row)), each.ends(row)
        if ends is not None:
            low, high = (rounded(_like(each.values[row], end), ends) for end in ends)
            said += f'<span class="soft">{html.escape(low)} to {html.escape(high)}</span>'
        return f'<td class="n">{said}</td>'

    count = len(columns[0].values) if columns else 0
    head = "".join(f"<th{side(each)}>{in_html(each.name)}</th>" for each in columns)
    rows = ["<tr>" + "".join(cell(each, row) for each in columns) + "</tr>" for row in range(min(count, _MOST_ROWS))]
    more = f'<p class="soft">{count - _MOST_ROWS:,} more rows are in the CSV file.</p>' if count > _MOST_ROWS else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    named = in_html(", ".join(each.name for each in columns))
    return f'<div class="wide" tabindex="0" role="region" aria-label="Values of {named}">{table}</div>{more}'


def _like(value: Any, end: float) -> Any:
    """The end of an interval in the form of its value: a whole number for a whole number."""
    return round(end) if isinstance(value, int) and math.isfinite(end) else end


def _page(
    title: str,
    results: Mapping[str, Reported],
    names: Mapping[str, str],
    receipt: Mapping[str, str],
    level: float,
    standing: str,
) -> str:
    parts = [
        f"<h1>{in_html(title)}</h1>",
        *(f"<p>{html.escape(each)}</p>" for each in (*reader_of(receipt, "this page", level), standing)),
    ]
    for name, result in results.items():
        parts.append(f"<h2>{in_html(name)}</h2>")
        parts += drawings(result.columns, result.drawing)
        parts.append(html_table(result.columns))
        own = () if result.level in (None, level) else (f"Ranges of this one: {100 * (result.level or 0):g} %.",)
        parts += [f'<p class="soft">{in_html(note)}</p>' for note in (*own, *result.notes)]
        parts.append(f'<p class="soft"><a href="{names[name]}.csv">{names[name]}.csv</a></p>')
    parts.append('<p class="soft"><a href="statistics.json">All figures and ranges as JSON</a></p>')
    return page(title, "".join(parts))


def reader_of(receipt: Mapping[str, str], what: str, level: float | None) -> tuple[str, str]:
    """What the reader of a page should know, in plain words; and the same in technical words.

    Without a level nothing is said about ranges.
    """
    epsilon, delta = receipt["epsilon"], receipt["delta"]
    factor = math.exp(min(float(Fraction(epsilon)), 700.0))
    person = safe(_one(receipt["unit"]))
    slip = f", but for a chance of {readable(delta)}" if Fraction(delta) else ""
    words = (
        f"Noise was added to these figures, so that they say little about any one {person}: with one {person} more "
        f"or less in the data, no result becomes more than {factor:,.3g} times as likely{slip}."
    )
    if level is not None:
        words += (
            f" Beside each figure stands a range. In {100 * level:g} of 100 cases or more it holds the figure as it "
            "would be without noise."
        )
    # a page of a publication numbers releases as readers do; a finding knows only its entry, or that it has none
    place = f"No. {receipt['number']} in the ledger." if "number" in receipt else f"Ledger entry: {receipt['entry']}."
    exact = (
        f"Differential privacy by tacit: epsilon = {readable(epsilon)}, delta = {readable(delta)}, for all of "
        f"{what} together; neighbours differ by {safe(receipt['unit'])}, added or removed. {place}"
    )
    return words, exact


def _one(unit: str) -> str:
    """Who is protected, as a person would say it: of "all rows of one patient_id" the patient."""
    names = [part.removeprefix("all rows of ").removeprefix("one ") for part in unit.split(" or ")]
    return " or ".join(re.sub(r"[_ ](id|ID|number|no|key)$", "", name) or name for name in names)
