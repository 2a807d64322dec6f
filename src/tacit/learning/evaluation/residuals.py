"""Scores of a regression from five noisy sums: how many rows, the targets, their squares, squared and absolute errors.

The target y and the prediction are clamped to the target's bounds; u is the target from -1 to 1, and e the error as a
share of the largest one that counts (the bounds' distance, or less where that was asked for: then larger errors count
as this one, and the names say so), so that |e| <= 1. In whole numbers of G to 1, a row
adds (G**2, G u, u**2, e**2, G |e|): at most 5 G**2 in the L1 norm, and 5**(1/2) G**2 in the L2 norm.

R2 = 1 - c sum e**2/(sum u**2 - (sum u)**2/n), with c**(1/2) the largest error over half the distance of the bounds. Its
interval covers the noise: it runs over all values that the four sums can have within their own intervals (shares of the
failure probability add up).
Sampling is not covered: that needs fourth moments, which were not bought. The mean absolute error is a quotient of two
sums; its sampling variance is sum e**2/n - (sum |e|/n)**2, whose sums were bought, and what rare large errors may add.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit import parameters
from tacit.learning.columns import Reals
from tacit.learning.evaluation.shares import CellNoise, Ends
from tacit.parameters import Number
from tacit.statistics.moments.noise_sum import combination
from tacit.statistics.source import Whole

GRID: Final = 1 << 12
FINE: Final = 1 << 24  # steps between the target's bounds
_SHARES: Final = (0.1, 0.2, 0.3, 0.4)  # of the failure probability: n, sum u, sum u**2, sum e**2
_EXACT: Final = 0.9  # of the failure probability; the rest is for approximations
_STANDS_OUT: Final = 4.0
_LEAST_ROWS: Final = 50.0


@dataclass(frozen=True, slots=True)
class Residuals:
    """Released sums of `many` groups together, and their noise."""

    sums: Reals
    many: int
    noise: CellNoise
    largest: float  # error that counts
    distance: float  # of the target's bounds

    @property
    def _factor(self) -> float:
        return (2 * self.largest / self.distance) ** 2

    @property
    def names(self) -> tuple[str, str]:
        """The names of the measures. They say where errors are cut, so that a bad model looks better than it is."""
        cut = "" if self.largest >= self.distance else f" of errors cut at {self.largest:.6g}"
        return f"R2{cut}", f"mean absolute error{cut}"

    def _reach(self, weights: list[float], level: float, variance: float = 0.0) -> float:
        """A size that a combination of the sums' noises stays within at this level, in units of u and e."""
        scale = self.noise.scale / GRID**2
        repeated = [weight for weight in weights for _ in range(self.many)]
        return combination(repeated, self.noise.is_laplace, scale, variance).quantile(level)

    def measured(self, level: float) -> list[tuple[str, float | None, Ends, Ends]]:
        """R2, and the mean absolute error in the target's own unit: the value, and its intervals."""
        n, u, squares, errors, sizes = (float(each) / GRID**2 for each in self.sums)
        if n < max(_STANDS_OUT * self._reach([1.0], 0.68), 1.0):
            return [(name, None, None, None) for name in self.names]
        spread = squares - u * u / n
        value = min(1 - self._factor * errors / spread, 1.0) if spread > 0 else None
        whole = self.largest
        mean = min(max(sizes / n, 0.0), 1.0)
        kept = 1 - _EXACT * (1 - level)
        near = self._mean_error(n, sizes, kept)
        far = None
        if n >= _LEAST_ROWS:
            far = self._mean_error(n, sizes, kept, max(errors / n - mean * mean, 0.0) * n + self._reach([1.0], 0.95))
        told = [None if ends is None else (whole * ends[0], whole * ends[1]) for ends in (near, far)]
        squared, absolute = self.names
        return [(squared, value, self._r2(level), None), (absolute, whole * mean, told[0], told[1])]

    def _mean_error(self, n: float, sizes: float, level: float, variance: float | None = None) -> Ends:
        """All r at which |sizes - r n| is within reach. `variance`: of sampled rows, as far as released sums show it.

        Where r is above the released ratio, these rows lack errors that other rows have. Each is at most 1, so errors
        with a sum of s add at most s to the variance: a sample may miss the few rows that are all wrong.
        """

        def inside(r: float) -> bool:
            sampled = 0.0 if variance is None else variance + max(r * n - sizes, 0.0)
            return abs(sizes - r * n) <= self._reach([1.0, r], level, sampled)

        start = min(max(sizes / n, 0.0), 1.0)
        found = []
        for end in (0.0, 1.0):
            near, far = start, end
            if inside(end):
                near = far = end
            for _ in range(20 if near != far else 0):
                middle = (near + far) / 2
                near, far = (middle, far) if inside(middle) else (near, middle)
            found.append(far)
        return found[0], found[1]

    def _r2(self, level: float) -> Ends:
        """The least and the most over a box, which is where they are at its corners or at sum u = 0."""
        boxes = []
        for place, share in enumerate(_SHARES):
            centre, reach = float(self.sums[place]) / GRID**2, self._reach([1.0], 1 - share * (1 - level))
            boxes.append((centre - reach, centre + reach))
        n, u, squares, errors = boxes
        if n[0] < 1:
            return None
        products = [own * own / rows for own, rows in itertools.product(u, (n[0], n[1]))]
        least_product = 0.0 if u[0] <= 0 <= u[1] else min(products)
        least_spread, most_spread = squares[0] - max(products), squares[1] - least_product
        if least_spread <= 0:
            return None
        low, high = max(errors[1], 0.0) / least_spread, max(errors[0], 0.0) / most_spread
        return 1 - self._factor * low, 1 - self._factor * high


def row_terms(true: Whole, said: Whole, largest: int) -> Whole:
    """What each row adds, for target and prediction in FINE steps between the bounds."""
    u = (2 * true - FINE) // (FINE // GRID)
    e = errors_of(true, said, largest)
    return np.stack([np.full(len(u), GRID * GRID), GRID * u, u * u, e * e, GRID * e], axis=1)


def errors_of(true: Whole, said: Whole, largest: int) -> Whole:
    """Each row's error from 0 to GRID, the `largest` that counts; a row without prediction (below 0) has GRID."""
    return np.asarray(np.where(said < 0, largest, np.minimum(np.abs(said - true), largest)) * GRID // largest)


def largest_error(distance: float, given: Number | None) -> float:
    """The largest error that counts: the distance of the target's bounds, or less where that was asked for."""
    if given is None:
        return distance
    chosen = float(parameters.positive("largest_error", given))
    if not distance / GRID <= chosen <= distance:
        allowed = f"between {distance / GRID:.4g} and {distance:.4g}, the distance of the target's bounds"
        raise parameters.refuse("largest_error", allowed, given)
    return chosen


def in_steps(largest: float, distance: float) -> int:
    """An error in FINE steps."""
    return max(round(largest / distance * FINE), 1)


def steps_of(values: Reals, low: float, high: float) -> Reals:
    """Numbers clamped to the bounds, in FINE steps between them."""
    return np.asarray(np.rint(np.clip((values - low) / (high - low), 0.0, 1.0) * FINE))
