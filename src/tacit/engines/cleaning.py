"""Cleaning: SQL that turns a source's column into whole numbers on the policy's grid, or into text.

Promise: total. Whatever a value is, the expression gives a value of the column's stated range or NULL; it never
raises, so no value of one person can make registration fail. NaN and infinities are NULL.

Two layers. `read` brings the source's type to a plain one (whole numbers of 64 bits or wider, doubles or text; dates as
days, times as microseconds). `bound` clamps or drops, and rounds reals: with y = x / step, which is exact because step
is a power of two, the grid value is floor(y), plus one where y - floor(y) >= 1/2. For
y <= -1/2 or y >= 0 that difference is exact in doubles, and for y between them it rounds to a number of at least 1/2,
so the comparison is never wrong (that of floor(y + 1/2) would be: 0.49999999999999994 + 0.5 is 1.0).

What happens to a column is decided here, once for all engines. Each engine's SQL for it is its `Words`, in the
`cleaning` of its own folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.engines import quoting
from tacit.engines.readers import Readers, reader_of
from tacit.errors import PolicyError
from tacit.policy import cells
from tacit.policy.columns import Column, Outside
from tacit.policy.dates import DAY, FIRST_DAY, LAST_DAY


@dataclass(frozen=True, slots=True)
class Range:
    """The ends of a column on its grid, the constants that values are compared with, and what is done outside."""

    lower: int
    upper: int
    lowest: str
    highest: str
    below: str
    above: str


@dataclass(frozen=True, slots=True)
class Words:
    """The SQL of one engine. Every expression is total: it has a value, or NULL, on every row."""

    readers: Readers[Callable[[str, str], str]]
    """Reads an expression of a type of the source."""
    key: Callable[[str, str], str]
    """Makes, from a type and an expression, canonical text that is equal when the keys are."""
    whole: Callable[[int], str]
    """A constant of 64 bits."""
    wide: Callable[[int], str]
    """A constant of the type that holds whole numbers beyond 64 bits."""
    double: Callable[[float], str]
    """A constant that reads back as the same double."""
    text: Callable[[str], str | None]
    """A constant; None for a text that no row of this engine can hold."""
    cut: Callable[[str], str]
    """The beginning of a text: one person's long text must not take longer than another's."""
    finite: Callable[[str], str]
    """Whether a double is neither NaN nor infinite."""
    among: Callable[[str, Sequence[int]], str]
    """Whether a whole number is one of these."""
    narrow: Callable[[str], str]
    """A whole number that is known to fit, as one of 64 bits."""
    narrow_or_null: Callable[[str], str]
    """A whole number as one of 64 bits; NULL where it does not fit."""
    real: Callable[[str, str, Fraction, Range], str]
    """The grid value of a double; the double divided by the step is given too."""
    missing: str = "NULL"
    """NULL as a grid value."""
    no_text: str = "NULL"
    """NULL as a text."""


def read(column: Column, engine_type: str, expression: str, words: Words) -> str:
    """The source's value in the plain type that `bound` expects for this column."""
    return reader_of(words.readers, column, engine_type)(expression, engine_type)


def bound(column: Column, value: str, words: Words) -> str:
    """The grid value, or text, of what `read` gave."""
    if column.kind == "text":
        return _listed_text(column, value, words)
    if column.auto:
        return _cell(column, value, words)
    if column.kind == "real":
        return _real(column, value, words)
    if column.grid_values is not None:
        listed = words.among(value, [int(each) for each in column.grid_values])
        return f"CASE WHEN {listed} THEN {words.narrow(value)} END"
    lower, upper, outside = whole_range(column)
    if lower is None or upper is None:
        return words.narrow_or_null(value)
    ends = range_of(lower, upper, words.whole(lower), words.whole(upper), outside, words)
    return between(value, ends, words.narrow(value))


def key(engine_type: str, expression: str, whole: bool, words: Words) -> str:
    """A unit or join key in a form that is equal when the keys are: 64-bit integers, or canonical text."""
    return f"CAST({expression} AS BIGINT)" if whole else words.key(engine_type, expression)


def range_of(lower: int, upper: int, lowest: str, highest: str, outside: Outside, words: Words) -> Range:
    """A value within these ends; one outside moves to the nearer end, or is dropped."""
    below, above = (words.missing,) * 2 if outside == "drop" else (words.whole(lower), words.whole(upper))
    return Range(lower, upper, lowest, highest, below, above)


def between(value: str, ends: Range, inside: str) -> str:
    """Values outside the range become what is given. NULL is tested first, as it is neither inside nor outside."""
    return (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN {value} < {ends.lowest} THEN {ends.below} "
        f"WHEN {value} > {ends.highest} THEN {ends.above} ELSE {inside} END"
    )


def whole_range(column: Column) -> tuple[int | None, int | None, Outside]:
    """The bounds of a column of whole numbers on its grid, if it has any, and what happens outside them."""
    if column.bounded or column.kind == "integer":
        return column.grid_lower, column.grid_upper, column.outside
    # Days and times that Python's own calendar cannot hold could never be shown: they count as missing.
    if column.kind == "date":
        return FIRST_DAY, LAST_DAY, "drop"
    return FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1, "drop"


def _listed_text(column: Column, value: str, words: Words) -> str:
    if column.values is None:
        return words.cut(value)
    listed = [text for each in column.values if (text := words.text(str(each))) is not None]
    return f"CASE WHEN {value} IN ({', '.join(listed)}) THEN {value} END" if listed else words.no_text


def _cell(column: Column, value: str, words: Words) -> str:
    """The cell of a power of two that a number lies in, by comparisons alone, none of which can fail.

    Powers of two from 2**-64 to 2**66 are doubles and wide integers, so each comparison is exact.
    """
    whole = column.kind == "integer"

    def reaches(cell: int, yes: str, no: str) -> str:
        strictly, place = cells.edge(cell)
        number = words.wide(int(place)) if whole else words.double(float(place))
        return f"CASE WHEN {value} {'>' if strictly else '>='} {number} THEN {yes} ELSE {no} END"

    found = cells.decide(column.cells, reaches, words.whole)
    missing = f"{value} IS NULL" if whole else f"{value} IS NULL OR NOT {words.finite(value)}"
    return f"CASE WHEN {missing} THEN NULL ELSE {found} END"


def _real(column: Column, value: str, words: Words) -> str:
    lower, upper = column.grid_lower, column.grid_upper
    if lower is None or upper is None:
        raise PolicyError(f"Column {column.name!r}: a real column needs a range.")
    lowest = words.double(quoting.least_double_from(Fraction(column.lower)))  # type: ignore[arg-type]
    highest = words.double(quoting.greatest_double_to(Fraction(column.upper)))  # type: ignore[arg-type]
    scaled = f"({value} * {words.double(float(1 / column.step))})"
    ends = range_of(lower, upper, lowest, highest, column.outside, words)
    return words.real(value, scaled, column.step, ends)
