"""Adaptive clipping, paid for: the clipping norm follows the median of the norms, by a noisy count at each step.

    PrivateTrainer(..., clipping="adaptive", clip=1)      # where it starts

Theorem. A step releases the sum of gradients clipped to C_t, which was decided by what was released before, and s: the
number of people in the sample whose norm is within C_t, less the number of the others. One person moves the sum by at
most S_t in L2 norm and s by at most 1. With noise of deviation z_g S_t on the sum and 8 z on s, both rounded to whole
numbers, the two together are a Gaussian mechanism whose shift is at most sqrt(1/z_g**2 + 1/(8 z)**2) <= 1/z deviations,
where
z_g = z sqrt(64/63): so a step is PoissonSampled(Gaussian(1, z), q), as it would be without the count, and noise on
gradients grows by 0.8 %. How C_t follows is post-processing: C <- C exp(-0.2 (share within - 1/2)), where
the share is (s/(q size) + 1)/2, within [2**-16, 2**16], rounded to 24 binary digits.
Source: Andrew, Thakkar, McMahan, Ramaswamy 2021.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from tacit.loss.numbers.rounding import dyadic_down, dyadic_up, sqrt_up
from tacit.noise import BitSource, rounded_normal

_WIDER: Final = 8
_RATE: Final = 0.2
_AIM: Final = 0.5
_LEAST: Final = 2.0**-15
_MOST: Final = 2.0**16
_DIGITS: Final = 24


def multiplier_beside_count(multiplier: Fraction) -> Fraction:
    """z_g of the theorem."""
    return dyadic_up(multiplier * sqrt_up(Fraction(_WIDER**2, _WIDER**2 - 1)))


def count_sigma(multiplier: Fraction) -> Fraction:
    """The deviation of the count's noise."""
    return _WIDER * multiplier


def noisy_count(within: int, multiplier: Fraction, bits: BitSource) -> int:
    """s with its noise: what may leave."""
    return within + rounded_normal(count_sigma(multiplier), None, bits)


def followed(clip: Fraction, noisy: int, per: float) -> Fraction:
    """The next clipping norm, from what was released."""
    share = min(max((noisy / per + 1) / 2, 0.0), 1.0)
    moved = float(clip) * math.exp(-_RATE * (share - _AIM))
    return dyadic_down(Fraction(min(max(moved, _LEAST), _MOST)), _DIGITS)
