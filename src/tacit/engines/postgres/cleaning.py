"""Cleaning in PostgreSQL's words: SQL that turns a source's column into whole numbers on the grid, or into text.

Promise: the same as `cleaning`, total on every value a PostgreSQL column can hold. The server raises where DuckDB gives
NULL, so nothing is cast that was not looked at first: text is matched against a pattern before it is read, numbers are
compared before they are narrowed. What it raises on, and what is done:
- a cast out of range (bigint, double precision, and NUMERIC beyond a double): compared first, in the wider type;
- double multiplication that overflows or vanishes: done inside the bounds only, and not below a quarter of a step;
- dates and times: 'infinity' counts as missing, and what lies beyond the years that Python knows is moved to a place
  beyond them, which is outside every bound; text is read by a pattern, and days are checked against the month.
NaN equals itself here and is above everything, so a number is finite where it lies between the two infinities.

As in `cleaning`: `read` gives BIGINT, NUMERIC, DOUBLE PRECISION or TEXT; `bound` clamps, drops and rounds.
Text has the collation "C": it is compared and ordered by code point, as UTF-8 bytes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from tacit.engines import quoting
from tacit.engines.cleaning import whole_range
from tacit.engines.postgres import dates
from tacit.engines.readers import reader_of, readers
from tacit.engines.sources import fits_64_bits, kind_of
from tacit.errors import PolicyError
from tacit.policy import cells
from tacit.policy.columns import LONGEST_TEXT, Column, Outside

_NUMBER: Final = "'^ *[+-]?([0-9]{1,255}[.]?[0-9]{0,255}|[.][0-9]{1,255})([eE][+-]?[0-9]{1,3})? *$'"
_C: Final = 'COLLATE pg_catalog."C"'
_LARGEST_DOUBLE: Final = "1.7976931348623157e308"
LARGEST_WHOLE: Final[Mapping[str, int]] = {"DOUBLE": 2**53, "FLOAT": 2**24}
"""From here on a floating point number stands for several whole ones."""
_LONGEST_KEY: Final = 1_000
_LEAST_WHOLE, _MOST_WHOLE = -(2**63), 2**63 - 1


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
        numbers = sorted({int(each) for each in column.grid_values})
        listed = f"{value} IN ({', '.join(map(_whole, numbers))})"
        if numbers[-1] - numbers[0] == len(numbers) - 1:  # none is left out: two comparisons say the same
            listed = f"{value} BETWEEN {_whole(numbers[0])} AND {_whole(numbers[-1])}"
        return f"CASE WHEN {listed} THEN CAST({value} AS BIGINT) END"
    lower, upper, outside = whole_range(column)
    if lower is None or upper is None:
        lower, upper, outside = _LEAST_WHOLE, _MOST_WHOLE, "drop"
    inside = f"CAST({value} AS BIGINT)"
    return _between(value, _whole(lower), _whole(upper), lower, upper, inside, outside)


def key(engine_type: str, expression: str, whole: bool, *, short: bool = True) -> str:
    """A unit or join key in a form that is equal when the keys are: 64-bit integers, or canonical text.

    Long texts are made `short` for comparing. What is only hashed may stay as it is, which costs less: `_short` gives
    different texts different keys.
    """
    if whole:
        return f"CAST({expression} AS BIGINT)"
    if engine_type == "DECIMAL":
        written = f"CAST(trim_scale({expression}) AS TEXT)"
        finite = f"(CASE WHEN {_is_finite(expression, 'NUMERIC')} THEN {written} END) {_C}"
        return _short(finite) if short else finite
    if kind_of(engine_type) == "real":
        number = f"CAST({expression} AS DOUBLE PRECISION)"
        near = f"abs({number}) < {LARGEST_WHOLE[engine_type]:d}"  # beyond, and where it is NaN, nobody's
        return (
            f"(CASE WHEN NOT ({near}) THEN NULL WHEN {number} = floor({number}) "
            f"THEN CAST(CAST({number} AS BIGINT) AS TEXT) ELSE CAST({number} AS TEXT) END) {_C}"
        )
    written = _text(expression, engine_type)
    return _short(written) if short and engine_type in _OF_ANY_LENGTH else written


def _short(text: str) -> str:
    """The text, or its beginning and its hash: what one person's key takes to compare must not depend on its length.

    Texts of up to 1,000 bytes stay, and others become longer than that, so that a short key never equals a long one.
    """
    kept = _LONGEST_KEY + 1 - 64  # a SHA-256 is written in 64 characters
    hashed = f"left({text}, {kept:d}) || encode(sha256(convert_to({text}, 'UTF8')), 'hex')"
    return f"(CASE WHEN octet_length({text}) <= {_LONGEST_KEY:d} THEN {text} ELSE {hashed} END) {_C}"


def _cell(column: Column, value: str) -> str:
    """The cell of a power of two that a number lies in, by comparisons alone, of which none can fail."""
    whole = column.kind == "integer"

    def reaches(cell: int, yes: str, no: str) -> str:
        strictly, place = cells.edge(cell)
        number = f"CAST('{int(place):d}' AS NUMERIC)" if whole else _double_constant(float(place))
        return f"CASE WHEN {value} {'>' if strictly else '>='} {number} THEN {yes} ELSE {no} END"

    found = cells.decide(column.cells, reaches, _whole)
    missing = f"{value} IS NULL" if whole else f"{value} IS NULL OR NOT ({_is_finite(value)})"
    return f"CASE WHEN {missing} THEN NULL ELSE {found} END"


def _real(column: Column, value: str) -> str:
    lower, upper = column.grid_lower, column.grid_upper
    if lower is None or upper is None:
        raise PolicyError(f"Column {column.name!r}: a real column needs a range.")
    lowest = _double_constant(quoting.least_double_from(Fraction(column.lower)))  # type: ignore[arg-type]
    highest = _double_constant(quoting.greatest_double_to(Fraction(column.upper)))  # type: ignore[arg-type]
    below, above = ("CAST(NULL AS BIGINT)",) * 2 if column.outside == "drop" else (_whole(lower), _whole(upper))
    # What most rows are is looked at first. NaN is above everything: it is in no range that ends before infinity.
    return (
        f"CASE WHEN {value} >= {lowest} AND {value} <= {highest} THEN {_rounded(column, value, lower, upper)} "
        f"WHEN {value} > {highest} AND {value} < CAST('Infinity' AS DOUBLE PRECISION) THEN {above} "
        f"WHEN {value} < {lowest} AND {value} > CAST('-Infinity' AS DOUBLE PRECISION) THEN {below} END"
    )


def _rounded(column: Column, value: str, lower: int, upper: int) -> str:
    """A number inside its bounds in steps of the grid, halves upwards.

    Where the step is a power of two, dividing by it is exact, and adding a half is as well where the quotient is at
    least a half and less than 2**51: then the floor of that is the same, in fewer operations. (Of a quotient just below
    a half, adding a half gives 1.)
    """
    scaled = f"({value} * {_double_constant(float(1 / column.step))})"
    steps = column.step.numerator * column.step.denominator
    if steps & (steps - 1) == 0 and max(abs(lower), abs(upper)) < 2**51:
        near, rounded = column.step / 2, f"floor({scaled} + 0.5)"
    else:
        near = column.step / 4
        rounded = f"floor({scaled}) + CASE WHEN {scaled} - floor({scaled}) >= 0.5 THEN 1 ELSE 0 END"
    small = f"abs({value}) < {_double_constant(float(near))}"
    return f"CASE WHEN {small} THEN CAST(0 AS BIGINT) ELSE CAST({rounded} AS BIGINT) END"


def _between(value: str, lowest: str, highest: str, lower: int, upper: int, inside: str, outside: Outside) -> str:
    below, above = ("CAST(NULL AS BIGINT)",) * 2 if outside == "drop" else (_whole(lower), _whole(upper))
    return (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN {value} < {lowest} THEN {below} "
        f"WHEN {value} > {highest} THEN {above} ELSE {inside} END"
    )


def _listed_text(column: Column, value: str) -> str:
    if column.values is None:
        return f"left({value}, {LONGEST_TEXT:d})"  # one person's long text must not take longer than another's
    # No text of this server holds a zero byte: such a value is in no row.
    listed = ", ".join(quoting.text(str(each)) for each in column.values if "\0" not in str(each))
    return f"CASE WHEN {value} IN ({listed}) THEN {value} END" if listed else f"CAST(NULL AS TEXT) {_C}"


def _whole(value: int) -> str:
    return f"CAST('{value:d}' AS BIGINT)"  # in quotes: the least integer has no literal of its own


def _double_constant(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


def _is_finite(expression: str, kind: str = "DOUBLE PRECISION") -> str:
    return f"{expression} > CAST('-Infinity' AS {kind}) AND {expression} < CAST('Infinity' AS {kind})"


def _integer(expression: str, engine_type: str) -> str:
    return f"CAST({expression} AS BIGINT)" if fits_64_bits(engine_type) else f"CAST({expression} AS NUMERIC)"


def _whole_of_real(expression: str, engine_type: str) -> str:
    # Beyond 64 bits is further out than any bound: it keeps its side, and its power of two.
    if engine_type == "DECIMAL":
        return (
            f"CASE WHEN NOT ({_is_finite(expression, 'NUMERIC')}) THEN NULL WHEN {expression} > 1e38 THEN 1e38 "
            f"WHEN {expression} < -1e38 THEN -1e38 ELSE floor({expression} + 0.5) END"
        )
    number = f"CAST({expression} AS DOUBLE PRECISION)"
    rounded = f"floor({number}) + CASE WHEN {number} - floor({number}) >= 0.5 THEN 1 ELSE 0 END"
    far = "".join(
        f"WHEN {number} >= {_double_constant(2.0**power)} THEN {2**power:d}.0 "
        f"WHEN {number} {'<' if power == 63 else '<='} {_double_constant(-(2.0**power))} THEN -{2**power + 1:d}.0 "
        for power in (65, 64, 63)
    )
    return f"CASE WHEN NOT ({_is_finite(number)}) THEN NULL {far}ELSE CAST(CAST({rounded} AS BIGINT) AS NUMERIC) END"


def _number_in_text(expression: str) -> str:
    written = f"CAST({expression} AS TEXT) {_C}"  # of its own collation a pattern may know nothing
    return f"CASE WHEN {written} ~ {_NUMBER} THEN CAST({written} AS NUMERIC) END"


def _whole_of_text(expression: str, _: str) -> str:
    number = f"({_number_in_text(expression)})"
    return f"CASE WHEN abs({number}) < 1.7e38 THEN round({number}) END"


def _double(expression: str, engine_type: str) -> str:
    kind = kind_of(engine_type)
    if kind == "text":
        return _double_of_numeric(f"({_number_in_text(expression)})")
    return _double_of_numeric(expression) if engine_type == "DECIMAL" else f"CAST({expression} AS DOUBLE PRECISION)"


def _double_of_numeric(number: str) -> str:
    """What no double can hold is missing, as an infinity is; NaN is above every number here."""
    return (
        f"CASE WHEN abs({number}) > {_LARGEST_DOUBLE} THEN NULL "
        f"WHEN abs({number}) < 1e-307 THEN CAST(0 AS DOUBLE PRECISION) ELSE CAST({number} AS DOUBLE PRECISION) END"
    )


def _zero_or_one(expression: str, _: str) -> str:
    return f"CASE WHEN {expression} = 1 THEN CAST(1 AS BIGINT) WHEN {expression} = 0 THEN CAST(0 AS BIGINT) END"


def _truth(expression: str, _: str) -> str:
    return f"CASE WHEN {expression} THEN CAST(1 AS BIGINT) WHEN NOT {expression} THEN CAST(0 AS BIGINT) END"


def _truth_in_text(expression: str, _: str) -> str:
    small = f"lower(CAST({expression} AS TEXT) {_C})"
    return (
        f"CASE WHEN {small} IN ('true', 't', 'yes', 'y', '1') THEN CAST(1 AS BIGINT) "
        f"WHEN {small} IN ('false', 'f', 'no', 'n', '0') THEN CAST(0 AS BIGINT) END"
    )


def _text(expression: str, _: str) -> str:
    return f"CAST({expression} AS TEXT) {_C}"


_OF_ANY_LENGTH: Final = ("VARCHAR", "bytea", "bit", "varbit")
_READERS: Final = readers(
    integer=_integer,
    whole_of_real=_whole_of_real,
    whole_of_text=_whole_of_text,
    truth=_truth,
    truth_in_text=_truth_in_text,
    zero_or_one=_zero_or_one,
    double=_double,
    days_of_date=dates.days_of_date,
    days_of_timestamp=dates.days_of_timestamp,
    days_of_text=dates.days_of_text,
    micros_of_timestamp=dates.micros_of_timestamp,
    micros_of_date=dates.micros_of_date,
    micros_of_text=dates.micros_of_text,
    text=_text,
)
