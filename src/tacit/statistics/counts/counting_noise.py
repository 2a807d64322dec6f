"""Which noise a vector of counts gets: the one with the smaller variance at the same price. Public parameters decide.

Laplace noise is scaled by the L1 sensitivity and needs no delta; Gaussian noise is scaled by the L2 sensitivity and
needs one. Where a unit moves few numbers of the vector the first is smaller, where it moves many the second.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

from tacit.curator import Price
from tacit.loss import events
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Gaussian, Laplace

Noise: TypeAlias = Laplace | Gaussian


def least_noise(l1: int, squared_l2: int, size: int, epsilon: Fraction, delta: Fraction) -> Noise:
    """Noise for at most `size` whole numbers that neighbours move by `l1` in L1 and sqrt(squared_l2) in L2 at most."""
    laplace = Laplace(sensitivity=l1, epsilon=epsilon)
    if delta == 0:
        return laplace
    gaussian = Gaussian(sensitivity=sqrt_up(Fraction(squared_l2)), epsilon=epsilon, delta=delta, size=size)
    return laplace if variance_of(laplace) <= variance_of(gaussian) else gaussian


def variance_of(noise: Noise) -> float:
    """The variance of one number's noise; of Gaussian noise an upper bound, which a large sigma meets."""
    if isinstance(noise, Gaussian):
        return noise.scale**2
    # 2 a/(1 - a)**2 with a = exp(-1/scale)
    return 1 / (2 * math.sinh(min(1 / (2 * noise.scale), 350.0)) ** 2)


def price_of(epsilon: Fraction, delta: Fraction, *released: events.Event) -> Price:
    """The price of releases whose epsilons add up to `epsilon`; delta counts only where Gaussian noise uses it."""
    event = released[0] if len(released) == 1 else events.Composed(released)
    gaussian = any(isinstance(each, events.DiscreteGaussian) for each in released)
    return Price(event, epsilon, delta if gaussian else Fraction(0))


def named(noise: Noise) -> str:
    """The noise in words."""
    return "discrete Gaussian" if isinstance(noise, Gaussian) else "discrete Laplace"
