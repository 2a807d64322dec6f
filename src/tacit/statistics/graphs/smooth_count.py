"""A whole number of a graph with smooth-sensitivity noise, and the interval that a share of epsilon buys it.

Theorem, of the noise: `tacit.mechanisms.Smooth`; of the interval: `tacit.statistics.smooth_interval`. Both need smooth
bounds of the local sensitivity; here these are the largest exp(-b s) LS_s over distances s, b the smoothness.

Floating point. `decayed` is accurate enough for both: its exponents are at most 600, where exp(-b s) has a relative
error of at most 600 * 2**-52 + 2**-52 < 2**-42; a term beyond that is below 1 whatever its whole number (those are
below 1e200), and both take a bound below 1 for 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit import parameters
from tacit.curator import Price
from tacit.mechanisms import Smooth
from tacit.noise import BitSource
from tacit.statistics.smooth_interval import SmoothInterval, read_share

_DEEPEST = 600.0
DEGREES = 3  # of Student's t, the kind with the smallest error at pure epsilon


@dataclass(frozen=True, slots=True)
class SmoothCount:
    """How a number of private smooth sensitivity is released at (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction
    share: Fraction  # of epsilon, for the interval
    smooth: SmoothInterval

    @classmethod
    def at(
        cls,
        epsilon: parameters.Number,
        delta: parameters.Number,
        interval_share: parameters.Number,
        level: parameters.Number,
    ) -> SmoothCount:
        """Student's t noise for delta 0, Laplace noise otherwise."""
        whole, slip = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
        share = read_share(interval_share)
        main = whole * (1 - share)
        noise = Smooth(main, slip) if slip else Smooth(main, kind="student", degrees=DEGREES)
        exact = parameters.level("level", level)
        return cls(whole, slip, share, SmoothInterval.of(noise, whole * share, exact))

    @property
    def price(self) -> Price:
        """The price of the number and its interval."""
        return Price(self.smooth.event, self.epsilon, self.delta)

    @property
    def stated(self) -> dict[str, str]:
        """What shapes the result."""
        return {"epsilon": str(self.epsilon), "delta": str(self.delta), "interval_share": str(self.share)}

    @property
    def note(self) -> str:
        """What the interval covers."""
        if not self.share:
            return "interval_share=0: no interval."
        return f"The interval covers the noise; {float(self.share):g} of epsilon was spent on its width."

    def release(self, value: int, at_distance: Iterable[int], most: int, bits: BitSource) -> tuple[int, ...]:
        """The noisy value and the ends of its interval, from bounds of the local sensitivity at distance 0, 1, ...

        `most` is public: no sensitivity is larger.
        """
        bounds = smooth_bounds(self.smooth.smoothnesses, at_distance, most)
        return tuple(each for each in self.smooth.release(value, bounds, bits) if each is not None)


def decayed(smoothness: Fraction, distance: int) -> float:
    """exp(-b s), or 0 where no whole number times it reaches 1."""
    exponent = float(smoothness) * distance
    return math.exp(-exponent) if exponent <= _DEEPEST else 0.0


def smooth_bounds(smoothness: Sequence[Fraction], at_distance: Iterable[int], most: int) -> list[float]:
    """For each smoothness b the largest exp(-b s) LS_s, of local sensitivities LS_0, LS_1, ...

    None of them is above `most`; the last one counts for all distances after it.
    """
    best = [0.0] * len(smoothness)
    for distance, sensitivity in enumerate(at_distance):
        weights = [decayed(each, distance) for each in smoothness]
        best = [max(old, weight * sensitivity) for old, weight in zip(best, weights, strict=True)]
        if all(weight * most <= old for old, weight in zip(best, weights, strict=True)):
            break
    return best
