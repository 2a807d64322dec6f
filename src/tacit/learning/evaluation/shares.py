"""Intervals for shares of noisy counts, and for the area under a curve of them. Made of released numbers only.

A share is hits/(hits + misses), each a sum of released cells. With x' = x + A and y' = y + B released, A the noise of
a cells and B that of b, the statistic (1 - p) x' - p y' has a known law at the true p:

- p the share among these very rows: (1 - p) A - p B;
- p the chance of a hit for a new row of the same kind: K - n p + (1 - p) A - p B with K ~ Binomial(n, p).

An interval holds every p at which what was released is not in a tail of (1 - level)/2. The tails come from the
characteristic function (Bohman 1975, as in `statistics.moments.noise_sum`). n is taken at its upper end, for which a
twentieth of the failure probability is kept; a tenth is kept for what is approximate (continuous laws for noise in
whole numbers, a normal law for areas); a jump of the binomial counts whole, as in Clopper and Pearson's interval; noise
below 0.3 is taken as 0.3. All of these widen the interval.

Area under the curve (Mann, Whitney 1947): a = sum n_i p_j k_ij/(N P) with k = 1, 1/2, 0 for a positive's bin above, in,
or below a negative's. f(a) = sum n_i p_j (k_ij - a) is 0 at the true a. Its noise has variance
v sum h_i**2 + v sum g_j**2 + v**2 sum (k_ij - a)**2, h and g the sums over the other class; released h and g are larger
on average, so the variance is not too small. Sampling adds at most (N P)**2 a (1 - a)/min(N, P): the terms of
Hoeffding's decomposition add up to at most Var k <= a (1 - a) (Birnbaum, Klose 1957; ties included). The law is taken
as normal, so an interval is promised only where both classes stand far out of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from tacit.learning.columns import Reals

_TERMS = 400
_REACH = 25.0
_LEAST_SCALE = 0.3
_FOR_THE_COUNT = 0.05  # of the failure probability
_EXACT = 0.9  # what is left of it after approximations
_STANDS_OUT = 6.0  # deviations of a count's noise
_LEAST_ROWS = 20.0
_AREAS = np.linspace(0.0, 1.0, 4_001)

Ends = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class CellNoise:
    """The noise of one cell: Laplace of this scale, or Gaussian."""

    is_laplace: bool
    scale: float

    @property
    def variance(self) -> float:
        """The variance of one cell's noise."""
        return self.held**2 * (2 if self.is_laplace else 1)

    @property
    def held(self) -> float:
        """The scale, but at least one at which the law is smooth."""
        return max(self.scale, _LEAST_SCALE)

    def transform(self, times: Reals, cells: int) -> Reals:
        """The characteristic function of the noise of this many cells."""
        if self.is_laplace:
            return np.asarray(np.exp(-cells * np.log1p((self.held * times) ** 2)))
        return np.asarray(np.exp(-cells * (self.held * times) ** 2 / 2))


