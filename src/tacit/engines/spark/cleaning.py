"""Cleaning in Spark SQL: a source's column as whole numbers on the policy's grid, or as text.

Promise: the same as `cleaning` gives in DuckDB, and total in the same way: whatever a value is, the expression gives a
value of the stated range or NULL. Casts are TRY_CASTs, which give NULL where a plain one would raise; sessions have
ANSI mode off besides, so that arithmetic raises nothing either. NaN and infinities are NULL; Spark's NaN equals itself
and sorts above everything, so it is asked for first.

Spark's floor of a double is a BIGINT that stops at the ends of 64 bits; below 2**53 it is exact, from there on a double
is whole already, and from 2**63 on it is replaced by a constant on the same side, beyond every bound there can be.
Days are counted in the proleptic Gregorian calendar, as everywhere in Spark since version 3.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from tacit.engines import quoting
from tacit.engines.readers import reader_of, readers
from tacit.engines.sources import kind_of
from tacit.engines.spark import quoting as spark
from tacit.errors import PolicyError
from tacit.policy.columns import LONGEST_TEXT, Column, Outside

_FIRST_DAY: Final = datetime.date.min.toordinal() - datetime.date(1970, 1, 1).toordinal()
_LAST_DAY: Final = datetime.date.max.toordinal() - datetime.date(1970, 1, 1).toordinal()
_DAY: Final = 86_400_000_000
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
    """What the house calls this type of Spark's; types that no question can use keep their name."""
    if re.fullmatch(r"(var)?char\(\d+\)", spark_type):
        return "VARCHAR"
    if re.fullmatch(r"decimal\(\d+,\d+\)", spark_type):
        return spark_type.upper()
    return _TYPES.get(spark_type, f"Spark's {spark_type}")


def read(column: Column, engine_type: str, expression: str) -> str:
    """The source's value in the plain type that `bound` expects for this column."""
    return reader_of(_READERS, column, engine_type)(expression)


def bound(column: Column, value: str) -> str:
    """The grid value, or text, of what `read` gave."""
    if column.kind == "text":
        return _listed_text(column, value)
    if column.kind == "real":
        return _real(column, value)
    inside = f"TRY_CAST({value} AS BIGINT)"
    if column.grid_values is not None:
        listed = ", ".join(spark.whole(int(each)) for each in column.grid_values)
        return f"CASE WHEN {value} IN ({listed}) THEN {inside} END"
    lower, upper, outside = _whole_range(column)
    if lower is None or upper is None:
        return inside
    return _between(value, spark.whole(lower), spark.whole(upper), lower, upper, inside, outside)


def key(engine_type: str, expression: str, whole: bool) -> str:
    """A unit or join key in a form that is equal when the keys are: 64-bit integers, or canonical text."""
    if whole:
        return f"CAST({expression} AS BIGINT)"
    if re.fullmatch(r"DECIMAL\(\d+,0\)", engine_type):
        return f"CAST({expression} AS STRING)"
    if engine_type == _BINARY:
        return f"hex({expression})"
    if engine_type.startswith("DECIMAL") or kind_of(engine_type) is None:
        raise PolicyError(f"A unit or the key that leads to it cannot be a {engine_type}.")  # `spark_keys` says more
    if kind_of(engine_type) == "real":
        # Files hold whole numbers as doubles once one is missing: 7.0 is the same unit as 7.
        number = f"CAST({expression} AS DOUBLE)"
        is_whole = f"abs({number}) < {_TOO_FAR} AND {number} = CAST(floor({number}) AS DOUBLE)"
        return (
            f"CASE WHEN NOT {_finite(number)} THEN NULL WHEN {is_whole} "
            f"THEN CAST(floor({number}) AS STRING) ELSE CAST({number} AS STRING) END"
        )
    return f"CAST({expression} AS STRING)"


