"""A set of released statistics as files: a CSV each, one JSON with all intervals, and an HTML page with drawings.

Promise: made of released values only, so any number of files cost nothing. The page needs no network and runs no
script; text that came from a table or a question is escaped. File names are made of letters, digits and dashes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.answer.answer import Answer
from tacit.answer.drawings import Drawn, drawings
from tacit.answer.shown import readable, safe, shown

_MOST_ROWS = 200
_STYLE = (
    "body{font-family:sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;line-height:1.4}"
    "table{border-collapse:collapse;font-size:.9rem}td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:right}"
    "svg{max-width:100%;height:auto}.small{color:#555;font-size:.85rem}"
)


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
    folder: Path, title: str, results: Mapping[str, Reported], receipt: Mapping[str, str], level: float
) -> tuple[Path, ...]:
    """Write all files into a folder that is there; their paths: the page, the JSON, and a CSV for each statistic."""
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
        "statistics": {name: _plain(result) for name, result in results.items()},
    }
    record = folder / "statistics.json"
    record.write_text(json.dumps(content, indent=1, sort_keys=True, default=str), encoding="utf-8")
    page = folder / "index.html"
    page.write_text(_page(title, results, names, receipt, level), encoding="utf-8")
    return (page, record, *written)


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
    drawn, names, kinds = [], [], []
    columns: list[tuple[Any, ...]] = []
    for name, kind, values in zip(answer.names, answer.kinds, answer.columns, strict=True):
        ends = intervals.get(name)
        low = None if ends is None else tuple(None if end is None else end[0] for end in ends)
        high = None if ends is None else tuple(None if end is None else end[1] for end in ends)
        drawn.append(Drawn(name, values, low, high))
        names.append(name)
        kinds.append(kind)
        columns.append(tuple(values))
        if low is not None and high is not None:
            names += [f"{name}_low", f"{name}_high"]
            kinds += ["real", "real"]
            columns += [low, high]
    none = (None,) * len(names)
    flat = Answer(tuple(names), tuple(kinds), tuple(columns), none, False, dict(answer.facts))
    return Reported(
        drawn, ("Intervals cover the noise, not the clamping.", *(f"{note}." for note in answer.notes)), flat.to_csv()
    )


def _plain(result: Reported) -> dict[str, Any]:
    columns = {
        each.name: {"values": list(each.values)}
        | ({} if each.low is None or each.high is None else {"low": list(each.low), "high": list(each.high)})
        for each in result.columns
    }
    return {"columns": columns, "title": result.title, "notes": list(result.notes)}


def _table(columns: Sequence[Drawn]) -> str:
    """The first rows; all of them are in the CSV."""

    def cell(each: Drawn, row: int) -> str:
        said = shown(each.values[row])
        if each.low is not None and each.high is not None and each.low[row] is not None and each.high[row] is not None:
            said += f" [{shown(each.low[row])}, {shown(each.high[row])}]"
        return f"<td>{html.escape(said)}</td>"

    count = len(columns[0].values) if columns else 0
    head = "".join(f"<th>{html.escape(safe(each.name))}</th>" for each in columns)
    rows = ["<tr>" + "".join(cell(each, row) for each in columns) + "</tr>" for row in range(min(count, _MOST_ROWS))]
    more = f"<p>... and {count - _MOST_ROWS:,} more rows</p>" if count > _MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def _page(
    title: str,
    results: Mapping[str, Reported],
    names: Mapping[str, str],
    receipt: Mapping[str, str],
    level: float,
) -> str:
    said = html.escape(safe(title))
    paid = (
        "Released with tacit under differential privacy, all of it for one charge: epsilon = "
        f"{readable(receipt['epsilon'])}, delta = {readable(receipt['delta'])}; neighbours differ by "
        f"{receipt['unit']}, added or removed. Intervals: {100 * level:g} %. Ledger entry {receipt['entry']}."
    )
    parts = [f"<h1>{said}</h1><p>{html.escape(safe(paid))}</p>"]
    for name, result in results.items():
        parts.append(f"<h2>{html.escape(safe(name))}</h2>")
        parts += drawings(result.columns, result.drawing)
        parts.append(_table(result.columns))
        own = () if result.level in (None, level) else (f"Intervals of this one: {100 * (result.level or 0):g} %.",)
        parts += [f"<p>{html.escape(safe(note))}</p>" for note in (*own, *result.notes)]
        parts.append(f'<p class="small"><a href="{names[name]}.csv">{names[name]}.csv</a></p>')
    parts.append('<p class="small"><a href="statistics.json">All figures and intervals</a></p>')
    head = f'<meta charset="utf-8"><title>{said}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
