"""The inverse of the normal law by torch, of which exact noise asks a small error."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

from tacit.learning.neural.sums.inverse import by_torch, inverse
from tacit.noise import SeededBitsForTestsOnly, rounded_normal


def test_torchs_inverse_of_the_normal_law_is_as_near_as_exact_noise_asks() -> None:
    """Against 40 digits: within 2**-46 where `noise.normal` relies on it; it takes scipy's where torch's is not."""
    places = np.concatenate([np.geomspace(2.0**-21, 0.5, 60), np.random.default_rng(0).uniform(0.0, 0.5, 60)])
    with mpmath.workdps(40):
        true = [mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(float(each)) - 1) for each in places]
        for found in (by_torch(places), inverse()(places)):
            error = max(abs(mpmath.mpf(float(own)) - each) for own, each in zip(found, true, strict=True))
            assert error <= 2.0**-46


def test_a_draw_is_the_same_whichever_inverse_finds_it() -> None:
    """The candidates differ by less than the band, and what lies in the band is settled exactly."""
    scale = Fraction(654_321, 1)
    drawn = [rounded_normal(scale, 50_000, SeededBitsForTestsOnly(7), each) for each in (None, by_torch)]
    assert np.array_equal(*drawn)
