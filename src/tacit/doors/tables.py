"""Tables for a terminal: answers with their error bars, estimates, policies and the ledger.

Promise: text from rows or from another person is shown as plain characters. Control characters, which could move
the cursor or recolour a terminal, are written out as escapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tacit.answer import Answer
from tacit.answer.shown import readable, safe
from tacit.answer.standing import charges_of, price_of
from tacit.doors.readable import in_words
from tacit.ledger import Entry
from tacit.plan.plan import Expected
from tacit.policy import ColumnUnit, PathUnit, Policy

LONGEST_CELL = 200


def table(*headings: str, texts: Iterable[int] = (0,), wraps: Iterable[int] = ()) -> Table:
    """A light table. The columns in `texts` are text and the others numbers; those in `wraps` may be broken."""
    built = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    texts, wraps = set(texts), set(wraps)
    for place, heading in enumerate(headings):
        built.add_column(
            Text(plain(heading)), justify="left" if place in texts else "right", no_wrap=place not in wraps
        )
    return built


def plain(value: object) -> str:
    """The value as text that is safe to print."""
    text = safe(str(value))
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 3] + "..."


def key(cell: Any) -> str:
    """The name of a group: a year has no thousands separator."""
    if cell is None:
        return "NULL"
    if isinstance(cell, tuple):
        return plain(", ".join(map(key, cell)))
    return f"{cell:.12g}" if isinstance(cell, float) else plain(cell)


def exact(number: Fraction) -> str:
    """A short decimal: 1/10 is 0.1."""
    return readable(str(number))


def _digits(spread: float) -> int:
    """How many decimals are worth showing with this error."""
    decimals = 0
    while spread * 10**decimals < 10 and decimals < 6:
        decimals += 1
    return decimals


def noisy(cell: Any, around: Any) -> str:
    """A released number with its error, to as many digits as are meaningful; for a histogram one for each bin."""
    if cell is None:
        return "NULL"
    if isinstance(cell, dict):
        return "; ".join(f"{key(label)}: {noisy(number, around[label])}" for label, number in cell.items())
    if around is None:
        return f"{cell:,.6g} +/- ?"
    spread = (around[1] - around[0]) / 2
    if isinstance(cell, int):
        return f"{cell:,} +/- {spread:,.0f}" if spread >= 1 else f"{cell:,} +/- {spread:.2g}"
    decimals = _digits(spread)
    return f"{cell:,.{decimals}f} +/- {spread:,.{decimals}f}"


def intervals(released: Answer) -> list[list[Any] | None]:
    """The 95 % intervals of each column in turn; None for keys. A value of which nothing is known has none."""
    return list(map(released.intervals().get, released.names))


def answer(released: Answer) -> Table:
    """An answer; +/- is the half width of its 95 % interval."""
    around = intervals(released)
    shown = table(*released.names, texts=(place for place, each in enumerate(around) if each is None))
    columns = [
        [key(cell) for cell in column] if each is None else list(map(noisy, column, each))
        for column, each in zip(released.columns, around, strict=True)
    ]
    for row in zip(*columns, strict=True):
        shown.add_row(*map(Text, row))
    return shown


def fit(console: Console, shown: Table) -> Table:
    """The table on a console at least as wide as it needs: a released number must not be cut short."""
    needed = Measurement.get(console, console.options.update(max_width=10**6), shown).maximum
    console.width = max(console.width, needed)
    return shown


def footer(released: Answer, number: int | None = None) -> str:
    """What it cost, in one line. `number` is its number in the ledger, as `tacit ledger` counts."""
    which = "" if number is None else f", no. {number} in the ledger"
    if released.repeated:
        stored = f"The stored answer{which}: nothing was charged."
        return " ".join([stored, *(f"{note}." for note in released.notes)])
    facts = released.facts
    delta = "" if Fraction(facts["delta"]) == 0 else f", delta {readable(facts['delta'])}"
    paid = f"epsilon {readable(facts['epsilon'])}{delta}{which}. +/- covers noise, not clamping."
    return " ".join([paid, *(f"{note}." for note in released.notes)])


def estimate(errors: Sequence[Expected]) -> Table:
    """The expected error of each column."""
    shown = table("column", "+/- (95 %)", "at most, wherever values lie", "standard deviation")
    for each in errors:
        most = "" if each.at_most_95 is None else f"{each.at_most_95:,.4g}"
        shown.add_row(Text(plain(each.name)), f"{each.within_95:,.4g}", most, f"{each.deviation:,.4g}")
    return shown


def policy(checked: Policy) -> Table:
    """The tables of a policy: whose rows they hold, how many of each unit, and what may be asked about."""
    shown = table("table", "unit", "rows of a unit", "columns", texts=(0, 1, 3), wraps=(3,))
    for name, each in checked.tables.items():
        bound = "" if each.public else f"{each.rows_per_unit:,}"
        shown.add_row(plain(name), plain(_unit(each.unit)), bound, plain(", ".join(each.columns) or "none"))
    return shown


def _unit(unit: object) -> str:
    if unit is None:
        return "public"
    if isinstance(unit, PathUnit):
        return f"{unit.key} -> {unit.table}"
    return unit.column if isinstance(unit, ColumnUnit) else "row"


def ledger(entries: Sequence[Entry], last: int) -> Table:
    """Who asked what, when, and at which price as it was asked for: the `last` ones, numbered without holes."""
    shown = table("no.", "when (UTC)", "who", "price", "question", texts=(1, 2, 3, 4), wraps=(4,))
    failed = {entry.details["charge"] for entry in entries if entry.kind in ("failed", "interrupted")}
    charges = list(enumerate(charges_of(entries), start=1))
    for number, entry in charges[max(len(charges) - last, 0) :]:
        asked = entry.asked
        question = in_words(entry.question or "") + (" (failed)" if entry.sequence in failed else "")
        shown.add_row(
            str(number),
            entry.when[:19].replace("T", " "),
            plain(entry.analyst),
            "" if asked is None else price_of(asked),
            Text(plain(question)),
        )
    return shown


def is_plain(console: Console) -> bool:
    """Whether only ASCII may be printed."""
    return not console.encoding.lower().startswith("utf")