def _real(column: Column, value: str) -> str:
    lower, upper = column.grid_lower, column.grid_upper
    if lower is None or upper is None:
        raise PolicyError(f"Column {column.name!r}: a real column needs a range.")
    scaled = f"({value} * {spark.double(float(1 / column.step))})"
    lowest = spark.double(quoting.least_double_from(Fraction(column.lower)))  # type: ignore[arg-type]
    highest = spark.double(quoting.greatest_double_to(Fraction(column.upper)))  # type: ignore[arg-type]
    ranged = _between(value, lowest, highest, lower, upper, _rounded(scaled), column.outside)
    return f"CASE WHEN {_finite(value)} THEN {ranged} END"


def _between(value: str, lowest: str, highest: str, lower: int, upper: int, inside: str, outside: Outside) -> str:
    below, above = ("NULL", "NULL") if outside == "drop" else (spark.whole(lower), spark.whole(upper))
    return (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN {value} < {lowest} THEN {below} "
        f"WHEN {value} > {highest} THEN {above} ELSE {inside} END"
    )


def _whole_range(column: Column) -> tuple[int | None, int | None, Outside]:
    if column.bounded or column.kind == "integer":
        return column.grid_lower, column.grid_upper, column.outside
    # Days and times that Python's own calendar cannot hold could never be shown: they count as missing.
    if column.kind == "date":
        return _FIRST_DAY, _LAST_DAY, "drop"
    return _FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1, "drop"


def _listed_text(column: Column, value: str) -> str:
    if column.values is None:
        return f"substring({value}, 1, {LONGEST_TEXT:d})"  # one person's long text must not take longer than another's
    listed = ", ".join(spark.text(str(each)) for each in column.values)
    return f"CASE WHEN {value} IN ({listed}) THEN {value} END"


_INFINITE: Final = spark.double(float("inf"))
_TOO_FAR: Final = spark.double(2.0**63)
_FAR: Final = f"CAST('1{'0' * 37}' AS {spark.WIDE})"


def _finite(number: str) -> str:
    """False for NaN and the infinities; NULL for NULL."""
    return f"(NOT isnan({number}) AND abs({number}) < {_INFINITE} AND {number} IS NOT NULL)"


def _rounded(number: str) -> str:
    """The nearest whole number as BIGINT, halves upwards."""
    return f"floor({number}) + CASE WHEN {number} - CAST(floor({number}) AS DOUBLE) >= 0.5D THEN 1L ELSE 0L END"


def _integer(expression: str) -> str:
    return f"CAST({expression} AS BIGINT)"


def _whole_of_real(expression: str) -> str:
    number = _double(expression)
    return (
        f"CASE WHEN NOT {_finite(number)} THEN NULL WHEN {number} >= {_TOO_FAR} THEN {_FAR} "
        f"WHEN {number} < -{_TOO_FAR} THEN -{_FAR} ELSE CAST({_rounded(number)} AS {spark.WIDE}) END"
    )


def _whole_of_text(expression: str) -> str:
    return f"TRY_CAST({expression} AS {spark.WIDE})"


def _double(expression: str) -> str:
    return f"TRY_CAST({expression} AS DOUBLE)"


def _zero_or_one(expression: str) -> str:
    return f"CASE WHEN {expression} = 1 THEN 1L WHEN {expression} = 0 THEN 0L END"


def _truth(expression: str) -> str:
    return f"CASE WHEN TRY_CAST({expression} AS BOOLEAN) THEN 1L WHEN NOT TRY_CAST({expression} AS BOOLEAN) THEN 0L END"


def _days(expression: str) -> str:
    return f"CAST(unix_date(TRY_CAST({expression} AS DATE)) AS BIGINT)"


def _microseconds(expression: str) -> str:
    # Text without an offset, and a timestamp without a zone, are UTC: the session's zone.
    return f"unix_micros(TRY_CAST({expression} AS TIMESTAMP))"


def _microseconds_of_date(expression: str) -> str:
    # Multiplied here, on days that Python's calendar has: a cast of a day too far out would overflow.
    day = f"unix_date({expression})"
    return f"CASE WHEN {day} BETWEEN {_FIRST_DAY} AND {_LAST_DAY} THEN CAST({day} AS BIGINT) * {_DAY} END"


def _string(expression: str) -> str:
    # Bytes that are no UTF-8 would fail on their way out, which would tell that they are there.
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
