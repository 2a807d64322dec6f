"""Dates and times in PostgreSQL's words: days, or microseconds, since 1970-01-01, of every value a column can hold.

Promise: total. 'infinity' is NULL. A time later than the year 100000 counts as that year, and a day beyond the 100
millionth as that one: both are beyond every bound, and their microseconds would not fit 64 bits. Text is read as
`2024-02-29`, optionally with a time after a blank or a T, a fraction, and Z or an offset; without one it is UTC.
Anything else, and days that are not in the calendar, are NULL.
"""

# ruff: noqa: S608  # this is where SQL is written; expressions come from `postgres.cleaning`

from __future__ import annotations

from typing import Final

from tacit.policy.dates import DAY

_EPOCH: Final = "DATE '1970-01-01'"
_MOMENT: Final = (
    "'^ *([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})"
    "(?:[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:[.]([0-9]{1,9}))?)?"
    "(?: ?(?:Z|UTC)|([+-])([0-9]{2}):?([0-9]{2})?)?)? *$'"
)


def days_of_date(expression: str, _: str) -> str:
    """A date's day."""
    return f"CASE WHEN isfinite({expression}) THEN CAST({expression} - {_EPOCH} AS BIGINT) END"


def days_of_timestamp(expression: str, engine_type: str) -> str:
    """The day of a time, in UTC."""
    day = f"CAST({_in_utc(expression, engine_type)} AS DATE)"
    return f"CASE WHEN isfinite({expression}) THEN CAST({day} - {_EPOCH} AS BIGINT) END"


def days_of_text(expression: str, _: str) -> str:
    """The day written in a text."""
    return f"(SELECT CASE WHEN {_IN_CALENDAR} THEN {_DAYS} END FROM {_parts(expression)})"


def micros_of_timestamp(expression: str, engine_type: str) -> str:
    """The microseconds of a time; the server's own seconds are exact decimals."""
    moment = f"least({_in_utc(expression, engine_type)}, TIMESTAMP '100000-01-01')"
    return f"CASE WHEN isfinite({expression}) THEN CAST(extract(epoch FROM {moment}) * 1000000 AS BIGINT) END"


def micros_of_date(expression: str, _: str) -> str:
    """The midnight on which a date begins."""
    day = f"CAST(least(greatest({expression} - {_EPOCH}, -100000000), 100000000) AS BIGINT)"
    return f"CASE WHEN isfinite({expression}) THEN {day} * {DAY} END"


def micros_of_text(expression: str, _: str) -> str:
    """The time written in a text."""
    seconds = "hour * 3600 + minute * 60 + second - zone * (zone_hour * 3600 + zone_minute * 60)"
    micros = f"{_DAYS} * {DAY} + CAST({seconds} AS BIGINT) * 1000000 + micro"
    return f"(SELECT CASE WHEN {_IN_CALENDAR} THEN {micros} END FROM {_parts(expression)})"


def _in_utc(expression: str, engine_type: str) -> str:
    return f"({expression} AT TIME ZONE 'UTC')" if engine_type == "TIMESTAMP WITH TIME ZONE" else expression


_LEAP: Final = "year % 4 = 0 AND (year % 100 <> 0 OR year % 400 = 0)"
_LENGTH: Final = f"CASE WHEN month IN (4, 6, 9, 11) THEN 30 WHEN month <> 2 THEN 31 WHEN {_LEAP} THEN 29 ELSE 28 END"
_ON_CLOCK: Final = "hour < 24 AND minute < 60 AND second < 60 AND zone_hour < 16 AND zone_minute < 60"
_IN_CALENDAR: Final = f"year >= 1 AND month BETWEEN 1 AND 12 AND day BETWEEN 1 AND {_LENGTH} AND {_ON_CLOCK}"
_DAYS: Final = f"CAST(make_date(year, month, day) - {_EPOCH} AS BIGINT)"


def _parts(expression: str) -> str:
    """The numbers in a text as columns of one row, NULL where it is not a date; the pattern makes each fit its type."""
    places = {"year": 1, "month": 2, "day": 3}
    later = {"hour": 4, "minute": 5, "second": 6, "zone_hour": 9, "zone_minute": 10}
    columns = [f"CAST(part[{place}] AS INTEGER) AS {name}" for name, place in places.items()]
    columns += [f"coalesce(CAST(part[{place}] AS INTEGER), 0) AS {name}" for name, place in later.items()]
    columns.append("CAST(rpad(left(coalesce(part[7], ''), 6), 6, '0') AS BIGINT) AS micro")
    columns.append("CASE part[8] WHEN '-' THEN -1 ELSE 1 END AS zone")
    written = f'CAST({expression} AS TEXT) COLLATE pg_catalog."C"'  # under its own collation a pattern may not work
    matched = f"SELECT regexp_match({written}, {_MOMENT}) AS part"
    return f"(SELECT {', '.join(columns)} FROM ({matched}) AS tacit_matched) AS tacit_parts"
