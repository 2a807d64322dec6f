"""Rho of each kind against Renyi divergences in arbitrary precision, and the conversion against its definition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.loss import events
from tacit.loss.accountants import conversion, zcdp
from tacit.loss.events import Event
from tests.loss import truth

ORDERS = [mpmath.mpf(1) + mpmath.mpf(gap) for gap in ("1e-6", "0.01", "0.5", "1", "3", "20", "300")]


@pytest.fixture(autouse=True)
def _precisely() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def laplace_divergence(ratio: Any, order: Any) -> Any:
    """By quadrature-free integration: three exponentials, on x < 0, 0 < x < ratio, x > ratio."""
    t, a = truth.number(ratio), truth.number(order)
    left = mpmath.exp((a - 1) * t) / 2
    right = mpmath.exp(-a * t) / 2
    middle = mpmath.exp((a - 1) * t) * (1 - mpmath.exp((1 - 2 * a) * t)) / (2 * (2 * a - 1))
    return mpmath.log(left + middle + right) / (a - 1)


def test_the_laplace_divergence_used_here_is_the_integral_of_its_definition() -> None:
    with mpmath.workdps(20):
        integrand = lambda x: mpmath.exp(-mpmath.mpf(3) * abs(x) + 2 * abs(x - 1)) / 2  # noqa: E731
        assert mpmath.almosteq(laplace_divergence(1, 3), mpmath.log(mpmath.quad(integrand, [-40, 0, 1, 40])) / 2, 1e-12)


@pytest.mark.parametrize(
    ("event", "divergence"),
    [
        (events.Pure("0.1"), lambda a: truth.divergence(truth.response(Fraction("0.1")), a)),
        (events.Pure(3), lambda a: truth.divergence(truth.response(3), a)),
        (events.RandomizedResponse(2, 2), lambda a: truth.divergence(truth.response(2), a)),
        (events.Laplace(1, 10), lambda a: laplace_divergence(Fraction(1, 10), a)),
        (events.Laplace(3, 1), lambda a: laplace_divergence(3, a)),
        (events.Gaussian(2, 5), lambda a: a * Fraction(4, 50)),
    ],
    ids=lambda item: getattr(item, "kind", None),
)
def test_rho_is_the_largest_divergence_over_its_order_and_no_larger(event: Event, divergence: Any) -> None:
    rho, told = zcdp.cost(event)
    assert told == 0
    ratios = [truth.number(divergence(order)) / order for order in ORDERS]
    assert max(ratios) <= rho * (1 + mpmath.mpf(10) ** -30)
    assert rho == pytest.approx(float(ratios[0]), rel=1e-4)


@pytest.mark.parametrize(
    ("event", "law"),
    [
        (events.RandomizedResponse("1.5", 9), lambda: truth.response(Fraction("1.5"), 9)),
        (events.RandomizedResponse(5, 1000), lambda: truth.response(5, 1000)),
        (events.DiscreteLaplace(3, 2), lambda: truth.discrete_laplace(3, 2, 120)),
        (events.DiscreteGaussian(2, "0.7", 1), lambda: truth.discrete_gaussian(2, Fraction("0.7"), 30)),
        (events.Exponential(1), lambda: truth.response(Fraction("0.5"))),
        (events.Exponential(20), lambda: truth.response(10)),
    ],
    ids=lambda item: getattr(item, "kind", None),
)
def test_rho_bounds_every_order(event: Event, law: Any) -> None:
    rho, told = zcdp.cost(event)
    assert told == 0
    for order in ORDERS[1:]:
        assert truth.divergence(law(), order) <= rho * order


def test_rho_of_the_kinds_in_plain_numbers() -> None:
    assert Fraction(zcdp.cost(events.Concentrated("0.3"))[0]) >= Fraction("0.3")
    assert zcdp.cost(events.Concentrated("0.3"))[0] == pytest.approx(0.3, rel=1e-15)
    assert zcdp.cost(events.Gaussian(1, 10))[0] == pytest.approx(0.005, rel=1e-15)
    assert zcdp.cost(events.DiscreteGaussian("2.5", 2, 9))[0] == pytest.approx(6 / 8, rel=1e-15)  # 6 = floor(6.25)
    assert zcdp.cost(events.DiscreteGaussian("0.5", 2, 9)) == (0.0, 0.0)
    assert zcdp.cost(events.Pure("0.5"))[0] == pytest.approx(0.5 * math.tanh(0.25), rel=1e-13)
    assert zcdp.cost(events.Laplace(1, 2))[0] == pytest.approx(0.5 - 1 + math.exp(-0.5), rel=1e-13)
    assert zcdp.cost(events.Exponential("0.4"))[0] == pytest.approx(0.02, rel=1e-14)
    assert zcdp.cost(events.Exponential(20))[0] == pytest.approx(20 * math.tanh(10), rel=1e-14)
    assert zcdp.cost(events.Approximate("0.5", "0.01")) == pytest.approx((0.5 * math.tanh(0.25), 0.01), rel=1e-13)
    three = zcdp.cost(events.KeySelection("0.5", "0.01", 3))
    assert three == pytest.approx((1.5 * math.tanh(0.25), 1 - 0.99**3), rel=1e-12)
    both = events.Composed((events.Gaussian(1, 1), events.Repeated(events.Concentrated(1), 2)))
    assert zcdp.cost(both)[0] == pytest.approx(2.5, rel=1e-14)
    assert zcdp.cost(events.Parallel((events.Concentrated(1), events.Concentrated(2))))[0] == 2.0
    assert zcdp.cost(events.Parallel(())) == (0.0, 0.0)


def test_a_sample_costs_no_more_than_the_whole_nor_than_its_amplified_bound() -> None:
    assert zcdp.cost(events.PoissonSampled(events.Gaussian(1, 1), "0.1"))[0] == 0.5
    epsilon = math.log1p(0.1 * math.expm1(1))
    amplified = epsilon * math.tanh(epsilon / 2)
    for event in (
        events.PoissonSampled(events.Pure(1), "0.1"),
        events.SampledWithoutReplacement(events.Pure(1), 1, 10),
    ):
        assert zcdp.cost(event)[0] == pytest.approx(amplified, rel=1e-12)
    assert zcdp.cost(events.Shuffled(events.Exponential(1), 9))[0] == pytest.approx(1 / 8, rel=1e-13)
    poisson = events.PoissonSampled(events.Pure(1), "0.1")
    assert zcdp.cost(events.Shuffled(poisson, 9))[0] == math.inf
    replaced = events.SampledWithoutReplacement(events.Pure(1), 1, 10)
    assert zcdp.cost(events.PoissonSampled(replaced, "0.1")) == zcdp.cost(replaced)


def test_a_group_pays_the_square_of_its_size() -> None:
    assert zcdp.cost(events.Group(events.Concentrated("0.1"), 3))[0] == pytest.approx(0.9, rel=1e-14)
    sampled = events.PoissonSampled(events.Gaussian(1, 1), "0.1")
    assert zcdp.cost(events.Group(sampled, 3))[0] == pytest.approx(4.5, rel=1e-14)
    keyed = zcdp.cost(events.Group(events.KeySelection("0.1", "0.001", 2), 2))
    assert keyed[0] == pytest.approx(0.4 * math.tanh(0.2), rel=1e-12)
    assert keyed[1] == pytest.approx(0.002 * (1 + math.exp(0.2)), rel=1e-12)
    assert zcdp.cost(events.Group(events.Parallel((events.Approximate(1, "0.1"), sampled)), 2))[0] == math.inf


def conversion_exactly(rho: Any, delta: Any) -> Any:
    """The least epsilon of the conversion over a fine grid of orders."""
    best = mpmath.inf
    for k in range(-400, 1200):
        gap = mpmath.exp(mpmath.mpf(k) / 100)
        a = 1 + gap
        best = min(best, a * rho + (mpmath.log(1 / delta) + gap * mpmath.log(1 - 1 / a) - mpmath.log(a)) / gap)
    return best


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 10.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_conversion_uses_the_best_order(rho: float, delta: float) -> None:
    found = zcdp.of_rho(rho, delta)
    with mpmath.workdps(30):
        best = max(mpmath.mpf(0), conversion_exactly(mpmath.mpf(rho), mpmath.mpf(delta)))
        assert best * (1 - mpmath.mpf("1e-4")) <= found <= best * (1 + mpmath.mpf("1e-9")) + 1e-15
    assert found <= rho + 2 * math.sqrt(rho * math.log(1 / delta))
    # Gaussian noise has exactly this rho: it must be covered.
    assert truth.gaussian_delta(mpmath.sqrt(2 * mpmath.mpf(rho)), found) <= delta
    assert float(zcdp.delta_curve(rho, np.array([found]))[0]) <= delta * (1 + 1e-6)


def test_the_conversion_constant_is_the_largest_gain_over_all_losses() -> None:
    # delta = E(1 - exp(-y))_+ against E exp((a-1) y): the ratio is largest at exp(-y) = 1 - 1/a.
    for order in (1.001, 1.5, 2.0, 10.0, 1000.0):
        y = np.linspace(1e-9, 60 / (order - 1) if order < 2 else 60, 2_000_001)
        largest = float(np.max(-np.expm1(-y) * np.exp(-(order - 1) * y)))
        constant = math.exp(float(conversion.log_constant(np.array([order - 1]))[0]))
        assert largest <= constant * (1 + 1e-12)
        assert constant == pytest.approx(largest, rel=1e-4)


@given(st.floats(-320, 15))
def test_the_conversion_constant_is_rounded_up_by_a_hair_at_every_order(power: float) -> None:
    gap = 10**power
    with mpmath.workdps(400):
        c = mpmath.mpf(gap)
        exact = -c * mpmath.log1p(1 / c) - mpmath.log1p(c)
        for found in (conversion.log_constant(gap), conversion.log_constant(np.array([gap]))[0]):
            assert exact <= found <= exact * (1 - mpmath.mpf("1e-14")) + mpmath.mpf("1e-290")


def test_a_bounded_range_choice_costs_less_than_a_response() -> None:
    entries: dict[Event, int] = {events.Exponential("0.1"): 20}
    assert zcdp.epsilon(entries, 1e-6) == pytest.approx(1.015, abs=1.5e-3)
    assert zcdp.epsilon(entries, 1e-6) < zcdp.epsilon({events.Pure("0.1"): 20}, 1e-6)


def test_deltas_set_aside_are_paid_first() -> None:
    entries: dict[Event, int] = {events.Approximate("0.1", "1e-7"): 5, events.Concentrated("0.01"): 1}
    aside = float(1 - (1 - Fraction("1e-7")) ** 5)
    rho, told = zcdp.total(entries)
    assert rho == pytest.approx(0.5 * math.tanh(0.05) + 0.01, rel=1e-12)
    assert told == pytest.approx(aside, rel=1e-12)
    assert zcdp.epsilon(entries, aside * 0.999) == math.inf
    assert zcdp.epsilon(entries, 1e-6) == pytest.approx(zcdp.of_rho(rho, (1e-6 - aside) / (1 - aside)), rel=1e-9)
    at = zcdp.epsilon(entries, 1e-6)
    assert zcdp.delta(entries, at) == pytest.approx(1e-6, rel=1e-6)


def test_the_borders() -> None:
    assert zcdp.epsilon({}, 0.0) == 0.0
    assert zcdp.epsilon({events.Gaussian(1, 1): 1}, 0.0) == math.inf
    assert zcdp.epsilon({events.Gaussian(1, 1): 1}, 1.0) == 0.0
    assert zcdp.delta({}, 0.0) == 0.0
    assert zcdp.delta({events.Gaussian(1, 1): 1}, 0.0) <= 0.5 * (1 + 1e-9)  # Pinsker: sqrt(rho/2)
    assert zcdp.delta({events.Shuffled(events.PoissonSampled(events.Pure(1), "0.1"), 2): 1}, 5.0) == 1.0
    assert zcdp.of_rho(math.inf, 0.1) == math.inf
    assert conversion.left_after(0.5, 0.4) is None
    assert conversion.left_after(0.0, 0.0) == 0.0
