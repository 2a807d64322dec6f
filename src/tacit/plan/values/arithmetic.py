"""Arithmetic and comparisons on grid numbers, exact and total.

Promise: every function keeps the invariants of `value`. Dividing by zero gives NULL; what could overflow is computed
in HUGEINT, and refused while planning where even that could.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from types import MappingProxyType

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values.intervals import Interval, common_step
from tacit.plan.values.value import (
    Number,
    Truth,
    bare,
    cast_to,
    combined,
    constant,
    enclosed,
    floor_division,
    operands,
    scaled,
    widened,
)

_QUOTIENT_BITS = 60
_MOST_FRACTION_BITS = 24
COMPARISONS: Mapping[str, type[exp.Expr]] = MappingProxyType(
    {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
)
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def negate(number: Number) -> Number:
    """-x."""
    if number.constant is not None:
        return constant(-number.constant, number.step)
    bounds = -number.bounds
    (sql,), wide = operands(bounds, number)
    return combined(exp.Neg(this=sql), bounds, number, step=number.step, wide=wide)


def common(left: Number, right: Number) -> tuple[Number, Number]:
    """Both on one grid."""
    step = common_step(left.step, right.step)
    return scaled(left, int(left.step / step)), scaled(right, int(right.step / step))


def add(left: Number, right: Number) -> Number:
    """x + y."""
    left, right = common(left, right)
    bounds = left.bounds + right.bounds
    (a, b), wide = operands(bounds, left, right)
    return combined(exp.Add(this=a, expression=b), bounds, left, right, step=left.step, wide=wide)


def subtract(left: Number, right: Number) -> Number:
    """x - y."""
    left, right = common(left, right)
    bounds = left.bounds - right.bounds
    (a, b), wide = operands(bounds, left, right)
    return combined(exp.Sub(this=a, expression=b), bounds, left, right, step=left.step, wide=wide)


def multiply(left: Number, right: Number) -> Number:
    """x * y. A constant changes the step only: the whole numbers stay as they are."""
    if left.constant is not None and right.constant is None:
        left, right = right, left
    if right.constant:
        factor = right.constant * right.step
        signed = negate(left) if factor < 0 else left
        return replace(signed, step=signed.step * abs(factor), meaning="number")
    bounds = left.bounds * right.bounds
    (a, b), wide = operands(bounds, left, right)
    return combined(exp.Mul(this=a, expression=b), bounds, left, right, step=left.step * right.step, wide=wide)


def divide(left: Number, right: Number) -> Number:
    """x / y, NULL where y is zero. By a constant it is exact; otherwise cut to a grid of the left side's fineness."""
    if right.constant is not None:
        if right.constant == 0:
            raise QuestionError("The question divides by the constant 0.")
        inverse = 1 / (right.constant * right.step)
        return multiply(left, constant(inverse.numerator, Fraction(1, inverse.denominator)))
    room = _QUOTIENT_BITS - left.bounds.size.bit_length()
    fine = scaled(left, 1 << max(0, min(room, _MOST_FRACTION_BITS)))
    return replace(_quotient(fine, right, fine.step / right.step), rounded=True)


def whole_divide(left: Number, right: Number) -> Number:
    """x / y without its fraction, NULL where y is zero."""
    left, right = common(left, right)
    return _quotient(left, right, Fraction(1))


def _quotient(left: Number, right: Number, step: Fraction) -> Number:
    bounds = left.bounds.truncated_quotient(right.bounds)
    (a, b), wide = operands(bounds.hull(left.bounds), left, right)
    sql = _unless_zero(right, exp.IntDiv(this=a, expression=b))
    found = combined(sql, bounds, left, right, step=step, wide=wide)
    return replace(found, nullable=found.nullable or right.bounds.contains(0))


def remainder(left: Number, right: Number) -> Number:
    """The remainder of x divided by y, with the sign of x; NULL where y is zero."""
    left, right = common(left, right)
    bounds = left.bounds.remainder(right.bounds)
    (a, b), wide = operands(bounds.hull(left.bounds), left, right)
    sql = _unless_zero(right, exp.Mod(this=a, expression=b))
    found = combined(sql, bounds, left, right, step=left.step, wide=wide)
    return replace(found, nullable=found.nullable or right.bounds.contains(0))


