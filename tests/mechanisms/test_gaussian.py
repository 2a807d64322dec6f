"""Statistical tests here fail a correct sampler with probability below 1e-9 each."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product as every
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.loss.events import DiscreteGaussian
from tacit.mechanisms import Gaussian
from tacit.noise import SeededBitsForTestsOnly
from tests.mechanisms.exact import FALSE_ALARM, discrete_gaussian, hockey_stick, p_value, product, real, refused


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta"), [(1, 1, 1e-6), (1, 0.1, 1e-5), (2, 3, 1e-9), (5, "1/2", 0.01), (1, 20, 1e-6)]
)
def test_the_discrete_law_itself_meets_the_target_and_less_noise_does_not(
    sensitivity: int, epsilon: Any, delta: Any
) -> None:
    sigma = Gaussian(sensitivity, epsilon, delta).event.sigma

    def exact_delta(spread: Fraction) -> Any:
        reach = math.ceil(14 * spread) + sensitivity + 5
        here, there = (discrete_gaussian(spread**2, centre, reach) for centre in (0, sensitivity))
        return hockey_stick(here, there, real(epsilon))

    assert exact_delta(sigma) <= real(delta)
    if sigma > 1:  # below that the curve of the integers has flat steps
        assert exact_delta(sigma * Fraction(99, 100)) > real(delta)


def test_a_plane_of_two_counts_meets_the_target_in_every_direction() -> None:
    epsilon, delta = 1, Fraction(1, 1000)
    mechanism = Gaussian(Fraction(1415, 1000), epsilon, delta, size=2)  # sqrt 2 rounded up: one unit moves both by 1
    assert mechanism.event.dimensions == 2
    variance = mechanism.event.sigma**2
    axis = {centre: discrete_gaussian(variance, centre, 30) for centre in (-1, 0, 1)}
    here = product(axis[0], axis[0])
    for first, second in every((-1, 0, 1), repeat=2):
        assert hockey_stick(here, product(axis[first], axis[second]), epsilon) <= real(delta)


@pytest.mark.parametrize(("sensitivity", "rho"), [(1, "1/2"), (3, "1/100"), (2, 5)])
def test_rho_bounds_the_renyi_divergence_of_every_order(sensitivity: int, rho: Any) -> None:
    mechanism = Gaussian(sensitivity, rho=rho)
    sigma = mechanism.event.sigma
    assert Fraction(rho) * (1 - Fraction(1, 2**50)) <= sensitivity**2 / (2 * sigma**2) <= Fraction(rho)
    reach = math.ceil(20 * sigma) + 30
    here, there = (discrete_gaussian(sigma**2, centre, reach) for centre in (0, sensitivity))
    for order in (mpmath.mpf("1.01"), 2, 3, 8):
        moment = mpmath.fsum(here[x] ** order * there[x] ** (1 - order) for x in here)
        assert mpmath.log(moment) / (order - 1) <= order * real(rho) * (1 + mpmath.mpf(10) ** -30)


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", ["1/2", 3, "7/2"])
def test_what_is_released_has_the_law_of_the_claim(sigma: Any) -> None:
    mechanism = Gaussian(1, sigma=sigma)
    assert mechanism.scale == float(Fraction(sigma))
    law = discrete_gaussian(Fraction(sigma) ** 2, reach=40)
    bits = SeededBitsForTestsOnly(3)
    drawn = mechanism.release(np.full(40_000, 100), bits=bits) - 100
    assert p_value(drawn.tolist(), law) > FALSE_ALARM
    assert p_value([mechanism.release(3, bits=bits) - 3 for _ in range(10_000)], law) > FALSE_ALARM


@pytest.mark.statistical
def test_real_values_get_noise_for_the_sensitivity_of_their_grid_points() -> None:
    mechanism = Gaussian(0.6, rho=Fraction(1, 8), size=4, grid=0.25)
    steps = Fraction(0.6) * 4 + 2  # S/g + sqrt(d)
    assert steps <= mechanism.event.sensitivity <= steps * (1 + Fraction(1, 2**50))
    assert mechanism.event.dimensions == 4
    assert mechanism.event.sigma >= 2 * steps  # S/sqrt(2 rho)
    bits = SeededBitsForTestsOnly(4)
    points = np.concatenate([mechanism.release(np.full(4, 1.1), bits=bits) * 4 - 4 for _ in range(8_000)])
    assert (points == np.round(points)).all()
    assert p_value(points.astype(int).tolist(), discrete_gaussian((2 * steps) ** 2, reach=80)) > FALSE_ALARM


@pytest.mark.parametrize("confidence", ["1/100", "1/2", 0.9, 0.95, 0.99, "0.999999", 1 - Fraction(1, 10**30)])
@pytest.mark.parametrize("sigma", ["1/20", "1/2", 1, "21/4", 30])
def test_the_error_is_the_exact_quantile(sigma: Any, confidence: Any) -> None:
    law = discrete_gaussian(Fraction(sigma) ** 2, reach=math.ceil(20 * Fraction(sigma)) + 10)
    level = 1 - real(confidence)

    def tail(t: int) -> Any:
        return 2 * mpmath.fsum(p for x, p in law.items() if x > t)

    found = Gaussian(1, sigma=sigma).error(confidence)
    assert isinstance(found, int)
    assert tail(found) <= level
    assert found == 0 or tail(found - 1) > level


@pytest.mark.parametrize("sigma", [1025, 2**30, 10**200])
@pytest.mark.parametrize("confidence", ["1/2", "0.95", "0.999999999"])
def test_at_large_sigma_the_error_is_that_of_the_bell_curve_to_within_one(sigma: int, confidence: str) -> None:
    found = Gaussian(1, sigma=sigma).error(confidence)
    assert mpmath.erfc(found / (mpmath.sqrt(2) * sigma)) <= 1 - real(confidence)
    assert mpmath.erfc(found * (1 - 1e-10) / (mpmath.sqrt(2) * sigma) - 2 / mpmath.mpf(sigma)) > 1 - real(confidence)


def test_the_error_never_understates_across_the_change_of_method() -> None:
    below, above = (Gaussian(1, sigma=s).error("0.95") for s in (1024, 1025))
    assert 2007 <= below <= above <= 2010  # 1.95996 sigma


def test_the_house_call_takes_any_number_of_counts() -> None:
    released = Gaussian(sensitivity=1, epsilon=1, delta=1e-6).release(np.zeros((3, 50), dtype=int))
    assert released.shape == (3, 50)
    assert released.dtype == np.int64


def test_the_event_counts_only_coordinates_that_can_change() -> None:
    assert Gaussian(1, 1, 1e-6, size=1000).event.dimensions == 1
    assert Gaussian(2, 1, 1e-6, size=1000).event.dimensions == 4
    assert Gaussian(2, 1, 1e-6, size=3).event.dimensions == 3
    assert Gaussian(0.5, 1, 1e-6, size=3, grid=1).event.dimensions == 3
    assert Gaussian(1, 1, 1e-6) == Gaussian(1, 1, 1e-6, size=7)


def test_more_values_than_declared_are_refused_where_they_could_change() -> None:
    refused(lambda: Gaussian(2, 1, 1e-6, size=3).release([1, 2, 3, 4]), "values")
    assert Gaussian(2, 1, 1e-6, size=4).release([1, 2, 3, 4, 5]).size == 5
    refused(lambda: Gaussian(1.0, 1, 1e-6).release([1.0, 2.0]), "values")


def test_integers_stay_integers_and_reals_become_floats() -> None:
    assert type(Gaussian(1, sigma=1).release(42)) is int
    assert type(Gaussian(1.0, sigma=1).release(42)) is float


def test_k_counts_cost_the_square_root_of_k() -> None:
    """Noise of order sqrt(k ln(1/delta))/epsilon on each of k counts, against k/epsilon by Laplace noise."""
    k = 400
    sigma = Gaussian(20, 1, 1e-6, size=k).scale  # L2 sensitivity sqrt(400)
    assert sigma < k / 4
    assert 0.5 * math.sqrt(k * math.log(1e6)) < sigma < 1.5 * math.sqrt(k * math.log(1e6))


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "x", True, 1e-305, 1e400])
def test_a_wrong_epsilon_is_refused(value: Any) -> None:
    refused(lambda: Gaussian(1, value, 1e-6), "epsilon")


@pytest.mark.parametrize("value", [0, 1, -1, 2, math.nan, "x", None])
def test_a_wrong_delta_is_refused(value: Any) -> None:
    refused(lambda: Gaussian(1, 1, value), "delta")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "x", True, Fraction(1, 10**700), 10**700])
def test_a_wrong_rho_or_sigma_is_refused(value: Any) -> None:
    refused(lambda: Gaussian(1, rho=value), "rho", "sigma")
    refused(lambda: Gaussian(1, sigma=value), "sigma")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, Fraction(1, 2), 5e-324])
def test_a_wrong_sensitivity_is_refused(value: Any) -> None:
    refused(lambda: Gaussian(value, 1, 1e-6), "sensitivity", "grid")


def test_the_ways_to_state_the_noise_exclude_each_other() -> None:
    refused(lambda: Gaussian(1), "epsilon or rho or sigma")
    refused(lambda: Gaussian(1, 1, 1e-6, sigma=2), "epsilon or rho or sigma")
    refused(lambda: Gaussian(1, delta=1e-6, sigma=2), "delta")
    refused(lambda: Gaussian(1, delta=1e-6, rho=2), "delta")
    refused(lambda: Gaussian(1, sigma=1).error(1 - Fraction(1, 10**300)), "confidence")


def test_mechanisms_are_values() -> None:
    assert Gaussian(1, sigma=2).event == DiscreteGaussian(Fraction(1), Fraction(2), 1)
    assert Gaussian(1, sigma=2) == Gaussian(1, sigma="2")
