"""Cleaning in Spark SQL: a source's column as whole numbers on the policy's grid, or as text.

Promise: that of `engines.cleaning`: whatever a value is, the expression gives a value of the stated range or NULL, the
same as in DuckDB. Casts are TRY_CASTs, which give NULL where a plain one would raise; sessions also have ANSI mode off,
so that arithmetic raises nothing either. NaN and infinities are NULL; Spark's NaN equals itself and sorts above
everything, so it is tested first.

Spark's floor of a double is a BIGINT that stops at the ends of 64 bits; below 2**53 it is exact, from there on a double
is whole already, and from 2**63 on it is replaced by a constant on the same side, beyond every bound there can be.
(Cells of powers of two would need finer distinctions there: a policy cannot ask for them on Spark.)
Days are counted in the proleptic Gregorian calendar, as everywhere in Spark since version 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from tacit.engines.cleaning import Range, Words, between
from tacit.engines.readers import readers
from tacit.engines.sources import kind_of
from tacit.engines.spark import quoting as spark
from tacit.errors import PolicyError
from tacit.policy.columns import LONGEST_TEXT
from tacit.policy.dates import DAY, FIRST_DAY, LAST_DAY

_TYPES: Final[Mapping[str, str]] = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "boolean": "BOOLEAN",
}
_BINARY: Final = "Spark's binary"


def engine_type(spark_type: str) -> str:
    """The house's name for this type of Spark's; types that no question can use keep their name."""
    if re.fullmatch(r"(var)?char\(\d+\)", spark_type):
        return "VARCHAR"
    if re.fullmatch(r"decimal\(\d+,\d+\)", spark_type):
        return spark_type.upper()
    return _TYPES.get(spark_type, f"Spark's {spark_type}")


def _key(engine_type: str, expression: str) -> str:
    if re.fullmatch(r"DECIMAL\(\d+,0\)", engine_type):
        return f"CAST({expression} AS STRING)"
    if engine_type == _BINARY:
        return f"hex({expression})"
    if engine_type.startswith("DECIMAL") or kind_of(engine_type) is None:
        raise PolicyError(f"A unit or the key that leads to it cannot be a {engine_type}.")  # `spark.keys` says more
    if kind_of(engine_type) == "real":
        # Files hold whole numbers as doubles once one is missing: 7.0 is the same unit as 7.
        number = f"CAST({expression} AS DOUBLE)"
        is_whole = f"abs({number}) < {_TOO_FAR} AND {number} = CAST(floor({number}) AS DOUBLE)"
        return (
            f"CASE WHEN NOT {_finite(number)} THEN NULL WHEN {is_whole} "
            f"THEN CAST(floor({number}) AS STRING) ELSE CAST({number} AS STRING) END"
        )
    return f"CAST({expression} AS STRING)"


def _real(value: str, scaled: str, _: Fraction, ends: Range) -> str:
    return f"CASE WHEN {_finite(value)} THEN {between(value, ends, _rounded(scaled))} END"


def _wide(value: int) -> str:
    return f"CAST('{value:d}' AS {spark.WIDE})"


def _among(value: str, numbers: Sequence[int]) -> str:
    return f"{value} IN ({', '.join(map(spark.whole, numbers))})"


def _narrow(value: str) -> str:
    return f"TRY_CAST({value} AS BIGINT)"


def _cut(value: str) -> str:
    return f"substring({value}, 1, {LONGEST_TEXT:d})"


_INFINITE: Final = spark.double(float("inf"))
_TOO_FAR: Final = spark.double(2.0**63)
_FAR: Final = f"CAST('1{'0' * 37}' AS {spark.WIDE})"


def _finite(number: str) -> str:
    """False for NaN and the infinities; NULL for NULL."""
    return f"(NOT isnan({number}) AND abs({number}) < {_INFINITE} AND {number} IS NOT NULL)"


def _rounded(number: str) -> str:
    """The nearest whole number as BIGINT, halves upwards."""
    return f"floor({number}) + CASE WHEN {number} - CAST(floor({number}) AS DOUBLE) >= 0.5D THEN 1L ELSE 0L END"


def _integer(expression: str, _: str) -> str:
    return f"CAST({expression} AS BIGINT)"


def _whole_of_real(expression: str, _: str) -> str:
    number = _double(expression, "")
    return (
        f"CASE WHEN NOT {_finite(number)} THEN NULL WHEN {number} >= {_TOO_FAR} THEN {_FAR} "
        f"WHEN {number} < -{_TOO_FAR} THEN -{_FAR} ELSE CAST({_rounded(number)} AS {spark.WIDE}) END"
    )


def _whole_of_text(expression: str, _: str) -> str:
    return f"TRY_CAST({expression} AS {spark.WIDE})"


def _double(expression: str, _: str) -> str:
    return f"TRY_CAST({expression} AS DOUBLE)"


def _zero_or_one(expression: str, _: str) -> str:
    return f"CASE WHEN {expression} = 1 THEN 1L WHEN {expression} = 0 THEN 0L END"


def _truth(expression: str, _: str) -> str:
    return f"CASE WHEN TRY_CAST({expression} AS BOOLEAN) THEN 1L WHEN NOT TRY_CAST({expression} AS BOOLEAN) THEN 0L END"


def _days(expression: str, _: str) -> str:
    return f"CAST(unix_date(TRY_CAST({expression} AS DATE)) AS BIGINT)"


def _microseconds(expression: str, _: str) -> str:
    # Text without an offset, and a timestamp without a zone, are UTC: the session's zone.
    return f"unix_micros(TRY_CAST({expression} AS TIMESTAMP))"


def _microseconds_of_date(expression: str, _: str) -> str:
    # Multiplied here, on days that Python's calendar has: a cast of a day too far out would overflow.
    day = f"unix_date({expression})"
    return f"CASE WHEN {day} BETWEEN {FIRST_DAY} AND {LAST_DAY} THEN CAST({day} AS BIGINT) * {DAY} END"


def _string(expression: str, _: str) -> str:
    # Bytes that are not UTF-8 would fail on their way out, which would show that they exist.
    return f"make_valid_utf8(CAST({expression} AS STRING))"


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
    micros_of_date=_microseconds_of_date,
    micros_of_text=_microseconds,
    text=_string,
)
WORDS: Final = Words(
    readers=_READERS,
    key=_key,
    whole=spark.whole,
    wide=_wide,
    double=spark.double,
    text=spark.text,
    cut=_cut,
    finite=_finite,
    among=_among,
    narrow=_narrow,
    narrow_or_null=_narrow,
    real=_real,
)
