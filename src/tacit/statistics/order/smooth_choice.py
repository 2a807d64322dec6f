"""Which smooth-sensitivity noise to take, from public parameters only.

Rule. Suppose the local sensitivity at a distance of k units were proportional to k + 1, as it is for an order statistic
among evenly spaced rows. Then S(b) = max over k of (k + 1) exp(-b k) for smoothness b, and the noise has the mean size
(multiple) S(b) E|Z|. The law and the b with the least mean size are taken, among quartic noise (the lightest tails that
every pure epsilon allows) and, with a delta, Laplace noise too, each at a few values of b. Every candidate is private
by `tacit.mechanisms.smooth_calibration`, so the choice, which looks at epsilon and delta alone, needs no proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from tacit.errors import ParameterError
from tacit.mechanisms import Smooth

_MEAN_SIZE = {"quartic": math.sqrt(2) / 2, "laplace": 1.0}  # E|Z|
_QUARTIC = tuple(Fraction(part, 60) for part in (1, 2, 4, 6, 8, 10, 12, 14, 16))
_LAPLACE = tuple(Fraction(part, 8) for part in (2, 4, 6, 8, 10, 12, 16))


@dataclass(frozen=True, slots=True)
class Chosen:
    """Smooth noise, and its mean size where rows are evenly spaced, in spaces between them."""

    kind: str
    smoothness: Fraction
    size: float
    epsilon: Fraction
    delta: Fraction

    @property
    def spent_delta(self) -> Fraction:
        """What the noise spends of delta: quartic noise is pure, and spends none."""
        return self.delta if self.kind == "laplace" else Fraction(0)

    def noise(self, grid: Fraction | None = None) -> Smooth:
        """The mechanism, on whole numbers or on a grid."""
        delta = self.delta if self.kind == "laplace" else None
        return Smooth(self.epsilon, delta, kind=self.kind, smoothness=self.smoothness, grid=grid)


@cache
def choose_smooth(epsilon: Fraction, delta: Fraction) -> Chosen:
    """The candidate with the least noise."""
    quartic = [("quartic", epsilon * part) for part in _QUARTIC]
    usual = Fraction(math.floor(float(epsilon) / (2 * math.log(2 / delta)) * 2**40), 2**40) if delta else Fraction(0)
    laplace = [("laplace", usual * part) for part in _LAPLACE] if usual else []
    found = []
    for kind, smoothness in [*quartic, *laplace]:
        try:
            built = Smooth(epsilon, delta if kind == "laplace" else None, kind=kind, smoothness=smoothness)
        except ParameterError:
            continue  # too rough for this epsilon and delta
        size = float(built.multiple) * evenly_spaced(float(smoothness)) * _MEAN_SIZE[kind]
        found.append(Chosen(kind, smoothness, size, epsilon, delta))
    if not found:  # let the mechanism say what is wrong with epsilon
        Smooth(epsilon, kind="quartic")
    return min(found, key=lambda each: each.size)


def evenly_spaced(smoothness: float) -> float:
    """max over whole k >= 0 of (k + 1) exp(-b k)."""
    turn = max(1 / smoothness - 1, 0.0)
    return max((k + 1) * math.exp(-smoothness * k) for k in (math.floor(turn), math.ceil(turn)))
