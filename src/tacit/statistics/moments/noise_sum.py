"""The law of a normal number plus Laplace numbers of different scales: how likely it is to lie beyond a point.

This is the law of the error of a released number: sampling gives the normal part, the mechanism the
Laplace parts (or, with Gaussian noise, a larger normal part). Everything here is worked out from public or released
numbers, in floating point.

Theorem. Let Z have characteristic function f(t) = exp(-v t**2/2) / prod(1 + (s_i t)**2). For any h > 0,
    1/2 + (1/pi) sum_{k >= 0} f(t_k) sin(t_k x)/(k + 1/2),  t_k = (k + 1/2) h,
is Pr[Z <= x] up to the probability that |Z| exceeds 2 pi/h - |x|. The step makes that 2 pi/h - |x| at least 25
standard deviations, and the sum stops where f is below 1e-13 or after 4,000 terms, which leave less than 1e-7 as the
terms alternate.

Theorem. For x >= 0 and two Laplace numbers of scales s != t, Pr[S + T > x] is
(s**2 exp(-x/s) - t**2 exp(-x/t)) / (2 (s**2 - t**2)); for s = t it is (1 + x/(2 s)) exp(-x/s)/2.

Source: Bohman 1975; Davies 1973.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MOST_TERMS = 4_000
_REACH = 25.0
_ALIKE = 1e-3

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """Normal of this variance plus independent Laplace numbers of these scales."""

    scales: tuple[float, ...]
    variance: float = 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance + 2 * sum(scale * scale for scale in self.scales))

    def above(self, x: float) -> float:
        """Pr[Z > x]."""
        spread = self.deviation
        if spread == 0:
            return 1.0 if x < 0 else 0.5 if x == 0 else 0.0
        point = x / spread
        if abs(point) > _REACH:
            return 0.0 if point > 0 else 1.0
        if self.variance == 0 and len(self.scales) <= 2:
            return float(two_above(np.float64(x), self.scales[0], self.scales[-1] if len(self.scales) == 2 else 0.0))
        step = 2 * math.pi / (_REACH + 2 * abs(point))
        normal = self.variance / spread**2
        terms = min(_MOST_TERMS, math.ceil(math.sqrt(60 / normal) / step)) if normal > 0 else _MOST_TERMS
        halves = np.arange(terms) + 0.5
        t = halves * step
        with np.errstate(under="ignore"):
            law = np.exp(-normal * t * t / 2)
            for scale in self.scales:
                law = law / (1 + (scale / spread * t) ** 2)
        chance = 0.5 - float(np.sum(law * np.sin(t * point) / halves)) / math.pi
        return min(max(chance, 0.0), 1.0)

    def beyond(self, x: float) -> float:
        """Pr[|Z| > x]; 1 for a negative x."""
        return 1.0 if x <= 0 else min(1.0, 2 * self.above(x))

    def quantile(self, level: float) -> float:
        """The x with Pr[|Z| > x] = 1 - level."""
        low, high = 0.0, _REACH * self.deviation
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.beyond(middle) > 1 - level else (low, middle)
        return high


def two_above(x: Reals | np.float64, s: float, t: float) -> Reals:
    """Pr[S + T > x] for Laplace numbers of these scales; of two scales nearly alike, the mean is taken for both."""
    s, t = max(s, t), min(s, t)
    size = np.abs(x)
    with np.errstate(under="ignore"):
        if s <= 0:
            tail = np.where(size > 0, 0.0, 0.5)
        elif t <= s * 1e-9:
            tail = np.exp(-size / s) / 2
        elif s - t <= _ALIKE * s:
            scale = (s + t) / 2
            tail = (1 + size / (2 * scale)) * np.exp(-size / scale) / 2
        else:
            tail = (s * s * np.exp(-size / s) - t * t * np.exp(-size / t)) / (2 * (s * s - t * t))
    return np.asarray(np.where(x >= 0, tail, 1 - tail))


def combination(weights: Sequence[float], is_laplace: bool, scale: float, variance: float = 0.0) -> NoiseSum:
    """The law of a weighted sum of one mechanism's noises, and a normal part of this variance."""
    moved = [abs(weight) * scale for weight in weights]
    if is_laplace:
        return NoiseSum(tuple(each for each in moved if each > 0), variance)
    return NoiseSum((), variance + math.fsum(each * each for each in moved))
