"""Curves (sqrt, ln, exp, ...) of a row's number, and width_bucket.

Promise: every function keeps the invariants of `value`. The engine computes the curve in floating point, of an argument
that was first clamped to where the curve is defined and finite, so it cannot fail; the result is rounded to a grid and
held to bounds in the query itself, so bounds hold whatever the engine's last digit is. Engines may differ by one unit
of that grid (2**-24, coarser only for large values): sensitivities do not depend on it. Outside its domain (the root of
a negative number, the logarithm of zero) a curve is NULL.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic
from tacit.plan.values.hints import top_here
from tacit.plan.values.intervals import Interval
from tacit.plan.values.value import Number, bare, cast_to, constant, enclosed, widened
from tacit.question.forms import Curve

_FINEST = 24
_MOST_BITS = 52  # whole numbers up to 2**53 are exact in floating point
_MOST_BUCKETS = 10_000
_FIRST = {"every number": None, "from zero": 0, "above zero": 1}
"""The first place of a grid at which a curve has a value."""


def curved(function: str, curve: Curve, number: Number) -> Number:
    """The curve of a row's number; NULL outside its domain."""
    try:
        _check_size(function, curve, number)
        first = _FIRST[curve.domain]
        places = (end if first is None else max(end, first) for end in (number.bounds.low, number.bounds.high))
        low, high = (_at(curve, place, number.step) for place in places)
        return _on_grid(number, _taken(curve, number), low, high, least=first)
    except OverflowError:  # of the public bounds, before anything is asked
        raise QuestionError(
            f"{function} is asked of numbers beyond what a float can hold. Use narrower bounds."
        ) from None


def _check_size(function: str, curve: Curve, number: Number) -> None:
    if curve.most is None:
        return
    _, high = (float(end * number.step) for end in (number.bounds.low, number.bounds.high))
    if high > curve.most:
        raise QuestionError(
            f"{function} is understood of numbers up to {curve.most}, and this one can be {high:,.6g}. "
            f"Use {top_here(curve.most)}, or narrower bounds."
        )


def _at(curve: Curve, place: int, step: Fraction) -> float:
    """The curve at a place of the grid."""
    if curve.step == "added":  # each by itself may be too large or small for a float
        return curve.of(Fraction(place)) + curve.of(step)
    number = float(place * step)
    return curve.of(number if curve.flat is None else max(number, float(curve.flat)))


def _taken(curve: Curve, number: Number) -> exp.Expr:
    """The curve as the engine computes it, of an argument that it cannot fail on."""
    inside = _double(_held(curve, number))
    if curve.step == "inside":
        return curve.node(this=exp.Mul(this=inside, expression=_real(float(number.step))))
    of_step = _real(curve.of(number.step))
    if curve.step == "multiplied":
        return exp.Mul(this=curve.node(this=inside), expression=of_step)
    return exp.Add(this=exp.Mul(this=curve.node(this=inside), expression=_real(curve.times)), expression=of_step)


def _held(curve: Curve, number: Number) -> exp.Expr:
    """The number, held to where the curve is defined and moves."""
    first = _FIRST[curve.domain]
    if first is not None:
        return _at_least(number, first)
    if curve.flat is None:
        return number.sql
    # never below its own bounds: a constant beyond them could be one that the engine cannot hold
    floor = max(math.ceil(curve.flat / number.step), number.bounds.low)
    return _at_least(number, floor, number.bounds.high)


def _on_grid(number: Number, value: exp.Expr, low: float, high: float, *, least: int | None) -> Number:
    """The value rounded to a grid and held to its bounds; NULL where the number is NULL or below `least`."""
    size = max(abs(low), abs(high), 1.0)
    # negative for large values, so that every end is below 2**51: exact as a float, and far from the end of a BIGINT
    bits = min(_FINEST, _MOST_BITS - math.frexp(size)[1] - 2)
    unit = 2.0**bits
    # one unit outwards, because the floating-point logarithm or root of an end may be off in its last digit
    bounds = Interval(math.floor(low * unit) - 1, math.ceil(high * unit) + 1)
    if low >= 0:
        bounds = Interval(max(bounds.low, 0), bounds.high)
    scaled = exp.Mul(this=exp.paren(value), expression=_real(unit))
    nearest = exp.Floor(this=exp.Add(this=scaled, expression=_real(0.5)))
    topped = exp.Least(this=nearest, expressions=[_real(float(bounds.high))], ignore_nulls=True)
    held = exp.Greatest(this=topped, expressions=[_real(float(bounds.low))], ignore_nulls=True)
    sql = cast_to(held, "BIGINT")
    leaves_out = least is not None and number.bounds.low < least
    if leaves_out:
        sql = exp.Case().when(exp.GTE(this=enclosed(number.sql), expression=bare(least or 0)), sql)
    elif number.nullable:
        sql = exp.Case().when(exp.Not(this=exp.Is(this=enclosed(number.sql), expression=exp.Null())), sql)
    return Number(
        sql,
        bounds,
        Fraction(2) ** -bits,
        nullable=number.nullable or leaves_out,
        rounded=True,
        stated=number.stated,
    )


def _at_least(number: Number, low: int, high: int | None = None) -> exp.Expr:
    """The number, clamped from below (and above). NULL becomes a number too; the caller's CASE restores it."""
    held = number.sql
    if high is not None:
        held = exp.Least(this=held, expressions=[_whole(number, high)], ignore_nulls=True)
    return exp.Greatest(this=held, expressions=[_whole(number, low)], ignore_nulls=True)


def _whole(number: Number, value: int) -> exp.Expr:
    return widened(constant(value)) if number.wide else constant(value).sql


def _double(sql: exp.Expr) -> exp.Expr:
    return cast_to(sql, "DOUBLE")


def _real(value: float) -> exp.Expr:
    number = exp.Literal.number(repr(abs(value)))
    return cast_to(exp.Neg(this=number) if value < 0 else number, "DOUBLE")


def width_bucket(number: Number, low: Number, high: Number, count: Number) -> Number:
    """The place of a number among `count` equal buckets from low to high: 0 below them, count + 1 from high on."""
    first, last, many = (_constant(each) for each in (low, high, count))
    if first is None or last is None or many is None or first >= last:
        raise QuestionError("width_bucket(x, low, high, n) needs constants, with low below high.")
    if many.denominator != 1 or not 1 <= many <= _MOST_BUCKETS:
        raise QuestionError(f"width_bucket needs a whole number of buckets from 1 to {_MOST_BUCKETS:,}.")
    rate = many / (last - first)
    place = arithmetic.multiply(
        arithmetic.subtract(number, low), constant(rate.numerator, Fraction(1, rate.denominator))
    )
    found = arithmetic.add(arithmetic.whole_floor(place), constant(1))
    top = int(many) + 1
    bounds = Interval(*(min(max(end, 0), top) for end in (found.bounds.low, found.bounds.high)))
    topped = exp.Least(this=found.sql, expressions=[_whole(found, top)], ignore_nulls=True)
    held: exp.Expr = exp.Greatest(this=topped, expressions=[_whole(found, 0)], ignore_nulls=True)
    if found.wide:
        held = cast_to(held, "BIGINT")
    if number.nullable:
        held = exp.Case().when(exp.Not(this=exp.Is(this=enclosed(number.sql), expression=exp.Null())), held)
    # a number without stated bounds has a place among the buckets too
    return replace(found, sql=held, bounds=bounds, step=Fraction(1), wide=False, rounded=False, stated=True)


def _constant(number: Number) -> Fraction | None:
    return None if number.constant is None else number.constant * number.step
