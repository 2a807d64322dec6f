"""Statistical tests here fail a correct sampler with probability below 1e-9 each."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import product as every
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.loss.events import DiscreteLaplace
from tacit.mechanisms import Laplace
from tacit.mechanisms.base import Mechanism
from tacit.noise import SeededBitsForTestsOnly
from tests.mechanisms.exact import FALSE_ALARM, Law, discrete_laplace, p_value, product, real, refused, worst_loss


def test_a_counting_query_at_one_tenth_has_scale_ten() -> None:
    assert Laplace(sensitivity=1, epsilon=0.1).scale == 10.0
    assert Laplace(sensitivity=1, epsilon="0.1").event == DiscreteLaplace(1, Fraction(10))


def test_at_the_epsilon_of_the_two_coins_the_scale_is_091() -> None:
    assert round(Laplace(sensitivity=1, epsilon=math.log(3)).scale, 2) == 0.91


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "1/10"), (1, 2), (3, "1/2"), (5, 7)])
def test_neighbours_differ_by_exactly_epsilon_at_worst(sensitivity: int, epsilon: Any) -> None:
    scale = Laplace(sensitivity, epsilon).event.scale
    law = discrete_laplace(scale, reach=60)
    for shift in range(1, sensitivity + 1):
        loss = worst_loss(law, discrete_laplace(scale, shift, reach=60))
        assert mpmath.almosteq(loss, real(epsilon) * shift / sensitivity, 1e-40)
    # one more than the sensitivity costs more than epsilon: the noise is no larger than it must be
    assert worst_loss(law, discrete_laplace(scale, sensitivity + 1, reach=60)) > real(epsilon)


def test_a_vector_is_protected_by_the_sum_of_its_moves() -> None:
    scale = Laplace(3, 1).event.scale
    here = product(discrete_laplace(scale, reach=12), discrete_laplace(scale, reach=12))
    for first, second in every(range(-3, 4), repeat=2):
        there = product(discrete_laplace(scale, first, 12), discrete_laplace(scale, second, 12))
        assert (worst_loss(here, there) <= 1 + mpmath.mpf(10) ** -40) == (abs(first) + abs(second) <= 3)


@pytest.mark.statistical
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "1/10"), (1, 2), (3, "1/2")])
def test_what_is_released_has_the_law_of_the_claim(sensitivity: int, epsilon: Any) -> None:
    mechanism = Laplace(sensitivity, epsilon)
    law = discrete_laplace(sensitivity / Fraction(epsilon), reach=80)
    bits = SeededBitsForTestsOnly(1)
    drawn = mechanism.release(np.full(40_000, 17), bits=bits) - 17
    assert p_value(drawn.tolist(), law) > FALSE_ALARM
    one_by_one = [mechanism.release(-5, bits=bits) + 5 for _ in range(20_000)]
    assert p_value(one_by_one, law) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(("size", "units"), [(1, 3), (3, 5)])
def test_real_values_get_noise_for_the_sensitivity_of_their_grid_points(size: int, units: int) -> None:
    mechanism = Laplace(
        0.6, 0.5, size=size, grid=0.25
    )  # ceil(0.6 / 0.25) = 3 steps, and one more for each further number
    assert mechanism.event == DiscreteLaplace(units, Fraction(2 * units))
    # enough draws that noise for one grid point more or less would be noticed
    bits, many = SeededBitsForTestsOnly(2), 9_000
    drawn = np.concatenate([mechanism.release(np.full(size, 1.1), bits=bits) for _ in range(many // size)])
    points = drawn * 4
    assert (points == np.round(points)).all()
    alone = [mechanism.release(1.1, bits=bits) * 4 - 4 for _ in range(many)]
    right, less, more = (discrete_laplace(2 * (units + step)) for step in (0, -1, 1))
    for shown in ((points - 4).astype(int).tolist(), alone):
        assert p_value(shown, right) > FALSE_ALARM
        assert max(p_value(shown, less), p_value(shown, more)) < FALSE_ALARM


@functools.cache
def wide_law(scale: Fraction) -> Law:
    return discrete_laplace(scale, reach=1500)


@pytest.mark.parametrize(
    "confidence", ["1/100", "1/2", 0.9, 0.95, 0.99, "0.999999", "99999999999999999999/100000000000000000000"]
)
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 0.1), (1, 5), (7, "1/3")])
def test_the_error_is_the_exact_quantile(sensitivity: int, epsilon: Any, confidence: Any) -> None:
    mechanism = Laplace(sensitivity, epsilon)
    law = wide_law(sensitivity / Fraction(epsilon))
    level = 1 - real(confidence)

    def tail(t: int) -> Any:
        return 1 - mpmath.fsum(law[x] for x in range(-t, t + 1))

    found = mechanism.error(confidence)
    assert isinstance(found, int)
    assert tail(found) <= level
    assert found == 0 or tail(found - 1) > level


@pytest.mark.parametrize("scale", [Fraction(1, 10**12), Fraction(1, 50), 2**40, 10**300])
def test_the_error_is_found_at_every_scale(scale: Any) -> None:
    found = Laplace(1, scale=scale).error("0.95")
    a = mpmath.exp(-1 / real(scale))
    expected = mpmath.ceil(real(scale) * mpmath.log(2 / (1 + a) * 20)) - 1
    assert found == max(0, expected) if scale < 2**50 else abs(found - expected) <= expected * 1e-50


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "3"])
@pytest.mark.parametrize("r", ["0.5", "0.05", "0.001", "0.00000001"])
def test_the_error_keeps_the_textbook_promise(epsilon: str, r: str) -> None:
    """Pr[|err| > (S/epsilon) ln(1/r)] <= r, the bound rounded up to a whole number as the noise is whole."""
    bound = real(2) / real(epsilon) * mpmath.log(1 / real(r))
    assert Laplace(2, epsilon).error(1 - Fraction(r)) <= mpmath.ceil(bound)
    assert Laplace(2.0, epsilon).error(1 - Fraction(r)) <= bound * (1 + mpmath.mpf(2) ** -19) + mpmath.mpf(2) ** -18


def test_the_error_of_reals_includes_their_rounding() -> None:
    mechanism = Laplace(1.0, 1, grid=1)
    assert mechanism.error(0.95) == Laplace(1, 1).error(0.95) + 0.5


def test_a_scale_can_be_given_instead_of_an_epsilon() -> None:
    assert Laplace(2, scale=7).event == DiscreteLaplace(2, Fraction(7))
    assert Laplace(0.5, scale=7, grid=0.125).event == DiscreteLaplace(4, Fraction(56))
    assert Laplace(0.5, scale=7, grid=0.125).scale == 7.0


def test_the_default_grid_hardly_changes_the_scale() -> None:
    mechanism = Laplace(0.3, 0.1, size=100)
    assert 3 <= mechanism.scale <= 3 * (1 + 1e-6)


def test_integers_stay_integers_and_reals_become_floats() -> None:
    assert type(Laplace(1, 1).release(42)) is int
    assert type(Laplace(1.0, 1).release(42)) is float
    assert Laplace(1, 1).release([[1, 2], [3, 4]]).dtype == np.int64
    assert Laplace(1.0, 1, size=4).release(np.ones((2, 2))).shape == (2, 2)


def test_mechanisms_are_values_that_keep_the_contract() -> None:
    mechanism: Mechanism = Laplace(1, 1)
    assert mechanism == Laplace(sensitivity=1, epsilon=1)
    assert hash(mechanism) == hash(Laplace(1, 1))
    with pytest.raises(AttributeError):
        mechanism.event = DiscreteLaplace(1, Fraction(1))  # type: ignore[misc]


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 1e-310, 1e400, Fraction(1, 10**400)])
def test_a_wrong_epsilon_or_scale_is_refused(value: Any) -> None:
    refused(lambda: Laplace(1, value), "epsilon", "epsilon or scale")
    refused(lambda: Laplace(1, scale=value), "scale", "epsilon or scale")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 0.0, Fraction(1, 2), 5e-324])
def test_a_wrong_sensitivity_is_refused(value: Any) -> None:
    refused(lambda: Laplace(value, 1), "sensitivity", "grid")


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, None])
def test_a_wrong_confidence_is_refused(confidence: Any) -> None:
    refused(lambda: Laplace(1, 1).error(confidence), "confidence")


@pytest.mark.parametrize("size", [0, -1, 1.0, None, True])
def test_a_wrong_size_is_refused(size: Any) -> None:
    refused(lambda: Laplace(1.0, 1, size=size), "size")


def test_epsilon_and_scale_exclude_each_other() -> None:
    refused(lambda: Laplace(1, 1, scale=1), "epsilon or scale")
    refused(lambda: Laplace(1), "epsilon or scale")


def test_more_reals_than_declared_are_refused() -> None:
    refused(lambda: Laplace(1.0, 1, size=2).release([1.0, 2.0, 3.0]), "values")
