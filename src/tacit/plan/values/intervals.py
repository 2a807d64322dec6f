"""Exact intervals of whole numbers: between which bounds the value of an expression lies on every row.

Promise: if every operand lies in its interval, the result of the operation lies in the interval returned, for every
choice of values. All arithmetic is on Python's integers; rounding is always outwards, and nothing can fail.
Theorem used throughout: an operation that is monotone in each argument takes its least and greatest value at corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """The whole numbers from low to high, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        assert self.low <= self.high

    @property
    def size(self) -> int:
        """The largest distance from zero."""
        return max(abs(self.low), abs(self.high))

    @property
    def middle(self) -> int:
        """A whole number in the middle: no value is further away than half the width, rounded up."""
        return (self.low + self.high) // 2

    def contains(self, value: int) -> bool:
        """Whether the value lies inside."""
        return self.low <= value <= self.high

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    def square(self) -> Interval:
        """x * x for one x."""
        ends = (self.low * self.low, self.high * self.high)
        return Interval(0 if self.contains(0) else min(ends), max(ends))

    def absolute(self) -> Interval:
        """|x|."""
        return Interval(0 if self.contains(0) else min(abs(self.low), abs(self.high)), self.size)

    def hull(self, other: Interval) -> Interval:
        """The least interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def smaller(self, other: Interval) -> Interval:
        """min(a, b)."""
        return Interval(min(self.low, other.low), min(self.high, other.high))

    def larger(self, other: Interval) -> Interval:
        """max(a, b)."""
        return Interval(max(self.low, other.low), max(self.high, other.high))

    def floor_quotient(self, divisor: int) -> Interval:
        """floor(x / divisor) for a divisor above zero."""
        return Interval(self.low // divisor, self.high // divisor)

    def truncated_quotient(self, other: Interval) -> Interval:
        """x / y without its fraction, for y other than zero; y = 0 gives NULL, which has no bounds."""
        parts = [part for part in (_cut(other, None, -1), _cut(other, 1, None)) if part is not None]
        corners = [truncate(x, y) for x in (self.low, self.high) for part in parts for y in (part.low, part.high)]
        return Interval(min(corners), max(corners)) if corners else Interval(0, 0)

    def remainder(self, other: Interval) -> Interval:
        """x - y * truncate(x / y) for y other than zero: of the sign of x, and smaller than x or y in size."""
        most = min(self.size, max(other.size - 1, 0))
        return Interval(-most if self.low < 0 else 0, most if self.high > 0 else 0)


def truncate(dividend: int, divisor: int) -> int:
    """The quotient without its fraction, as engines divide whole numbers."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _cut(interval: Interval, low: int | None, high: int | None) -> Interval | None:
    bottom = interval.low if low is None else max(interval.low, low)
    top = interval.high if high is None else min(interval.high, high)
    return Interval(bottom, top) if bottom <= top else None


def common_step(left: Fraction, right: Fraction) -> Fraction:
    """The largest step of which both are whole multiples."""
    from math import gcd

    bottom = left.denominator * right.denominator // gcd(left.denominator, right.denominator)
    return Fraction(gcd(int(left * bottom), int(right * bottom)), bottom)
