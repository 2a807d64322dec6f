"""Cleaning: SQL that turns a source's column into whole numbers on the policy's grid, or into text.

Promise: total. Whatever a value is, the expression gives a value of the column's stated range or NULL; it never
raises, so no value of one person can make registration fail. NaN and infinities are NULL. Each rule is written as a
CASE that asks for NULL first, because `least(greatest(NULL, 0), 10)` is 0 in DuckDB and NaN sorts above everything.

Two layers. `read` brings the source's type to a plain one (BIGINT, HUGEINT, DOUBLE or VARCHAR; dates as days, times as
microseconds). `bound` clamps or drops, and rounds reals: with y = x / step, which is exact because step is a power of
two, the grid value is floor(y), plus one where y - floor(y) >= 1/2. For
y <= -1/2 or y >= 0 that difference is exact in doubles, and for y between them it rounds to a number of at least 1/2,
so the comparison is never wrong (floor(y + 1/2) would be: 0.49999999999999994 + 0.5 is 1.0).
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Final

from tacit.engines import quoting
from tacit.engines.readers import reader_of, readers
from tacit.engines.sources import fits_64_bits, kind_of
from tacit.errors import PolicyError
from tacit.policy import cells
from tacit.policy.columns import LONGEST_TEXT, Column, Outside

_FIRST_DAY: Final = datetime.date.min.toordinal() - datetime.date(1970, 1, 1).toordinal()
_LAST_DAY: Final = datetime.date.max.toordinal() - datetime.date(1970, 1, 1).toordinal()
_DAY: Final = 86_400_000_000


def read(column: Column, engine_type: str, expression: str) -> str:
    """The source's value in the plain type that `bound` expects for this column."""
    return reader_of(_READERS, column, engine_type)(expression, engine_type)


def bound(column: Column, value: str) -> str:
    """The grid value, or text, of what `read` gave."""
    if column.kind == "text":
        return _listed_text(column, value)
    if column.auto:
        return _cell(column, value)
    if column.kind == "real":
        return _real(column, value)
    if column.grid_values is not None:
        listed = ", ".join(quoting.whole(int(each)) for each in column.grid_values)
        return f"CASE WHEN {value} IN ({listed}) THEN TRY_CAST({value} AS BIGINT) END"
    lower, upper, outside = whole_range(column)
    if lower is None or upper is None:
        return f"TRY_CAST({value} AS BIGINT)"
    inside = f"TRY_CAST({value} AS BIGINT)"
    return _between(value, quoting.whole(lower), quoting.whole(upper), lower, upper, inside, outside)


def key(engine_type: str, expression: str, whole: bool) -> str:
    """A unit or join key in a form that is equal when the keys are: 64-bit integers, or canonical text."""
    if whole:
        return f"CAST({expression} AS BIGINT)"
    if engine_type.upper().startswith("DECIMAL"):
        # By its digits: a double has too few of them, and two people would become one. 7.50 and 7.5 are the same.
        text = f"CAST({expression} AS VARCHAR)"
        return text if engine_type.replace(" ", "").endswith(",0)") else f"rtrim(rtrim({text}, '0'), '.')"
    if kind_of(engine_type) == "real":
        # Frames hold whole numbers as doubles once one is missing: 7.0 is the same unit as 7.
        number = f"TRY_CAST({expression} AS DOUBLE)"
        is_whole = f"{number} = floor({number}) AND abs({number}) < 9223372036854775808.0"
        return (
            f"CASE WHEN NOT isfinite({number}) THEN NULL WHEN {is_whole} "
            f"THEN CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR) ELSE CAST({number} AS VARCHAR) END"
        )
    return f"CAST({expression} AS VARCHAR)"


def _cell(column: Column, value: str) -> str:
    """The cell of a power of two that a number lies in, by comparisons alone, of which none can fail.

    Powers of two from 2**-64 to 2**66 are doubles and wide integers, so each comparison is exact.
    """
    whole = column.kind == "integer"

    def reaches(cell: int, yes: str, no: str) -> str:
        strictly, place = cells.edge(cell)
        number = f"CAST('{int(place):d}' AS HUGEINT)" if whole else quoting.double(float(place))
        return f"CASE WHEN {value} {'>' if strictly else '>='} {number} THEN {yes} ELSE {no} END"

    found = cells.decide(column.cells, reaches, lambda cell: f"CAST({cell:d} AS BIGINT)")
    missing = f"{value} IS NULL" if whole else f"{value} IS NULL OR NOT isfinite({value})"
    return f"CASE WHEN {missing} THEN NULL ELSE {found} END"