@dataclass(frozen=True, slots=True)
class Share:
    """Released sums of `hit_cells` and `miss_cells` cells."""

    hits: float
    misses: float
    hit_cells: int
    miss_cells: int
    noise: CellNoise

    @property
    def count(self) -> float:
        """The count: hits and misses together."""
        return self.hits + self.misses

    @property
    def value(self) -> float | None:
        """The share, within 0 and 1; None where the count cannot be a number of rows."""
        return None if self.count < 1 else min(max(self.hits / self.count, 0.0), 1.0)

    def among_these(self, level: float) -> Ends:
        """The interval of the share among the rows that were counted."""
        return self._ends(_EXACT * (1 - level), 0)

    def of_new_rows(self, level: float) -> Ends:
        """The interval of the chance of a hit, for rows drawn one by one from the same kind."""
        failure = 1 - level
        spread = math.sqrt(self.noise.variance * (self.hit_cells + self.miss_cells))
        beyond = _normal_above(_FOR_THE_COUNT * failure) * spread if self.noise.scale > 0 else 0.0
        return self._ends((_EXACT - _FOR_THE_COUNT) * failure, max(0, math.ceil(self.count + beyond)))

    def _ends(self, failure: float, rows: int) -> Ends:
        middle = self.value
        if middle is None:
            return None

        def tail(p: float, sign: int) -> float:
            jump = 0.5 if rows else 0.0
            return self._beyond(sign * ((1 - p) * self.hits - p * self.misses) - jump, p, rows, sign)

        low = _boundary(lambda p: tail(p, 1) > failure / 2, middle, 0.0)
        high = _boundary(lambda p: tail(p, -1) > failure / 2, middle, 1.0)
        return low, high

    def _beyond(self, x: float, p: float, rows: int, sign: int) -> float:
        """P[sign T >= x] at p, with this many rows drawn."""
        weights = ((1 - p) ** 2 * self.hit_cells + p**2 * self.miss_cells) * self.noise.variance
        spread = math.sqrt(weights + rows * p * (1 - p))
        point = x / spread
        if abs(point) > _REACH:
            return 0.0 if point > 0 else 1.0
        halves = np.arange(_TERMS, dtype=np.float64) + 0.5
        times: Reals = halves * 2 * math.pi / ((_REACH + 2 * abs(point)) * spread)
        law: Any = self.noise.transform((1 - p) * times, self.hit_cells)
        law = law * self.noise.transform(p * times, self.miss_cells)
        if rows:
            own = np.exp(rows * (np.log1p(p * np.expm1(1j * times)) - 1j * p * times))
            law = law * (own if sign > 0 else np.conj(own))
        chance = 0.5 + float(np.sum(np.imag(law * np.exp(-1j * times * x)) / halves)) / math.pi
        return min(max(chance, 0.0), 1.0)


def _boundary(inside: Any, start: float, end: float) -> float:
    """The last point from `start` towards `end` that is inside, to within 2**-30 of the way, outwards."""
    if inside(end):
        return end
    near, far = start, end
    for _ in range(30):
        middle = (near + far) / 2
        near, far = (middle, far) if inside(middle) else (near, middle)
    return far


def _normal_above(chance: float) -> float:
    return float(-special.ndtri(chance))


@dataclass(frozen=True, slots=True)
class Area:
    """The area under the curve, from released counts of negatives and positives by score bin, lowest first."""

    negatives: Reals
    positives: Reals
    noise: CellNoise

    @property
    def _stands_out(self) -> bool:
        deviation = math.sqrt(self.noise.variance * len(self.negatives))
        least = max(_STANDS_OUT * deviation, _LEAST_ROWS)
        return float(min(self.negatives.sum(), self.positives.sum())) > least

    def _kernel(self) -> Reals:
        places = np.arange(len(self.negatives))
        return np.asarray((np.sign(places - places[:, None]) + 1) / 2)

    @property
    def value(self) -> float | None:
        """The area, within 0 and 1; None where a class does not stand out of its noise."""
        if not self._stands_out:
            return None
        whole = self.negatives.sum() * self.positives.sum()
        return float(np.clip(self.negatives @ self._kernel() @ self.positives / whole, 0.0, 1.0))

    def among_these(self, level: float) -> Ends:
        """The interval of the area among the rows that were counted."""
        return self._ends(level, 0.0)

    def of_new_rows(self, level: float) -> Ends:
        """The interval of the chance that a positive scores above a negative, for rows drawn one by one."""
        return self._ends(level, 1.0)

    def _ends(self, level: float, sampled: float) -> Ends:
        if not self._stands_out:
            return None
        kernel, size, v = self._kernel(), len(self.negatives), self.noise.variance
        a = _AREAS
        n, p = float(self.negatives.sum()), float(self.positives.sum())
        toward, against = kernel @ self.positives, self.negatives @ kernel
        statistic = float(self.negatives @ toward) - a * n * p
        linear = sum(
            float(each @ each) - 2 * a * float(each.sum()) * total + size * (a * total) ** 2
            for each, total in ((toward, p), (against, n))
        )
        crossed = float(np.square(kernel).sum()) - 2 * a * float(kernel.sum()) + size * size * a * a
        variance = v * linear + v * v * crossed + sampled * (n * p) ** 2 * a * (1 - a) / min(n, p)
        kept = np.flatnonzero(np.abs(statistic) <= _normal_above(_EXACT * (1 - level) / 2) * np.sqrt(variance))
        if not len(kept):
            return None
        step = float(a[1])
        return max(float(a[kept[0]]) - step, 0.0), min(float(a[kept[-1]]) + step, 1.0)
