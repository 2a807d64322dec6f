"""Noise in shares: the law of its sum, and a price that is never below the truth, both by enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import noise
from tacit.errors import ParameterError
from tacit.federated.distributed.rotation import Rotation, clipped, norm_squared, rounded
from tacit.federated.distributed.shares import NoiseShares, distance
from tacit.loss import compose
from tacit.loss.events import DiscreteGaussian

DIGITS = 60


def gaussian(variance: Fraction, reach: int) -> list[Any]:
    """The masses of the discrete Gaussian on -reach, ..., reach; beyond is less than can be seen in 60 digits."""
    with mpmath.workdps(DIGITS):
        exact = mpmath.mpf(variance.numerator) / variance.denominator
        weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * exact)) for k in range(-reach, reach + 1)]
        whole = mpmath.fsum(weights)
        return [each / whole for each in weights]


def convolved(one: list[Any], other: list[Any]) -> list[Any]:
    with mpmath.workdps(DIGITS):
        out = [mpmath.mpf(0)] * (len(one) + len(other) - 1)
        for (i, a), (j, b) in itertools.product(enumerate(one), enumerate(other)):
            out[i + j] += a * b
        return out


def sum_law(variance: Fraction, clients: int, reach: int) -> list[Any]:
    """The exact law of the sum of this many shares."""
    one = gaussian(variance, reach)
    out = one
    for _ in range(clients - 1):
        out = convolved(out, one)
    return out


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("clients", [2, 3, 4])
def test_the_distance_bounds_the_ratio_of_the_sum_to_the_gaussian(variance: Fraction, clients: int) -> None:
    """In 60 digits, wherever the mass is above 1e-30: the sum is not a discrete Gaussian, and is as near as is said."""
    reach = math.ceil(9 * math.sqrt(clients * variance)) + 6
    law, target = sum_law(variance, clients, reach), gaussian(variance * clients, reach * clients)
    with mpmath.workdps(DIGITS):
        ratios = [mpmath.log(q / p) for p, q in zip(law, target, strict=True) if q > mpmath.mpf(10) ** -30]
        worst = max(ratios)
    bound = distance(variance, clients)
    assert float(worst) <= bound
    assert bound < 1e9
    if variance < 1:
        assert float(worst) > 0  # it is another law, and the bound is not for nothing
    if clients == 2:
        assert bound <= 3 * float(worst)  # nor far from the truth


def true_delta(law: list[Any], shift: int, epsilon: float) -> float:
    """The exact delta of shifting a law of whole numbers, the larger of both directions."""
    with mpmath.workdps(DIGITS):
        padded = [mpmath.mpf(0)] * shift + law + [mpmath.mpf(0)] * shift
        factor = mpmath.exp(epsilon)
        one = mpmath.fsum(max(mpmath.mpf(0), a - factor * b) for a, b in zip(padded[shift:], padded, strict=False))
        two = mpmath.fsum(max(mpmath.mpf(0), a - factor * b) for a, b in zip(padded, padded[shift:], strict=False))
        return float(max(one, two))


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1, 2), Fraction(2)])
@pytest.mark.parametrize(("clients", "shift"), [(2, 1), (3, 1), (2, 2), (4, 2)])
def test_the_price_is_never_below_the_truth(variance: Fraction, clients: int, shift: int) -> None:
    """One number, whose client adds `shift` or nothing: the exact curve of the sum of shares lies below the event's."""
    shares = NoiseShares(shift**2, 1, clients, variance)
    law = sum_law(variance, clients, math.ceil(10 * math.sqrt(clients * variance)) + 8)
    total = compose([shares.event])
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
        assert true_delta(law, shift, epsilon) <= total.delta(epsilon) * (1 + 1e-9)


