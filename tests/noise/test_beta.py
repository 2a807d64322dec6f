"""Statistical tests here reject at p < 1e-10 each."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.noise import beta as module
from tacit.noise import truncated_beta
from tacit.noise.bits import secure
from tests.noise.doubles import Served, chance_at_most

ALARM = 1e-10


def masses(a: str, b: str, points: range, grid_bits: int) -> list[float]:
    weights = [
        (mpmath.mpf(i) / 2**grid_bits) ** mpmath.mpf(float(Fraction(a)))
        * (1 - mpmath.mpf(i) / 2**grid_bits) ** mpmath.mpf(float(Fraction(b)))
        for i in points
    ]
    return [float(weight / mpmath.fsum(weights)) for weight in weights]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("a", "b", "low", "high", "grid_bits", "points"),
    [
        ("0", "0", "0", "1", 3, range(1, 8)),
        ("2", "1/2", "0", "1", 3, range(1, 8)),
        ("7/4", "9", "1/10", "9/10", 4, range(2, 15)),
        ("3", "3", "1/4", "3/4", 3, range(3, 6)),
        ("1", "0", "0", "1/2", 4, range(1, 8)),
        ("200", "100", "0", "1", 5, range(1, 32)),
    ],
)
def test_draws_follow_the_law_on_the_points_strictly_inside(
    a: str, b: str, low: str, high: str, grid_bits: int, points: range
) -> None:
    draws = truncated_beta(a, b, low, high, grid_bits, 10_000, secure())
    assert draws.min() >= points[0]
    assert draws.max() <= points[-1]
    counts = np.bincount(draws - points[0], minlength=len(points))
    assert chance_at_most(counts, masses(a, b, points, grid_bits)) > ALARM


@pytest.mark.parametrize(("a", "b"), [("2.17", "0.3"), ("123456", "654321"), (str(2**40), "1")])
def test_float_weights_and_their_enclosures_agree_with_the_logarithms(a: str, b: str) -> None:
    heads, tails = Fraction(a), Fraction(b)
    floats = module.float_weights(float(heads), float(tails), 1, 1023, 10)
    with mpmath.workdps(80):
        for i in (1, 2, 77, 512, 1000, 1023):
            theta = mpmath.mpf(i) / 1024
            exact = mpmath.mpf(heads.numerator) / heads.denominator * mpmath.log(theta) + mpmath.mpf(
                tails.numerator
            ) / tails.denominator * mpmath.log(1 - theta)
            assert abs(mpmath.mpf(float(floats[i - 1])) - exact) <= 20 * 2.0**-53 * abs(exact)
            low, high = module.log_weight(heads, tails, Fraction(i, 1024), 40)
            assert mpmath.mpf(str(low)) <= exact <= mpmath.mpf(str(high))
            room = abs(exact) * mpmath.mpf(10) ** -48
            assert mpmath.mpf(str(low)) <= exact - room * 0.99, "the race rounds the sum with its noise"
            assert mpmath.mpf(str(high)) >= exact + room * 0.99
            assert mpmath.mpf(str(high)) - mpmath.mpf(str(low)) < 3 * room + mpmath.mpf(10) ** -45


@pytest.mark.parametrize(("first", "second", "winner"), [(5, 2**50, 1), (2**50, 5, 3)])
def test_equal_words_on_equal_weights_are_told_apart_by_further_bits(first: int, second: int, winner: int) -> None:
    # points 1, 2, 3 of 4 with theta (1 - theta): 1 and 3 weigh the same; the smaller uniform has the larger key
    race = [2**60, 2**64 - 2, 2**60]
    assert truncated_beta(1, 1, 0, 1, 2, None, Served([*race, first, second])) == winner


def test_a_large_sample_of_evidence_concentrates_at_the_mode() -> None:
    draws = truncated_beta(3 * 10**8, 10**8, 0, 1, 12, 20, secure())
    assert np.abs(draws - 3072).max() <= 8, "the standard deviation is 0.09 grid points"


def test_sizes() -> None:
    assert type(truncated_beta(1, 2, 0, 1, 10, None, secure())) is int
    assert truncated_beta(1, 2, 0, 1, 10, 0, secure()).size == 0
    assert truncated_beta(1, 2, "0.4999", "0.5001", 1, 3, secure()).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: truncated_beta(-1, 1, 0, 1, 4, 1, secure()), "'a' parameter"),
        (lambda: truncated_beta(1, float("nan"), 0, 1, 4, 1, secure()), "'b' parameter"),
        (lambda: truncated_beta(1, 2**41, 0, 1, 4, 1, secure()), "'b' parameter must be a number from 0 to 2"),
        (lambda: truncated_beta(1, 1, -1, 1, 4, 1, secure()), "'low' parameter"),
        (lambda: truncated_beta(1, 1, 0, 2, 4, 1, secure()), "'high' parameter"),
        (lambda: truncated_beta(1, 1, "1/4", "1/2", 2, 1, secure()), "more grid_bits"),
        (lambda: truncated_beta(1, 1, 0, 1, 0, 1, secure()), "'grid_bits' parameter"),
        (lambda: truncated_beta(1, 1, 0, 1, 21, 1, secure()), "from 1 to 20"),
    ],
)
def test_wrong_parameters_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()
