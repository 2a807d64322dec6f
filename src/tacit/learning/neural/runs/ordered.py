"""A fixed order without sampling: noise that is correlated over steps, so that later noise cancels earlier noise.

    PrivateTrainer(..., sampling="fixed", rate=0.05, steps=200)     # 20 groups of people, each in every 20th step

Setting. Before the first step everyone is put into one of b groups, each person by a draw of their own, whoever else is
there. Step t computes the sum x_t of clipped gradients of group t mod b, in whole numbers on the grid. One person moves
each x_t of their own group by at most S in L2 norm (`floats`) and no other, whatever was released before.

Theorem. Let C be the lower triangular Toeplitz matrix with c_0 = 1, c_1, ..., c_(w-1) >= 0 on its first w <= b
diagonals and zeros elsewhere, where every c_l is a whole number over 2**12. Over n steps, the whole numbers y_t = 2**12
sum over l < w of c_l x_(t-l) of neighbours differ by at most
    2**12 S sqrt(k |c|**2),   k = ceil(n / b),   |c|**2 = sum over l of c_l**2,
in L2 norm over all steps and coordinates. So releasing y_t + round(sigma Z) with sigma at least z times that is
Gaussian(1, z) for the whole run, even though x_t follows what was released before. Solving for x_t, step after step,
estimates it from the released numbers: post-processing. A step that failed would bring later ones nearer to each other
than b, so the run ends with it.
Proof. A person moves x at steps g, g + b, ..., at most k of them, so y moves by the sum over those p of c shifted to p
(x) d_p, |d_p| <= S. Two such columns share no row, because w <= b: squared norms add up to at most k |c|**2 S**2.
Rounding a Gaussian number that is added to a whole number is post-processing; continuous Gaussian noise under shifts
that are chosen on the way, of at most so much in all, is no worse than one shift of that size (as in
`mechanisms.continual.matrix`). Groups are a mixture over draws that others' draws do not change. No amplification by
sampling is claimed. Sums are cut off at 2**46, coordinate by coordinate, which brings no two of them further apart.

Nothing about privacy rests on which coefficients are taken. They are those of the running totals of this house
(`mechanisms.continual`), whose w first ones are near the best banded matrix (Kalinin, Lampert 2024); w is the one of
1, 2, 4, ... up to b and 32 with the least error of the sums over all steps so far.
Source: Kairouz et al. 2021, Denisov et al. 2022 (following the leader with correlated noise); Choquette-Choo et al.
2023 (bands, and persons who take part at a distance).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
import torch

from tacit import parameters
from tacit.curator import Price
from tacit.learning.neural.runs.pricing import MOST_STEPS, budget_of, count_sigma_for, least_multiplier
from tacit.loss import calibrate, events
from tacit.loss.numbers.rounding import dyadic_up, sqrt_up
from tacit.mechanisms.continual.matrix import FINE, matrix_for

BITS: Final = 12
_MOST_BAND: Final = 32
_MOST_GROUPS: Final = 10**6
_MOST_COMPARED: Final = 1 << 14
_REACH: Final = 2.0**46


@dataclass(frozen=True, slots=True)
class OrderedRun:
    """A run in fixed order; `z` is the multiplier of the whole run, `multiplier` that of one step's sum."""

    groups: int
    steps: int
    band: tuple[int, ...]  # c, times 2**12
    z: Fraction
    epsilon: Fraction
    delta: Fraction
    count_sigma: Fraction | None

    @property
    def rate(self) -> Fraction:
        """The share of people in a step, on average."""
        return Fraction(1, self.groups)

    @property
    def participations(self) -> int:
        """k of the theorem."""
        return -(-self.steps // self.groups)

    @property
    def multiplier(self) -> Fraction:
        """The deviation of y's noise over 2**12 times the sensitivity of one step's sum."""
        return dyadic_up(self.z * stretched(self.band, self.participations))

    @property
    def event(self) -> events.Event:
        """What the whole run is charged as."""
        return _event(self.z, self.count_sigma)

    @property
    def price(self) -> Price:
        """What the whole run costs."""
        return Price(self.event, self.epsilon, self.delta)

    def spent_so_far(self, steps: int) -> float:
        """Nothing before the first step, and the whole price from then on: noise is shared by all steps."""
        return float(self.epsilon) if steps or self.count_sigma is not None else 0.0


def stretched(band: tuple[int, ...], participations: int) -> Fraction:
    """sqrt(k |c|**2), rounded up."""
    squared = Fraction(sum(each * each for each in band), 1 << (2 * BITS))
    return sqrt_up(participations * squared)


def plan_ordered(epsilon: Any, delta: Any, *, rate: Any, steps: Any, buys_count: bool) -> OrderedRun:
    """The least noise for the budget; or a refusal."""
    exact, slip = budget_of(epsilon, delta)
    share = parameters.as_written("rate", rate, "one over the number of groups")
    groups = round(1 / share) if share > 0 else 0
    # 1/3 has no finite decimals: the nearest number with as many digits as were given is accepted
    if not 1 <= groups <= _MOST_GROUPS or abs(groups * share - 1) > Fraction(1, 1000):
        raise parameters.refuse("rate", "one over the number of groups, like 0.05, in a fixed order", rate)
    count = parameters.whole("steps", steps, least=1)
    if count > MOST_STEPS:
        raise parameters.refuse("steps", f"at most {MOST_STEPS:,}", steps)
    sigma = count_sigma_for(exact, slip) if buys_count else None
    if sigma is None:
        z = calibrate.gaussian_sigma(1, exact, slip)
    else:
        z = least_multiplier(exact, slip, lambda own: _event(own, sigma))
    return OrderedRun(groups, count, band_for(count, groups), z, exact, slip, sigma)


def _event(z: Fraction, count_sigma: Fraction | None) -> events.Event:
    run = events.Gaussian(Fraction(1), z)
    return run if count_sigma is None else events.Composed((events.Gaussian(Fraction(1), count_sigma), run))


@lru_cache(maxsize=64)
def band_for(steps: int, groups: int) -> tuple[int, ...]:
    """The coefficients, with the number of diagonals that has the least error."""
    most = min(steps, groups, _MOST_BAND)
    near = matrix_for(max(steps, 2)).near
    whole = (1 << BITS, *(each >> (FINE - BITS) for each in near[1:most]))
    widths = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    return min((whole[:width] for width in widths), key=lambda band: mean_error(band, min(steps, _MOST_COMPARED)))


def mean_error(band: tuple[int, ...], steps: int) -> float:
    """|c|**2 times the mean over steps of the variance of the sum so far, for noise of variance 1 on each y."""
    c = np.array(band, dtype=np.float64) / (1 << BITS)
    inverse = np.zeros(steps)
    inverse[0] = 1.0
    for place in range(1, steps):
        reach = min(place, len(c) - 1)
        inverse[place] = -(c[1 : reach + 1] @ inverse[place - reach : place][::-1]) if reach else 0.0
    sums = np.cumsum(np.cumsum(inverse) ** 2)
    return float((c @ c) * sums.mean())


class Correlated:
    """One run as it goes: its memory of sums is exact and private, its memory of estimates public."""

    def __init__(self, band: tuple[int, ...]) -> None:
        self._band = band
        self.time = 0  # steps that were released
        self._sums: deque[Any] = deque(maxlen=max(len(band) - 1, 1))
        self._found: deque[Any] = deque(maxlen=max(len(band) - 1, 1))

    def encoded(self, total: Any) -> Any:
        """y of one more sum: whole numbers, private."""
        own = total.clamp(-_REACH, _REACH).to(torch.int64)
        found = own * self._band[0]
        for coefficient, earlier in zip(self._band[1:], reversed(self._sums), strict=False):
            found.add_(earlier, alpha=coefficient)
        self._sums.append(own)
        return found

    def decoded(self, noisy: Any) -> Any:
        """The sum that was released, estimated in float64."""
        found = noisy.double().mul_(2.0**-BITS)
        for coefficient, earlier in zip(self._band[1:], reversed(self._found), strict=False):
            found.sub_(earlier, alpha=coefficient * 2.0**-BITS)
        self._found.append(found.clone())
        return found

    def released(self, total: Any, noise: Any, unit: float) -> Any:
        """One more sum with its noise, as real numbers: what may leave."""
        found = self.decoded(self.encoded(total).add_(noise)).mul_(unit)
        self.time += 1
        return found
