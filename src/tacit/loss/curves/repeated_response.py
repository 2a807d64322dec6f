"""The exact privacy curve of k times the same (epsilon, delta) guarantee, rounded up.

Theorem (Kairouz, Oh and Viswanath 2015). Every (e, d) mechanism is a post-processing of the following answer to a
secret bit: with probability d it is told outright, else through a coin that tells the truth with odds exp(e) to 1. So k
adaptive (e, d) mechanisms are dominated by k such answers, and that bound is attained. With p = 1/(1 + exp(-e)),
q = 1 - p, and l lies among the k coins the privacy loss is (k - 2 l) e:

    delta(x) = 1 - (1 - d)^k (1 - sum over l of C(k, l) p^(k-l) q^l (1 - exp(x - (k - 2 l) e))_+).

The sum runs over lies within 40 sqrt(k) of their mean; by Hoeffding the rest weighs less than exp(-3200). Logarithms of
factorials are granted 8 units of relative error, running sums 8 units a term; both are added to the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, log_up, special, up

_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class RepeatedResponse:
    """k coins with odds exp(epsilon): losses from high to low, and running masses under both neighbours."""

    losses: Floats
    under_first: Floats  # under_first[j] = mass of the j highest losses
    log_under_second: Floats  # a logarithm, as it may be far below the smallest double where exp(epsilon) is far above
    slack: float  # relative error of the masses, and of 1 - exp(x - loss)

    @classmethod
    def of(cls, epsilon: float, count: int) -> RepeatedResponse:
        log_truth = -math.log1p(math.exp(-epsilon))
        mean = count * math.exp(log_truth - epsilon)
        reach = 40 * math.sqrt(count)
        lies = np.arange(max(0, math.floor(mean - reach)), min(count, math.ceil(mean + reach)) + 1, dtype=np.float64)
        factorial = special().gammaln
        parts = [factorial(count + 1.0), factorial(lies + 1), factorial(count - lies + 1)]
        ways = parts[0] - parts[1] - parts[2]
        log_first = ways + count * log_truth - lies * epsilon
        log_second = ways + count * log_truth - (count - lies) * epsilon
        scale = 3 * float(parts[0]) + count * (epsilon - log_truth)
        running = np.logaddexp.accumulate(log_second)
        slack = 8 * STEP_AT_ONE * (scale + len(lies) * (1 + float(np.max(np.abs(running)))) + 8)
        with np.errstate(under="ignore"):
            first = np.concatenate([[0.0], np.cumsum(np.exp(log_first))])
        # Rounded up: an atom that is wrongly taken to be above epsilon adds nothing, one taken to be below would be
        # lost.
        losses = np.nextafter((count - 2 * lies) * epsilon, np.inf)
        return cls(losses, first, np.concatenate([[-np.inf], running]), slack)

    def delta(self, epsilon: Floats) -> Floats:
        """The curve at each epsilon >= 0."""
        above = np.searchsorted(-self.losses, -epsilon, side="left")  # how many losses are above epsilon
        first = self.under_first[above]
        with np.errstate(under="ignore"):
            second = np.exp(np.minimum(epsilon + self.log_under_second[above], 1.0))
        value = first - second + self.slack * (first + second)
        return np.where(above > 0, np.clip(value + _TINY, 0.0, 1.0), 0.0)

    def epsilon(self, delta: float) -> float:
        """An epsilon whose delta, as computed above, is at most `delta`."""
        met = np.flatnonzero(self.delta(np.maximum(self.losses, 0.0)) <= delta)
        if len(met) == 0:  # even the highest loss was left out of the window
            return math.inf
        last = int(met[-1])
        if self.losses[last] <= 0 or self.delta(np.zeros(1))[0] <= delta:
            return 0.0
        # Between two losses delta is first - exp(epsilon) second, so the root is a logarithm.
        first, log_second = float(self.under_first[last + 1]), float(self.log_under_second[last + 1])
        wanted = first * (1 + self.slack) + _TINY - delta
        epsilon = max(0.0, log_up(wanted) - log_second) if wanted > 0 else 0.0
        step = STEP_AT_ONE
        while epsilon < self.losses[last] and self.delta(np.array([epsilon]))[0] > delta:
            epsilon = max(up(epsilon), epsilon * (1 + step))
            step *= 2
        return float(min(epsilon, self.losses[last]))


def with_delta(inner: Floats, delta: float, count: int) -> Floats:
    """1 - (1 - d)^k (1 - inner), rounded up."""
    told = all_told(delta, count)
    return np.minimum(1.0, (told + (1 - told) * inner) * (1 + 8 * STEP_AT_ONE))


def all_told(delta: float, count: float) -> float:
    """1 - (1 - d)^k, rounded up."""
    if delta <= 0 or count == 0:
        return 0.0
    return min(1.0, -math.expm1(count * math.log1p(-delta)) * (1 + 32 * STEP_AT_ONE)) if delta < 1 else 1.0
