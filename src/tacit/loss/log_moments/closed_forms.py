"""Log moments in closed form: guarantees, randomised response, Laplace noise, the exponential mechanism.

Each class is a `transforms.Transform` and opens with its pair.

Multivariate Laplace noise is worst when one coordinate carries the whole L1 shift. Proof for shifts a <= b of two
coordinates in units of the scale, x = (a + b - epsilon)/2 <= b, epsilon >= 0: one coordinate carrying a + b has
delta(epsilon) = 1 - exp(-x). Let U be the first coordinate clipped to [0, a]: mass 1/2 at 0, exp(-a)/2 at a, density
exp(-u)/2 between. The pair has delta = E(1 - exp(-(x - U)))_+ = 1 - exp(-x) - min(a, x) exp(-x)/2, which is smaller.
Negative epsilon follows by symmetry, more coordinates by induction. On the integers, with r = exp(-1/scale), the same
sum gives 1 - r^x (2 + (1 - r)(min(a, x) - 1))/(1 + r) <= 1 - r^x at the kinks, between which both curves are linear
in exp(epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tacit.loss.log_moments.transforms import (
    FIXED,
    SLOPE,
    TINY,
    Array,
    Spread,
    Transform,
    exponentials,
    log_product,
    raised,
    slices,
)


@dataclass(frozen=True, slots=True)
class Response(Transform):
    """`copies` of k-ary randomised response that each fail outright with probability `failure`.

    With two options this dominates every (epsilon, failure) mechanism (Kairouz, Oh and Viswanath, 2015). With k
    options the losses are +epsilon, -epsilon and 0 with masses proportional to exp(epsilon), 1 and k - 2.
    """

    epsilon: float
    options: int = 2
    failure: float = 0.0
    copies: int = 1

    @property
    def infinite(self) -> float:
        if self.failure >= 1.0:
            return 1.0
        return min(1.0, raised(-math.expm1(self.copies * math.log1p(-self.failure)), 16))

    @property
    def greatest(self) -> float:
        return raised(self.copies * self.epsilon)

    @property
    def has_rest(self) -> bool:
        return True

    def log_moment(self, z: Array) -> Array:
        if self.failure >= 1.0:
            return np.full_like(z, -1e6)
        inside = 1.0 + np.exp((-1.0 - 2.0 * z) * self.epsilon)
        if self.options > 2:
            inside = inside + (self.options - 2) * np.exp((-1.0 - z) * self.epsilon)
        return self.copies * (z * self.epsilon + np.log(inside + TINY) + self._constant)

    @property
    def _constant(self) -> float:
        return math.log1p(-self.failure) - math.log1p((self.options - 1) * math.exp(-self.epsilon))

    @classmethod
    def sum_of(cls, pairs: Sequence[Self], counts: Sequence[int], z: Array) -> Array:
        two = [pair.options == 2 and pair.failure < 1.0 for pair in pairs]
        if not all(two) or len(pairs) == 1:
            return super(Response, cls).sum_of(pairs, counts, z)
        times = np.array([pair.copies * count for pair, count in zip(pairs, counts, strict=True)], dtype=np.float64)
        epsilons = np.array([pair.epsilon for pair in pairs])
        constant = sum(time * pair._constant for time, pair in zip(times, pairs, strict=True))
        logs = sum(
            log_product(1.0 + exponentials(-epsilons[rows], 1.0 + 2.0 * z), times[rows]) for rows in slices(len(pairs))
        )
        return np.asarray(z * float(epsilons @ times) + constant + logs)

    def roundoff(self, tilt: float, height: float) -> tuple[float, float]:
        return FIXED * self.copies, SLOPE * self.greatest


@dataclass(frozen=True, slots=True)
class LaplaceShift(Transform):
    """Laplace noise, `ratio` = sensitivity/scale.

    Losses: +ratio with mass 1/2, -ratio with mass exp(-ratio)/2, between them the density exp((l - ratio)/2)/4. The
    sum is ((z + 1) exp(z ratio) + z exp(-(z + 1) ratio))/(2 z + 1).
    """

    ratio: float

    @property
    def greatest(self) -> float:
        return raised(self.ratio)

    @property
    def has_rest(self) -> bool:
        return True

    def log_moment(self, z: Array) -> Array:
        twice = 2.0 * z + 1.0
        return np.asarray(z * self.ratio + np.log((z + 1.0 + z * np.exp(-self.ratio * twice)) / twice))

    @classmethod
    def sum_of(cls, pairs: Sequence[Self], counts: Sequence[int], z: Array) -> Array:
        if len(pairs) == 1:
            return super(LaplaceShift, cls).sum_of(pairs, counts, z)
        times = np.array(counts, dtype=np.float64)
        ratios = np.array([pair.ratio for pair in pairs])
        twice = 2.0 * z + 1.0
        first, last = (z + 1.0) / twice, z / twice
        logs = sum(
            log_product(first + last * exponentials(-ratios[rows], twice), times[rows]) for rows in slices(len(pairs))
        )
        return np.asarray(z * float(ratios @ times) + logs)

    def spread(self, tilt: float) -> Spread:
        # The tilted density grows like exp((c + 1/2) l): take the top `width` of it at the height of its lower end.
        width = min(2.0 * self.ratio, 3.0 / (tilt + 0.5))
        log_moment = float(self.log_moment(np.array([tilt]))[0])
        height = 0.25 * math.exp(tilt * self.ratio - (tilt + 0.5) * width - log_moment)
        return Spread(min(1.0, 0.999 * height * width), width)


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceShift(Transform):
    """Discrete Laplace noise of mass proportional to exp(-|x| step), shifted by the integer `shift`.

    Losses step (shift - 2 i), i = 0 .. shift, of mass 1/(1 + r) at first, r^shift/(1 + r) at last and
    r^i (1 - r)/(1 + r) between, r = exp(-step). With w = exp(-step (2 z + 1)) the geometric sum collapses to
        exp(z step shift) (1 - r w + w^shift (r - w)) / ((1 + r)(1 - w)).
    """

    step: float
    shift: int

    @property
    def greatest(self) -> float:
        return raised(self.step * self.shift)

    @property
    def has_rest(self) -> bool:
        return True

    def log_moment(self, z: Array) -> Array:
        step, shift = self.step, self.shift
        r = math.exp(-step)
        first = np.expm1(-2.0 * step * (z + 1.0))
        last = r * np.expm1(-2.0 * step * z) * np.exp(-step * shift * (2.0 * z + 1.0))
        inside = (first + last) / np.expm1(-step * (2.0 * z + 1.0))
        return z * (step * shift) + np.log(inside + TINY) - math.log1p(r)


@dataclass(frozen=True, slots=True)
class BoundedRange(Transform):
    """The exponential mechanism: its loss lies in [t - range, t] for some t that the data, or an adversary, may choose.

    For one t the worst pair has the two losses t and t - range, and its curve is p_t (1 - exp(epsilon - t)) with
    p_t = (exp(range) - exp(t))/(exp(range) - 1) (Dong, Durfee and Rogers, 2020). Since t may follow earlier answers,
    one pair must dominate all t at once. The pointwise supremum, reached at t = (range + epsilon)/2, is
        h(epsilon) = (exp(range/2) - exp(epsilon/2))^2 / (exp(range) - 1)   for |epsilon| <= range:
    convex in exp(epsilon), 1 - exp(epsilon) at the left end and 0 at the right, hence the curve of a pair. Its second
    derivative in exp(epsilon) gives the P-density exp(l/2)/(4 sinh(range/2)) on [-range, range], with the moment
    sinh((z + 1/2) range)/(2 (z + 1/2) sinh(range/2)).
    """

    range: float

    @property
    def greatest(self) -> float:
        return raised(self.range)

    @property
    def has_rest(self) -> bool:
        return True

    def log_moment(self, z: Array) -> Array:
        # Both hyperbolic sines without their leading exponentials, so that neither a wide nor a narrow range overflows.
        shifted = z + 0.5
        ratio = np.expm1(-2.0 * self.range * shifted) / math.expm1(-self.range)
        return z * self.range + np.log(ratio / (2.0 * shifted))

    def real_bound(self, orders: Array) -> Array:
        """max over t of log E[exp(c L)]: smaller than `log_moment`, but known for real orders only.

        exp(c t) (exp(range) - exp(-c range) - exp(t)(1 - exp(-c range))) has its maximum over t where its derivative
        is zero, exp(t) = c (exp(range) - exp(-c range)) / ((c + 1)(1 - exp(-c range))). One order at a time is sound
        because the conditional moment given the past is at most this whatever t the past has led to.
        """
        c = orders
        # (exp(range) - exp(-c range))/(1 - exp(-c range)), scaled by exp(-range)
        top = -np.expm1(-(c + 1.0) * self.range)
        t = self.range + np.log(c / (c + 1.0)) + np.log(top / -np.expm1(-c * self.range))
        return c * t + np.log(top / (c + 1.0)) - math.log(-math.expm1(-self.range))

    def spread(self, tilt: float) -> Spread:
        rate = tilt + 0.5
        width = min(2.0 * self.range, 3.0 / rate)
        # The tilted density rate exp(rate l)/(2 sinh(rate range)) grows up to the right end and drops there.
        highest = rate / -math.expm1(-2.0 * rate * self.range)
        return Spread(min(1.0, 0.999 * highest * math.exp(-rate * width) * width), width, 2.001 * highest)
