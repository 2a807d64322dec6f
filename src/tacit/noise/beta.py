"""A truncated Beta law on a public grid: mass proportional to theta**a (1 - theta)**b on the points inside (low, high).

The grid points are theta_i = i / 2**grid_bits with low < theta_i < high; what is returned is i. Sampling is an
exponential race (see `race`) over the log-weights a ln theta + b ln(1 - theta).

Float error. theta_i and 1 - theta_i are exact in float64. With numpy's logarithms within 8 units in the last place and
both terms of one sign, a weight w carries at most 20u|w| (u = 2**-53), and a bound of the race 20u(|w| + 45) in all.
Where |w| <= 2|K| + 2048 that is below the race's slack, 32u(2|K| + 4096); elsewhere the candidate is far behind K.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise import race
from tacit.noise.bits import BitSource
from tacit.noise.functions import Interval
from tacit.noise.reals import Enclosure, log_enclosure

_LARGEST_GRID_BITS = 20
_LARGEST_EXPONENT = 1 << 40  # beyond, the floats could not tell neighbouring grid points apart


@overload
def truncated_beta(a: Any, b: Any, low: Any, high: Any, grid_bits: int, size: None, bits: BitSource) -> int: ...
@overload
def truncated_beta(
    a: Any, b: Any, low: Any, high: Any, grid_bits: int, size: int, bits: BitSource
) -> NDArray[np.int64]: ...
def truncated_beta(
    a: Any, b: Any, low: Any, high: Any, grid_bits: int, size: int | None, bits: BitSource
) -> int | NDArray[np.int64]:
    """Whole numbers i with low < theta = i / 2**grid_bits < high and mass proportional to theta**a (1 - theta)**b.

    >>> from tacit.noise import secure
    >>> 512 < truncated_beta(1, 1, "1/2", "3/4", 10, None, secure()) < 768  # between 1/2 and 3/4 of 2**10
    True
    """
    heads, tails = _exponent("a", a), _exponent("b", b)
    bottom, top = parameters.probability("low", low), parameters.probability("high", high)
    width = parameters.whole("grid_bits", grid_bits, least=1)
    if width > _LARGEST_GRID_BITS:
        raise parameters.refuse("grid_bits", f"a whole number from 1 to {_LARGEST_GRID_BITS}", grid_bits)
    first, last = math.floor(bottom * 2**width) + 1, math.ceil(top * 2**width) - 1
    if first > last:
        hint = "Widen (low, high) or use more grid_bits."
        raise parameters.refuse("high", f"so far above 'low' that a point i / 2**{width} lies between", high, hint)

    def weight(index: int, precision: int) -> Enclosure:
        return log_weight(heads, tails, Fraction(first + index, 2**width), precision)

    weights = float_weights(float(heads), float(tails), first, last, width)
    drawn = [first + race.run(weights, weight, bits, gumbel=True) for _ in range(1 if size is None else size)]
    return drawn[0] if size is None else np.array(drawn, dtype=np.int64)


def _exponent(name: str, value: Any) -> Fraction:
    exact = parameters.non_negative(name, value)
    if exact > _LARGEST_EXPONENT:
        raise parameters.refuse(name, "a number from 0 to 2**40", value)
    return exact


def float_weights(a: float, b: float, first: int, last: int, grid_bits: int) -> NDArray[np.float64]:
    """a ln theta + b ln(1 - theta) in float64."""
    theta = np.arange(first, last + 1) * 2.0**-grid_bits
    weights: NDArray[np.float64] = a * np.log(theta) + b * np.log(1 - theta)
    return weights


def log_weight(a: Fraction, b: Fraction, theta: Fraction, precision: int) -> Enclosure:
    """a ln theta + b ln(1 - theta) to `precision` places; a and b have at most 13 digits before the point.

    The race adds noise to the ends in `precision` + 12 digits, rounded to nearest: a relative 10**-(precision + 8) of
    room on either side keeps the sum an enclosure.
    """
    p = precision + 16
    log_heads, log_tails = Interval(*log_enclosure(theta, p), p), Interval(*log_enclosure(1 - theta, p), p)
    room = Fraction(1, 10 ** (precision + 8))
    about_one = Interval(Interval.of(1 - room, p).low, Interval.of(1 + room, p).high, p)
    return ((Interval.of(a, p) * log_heads + Interval.of(b, p) * log_tails) * about_one).enclosure