def _unless_zero(divisor: Number, quotient: exp.Expr) -> exp.Expr:
    if not divisor.bounds.contains(0):
        return quotient
    # a NULL divisor also fails the comparison, and the result should then be NULL
    return exp.Case().when(exp.NEQ(this=enclosed(divisor.sql), expression=bare(0)), quotient)


OPERATIONS: Mapping[str, Callable[[Number, Number], Number]] = MappingProxyType(
    {"+": add, "-": subtract, "*": multiply, "/": divide, "//": whole_divide, "%": remainder}
)


def whole_floor(number: Number) -> Number:
    """floor(x)."""
    if number.step.denominator == 1:
        return replace(number, meaning="number", rounded=False)
    sql, bounds, wide = floor_division(scaled(number, number.step.numerator), number.step.denominator)
    found = combined(sql, bounds, number, step=Fraction(1), wide=wide)
    return replace(found, rounded=False)


def whole_part(number: Number) -> Number:
    """x without its fraction."""
    if number.step.denominator == 1:
        return whole_floor(number)
    fine = scaled(number, number.step.numerator)
    one = constant(fine.step.denominator, fine.step)
    return replace(_quotient(fine, one, Fraction(1)), rounded=False)


def whole_ceil(number: Number) -> Number:
    """ceil(x) = -floor(-x)."""
    return negate(whole_floor(negate(number))) if number.step.denominator != 1 else whole_floor(number)


def rounded_to(number: Number, decimals: int) -> Number:
    """The nearest multiple of 10**-decimals, halves upwards."""
    unit = Fraction(1, 10**decimals) if decimals >= 0 else Fraction(10**-decimals)
    if (number.step / unit).denominator == 1:
        return number
    half = constant(1, Fraction(1, 2))
    found = whole_floor(add(replace(number, step=number.step / unit), half))
    return replace(found, step=unit * found.step)


def absolute(number: Number) -> Number:
    """|x|. An engine's abs fails on the least integer only, which is outside every type's bounds here."""
    bounds = number.bounds.absolute()
    (sql,), wide = operands(bounds, number)
    return combined(exp.Abs(this=sql), bounds, number, step=number.step, wide=wide)


def sign(number: Number) -> Number:
    """-1, 0 or 1."""
    sql = cast_to(exp.Sign(this=number.sql), "BIGINT")
    return combined(sql, Interval(-1, 1), number, step=Fraction(1), wide=False)


def compare(op: str, left: Number, right: Number) -> Truth:
    """left op right, NULL where either is."""
    if left.constant is not None and right.constant is None:
        left, right, op = right, left, MIRRORED[op]
    if right.constant is not None:
        return _against_constant(op, left, right.constant * right.step)
    left, right = common(left, right)
    a, b = beside(left, right)
    return Truth(COMPARISONS[op](this=a, expression=b), left.nullable or right.nullable)


def beside(left: Number, right: Number) -> tuple[exp.Expr, exp.Expr]:
    """Two numbers on one grid, in one type: comparing them cannot overflow, so none is widened needlessly."""
    if left.wide == right.wide:
        return enclosed(left.sql), enclosed(right.sql)
    return enclosed(widened(left)), enclosed(widened(right))


def _against_constant(op: str, left: Number, exact: Fraction) -> Truth:
    """A comparison of whole numbers: the constant is moved to the grid, so no row is multiplied."""
    place = exact / left.step
    if left.rounded:
        place = Fraction(floor(place + Fraction(1, 2)))
    sql = enclosed(left.sql)
    if place.denominator != 1 and op in ("=", "<>"):
        never = exp.NEQ(this=sql, expression=sql.copy())  # false on every value, NULL on NULL
        return Truth(never if op == "=" else exp.EQ(this=sql, expression=sql.copy()), left.nullable)
    edge = {"<": ceil, ">=": ceil}.get(op, floor)(place)
    edge = min(max(edge, left.bounds.low - 1), left.bounds.high + 1)  # beyond the bounds nothing changes
    return Truth(COMPARISONS[op](this=sql, expression=bare(edge)), left.nullable)
