"""Enclosures of what the rarer laws need: the four operations, square root, exp, ln, arctangent, cosine, pi.

Promise: an `Interval` holds every value that the written formula takes when each of its parts is anywhere inside its
own interval. Lower ends are rounded down and upper ends up, so no error analysis stands between a formula and its
enclosure; `decimal` rounds exp, ln and square roots correctly but always to nearest, so their ends move out by one
last digit more. The width shrinks as the number of digits grows, which is all that a settling loop needs.

Series stop where the terms alternate in sign and fall, so that what was left out is below the last term.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from tacit.noise.reals import Enclosure, LazyUniform, digits, power_of_ten

_ZERO, _ONE = Decimal(0), Decimal(1)


@lru_cache(maxsize=256)
def _rounding(precision: int) -> tuple[decimal.Context, decimal.Context]:
    """Contexts of this many digits that round down and up."""
    down, up = digits(precision), digits(precision)
    down.rounding, up.rounding = decimal.ROUND_FLOOR, decimal.ROUND_CEILING
    return down, up


@dataclass(frozen=True, slots=True)
class Interval:
    """All real numbers from `low` to `high`; operations round outward at `precision` digits."""

    low: Decimal
    high: Decimal
    precision: int

    @staticmethod
    def of(exact: Fraction | int, precision: int) -> Interval:
        """The rational, rounded outward."""
        down, up = _rounding(precision)
        numerator, denominator = Decimal(exact.numerator), Decimal(exact.denominator)
        return Interval(down.divide(numerator, denominator), up.divide(numerator, denominator), precision)

    @property
    def enclosure(self) -> Enclosure:
        return self.low, self.high

    def __neg__(self) -> Interval:
        # copy_negate, because the minus sign of a Decimal rounds to the 28 digits of the thread's own context
        return Interval(self.high.copy_negate(), self.low.copy_negate(), self.precision)

    def __add__(self, other: Interval) -> Interval:
        down, up = _rounding(self.precision)
        return Interval(down.add(self.low, other.low), up.add(self.high, other.high), self.precision)

    def __sub__(self, other: Interval) -> Interval:
        down, up = _rounding(self.precision)
        return Interval(down.subtract(self.low, other.high), up.subtract(self.high, other.low), self.precision)

    def __mul__(self, other: Interval) -> Interval:
        down, up = _rounding(self.precision)
        if self.low >= 0 and other.low >= 0:
            return Interval(down.multiply(self.low, other.low), up.multiply(self.high, other.high), self.precision)
        pairs = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(down.multiply(*p) for p in pairs), max(up.multiply(*p) for p in pairs), self.precision)

    def __truediv__(self, other: Interval) -> Interval:
        """The quotient; `other` must not touch zero."""
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError("an interval around zero cannot divide")
        down, up = _rounding(self.precision)
        if self.low >= 0 and other.low > 0:
            return Interval(down.divide(self.low, other.high), up.divide(self.high, other.low), self.precision)
        pairs = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(down.divide(*p) for p in pairs), max(up.divide(*p) for p in pairs), self.precision)

    def sqrt(self) -> Interval:
        """The square root of what is at least zero; rounding may have carried the lower end just below it."""
        down, up = _rounding(self.precision)
        low = down.next_minus(down.sqrt(self.low)) if self.low > 0 else _ZERO
        high = up.next_plus(up.sqrt(self.high)) if self.high > 0 else _ZERO
        return Interval(low, high, self.precision)

    def exp(self) -> Interval:
        """The exponential. Below 10**-(10 precision) it only says that it is so small: an end with a billion zeros
        would help no decision, and could not become a fraction.
        """
        down, up = _rounding(self.precision)
        out_of_sight = -24 * self.precision  # exp(-24) < 10**-10
        low = down.next_minus(down.exp(self.low)) if self.low > out_of_sight else _ZERO
        high = up.next_plus(up.exp(self.high)) if self.high > out_of_sight else power_of_ten(-10 * self.precision)
        return Interval(low, high, self.precision)

    def ln(self) -> Interval:
        """The logarithm of what is above zero; it is rounded to zero only where it is zero."""
        down, up = _rounding(self.precision)
        low, high = down.ln(self.low), up.ln(self.high)
        return Interval(down.next_minus(low) if low else low, up.next_plus(high) if high else high, self.precision)

    def power(self, exponent: int) -> Interval:
        """A whole power, of at least 0, by squaring."""
        result, factor = Interval.of(1, self.precision), self
        while exponent:
            if exponent & 1:
                result = result * factor
            factor = factor * factor
            exponent >>= 1
        return result

    def arctan(self) -> Interval:
        """The arctangent, which grows with its argument, and beyond low >= 0 by at most 1 / (1 + low**2) of it."""
        if self.low < 0:
            low, high = _arctan(self.low, self.precision), _arctan(self.high, self.precision)
            return Interval(low.low, high.high, self.precision)
        down, up = _rounding(self.precision)
        flatness = down.add(_ONE, down.multiply(self.low, self.low))
        growth = up.divide(up.subtract(self.high, self.low), flatness)
        return _arctan(self.low, self.precision) + Interval(_ZERO, growth, self.precision)


def _arctan(x: Decimal, precision: int) -> Interval:
    """arctan of one decimal: halve the angle until it is small, then the alternating series."""
    if x < 0:
        return -_arctan(x.copy_negate(), precision)
    one = Interval.of(1, precision)
    tangent = Interval(x, x, precision)
    halvings = 0
    while tangent.high > Decimal("0.05"):
        tangent = tangent / (one + (one + tangent * tangent).sqrt())
        halvings += 1
    square = tangent * tangent
    power, total = tangent, tangent
    smallest = power_of_ten(-precision)
    index = 1
    while True:
        power = power * square
        index += 2
        term = power / Interval.of(index, precision)
        total = total - term if index % 4 == 3 else total + term
        if term.high <= smallest:
            break
    return _with_rest(total, term.high) * Interval.of(1 << halvings, precision)


def _with_rest(total: Interval, rest: Decimal) -> Interval:
    """`total` give or take `rest`."""
    return total + Interval(rest.copy_negate(), rest, total.precision)


@lru_cache(maxsize=256)
def pi(precision: int) -> Interval:
    """pi = 16 arctan(1/5) - 4 arctan(1/239), in whole numbers of 10**-(precision + 10).

    Each of at most 0.72 (precision + 10) + 2 terms of a series is cut by less than 2.1 units, and its rest is below
    one: in all below 20 * (2.1 * (0.72 (precision + 10) + 2) + 1) units, which is below 100 (precision + 10).
    """
    places = precision + 10
    unit = 10**places
    value = 16 * _arctan_of_reciprocal(5, unit) - 4 * _arctan_of_reciprocal(239, unit)
    margin = 100 * places
    low = Interval.of(Fraction(value - margin, unit), precision)
    high = Interval.of(Fraction(value + margin, unit), precision)
    return Interval(low.low, high.high, precision)


def _arctan_of_reciprocal(n: int, unit: int) -> int:
    power = total = unit // n
    index = 1
    while power:
        power //= n * n
        index += 2
        term = power // index
        total += -term if index % 4 == 3 else term
    return total


def cos_of_half_turns(uniform: LazyUniform, precision: int) -> Interval:
    """cos(pi V) for a uniform V in [0, 1], as far as its known bits tell; it falls as V grows."""
    unit = 1 << uniform.known
    slow, fast = Fraction(uniform.numerator, unit), Fraction(uniform.numerator + 1, unit)
    return Interval(_cos_pi(fast, precision).low, _cos_pi(slow, precision).high, precision)


def _cos_pi(turns: Fraction, precision: int) -> Interval:
    """cos(pi * turns) for 0 <= turns <= 1. From the second term on the terms fall, as (pi/2)**2 < 3 * 4."""
    if 2 * turns > 1:
        return -_cos_pi(1 - turns, precision)
    angle = pi(precision) * Interval.of(turns, precision)
    square = angle * angle
    term = total = Interval.of(1, precision)
    smallest = power_of_ten(-precision)
    index = 0
    while index < 4 or term.high > smallest:
        index += 2
        term = term * square / Interval.of(index * (index - 1), precision)
        total = total - term if index % 4 == 2 else total + term
    return _with_rest(total, term.high)
