"""Cleaning in PostgreSQL's words: SQL that turns a source's column into whole numbers on the grid, or into text.

Promise: that of `engines.cleaning`, total on every value a PostgreSQL column can hold. The server raises where DuckDB
gives NULL, so every value is checked before it is cast: text is matched against a pattern before it is read,
numbers are compared before they are narrowed. What makes it raise, and what is done about it:
- a cast out of range (bigint, double precision, and NUMERIC beyond a double): compared first, in the wider type;
- double multiplication that overflows or vanishes: done inside the bounds only, and not below a quarter of a step;
- dates and times: 'infinity' counts as missing, and what lies beyond the years that Python knows is moved to a place
  beyond them, which is outside every bound; text is read by a pattern, and days are checked against the month.
NaN equals itself here and is above everything, so a number is finite where it lies between the two infinities.

What is read is a BIGINT, NUMERIC, DOUBLE PRECISION or TEXT.
Text has the collation "C": it is compared and ordered by code point, as UTF-8 bytes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from tacit.engines import quoting
from tacit.engines.cleaning import Range, Words, between
from tacit.engines.postgres import dates
from tacit.engines.readers import readers
from tacit.engines.sources import LARGEST_WHOLE, fits_64_bits, kind_of
from tacit.policy.columns import LONGEST_TEXT

_NUMBER: Final = "'^ *[+-]?([0-9]{1,255}[.]?[0-9]{0,255}|[.][0-9]{1,255})([eE][+-]?[0-9]{1,3})? *$'"
_C: Final = 'COLLATE pg_catalog."C"'
_LARGEST_DOUBLE: Final = "1.7976931348623157e308"
_MISSING: Final = "CAST(NULL AS BIGINT)"
_LONGEST_KEY: Final = 1_000


def _key(engine_type: str, expression: str) -> str:
    """Long texts are shortened for comparing."""
    written = _long_key(engine_type, expression)
    return _short(written) if engine_type == "DECIMAL" or engine_type in _OF_ANY_LENGTH else written


def _long_key(engine_type: str, expression: str) -> str:
    """For keys that are only hashed. That is cheaper without `_short`, under which different texts stay different."""
    if engine_type == "DECIMAL":
        written = f"CAST(trim_scale({expression}) AS TEXT)"
        return f"(CASE WHEN {_is_finite(expression, 'NUMERIC')} THEN {written} END) {_C}"
    if kind_of(engine_type) == "real":
        number = f"CAST({expression} AS DOUBLE PRECISION)"
        near = f"abs({number}) < {LARGEST_WHOLE[engine_type]:d}"  # beyond it, and for NaN, the row has no unit
        return (
            f"(CASE WHEN NOT ({near}) THEN NULL WHEN {number} = floor({number}) "
            f"THEN CAST(CAST({number} AS BIGINT) AS TEXT) ELSE CAST({number} AS TEXT) END) {_C}"
        )
    return _text(expression, engine_type)


def _short(text: str) -> str:
    """The text, or its beginning and its hash: the time to compare one person's key must not depend on its length.

    Texts of up to 1,000 bytes stay, and others become longer than that, so that a short key never equals a long one.
    """
    kept = _LONGEST_KEY + 1 - 64  # a SHA-256 is written in 64 characters
    hashed = f"left({text}, {kept:d}) || encode(sha256(convert_to({text}, 'UTF8')), 'hex')"
    return f"(CASE WHEN octet_length({text}) <= {_LONGEST_KEY:d} THEN {text} ELSE {hashed} END) {_C}"


def _real(value: str, scaled: str, step: Fraction, ends: Range) -> str:
    # The most frequent case is tested first. NaN is above everything: it is in no range that ends before infinity.
    return (
        f"CASE WHEN {value} >= {ends.lowest} AND {value} <= {ends.highest} "
        f"THEN {_rounded(value, scaled, step, ends.lower, ends.upper)} "
        f"WHEN {value} > {ends.highest} AND {value} < CAST('Infinity' AS DOUBLE PRECISION) THEN {ends.above} "
        f"WHEN {value} < {ends.lowest} AND {value} > CAST('-Infinity' AS DOUBLE PRECISION) THEN {ends.below} END"
    )


def _rounded(value: str, scaled: str, step: Fraction, lower: int, upper: int) -> str:
    """A number inside its bounds in steps of the grid, halves upwards.

    Where the step is a power of two, dividing by it is exact, and so is adding a half where the quotient is at
    least a half and less than 2**51: then the floor of that is the same, in fewer operations. (For a quotient just
    below a half, adding a half gives 1.)
    """
    steps = step.numerator * step.denominator
    if steps & (steps - 1) == 0 and max(abs(lower), abs(upper)) < 2**51:
        near, rounded = step / 2, f"floor({scaled} + 0.5)"
    else:
        near = step / 4
        rounded = f"floor({scaled}) + CASE WHEN {scaled} - floor({scaled}) >= 0.5 THEN 1 ELSE 0 END"
    small = f"abs({value}) < {_double_constant(float(near))}"
    return f"CASE WHEN {small} THEN CAST(0 AS BIGINT) ELSE CAST({rounded} AS BIGINT) END"


def _whole(value: int) -> str:
    return f"CAST('{value:d}' AS BIGINT)"  # in quotes: the least integer has no literal of its own


def _wide(value: int) -> str:
    return f"CAST('{value:d}' AS NUMERIC)"


def _among(value: str, numbers: Sequence[int]) -> str:
    several = sorted(set(numbers))
    if several[-1] - several[0] == len(several) - 1:  # without gaps, two comparisons say the same
        return f"{value} BETWEEN {_whole(several[0])} AND {_whole(several[-1])}"
    return f"{value} IN ({', '.join(map(_whole, several))})"


def _narrow(value: str) -> str:
    return f"CAST({value} AS BIGINT)"


def _narrow_or_null(value: str) -> str:
    least, most = -(2**63), 2**63 - 1
    return between(value, Range(least, most, _whole(least), _whole(most), _MISSING, _MISSING), _narrow(value))


def _cut(value: str) -> str:
    return f"left({value}, {LONGEST_TEXT:d})"


def _text_constant(value: str) -> str | None:
    return None if "\0" in value else quoting.text(value)  # no text of this server holds a zero byte


def _finite(value: str) -> str:
    return f"({_is_finite(value)})"


def _double_constant(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


def _is_finite(expression: str, kind: str = "DOUBLE PRECISION") -> str:
    return f"{expression} > CAST('-Infinity' AS {kind}) AND {expression} < CAST('Infinity' AS {kind})"


def _integer(expression: str, engine_type: str) -> str:
    return f"CAST({expression} AS BIGINT)" if fits_64_bits(engine_type) else f"CAST({expression} AS NUMERIC)"


def _whole_of_real(expression: str, engine_type: str) -> str:
    # A value beyond 64 bits is further out than any bound: it keeps its side, and its power of two.
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
    written = f"CAST({expression} AS TEXT) {_C}"  # under its own collation a pattern may not work
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
    """A number that no double can hold is missing, like an infinity; NaN is above every number here."""
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
WORDS: Final = Words(
    readers=_READERS,
    key=_key,
    whole=_whole,
    wide=_wide,
    double=_double_constant,
    text=_text_constant,
    cut=_cut,
    finite=_finite,
    among=_among,
    narrow=_narrow,
    narrow_or_null=_narrow_or_null,
    real=_real,
    missing=_MISSING,
    no_text=f"CAST(NULL AS TEXT) {_C}",
)
WITH_LONG_KEYS: Final = replace(WORDS, key=_long_key)
"""Words for keys that are only hashed."""
