"""A whole number with smooth-sensitivity noise, and an interval around it that is bought with it.

Theorem. Let S be a smooth bound of the local sensitivity of f, of smoothness b (`tacit.mechanisms.Smooth`). The number
f is released by `Smooth` at nine tenths of epsilon (and all of delta). How much noise that was depends on S, which is
private. A second bound S' >= S of smoothness b' = epsilon/40 tells: T = max(S', 1) has |ln T(x) - ln T(y)| <= b' for
neighbours, so ln T with Laplace noise for sensitivity b' costs the last tenth. Both together are the composition of
the two. (A smaller b' needs less noise and gives a larger S'; it changes nothing about the released number.)

The interval. The noisy ln T plus its error is at least ln T but with probability a/2, and the noise on f is within its
error at level 1 - a/2. So the interval holds f with probability at least 1 - a.

Floating point. S is read with a relative error of up to 2**-42 (`Smooth`); ln T then errs by less than 2**-41, so b'
plus 2**-39 bounds how far two of them are apart. `decayed` is accurate enough: its exponents are at most 600, where
exp(-b s) has a relative error of at most 600 * 2**-52 + 2**-52 < 2**-42; a term beyond that is below 1 whatever its
whole number (those are below 1e200), and T is at least 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit import parameters
from tacit.curator import Price
from tacit.loss import events
from tacit.mechanisms import Laplace, Smooth
from tacit.noise import BitSource

_SHARE = Fraction(1, 10)  # of epsilon, for the size of the noise
_SLACK = Fraction(1, 2**39)
_GRID = Fraction(1, 2**20)
_DEEPEST = 600.0
DEGREES = 3  # of Student's t, the kind with the smallest error at pure epsilon


@dataclass(frozen=True, slots=True)
class SmoothCount:
    """How a number of private smooth sensitivity is released at (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction
    noise: Smooth
    size: Laplace

    @classmethod
    def at(cls, epsilon: parameters.Number, delta: parameters.Number) -> SmoothCount:
        """Student's t noise for delta 0, Laplace noise otherwise."""
        whole, slip = parameters.positive("epsilon", epsilon), parameters.probability("delta", delta)
        main = whole * (1 - _SHARE)
        noise = Smooth(main, slip) if slip else Smooth(main, kind="student", degrees=DEGREES)
        size = Laplace(_gentle(whole) + _SLACK, whole * _SHARE, grid=_GRID)
        return cls(whole, slip, noise, size)

    @property
    def price(self) -> Price:
        """Of the number and its interval."""
        return Price(events.Composed((self.noise.event, self.size.event)), self.epsilon, self.delta)

    def release(
        self, value: int, at_distance: Iterable[int], level: parameters.Number, most: int, bits: BitSource
    ) -> tuple[int, int, int]:
        """The noisy value and the ends of its interval, from bounds of the local sensitivity at distance 0, 1, ...

        `most` is public: no sensitivity is larger.
        """
        own, gentle = smooth_bounds((self.noise.smoothness, _gentle(self.epsilon)), at_distance, most)
        noisy: int = self.noise.release(value, own, bits=bits)
        missing = 1 - parameters.open_probability("level", level)
        told = float(self.size.release(math.log(max(gentle, 1.0)), bits=bits))
        told += float(self.size.error(1 - missing))  # two-sided: the side that matters has half of it
        guess = min(Fraction(math.exp(min(max(told, 0.0), _DEEPEST))), Fraction(max(most, 1)))
        reach = int(self.noise.error(1 - missing / 2, guess))
        return noisy, noisy - reach, noisy + reach


def _gentle(epsilon: Fraction) -> Fraction:
    """The smoothness of the bound that is told."""
    return epsilon / 40


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
