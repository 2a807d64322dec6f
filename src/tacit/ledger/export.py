"""The ledger as text for other programs. JSON is complete: the chain can be checked from it. CSV is for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

from tacit.ledger.entry import Entry, canonical
from tacit.parameters import refuse

COLUMNS = ("sequence", "kind", "when", "analyst", "key", "question", "event", "cost", "content", "previous", "hash")


def to_json(entries: Sequence[Entry]) -> str:
    """An array of objects; the hash of each covers the seven fields before it."""
    return json.dumps([entry.to_dict() for entry in entries], indent=2, ensure_ascii=True) + "\n"


def to_csv(entries: Sequence[Entry]) -> str:
    """One line an entry, with a heading. What a spreadsheet would run as a formula gets an apostrophe before it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for entry in entries:
        cost = None if entry.cost is None else canonical(entry.cost.to_dict())
        event = None if entry.event is None else entry.event.to_json()
        cells = (entry.kind, entry.when, entry.analyst, entry.key, entry.question, event, cost, entry.content)
        table.writerow([entry.sequence, *(_cell(cell) for cell in cells), entry.previous, entry.hash])
    return text.getvalue()


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else str(text)


_FORMS: dict[str, Callable[[Sequence[Entry]], str]] = {"csv": to_csv, "json": to_json}


def export(entries: Sequence[Entry], form: str) -> str:
    """`entries` in that form."""
    if form not in _FORMS:
        raise refuse("form", f"one of {', '.join(_FORMS)}", form)
    return _FORMS[form](entries)
