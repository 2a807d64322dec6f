"""Real values on a power-of-two grid, so that noise is added to whole numbers and never to floats.

A real x stands for the grid point R(x) = floor(x/g + 1/2) in units of the step g = 2**exponent. The grid is chosen from
public parameters alone. Rounding costs sensitivity, which is accounted for:

Theorem. Let x, y be vectors of d reals, a_i = |x_i - y_i|.
  L1: if sum a_i <= S then sum |R(x_i) - R(y_i)| <= ceil(S/g) + d - 1.
  L2: if sum a_i**2 <= S**2 then the L2 distance of R(x), R(y) is at most S/g + sqrt(d); for d = 1, at most ceil(S/g).
Proof. R is monotone and R(x + m g) = R(x) + m for whole m; hence |R(x_i) - R(y_i)| <= ceil(a_i/g). For L1,
ceil(t) < t + 1, so the sum is a whole number below S/g + d, or at most ceil(S/g) + d - 1. For L2, ceil(t) <= t + 1, and
the vector of the a_i/g + 1 has length at most that of a/g plus that of (1, ..., 1).

R is computed exactly. Dividing a float by a power of two only moves its exponent (below the smallest float it rounds,
to something that is still far from 1/2). For a float y, floor(y) is exact, and the rounded difference y - floor(y) is
at least 1/2 exactly when the true one is: rounding is monotone and keeps 1/2. So no float error reaches a decision.

How values are read: NaN is 0; an infinity is the largest float of its sign. In arrays grid points are clamped to
[-2**62, 2**62], which moves two points no further apart, so sensitivity is kept; one Python number is not clamped. A
caller's sensitivity speaks of values read this way. No value raises an error.

What leaves is float64, always a multiple of g: whole numbers up to 2**53 times a power of two are floats, and larger
ones are rounded to the nearest float, again a multiple of g. That rounding sees only the noisy whole number, so it is
post-processing. Whatever the input, outputs lie on the same points: float artefacts tell nothing.
"""

from __future__ import annotations

import math
import numbers
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss.numbers.rounding import float_up, sqrt_up
from tacit.mechanisms.base import Draw
from tacit.mechanisms.whole_numbers import WholeNumbers, as_array, check_size, integers, saturating_sum

