"""Dates and times on the grid: days, or microseconds, since 1970-01-01.

Promise: every function keeps the invariants of `value`. The engine's own calendar is asked only about dates between
the year 1 and 9999, where it cannot fail; a column without stated bounds is refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values.intervals import Interval
from tacit.plan.values.value import Number, bare, cast_to, enclosed, floor_division
from tacit.policy.dates import DAY, EPOCH, FIRST_DAY, LAST_DAY
from tacit.question.forms import ClockPart
from tacit.question.functions import DATE_PARTS

_MOST_POINTS = 2_000


def days(moment: datetime.date) -> int:
    """A date on the grid."""
    return (moment - EPOCH.date()).days


def microseconds(moment: datetime.datetime) -> int:
    """A time (UTC) on the grid."""
    return (moment - EPOCH) // datetime.timedelta(microseconds=1)


def calendar_date(day: int) -> datetime.date:
    """The date of a grid number."""
    return EPOCH.date() + datetime.timedelta(days=day)


def as_date(number: Number, function: str) -> Number:
    """A date, or the day of a time."""
    if number.meaning == "timestamp":
        sql, bounds, wide = floor_division(number, DAY)
        number = replace(number, sql=sql, bounds=bounds, wide=wide, meaning="date", points=None)
    if number.meaning != "date":
        raise QuestionError(f"{function} needs a date or a time. It was given a {number.meaning}.")
    if not number.stated or number.bounds.low < FIRST_DAY or number.bounds.high > LAST_DAY:
        raise QuestionError(f"{function} needs a date with bounds (years 1 to 9999) in the policy: date_between.")
    return number


def as_timestamp(number: Number) -> Number:
    """A time, or the midnight on which a date begins."""
    if number.meaning == "timestamp":
        return number
    dated = as_date(number, "A comparison of a date with a time")
    bounds = dated.bounds * Interval(DAY, DAY)
    sql = exp.Mul(this=enclosed(dated.sql), expression=bare(DAY))
    return replace(dated, sql=sql, bounds=bounds, meaning="timestamp", points=None)


def part(name: str, number: Number) -> Number:
    """The year, month, hour ... of a date or time."""
    form = DATE_PARTS[name]
    if isinstance(form, ClockPart):
        return _time_part(name, form, number)
    dated = as_date(number, name)
    sql = cast_to(exp.Extract(this=exp.Var(this=form.word), expression=engine_date(dated)), "BIGINT")
    first, last = (calendar_date(day).year for day in (dated.bounds.low, dated.bounds.high))
    least, most = first if form.least is None else form.least, last if form.most is None else form.most
    return Number(sql, Interval(least, most), nullable=number.nullable)


def _time_part(name: str, form: ClockPart, number: Number) -> Number:
    if number.meaning != "timestamp":
        raise QuestionError(f"{name} needs a time. It was given a {number.meaning}.")
    if not number.stated:
        raise QuestionError(f"{name} needs a time with bounds in the policy.")
    # moved by whole days so that it is not negative: then remainders and quotients are those of the clock
    lift = -(number.bounds.low // DAY) * DAY
    lifted = enclosed(exp.Add(this=enclosed(number.sql), expression=bare(lift)))
    whole = enclosed(exp.IntDiv(this=lifted, expression=bare(form.microseconds)))
    return Number(
        exp.Mod(this=whole, expression=bare(form.turns)), Interval(0, form.turns - 1), nullable=number.nullable
    )


def truncated(unit: str, number: Number) -> Number:
    """The first day of the year, quarter, month or week, or the day itself."""
    dated = as_date(number, "date_trunc")
    if unit == "day":
        return dated
    cut = cast_to(exp.TimestampTrunc(this=engine_date(dated), unit=exp.Var(this=unit.upper())), "DATE")
    sql = cast_to(exp.Sub(this=cut, expression=engine_epoch()), "BIGINT")
    points = _starts(unit, dated.bounds)
    bounds = Interval(_start(unit, dated.bounds.low), dated.bounds.high)
    return replace(dated, sql=sql, bounds=bounds, step=Fraction(1), points=points)


def _starts(unit: str, bounds: Interval) -> tuple[int, ...] | None:
    """Every value that cutting a day within bounds can give, where there are not too many."""
    longest = {"year": 366, "quarter": 92, "month": 31, "week": 7}[unit]
    if bounds.high - bounds.low > longest * _MOST_POINTS:
        return None
    starts = [_start(unit, bounds.low)]
    # the longest period from a first day on always ends within the next period
    while (following := starts[-1] + longest) <= LAST_DAY and _start(unit, following) <= bounds.high:
        starts.append(_start(unit, following))
    return tuple(starts)


def _start(unit: str, day: int) -> int:
    date = calendar_date(day)
    starts: Mapping[str, Callable[[], datetime.date]] = {
        "year": lambda: date.replace(month=1, day=1),
        "quarter": lambda: date.replace(month=3 * ((date.month - 1) // 3) + 1, day=1),
        "month": lambda: date.replace(day=1),
        "week": lambda: date - datetime.timedelta(days=date.weekday()),
    }
    return days(starts[unit]())


def engine_epoch() -> exp.Expr:
    """1970-01-01, as the engine's own date."""
    return cast_to(exp.Literal.string("1970-01-01"), "DATE")


def engine_date(number: Number) -> exp.Expr:
    """A date on the grid as the engine's own."""
    return enclosed(exp.Add(this=engine_epoch(), expression=cast_to(enclosed(number.sql), "INT")))
