"""A public interval of reals as the points of a power-of-two grid inside it, and private step functions on them.

Promise: `borders` evaluates a step function exactly at every point, whatever its edges are; edges never raise an
error. NaN is read as an edge beyond the upper end, and an edge below the one before it as equal to that one.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.mechanisms.grid import ceilings, exponent_of, floor_log2
from tacit.parameters import Number

_MOST_POINTS = 1 << 53  # whole numbers up to here are floats
_DEFAULT_POINTS = 51
_LEAST_EXPONENT = -1074


@dataclass(frozen=True, slots=True, init=False)
class Interval:
    """The multiples first * g, ..., last * g of g = 2**exponent that lie in [lower, upper]."""

    exponent: int
    first: int
    last: int

    def __init__(self, lower: Number, upper: Number, grid: Number | None = None) -> None:
        low, high = parameters.rational("lower", lower), parameters.rational("upper", upper)
        if low >= high:
            raise parameters.refuse("upper", f"above the lower end, {lower}", upper)
        farther = max(abs(low), abs(high))
        if farther > sys.float_info.max:
            raise parameters.refuse("upper" if high == farther else "lower", "of a size that a float can hold", "more")
        exponent = floor_log2(farther) + 1 - _DEFAULT_POINTS if grid is None else exponent_of(grid)
        step = Fraction(2) ** exponent
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            raise parameters.refuse("grid", "fine enough to have a point in the interval", grid)
        if exponent < _LEAST_EXPONENT:
            raise parameters.refuse("grid", f"at least 2**{_LEAST_EXPONENT}, the smallest float", f"2**{exponent}")
        if max(-first, last + 1, last - first + 1) > _MOST_POINTS:
            raise parameters.refuse("grid", "so coarse that at most 2**53 steps reach across the interval", grid)
        object.__setattr__(self, "exponent", exponent)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "last", last)

    def borders(self, edges: Any) -> NDArray[np.int64]:
        """Where the cells begin: the first point, then the first point at or above each edge; last, where they end."""
        starts = ceilings(edges, self.exponent, self.first, self.last + 1)
        if starts.ndim != 1:
            raise parameters.refuse("edges", "a list of numbers", f"an array of shape {starts.shape}")
        inner = np.maximum.accumulate(starts) if starts.size else starts
        return np.concatenate([[np.int64(self.first)], inner, [np.int64(self.last + 1)]])

    def real(self, point: int) -> float:
        """The point as a float, exactly."""
        return math.ldexp(float(point), self.exponent)