_LEAST_EXPONENT, _LARGEST_EXPONENT = -1000, 900
_FINENESS = 20  # default: the step is at least 2**20 times finer than the sensitivity, for each coordinate
_LIMIT = 1 << 62
_READABLE = "real numbers: integers, or floats of at most 64 bits"
_CONVERT = "Convert them to float64 first; the sensitivity speaks of the converted values."


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of 2**exponent, for at most `size` real numbers."""

    exponent: int
    size: int = 1

    def __post_init__(self) -> None:
        if not _LEAST_EXPONENT <= self.exponent <= _LARGEST_EXPONENT:
            allowed = f"a power of two from 2**{_LEAST_EXPONENT} to 2**{_LARGEST_EXPONENT}"
            hint = "Without a grid one is chosen a million times finer than the sensitivity."
            raise parameters.refuse("grid", allowed, f"2**{self.exponent}", hint)

    @property
    def unit(self) -> Fraction:
        """The step g."""
        return Fraction(2) ** self.exponent

    def taxicab(self, sensitivity: Fraction) -> int:
        """L1 sensitivity in units of g."""
        return math.ceil(sensitivity / self.unit) + self.size - 1

    def euclidean(self, sensitivity: Fraction) -> Fraction:
        """L2 sensitivity in units of g, rounded up to a rational."""
        if self.size == 1:
            return Fraction(math.ceil(sensitivity / self.unit))
        return sensitivity / self.unit + sqrt_up(Fraction(self.size))

    def for_euclidean(self, units: Fraction, size: int) -> Grid:
        """This grid: rounding may move every coordinate, so the declared size always binds."""
        return self

    def error(self, units: int) -> float:
        """An error of the noise as one of the released number: the rounding of the value, half a step, is added."""
        return float_up((units + Fraction(1, 2)) * self.unit)

    def release(self, values: Any, draw: Draw) -> Any:
        """`values` on the grid, plus noise, as floats."""
        if isinstance(values, numbers.Number):
            return self._real(self._point(values) + draw(None))
        points = self.points(values)
        check_size(points.size, self.size)
        noisy = saturating_sum(points, draw(points.size).reshape(points.shape))
        return np.ldexp(noisy.astype(np.float64), self.exponent)

    def points(self, values: Any) -> NDArray[np.int64]:
        """R of every value, clamped."""
        array = as_array(values)
        if array.dtype == object:
            exact = [min(max(self._point(item), -_LIMIT), _LIMIT) for item in array.flat]
            return np.array(exact, dtype=np.int64).reshape(array.shape)
        if array.dtype.kind in "iu":
            return _points_of_integers(integers(array), self.exponent)
        if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
            with np.errstate(all="ignore"):  # a signalling NaN is no reason to warn
                return _points_of_floats(array.astype(np.float64), self.exponent)
        raise parameters.refuse("values", _READABLE, f"values of type {array.dtype}", _CONVERT)

    def _point(self, value: object) -> int:
        """R of one number of any size, in Python integers."""
        top, bottom = _in_steps(value, self.exponent)
        return (2 * top + bottom) // (2 * bottom)

    def _real(self, point: int) -> float:
        """point * g, rounded to the nearest float (to the last one where it lies beyond)."""
        try:
            return point / (1 << -self.exponent) if self.exponent < 0 else float(point << self.exponent)
        except OverflowError:
            return sys.float_info.max if point > 0 else -sys.float_info.max


def lattice(sensitivity: object, size: int, grid: object) -> WholeNumbers | Grid:
    """Where values live: the integers for an exact sensitivity (int, Fraction), a grid for a float or a given step."""
    size = parameters.whole("size", size, least=1)
    exact = parameters.positive("sensitivity", sensitivity, "What depends on no person needs no noise.")
    if grid is not None:
        return Grid(exponent_of(grid), size)
    if isinstance(sensitivity, numbers.Rational):
        return WholeNumbers()
    return Grid(floor_log2(exact / size) - _FINENESS, size)


def exponent_of(step: object) -> int:
    """k for a step of 2**k; anything else is refused."""
    exact = parameters.positive("grid", step)
    top, bottom = exact.numerator, exact.denominator
    if top & (top - 1) or bottom & (bottom - 1):
        raise parameters.refuse("grid", "a power of two, such as 1/1024 or 0.5", step)
    return top.bit_length() - bottom.bit_length()


def floor_log2(exact: Fraction) -> int:
    """The largest k with 2**k <= exact."""
    guess = exact.numerator.bit_length() - exact.denominator.bit_length()
    return guess if Fraction(2) ** guess <= exact else guess - 1


def ceilings(values: Any, exponent: int, least: int, most: int) -> NDArray[np.int64]:
    """ceil(x/g) of every value exactly, clamped to [least, most]; NaN becomes `most`.

    Both ends are of at most 2**53, so that they are floats.
    """
    array = as_array(values)
    if array.dtype.kind in "iu":
        array = integers(array).astype(object)
    if array.dtype == object:
        exact = [most if item != item else _ceiling(item, exponent) for item in array.flat]
        return np.array([min(max(item, least), most) for item in exact], dtype=np.int64).reshape(array.shape)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise parameters.refuse("edges", _READABLE, f"values of type {array.dtype}", _CONVERT)
    reals = array.astype(np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        ceiling = np.ceil(np.ldexp(reals, -exponent))
        ceiling = np.where((ceiling == 0) & (reals > 0), 1.0, ceiling)  # a quotient too small for a float is above 0
        return np.clip(np.where(np.isnan(ceiling), float(most), ceiling), least, most).astype(np.int64)


def _ceiling(value: object, exponent: int) -> int:
    top, bottom = _in_steps(value, exponent)
    return -(-top // bottom)


def _in_steps(value: object, exponent: int) -> tuple[int, int]:
    """value / 2**exponent as numerator and denominator."""
    top, bottom = _ratio(value)
    return (top << -exponent, bottom) if exponent < 0 else (top, bottom << exponent)


@singledispatch
def _ratio(value: object) -> tuple[int, int]:
    """One number as numerator and denominator; which types are numbers is public."""
    raise parameters.refuse("values", _READABLE, f"a value of type {type(value).__name__}", _CONVERT)


@_ratio.register(numbers.Rational)
def _(value: numbers.Rational) -> tuple[int, int]:
    return int(value.numerator), int(value.denominator)


@_ratio.register(float)
@_ratio.register(np.float32)
@_ratio.register(np.float16)
def _(value: float) -> tuple[int, int]:
    if math.isfinite(value):
        return float(value).as_integer_ratio()
    return (0, 1) if math.isnan(value) else (int(math.copysign(sys.float_info.max, value)), 1)


@_ratio.register(bool)
def _(value: bool) -> tuple[int, int]:
    raise parameters.refuse("values", _READABLE, "a truth value", "Convert it to 0 or 1 first.")


def _points_of_floats(values: NDArray[np.float64], exponent: int) -> NDArray[np.int64]:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scaled = np.ldexp(values, -exponent)
        scaled = np.clip(np.where(np.isnan(scaled), 0.0, scaled), -float(_LIMIT), float(_LIMIT))
        floor = np.floor(scaled)
        return (floor + (scaled - floor >= 0.5)).astype(np.int64)


def _points_of_integers(values: NDArray[np.int64], exponent: int) -> NDArray[np.int64]:
    if exponent >= 64:
        return np.zeros_like(values)  # every int64 is within half a step of 0, and the half at the left end rounds up
    if exponent > 0:
        return (values >> min(exponent, 63)) + ((values >> (exponent - 1)) & 1)
    inside = _LIMIT >> -exponent
    shifted = np.clip(values, -inside, inside) << min(-exponent, 62)
    beyond = np.where(values < 0, np.int64(-_LIMIT), np.int64(_LIMIT))
    return np.where((values > inside) | (values < -inside), beyond, shifted)
