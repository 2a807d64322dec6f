"""Cleaning in DuckDB's words: casts that give NULL where they cannot.

Promise: total, as `engines.cleaning` promises it. Where it rounds or clamps it tests for NULL and NaN first, because
`least(greatest(NULL, 0), 10)` is 0 in DuckDB and NaN sorts above everything. What is read is a BIGINT, HUGEINT, DOUBLE
or VARCHAR.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from tacit.engines import quoting
from tacit.engines.cleaning import Range, Words, between
from tacit.engines.readers import readers
from tacit.engines.sources import fits_64_bits, kind_of
from tacit.policy.columns import LONGEST_TEXT


def _key(engine_type: str, expression: str) -> str:
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


def _real(value: str, scaled: str, _: Fraction, ends: Range) -> str:
    rounded = f"floor({scaled}) + CASE WHEN {scaled} - floor({scaled}) >= 0.5 THEN 1 ELSE 0 END"
    inside = f"TRY_CAST({rounded} AS BIGINT)"
    return f"CASE WHEN NOT {_finite(value)} THEN NULL ELSE {between(value, ends, inside)} END"


def _finite(value: str) -> str:
    return f"isfinite({value})"


def _wide(value: int) -> str:
    return f"CAST('{value:d}' AS HUGEINT)"


def _among(value: str, numbers: Sequence[int]) -> str:
    return f"{value} IN ({', '.join(map(quoting.whole, numbers))})"


def _narrow(value: str) -> str:
    return f"TRY_CAST({value} AS BIGINT)"


def _cut(value: str) -> str:
    return f"substring({value}, 1, {LONGEST_TEXT:d})"


def _integer(expression: str, engine_type: str) -> str:
    return f"CAST({expression} AS BIGINT)" if fits_64_bits(engine_type) else f"TRY_CAST({expression} AS HUGEINT)"


def _whole_of_real(expression: str, engine_type: str) -> str:
    number = _double(expression, engine_type)
    rounded = f"floor({number}) + CASE WHEN {number} - floor({number}) >= 0.5 THEN 1 ELSE 0 END"
    # HUGEINT holds whole doubles up to 1.7e38; anything beyond is further out than any bound, and stays on its side.
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
WORDS: Final = Words(
    readers=_READERS,
    key=_key,
    whole=quoting.whole,
    wide=_wide,
    double=quoting.double,
    text=quoting.text,
    cut=_cut,
    finite=_finite,
    among=_among,
    narrow=_narrow,
    narrow_or_null=_narrow,
    real=_real,
)
