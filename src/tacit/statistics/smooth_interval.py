"""A number with smooth-sensitivity noise, and an interval around it that a share of epsilon buys.

How much noise there is follows the smooth bound S, of smoothness b, which is private (`tacit.mechanisms.Smooth`). So a
bound of S is released together with the number.

Theorem. Let S' be a smooth bound computed like S, of smoothness b' <= b, so that S' >= S. On whole numbers let
T = max(S', 1), on a grid of step g let T = S' + g. Then |ln T(x) - ln T(y)| <= b' for neighbours, whatever they are,
and ln T with Laplace noise for sensitivity b' at epsilon e' costs e'. The two releases together are their composition.
Proof. S'(x) <= exp(b') S'(y) for neighbours, in both directions. A constant keeps that: max(S'(x), 1) <= exp(b')
max(S'(y), 1), and S'(x) + g <= exp(b') (S'(y) + g).

The interval. Let X be the noise on ln T, and let R = T exp(X) be released. The scale of the noise on the number is at
most m T, m the public multiple (in steps it is m max(S, 1) or m (S/g + 1)). If Z has the law of the noise, independent
of X, and |Z| <= c exp(X), then the number is off by at most c m R. So the interval of this half-width misses with
probability at most E[P(|Z| > c exp(X))], which is public: c is the least for which that is at most 1 - level. (Halving
1 - level between the two noises instead would make intervals far wider.)

Which b'. A smaller one makes S' larger and X smaller. Where local sensitivities grow in proportion to the distance, S'
goes as 1/b', and at levels of 0.95 and 0.99 the width is least near b' = 2 e'/5, for all kinds of noise. So b' is 2
e'/5, or b if that is less. The interval is then 1.4 times (at 0.99: 1.7 times) as wide as if the size of the noise were
public.

Rounding. S' is read with a relative error of at most 2**-42, its logarithm with one of 2**-43 in all (it is below 700),
so b' plus 2**-39 bounds how far two computed ln T are apart. Terms of S' below exp(-600) of the public range do not
matter: T is at least a step, the range at most 2**665 steps. `Laplace` accounts for its grid. The law of X on its grid
of step h is above that of a continuous one moved down by h, rounding ln T costs another half, and float errors less
than that: c is computed for X - 2 h, in a sum over cells of X that takes the lower end of each.

Source: Nissim, Raskhodnikova, Smith 2007 for smooth bounds; releasing one by its logarithm is argued here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tacit import parameters
from tacit.loss import events
from tacit.mechanisms import Laplace, Smooth
from tacit.mechanisms.grid import floor_log2
from tacit.mechanisms.whole_numbers import WholeNumbers
from tacit.noise import BitSource

INTERVAL_SHARE = "0.2"
"""The part of epsilon that buys intervals unless the caller says otherwise."""

_LEAST_SHARE, _LEAST_EPSILON = Fraction(1, 1000), Fraction(1, 10**9)
_SLACK = Fraction(1, 2**39)
_GENTLE = Fraction(2, 5)
_FINENESS, _FINEST = 16, -20
_LARGEST = 690.0  # exp of it is a float
_CELL = 1 / 64  # of ln z: rounding to cells adds at most 3 % to a width
_BEYOND = 1000.0  # the tails of X beyond what is summed up are this much less likely than a miss

Enclosed: TypeAlias = tuple[Any, Any, Any] | tuple[Any, None, None]
"""A released number, with the ends of its interval or without."""


def read_share(interval_share: parameters.Number) -> Fraction:
    """A part of epsilon, from 0 to below 1."""
    share = parameters.rational("interval_share", interval_share)
    if share != 0 and not _LEAST_SHARE <= share < 1:
        allowed = "a number from 0.001 to below 1, or 0 for no intervals"
        raise parameters.refuse("interval_share", allowed, interval_share)
    return share


@dataclass(frozen=True, slots=True)
class SmoothInterval:
    """Smooth noise, and the release of how large it may be; `size` is None where no interval was bought."""

    noise: Smooth
    gentle: Fraction
    size: Laplace | None
    confidence: Fraction  # of the noise alone, so that both noises together reach the level

    @classmethod
    def of(cls, noise: Smooth, epsilon: Fraction, level: Fraction) -> SmoothInterval:
        """`epsilon` is what the interval may cost, in addition to the noise."""
        if not epsilon:
            return cls(noise, noise.smoothness, None, level)
        if epsilon < _LEAST_EPSILON:
            raise parameters.refuse("epsilon of an interval", f"at least {float(_LEAST_EPSILON)}", float(epsilon))
        gentle = min(epsilon * _GENTLE, noise.smoothness)
        step = Fraction(2) ** min(floor_log2(gentle) - _FINENESS, _FINEST)
        size = Laplace(gentle + _SLACK, epsilon, grid=step)
        return cls(noise, gentle, size, combined(noise, size.scale, float(step), level))

    @property
    def event(self) -> events.Event:
        """The events of the number, and of the size of its noise."""
        return self.noise.event if self.size is None else events.Composed((self.noise.event, self.size.event))

    @property
    def smoothnesses(self) -> tuple[Fraction, ...]:
        """The smoothnesses for which `release` needs a smooth bound, in this order."""
        return (self.noise.smoothness,) if self.size is None else (self.noise.smoothness, self.gentle)

    def release(self, value: Any, bounds: Sequence[float], bits: BitSource) -> Enclosed:
        """The number with noise, and its interval, from its smooth bounds. All of them are private."""
        noisy = self.noise.release(value, bounds[0], bits=bits)
        if self.size is None:
            return noisy, None, None
        told = float(self.size.release(math.log(self._told(bounds[1])), bits=bits))
        reach = self.noise.error(self.confidence, Fraction(math.exp(min(max(told, -_LARGEST), _LARGEST))))
        return noisy, noisy - reach, noisy + reach

    def _told(self, bound: float) -> float:
        """T."""
        unit = float(self.noise.lattice.unit)
        return max(bound, unit) if isinstance(self.noise.lattice, WholeNumbers) else bound + unit


@cache
def combined(noise: Smooth, scale: float, step: float, level: Fraction) -> Fraction:
    """P(|Z| <= c), c being the least multiple whose interval misses with probability at most 1 - level.

    `scale` and `step` are those of the Laplace noise X.
    """
    missing = float(1 - level)
    cells = math.ceil(scale * math.log(_BEYOND / missing) / _CELL)
    edges = _CELL * np.arange(-cells, cells + 1)
    below = np.where(edges < 0, np.exp(-np.abs(edges) / scale) / 2, 1 - np.exp(-np.abs(edges) / scale) / 2)
    masses = np.diff(np.append(below, 1.0))

    @cache
    def survival(place: int) -> float:
        return noise.noise.survival(math.exp(place * _CELL - 2 * step))

    def misses(place: int) -> bool:
        """Whether c = exp(place cells) is too small."""
        tails = np.array([survival(place + cell) for cell in range(-cells, cells + 1)])
        return float(below[0] + masses @ tails) > missing

    low, high = -1, 0
    while misses(high):
        low, high = high, 2 * high + 1
    while not misses(low):
        low, high = 2 * low, low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if misses(middle) else (low, middle)
    return 1 - Fraction(noise.noise.survival(math.exp(high * _CELL)))
