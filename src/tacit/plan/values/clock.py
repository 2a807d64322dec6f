"""Dates and times moved, cut and compared: intervals, date_diff, date_trunc to an hour, epoch, last_day, strftime.

Promise: every function keeps the invariants of `value`. Days, weeks and clock units are whole numbers on the grid;
months are added by the engine's calendar, where the day is held to the length of its month on every engine, and only
where every result lies in the years 1 to 9999. Adding months never turns a later day into an earlier one, so bounds are
mapped to bounds.
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic
from tacit.plan.values.dates import (
    as_date,
    as_timestamp,
    calendar_date,
    days,
    engine_date,
    engine_epoch,
    part,
    truncated,
)
from tacit.plan.values.intervals import Interval
from tacit.plan.values.value import Number, bare, cast_to, constant, floor_division
from tacit.policy.dates import DAY

CLOCK: Mapping[str, int] = MappingProxyType(
    {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1_000, "microsecond": 1}
)
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_FARTHEST = 10_000 * 366
_MOST_POINTS = 2_000


def shifted(number: Number, amount: int, unit: str) -> Number:
    """A date or time, this many units later (or earlier)."""
    user = "An interval"
    if number.meaning not in ("date", "timestamp"):
        raise QuestionError(f"An interval goes with a date or a time, and a {number.meaning} was found.")
    if unit in CLOCK:
        return _timed(_moved(_timed(as_timestamp(number)), amount * CLOCK[unit]))
    if abs(amount) * (_MONTHS.get(unit, 0) * 31 or _DAYS[unit]) > _FARTHEST:
        raise QuestionError(f"An interval of {amount} {unit}s leads out of the years 1 to 9999.")
    if unit in _DAYS:
        if number.meaning == "timestamp":
            return _timed(_moved(_timed(number), amount * _DAYS[unit] * DAY))
        return as_date(_moved(as_date(number, user), amount * _DAYS[unit]), user)
    if number.meaning == "date":
        return _months_later(as_date(number, user), amount * _MONTHS[unit])
    day = as_date(number, user)
    sql, _, wide = floor_division(number, DAY)
    midnight = Number(sql, day.bounds, Fraction(DAY), nullable=number.nullable, wide=wide)
    clock = replace(
        arithmetic.subtract(replace(number, meaning="number"), midnight), bounds=Interval(0, DAY - 1), points=None
    )
    later = as_timestamp(_months_later(day, amount * _MONTHS[unit]))
    return replace(arithmetic.add(replace(later, meaning="number"), clock), meaning="timestamp")


def _timed(number: Number) -> Number:
    """The time itself, refused where its day may lie outside the years 1 to 9999."""
    as_date(number, "An interval")
    return number


def _moved(number: Number, amount: int) -> Number:
    """The number itself, this many grid units later."""
    points = None if number.points is None else tuple(point + amount for point in number.points)
    return replace(arithmetic.add(number, constant(amount)), meaning=number.meaning, points=points)


def _months_later(dated: Number, months: int) -> Number:
    try:
        low, high = (days(add_months(calendar_date(end), months)) for end in (dated.bounds.low, dated.bounds.high))
    except ValueError:
        raise QuestionError("An interval leads out of the years 1 to 9999.") from None
    interval = exp.Interval(this=exp.Literal.number(abs(months)), unit=exp.Var(this="MONTH"))
    later = (exp.Sub if months < 0 else exp.Add)(this=engine_date(dated), expression=interval)
    sql = cast_to(exp.Sub(this=cast_to(later, "DATE"), expression=engine_epoch()), "BIGINT")
    points = dated.points
    if points is not None:
        points = tuple(sorted({days(add_months(calendar_date(point), months)) for point in points}))
    return replace(dated, sql=sql, bounds=Interval(low, high), points=points)


def add_months(date: datetime.date, months: int) -> datetime.date:
    """The same day of another month, or its last day where it has no such day."""
    year, month = divmod(12 * date.year + date.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise ValueError("no such year")
    return date.replace(year=year, month=month + 1, day=min(date.day, calendar.monthrange(year, month + 1)[1]))


def last_day(number: Number) -> Number:
    """The last day of the month."""
    return _moved(_months_later(truncated("month", number), 1), -1)


def difference(unit: str, start: Number, end: Number) -> Number:
    """How many boundaries of the unit (midnights, firsts of a month, ...) lie between two moments."""
    if unit in CLOCK:
        return arithmetic.subtract(_turns(end, CLOCK[unit]), _turns(start, CLOCK[unit]))
    if unit == "day":
        return arithmetic.subtract(_plain_day(end), _plain_day(start))
    if unit in ("month", "quarter", "year"):
        return arithmetic.subtract(_periods(unit, end), _periods(unit, start))
    advice = "For weeks, take the days // 7, or (date_trunc('week', b) - date_trunc('week', a)) // 7."
    raise QuestionError(f"date_diff in {unit}s is not understood: engines count them differently. {advice}")


def _turns(number: Number, unit: int) -> Number:
    timed = as_timestamp(number)
    as_date(timed, "date_diff or date_trunc to a unit of the clock")
    sql, bounds, wide = floor_division(timed, unit)
    return Number(sql, bounds, nullable=number.nullable, wide=wide)


def _plain_day(number: Number) -> Number:
    return replace(as_date(number, "date_diff"), meaning="number", points=None)


def _periods(unit: str, number: Number) -> Number:
    """The month (quarter, year) as a number that grows by one from each to the next."""
    year = part("year", number)
    if unit == "year":
        return year
    count = 12 if unit == "month" else 4
    found = arithmetic.add(_times(year, count), part(unit, number))
    low, high = (calendar_date(end) for end in (as_date(number, unit).bounds.low, as_date(number, unit).bounds.high))
    first, last = (count * day.year + (day.month - 1) // (12 // count) + 1 for day in (low, high))
    return replace(found, bounds=Interval(first, last))


def _times(number: Number, factor: int) -> Number:
    """Multiplied on the grid itself."""
    product = exp.Mul(this=number.sql, expression=bare(factor))
    return replace(number, sql=product, bounds=number.bounds * Interval(factor, factor))


def truncated_time(unit: str, number: Number) -> Number:
    """The beginning of the hour, minute or second."""
    length = CLOCK[unit]
    turns = _turns(number, length)
    bounds = turns.bounds * Interval(length, length)
    sql = exp.Mul(this=exp.paren(turns.sql), expression=bare(length))
    points = None
    if turns.bounds.high - turns.bounds.low < _MOST_POINTS:
        points = tuple(length * turn for turn in range(turns.bounds.low, turns.bounds.high + 1))
    return Number(sql, bounds, meaning="timestamp", nullable=number.nullable, points=points)


def epoch(number: Number) -> Number:
    """Seconds since 1970-01-01."""
    if number.meaning == "timestamp":
        return replace(number, step=Fraction(1, 1_000_000), meaning="number", points=None)
    if number.meaning == "date":
        return replace(number, step=Fraction(86_400), meaning="number", points=None)
    raise QuestionError(f"epoch needs a date or a time. It was given a {number.meaning}.")