def test_two_places_are_priced_above_the_truth_too() -> None:
    """Both numbers move by 1: the law of a pair is a product, enumerated."""
    variance, clients = Fraction(1, 3), 2
    law = [float(each) for each in sum_law(variance, clients, 12)]
    pairs = np.outer(law, law)
    moved = np.zeros((len(law) + 1, len(law) + 1))
    still = moved.copy()
    still[:-1, :-1], moved[1:, 1:] = pairs, pairs
    total = compose([NoiseShares(2, 2, clients, variance).event])
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = float(np.maximum(still - math.exp(epsilon) * moved, 0).sum())
        assert truth <= total.delta(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(("squared", "size", "honest"), [(1, 1, 10), (1, 50, 200), (100, 1000, 50), (10**6, 4096, 100)])
@pytest.mark.parametrize("rounds", [1, 12])
def test_shares_meet_the_price_that_was_asked(squared: int, size: int, honest: int, rounds: int) -> None:
    shares = NoiseShares.for_price(squared, size, honest, "0.8", 1e-6, rounds=rounds)
    total = compose([shares.event] * rounds)
    assert total.epsilon(1e-6) <= 0.8
    assert shares.failure <= 1e-9
    if squared > 1:  # where the noise is not bounded below by that of a sum of shares, little of the price is wasted
        assert total.epsilon(1e-6) >= 0.75


def test_one_honest_client_carries_the_whole_price() -> None:
    shares = NoiseShares(4, 3, 1, Fraction(9))
    assert shares.event == DiscreteGaussian(2, 3, 3)


def test_noise_that_is_too_narrow_is_refused() -> None:
    with pytest.raises(ParameterError, match="nearly a discrete Gaussian"):
        NoiseShares(1, 1, 5, Fraction(1, 100))
    with pytest.raises(ParameterError):
        NoiseShares.for_price(1, 1, 5, 1, 0)


@pytest.mark.statistical
@pytest.mark.parametrize("clients", [2, 5])
def test_the_sum_of_drawn_shares_has_the_exact_law_of_the_convolution(clients: int) -> None:
    """40,000 sums, chi-square over the cells of at least 10 expected at 1e-9."""
    from scipy.stats import chi2

    many, variance = 40_000, Fraction(3, 4)
    shares, bits = NoiseShares(1, many, clients, variance), noise.secure()
    drawn = np.sum([shares.draw(bits) for _ in range(clients)], axis=0)
    law = np.array([float(each) for each in sum_law(variance, clients, 14)])
    reach = len(law) // 2
    counts = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=len(law))
    inner = law * many >= 10
    statistic = ((counts - law * many) ** 2 / (law * many))[inner].sum()
    rest = max(1.0, many * law[~inner].sum())
    statistic += (counts[~inner].sum() - many * law[~inner].sum()) ** 2 / rest
    assert statistic < chi2.isf(1e-9, int(inner.sum()))


# -- rotation and rounding -----------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_a_rotation_keeps_norms_and_goes_back(length: int, seed: int) -> None:
    turn = Rotation(length, seed.to_bytes(8, "big"))
    vector = np.random.default_rng(seed).normal(size=length)
    turned = turn.turned(vector)
    assert len(turned) == turn.size
    assert math.isclose(float(np.linalg.norm(turned)), float(np.linalg.norm(vector)), rel_tol=1e-12)
    assert np.allclose(turn.back(turned), vector, atol=1e-12)


def test_a_rotation_spreads_one_large_number() -> None:
    turned = Rotation(64, b"x").turned(np.eye(64)[3])
    assert np.allclose(np.abs(turned), 1 / 8)


@settings(max_examples=60)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=30), st.floats(0.01, 100))
def test_a_clipped_vector_is_no_longer_than_allowed(numbers: list[float], norm: float) -> None:
    out = clipped(np.array(numbers), norm)
    assert float(np.linalg.norm(out)) <= norm * (1 + 1e-9)


@settings(max_examples=100)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=12), st.integers(1, 500))
def test_what_leaves_never_has_a_larger_norm_than_is_priced(numbers: list[float], most: int) -> None:
    out = rounded(np.array(numbers), most, noise.SeededBitsForTestsOnly(1))
    assert sum(int(each) ** 2 for each in out) <= most


@pytest.mark.statistical
def test_rounding_keeps_the_mean_and_seldom_tries_twice() -> None:
    """2,000 roundings of 64 numbers: every mean within 6 deviations and the factor of trying again."""
    size, ratio = 64, 40.0
    vector = clipped(np.random.default_rng(2).normal(size=size), 1.0) * ratio
    most, bits = norm_squared(ratio, size), noise.secure()
    drawn = np.array([rounded(vector, most, bits) for _ in range(2000)])
    off = np.abs(drawn.mean(axis=0) - vector)
    assert float(off.max()) < 6 * 0.5 / math.sqrt(2000) + 0.02 * float(np.abs(vector).max())
    assert int((drawn**2).sum(axis=1).max()) <= most