def _real(column: Column, value: str) -> str:
    lower, upper = column.grid_lower, column.grid_upper
    if lower is None or upper is None:
        raise PolicyError(f"Column {column.name!r}: a real column needs a range.")
    scaled = f"({value} * {quoting.double(float(1 / column.step))})"
    rounded = f"floor({scaled}) + CASE WHEN {scaled} - floor({scaled}) >= 0.5 THEN 1 ELSE 0 END"
    lowest = quoting.double(quoting.least_double_from(Fraction(column.lower)))  # type: ignore[arg-type]
    highest = quoting.double(quoting.greatest_double_to(Fraction(column.upper)))  # type: ignore[arg-type]
    inside = f"TRY_CAST({rounded} AS BIGINT)"
    return (
        f"CASE WHEN NOT isfinite({value}) THEN NULL ELSE "
        f"{_between(value, lowest, highest, lower, upper, inside, column.outside)} END"
    )


def _between(value: str, lowest: str, highest: str, lower: int, upper: int, inside: str, outside: Outside) -> str:
    below, above = ("NULL", "NULL") if outside == "drop" else (quoting.whole(lower), quoting.whole(upper))
    return (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN {value} < {lowest} THEN {below} "
        f"WHEN {value} > {highest} THEN {above} ELSE {inside} END"
    )


def whole_range(column: Column) -> tuple[int | None, int | None, Outside]:
    """The bounds of a column of whole numbers on its grid, if it has any, and what happens outside them."""
    if column.bounded or column.kind == "integer":
        return column.grid_lower, column.grid_upper, column.outside
    # Days and times that Python's own calendar cannot hold could never be shown: they count as missing.
    scale = 1 if column.kind == "date" else _DAY
    return _FIRST_DAY * scale, (_LAST_DAY + 1) * scale - 1 if scale > 1 else _LAST_DAY, "drop"


def _listed_text(column: Column, value: str) -> str:
    if column.values is None:
        return f"substring({value}, 1, {LONGEST_TEXT:d})"  # one person's long text must not take longer than another's
    listed = ", ".join(quoting.text(str(each)) for each in column.values)
    return f"CASE WHEN {value} IN ({listed}) THEN {value} END"


def _integer(expression: str, engine_type: str) -> str:
    return f"CAST({expression} AS BIGINT)" if fits_64_bits(engine_type) else f"TRY_CAST({expression} AS HUGEINT)"


def _whole_of_real(expression: str, engine_type: str) -> str:
    number = _double(expression, engine_type)
    rounded = f"floor({number}) + CASE WHEN {number} - floor({number}) >= 0.5 THEN 1 ELSE 0 END"
    # HUGEINT holds whole doubles up to 1.7e38; anything beyond is further out than any bound, and keeps its side.
    far = "CAST('100000000000000000000000000000000000000' AS HUGEINT)"
    return (
        f"CASE WHEN {number} IS NULL OR NOT isfinite({number}) THEN NULL WHEN {number} > 1e38 THEN {far} "
        f"WHEN {number} < -1e38 THEN -{far} ELSE TRY_CAST({rounded} AS HUGEINT) END"
    )


def _whole_of_text(expression: str, _: str) -> str:
    return f"TRY_CAST({expression} AS HUGEINT)"


def _double(expression: str, _: str) -> str:
    return f"TRY_CAST({expression} AS DOUBLE)"


def _zero_or_one(expression: str, _: str) -> str:
    return f"CASE WHEN {expression} = 1 THEN 1::BIGINT WHEN {expression} = 0 THEN 0::BIGINT END"


def _truth(expression: str, _: str) -> str:
    return f"CAST(TRY_CAST({expression} AS BOOLEAN) AS BIGINT)"


def _days(expression: str, engine_type: str) -> str:
    day = expression
    if engine_type.upper() == "TIMESTAMP WITH TIME ZONE":
        day = f"CASE WHEN isfinite({expression}) THEN make_timestamp(epoch_us({expression})) END"
    day = f"TRY_CAST({day} AS DATE)"
    return f"CASE WHEN isfinite({day}) THEN CAST({day} - DATE '1970-01-01' AS BIGINT) END"


def _microseconds(expression: str, engine_type: str) -> str:
    # Text may carry an offset, which a plain TIMESTAMP would ignore; without one it is UTC, the connection's zone.
    zoned = engine_type.upper() == "TIMESTAMP WITH TIME ZONE" or kind_of(engine_type) == "text"
    moment = f"TRY_CAST({expression} AS {'TIMESTAMPTZ' if zoned else 'TIMESTAMP'})"
    return f"CASE WHEN isfinite({moment}) THEN epoch_us({moment}) END"


def _varchar(expression: str, _: str) -> str:
    return f"TRY_CAST({expression} AS VARCHAR)"


_READERS: Final = readers(
    integer=_integer,
    whole_of_real=_whole_of_real,
    whole_of_text=_whole_of_text,
    truth=_truth,
    truth_in_text=_truth,
    zero_or_one=_zero_or_one,
    double=_double,
    days_of_date=_days,
    days_of_timestamp=_days,
    days_of_text=_days,
    micros_of_timestamp=_microseconds,
    micros_of_date=_microseconds,
    micros_of_text=_microseconds,
    text=_varchar,
)
