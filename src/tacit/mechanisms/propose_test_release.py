"""Propose, test, release: noise for a sensitivity that holds near this data, after a private test that it does.

Theorem. Let f be a function of the data and `bound` = B a public, proposed bound. Call data *unstable* when some
neighbour moves f by more than B. Let `distance` be the number of units that must change before the data are unstable
(0 when they are; any lower bound of it that changes by at most 1 between neighbours and is 0 on unstable data will
do). With discrete Laplace noise X of scale 1/e1 and Y of scale B/e2 (reals on a grid, see `laplace`), and t the least
whole number with P(X > t) <= delta,

    "refused" unless  distance + X > t;  then  f + Y

is (e1 + e2, delta)-differentially private.

Assumptions: the relation of neighbours is the caller's, the same for f and for the distance.

Proof. Take neighbours x, y. (a) One of them is stable: then f(x) and f(y) differ by at most B. The test's noisy
distance is e1-private (the distance moves by at most 1), f + Y is e2-private (f moves by at most B), and the answer
is a function of the two: (e1 + e2, 0). (b) Both are unstable: both distances are 0, so the test passes with the same
probability p = P(X > t) <= delta for both, and all else is "refused": (0, delta). Every pair of neighbours is one or
the other, so the deltas do not add, and neither is multiplied by exp(epsilon).

With B = 0 ("the answer is the same on all neighbours") nothing but the test is noisy: f itself leaves, and e1 is all of
epsilon. Otherwise the two halves of epsilon go to the test and to the release.

P(X > t) is half of P(|X| > t), whose quantile `Laplace.error` finds exactly; t is at least 0.

Source: Dwork and Lei 2009 (propose-test-release); case (b) separated from case (a) here, which saves the second delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tacit import parameters
from tacit.loss.events import Approximate
from tacit.mechanisms.laplace import Laplace
from tacit.noise import BitSource


class Refused(Enum):
    """The one answer that is not a number.

    >>> Refused.REFUSED is Refused.REFUSED
    True
    """

    REFUSED = "refused: the proposed bound did not pass the private test"


REFUSED = Refused.REFUSED


@dataclass(frozen=True, slots=True, init=False)
class ProposeTestRelease:
    """Noise for the proposed `bound` on the local sensitivity (L1 for arrays), or `REFUSED`.

    `epsilon` pays for test and release together. A bound that is a float, or a `grid`, makes the values reals.

    >>> ProposeTestRelease("0.5", "1e-6", bound=1).event.kind
    'approximate'
    """

    event: Approximate
    test: Laplace
    answer: Laplace | None
    threshold: int

    def __init__(
        self,
        epsilon: parameters.Number,
        delta: parameters.Number,
        *,
        bound: parameters.Number,
        size: int = 1,
        grid: parameters.Number | None = None,
    ) -> None:
        total = parameters.positive("epsilon", epsilon)
        allowed = parameters.open_probability("delta", delta)
        exact = parameters.non_negative("bound", bound)
        test = Laplace(1, total if exact == 0 else total / 2)
        object.__setattr__(self, "event", Approximate(total, allowed))
        object.__setattr__(self, "test", test)
        object.__setattr__(self, "answer", Laplace(bound, total / 2, size=size, grid=grid) if exact else None)
        # P(X > 0) is below 1/2 whatever the scale
        object.__setattr__(self, "threshold", test.error(1 - 2 * allowed) if 2 * allowed < 1 else 0)

    @property
    def scale(self) -> float:
        """The scale of the noise on a released value."""
        return 0.0 if self.answer is None else self.answer.scale

    def pass_probability(self, distance: int) -> float:
        """How likely data at this distance from instability are to pass the test."""
        rate = 1 / self.test.scale
        short = self.threshold + 1 - parameters.whole("distance", distance)
        if short > 0:
            return math.exp(-short * rate) / (1 + math.exp(-rate))
        return 1 - math.exp((short - 1) * rate) / (1 + math.exp(-rate))

    def error(self, confidence: parameters.Number) -> int | float:
        """The smallest t such that one released number is off by more with probability at most 1 - confidence."""
        parameters.open_probability("confidence", confidence)
        return 0 if self.answer is None else self.answer.error(confidence)

    def release(self, values: Any, distance: int, *, bits: BitSource | None = None) -> Any:
        """`values` with noise if the distance passes the test, else `REFUSED`. Both are private.

        A negative distance is read as 0. With a bound of 0 the values leave as they are.
        """
        passed = self.test.release(max(distance, 0), bits=bits) > self.threshold
        # drawn whatever the test says, so that the time says no more than the answer
        noisy = values if self.answer is None else self.answer.release(values, bits=bits)
        return noisy if passed else REFUSED
