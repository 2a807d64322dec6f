"""One column's count, sum and sum of squares, released together with the least noise for all that follows.

Theorem. Let a = code - low and b = high - code, so that a + b = W, the width. The parts of 1 = ((a + b)/W)**degree,
  degree 1: (a, b), which add up to W;   degree 2: (a**2, 2ab, b**2), which add up to W**2,
are never negative. So a row moves the vector of their sums by exactly W**degree in L1, wherever its value lies, and by
at most that in L2 (reached at the bounds); a unit with r rows moves it by r W**degree. Every polynomial of this degree
in the value, such as value - mean or (value - mean)**2 - variance, is a fixed combination of the parts, with the
coefficients of its Bernstein form. For degree 1 the L1 ball is exactly the hull of what rows can do to (count, sum), so
no smaller ball is enough; budgets split between a count and a centred sum have twice the variance at equal shares.

Neighbours: one unit's rows, added or removed. Everything is in whole numbers until the noise has been added.
Source: the optimality of a norm whose ball is the hull: Awan, Slavkovic 2021 (K-norm mechanisms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.noise import BitSource
from tacit.statistics.moments.additive import Additive, least_noise
from tacit.statistics.moments.bounded import Bounded
from tacit.statistics.moments.noise_sum import NoiseSum, combination
from tacit.statistics.source import Opened


def plan(column: Bounded, degree: int, rows_per_unit: int, epsilon: Fraction, delta: Fraction) -> Additive:
    """The noise for the parts of one column."""
    sensitivity = rows_per_unit * column.width**degree
    return least_noise(sensitivity, sensitivity, degree + 1, epsilon, delta)


def parts(column: Bounded, degree: int, count: int, sums: Sequence[int]) -> tuple[int, ...]:
    """The parts' exact sums, from the number of rows and the sums of a, a**2, ... up to the degree."""
    width = column.width
    if degree == 1:
        return sums[0], count * width - sums[0]
    first, second = sums
    return second, 2 * (width * first - second), count * width**2 - 2 * width * first + second


def opened_parts(opened: Opened, column: Bounded, degree: int) -> tuple[int, ...]:
    """The parts' exact sums."""
    count, sums = opened.totals([(column.name,) * power for power in range(1, degree + 1)], {column.name: column.low})
    return parts(column, degree, count, sums)


@dataclass(frozen=True, slots=True)
class Moments:
    """Released parts, in units in which a value's share of the way between the bounds is what is averaged.

    `noise` is the scale (Laplace) or the deviation (Gaussian) of one part's noise.
    """

    parts: tuple[float, ...]
    is_laplace: bool
    noise: float

    @property
    def count(self) -> float:
        """The number of rows; it may be negative."""
        return sum(self.parts)

    @property
    def enough(self) -> bool:
        """Whether the count stands out of its own noise, so that a quotient by it means something."""
        return self.count > 2 * combination([1.0] * len(self.parts), self.is_laplace, self.noise).deviation

    @property
    def mean(self) -> float:
        """The mean share, within 0 and 1."""
        first = self.parts[0] if len(self.parts) == 2 else self.parts[0] + self.parts[1] / 2
        return min(max(first / max(self.count, 1.0), 0.0), 1.0)

    @property
    def variance(self) -> float:
        """The variance of the shares, between 0 and what the mean allows; for degree 2."""
        mean = self.mean
        found = self.parts[0] / max(self.count, 1.0) - mean * mean
        return min(max(found, 0.0), mean * (1 - mean))

    def centred(self, mean: float) -> float:
        """The released sum over rows of (share - mean)."""
        return sum(weight * part for weight, part in zip(self._weights(mean), self.parts, strict=True))

    def noise_of_centred(self, mean: float, variance: float = 0.0) -> NoiseSum:
        """The law of what noise adds to `centred`, together with sampling of this variance."""
        return combination(self._weights(mean), self.is_laplace, self.noise, variance)

    def variance_noise(self) -> float:
        """The variance that the noise gives to count * variance, to first order."""
        mean, variance = self.mean, self.variance
        weights = ((1 - mean) ** 2 - variance, -mean * (1 - mean) - variance, mean**2 - variance)
        return combination(weights, self.is_laplace, self.noise).deviation ** 2

    def _weights(self, mean: float) -> tuple[float, ...]:
        return (1 - mean, -mean) if len(self.parts) == 2 else (1 - mean, 0.5 - mean, -mean)


def release(column: Bounded, degree: int, noise: Additive, exact: Sequence[int], bits: BitSource) -> Moments:
    """The parts with noise."""
    unit = float(column.width) ** degree
    noisy = noise.release(exact, bits)
    return Moments(tuple(float(each) / unit for each in noisy), noise.is_laplace, noise.mechanism.scale / unit)
