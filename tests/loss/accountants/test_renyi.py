"""Renyi divergences of every kind against sums and integrals in arbitrary precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.loss import events
from tacit.loss.accountants import renyi
from tacit.loss.accountants.renyi_sampled import is_mirrored
from tacit.loss.events import Event
from tests.loss import truth

ORDERS = [1.001, 1.3, 2.0, 3.7, 8.0, 40.0]


@pytest.fixture(autouse=True)
def _precisely() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def exponential_worst(width: Fraction, order: float) -> Any:
    """The largest divergence of a two-point loss on t and t - width, over a fine grid of t."""
    n, a = truth.number(width), truth.number(order)
    best = mpmath.mpf(0)
    for k in range(1, 400):
        t = n * k / 400
        p = (mpmath.exp(n) - mpmath.exp(t)) / mpmath.expm1(n)
        best = max(best, mpmath.log(p * mpmath.exp((a - 1) * t) + (1 - p) * mpmath.exp((a - 1) * (t - n))) / (a - 1))
    return best


@pytest.mark.parametrize(
    ("event", "exact", "relative"),
    [
        (events.Pure("0.1"), lambda a: truth.divergence(truth.response(Fraction("0.1")), a), 1e-9),
        (events.Pure(4), lambda a: truth.divergence(truth.response(4), a), 1e-10),
        (events.RandomizedResponse("0.7", 6), lambda a: truth.divergence(truth.response(Fraction("0.7"), 6), a), 1e-9),
        (events.DiscreteLaplace(1, 3), lambda a: truth.divergence(truth.discrete_laplace(1, 3), a), 1e-9),
        (events.DiscreteLaplace(4, 3), lambda a: truth.divergence(truth.discrete_laplace(4, 3), a), 1e-9),
        (events.Gaussian(2, 5), lambda a: truth.number(a) * 4 / 50, 1e-12),
        (events.Concentrated("0.3"), lambda a: truth.number(a) * 3 / 10, 1e-12),
        (events.Exponential("0.1"), lambda a: exponential_worst(Fraction("0.1"), a), 2e-5),
        (events.Exponential(3), lambda a: exponential_worst(Fraction(3), a), 2e-4),
    ],
    ids=lambda item: getattr(item, "kind", None),
)
def test_each_kind_has_its_divergence_at_every_order(event: Event, exact: Any, relative: float) -> None:
    found, told = renyi.curve(event, np.array(ORDERS))
    assert told == 0
    for order, bound in zip(ORDERS, found.tolist(), strict=True):
        true = exact(order)
        assert true <= bound * (1 + mpmath.mpf(10) ** -30)
        assert bound <= true * (1 + relative) + 1e-11
        assert renyi.at_order(event, order) == (bound, 0.0)


@pytest.mark.parametrize("ratio", ["0.1", "2"])
def test_laplace_noise_has_its_divergence(ratio: str) -> None:
    found, _ = renyi.curve(events.Laplace(ratio, 1), np.array(ORDERS))
    t = truth.number(Fraction(ratio))

    def true(order: float) -> float:
        a = mpmath.mpf(order)
        density = lambda x: mpmath.exp(-a * abs(x) - (1 - a) * abs(x - t)) / 2  # noqa: E731
        return float(mpmath.log(mpmath.quad(density, [-80, -10, 0, t, 10 + t, 80 + t])) / (a - 1))

    with mpmath.workdps(25):
        for order, bound in zip(ORDERS, found.tolist(), strict=True):
            assert true(order) * (1 - 1e-12) <= bound <= true(order) * (1 + 1e-9) + 1e-11


def test_discrete_gaussian_noise_is_no_dearer_than_continuous() -> None:
    event = events.DiscreteGaussian("2.5", "0.8", 1)
    found, _ = renyi.curve(event, np.array(ORDERS))
    for order, bound in zip(ORDERS, found.tolist(), strict=True):
        assert truth.divergence(truth.discrete_gaussian(2, Fraction("0.8"), 60), order) <= bound


def test_no_exponential_mechanism_passes_its_divergence() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        epsilon = float(rng.uniform(0.1, 4))
        scores = rng.integers(-5, 6, 5)
        others = scores + rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 5)
        weights = [np.exp(epsilon * row / 2) for row in (scores, others)]
        p, q = (row / row.sum() for row in weights)
        for order in (1.3, 2.0, 8.0):
            true = math.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
            assert true <= renyi.at_order(events.Exponential(epsilon), order)[0] + 1e-12


def test_bounds_with_delta_set_it_aside() -> None:
    pure, _ = renyi.at_order(events.Pure("0.5"), 5.0)
    assert renyi.at_order(events.Approximate("0.5", "0.01"), 5.0) == pytest.approx((pure, 0.01), rel=1e-12)
    three = renyi.at_order(events.KeySelection("0.5", "0.01", 3), 5.0)
    assert three == pytest.approx((3 * pure, 1 - 0.99**3), rel=1e-12)
    assert Fraction(three[1]) >= 1 - Fraction("0.99") ** 3


def test_compositions_add_and_parallel_parts_take_the_largest() -> None:
    both = events.Composed((events.Gaussian(1, 1), events.Repeated(events.Concentrated(1), 2)))
    assert renyi.at_order(both, 3.0)[0] == pytest.approx(7.5, rel=1e-12)
    parts = events.Parallel((events.Concentrated(1), events.Approximate(1, "0.01")))
    assert renyi.at_order(parts, 2.0) == pytest.approx((2.0, 0.01), rel=1e-12)
    assert renyi.at_order(events.Parallel(()), 2.0) == (0.0, 0.0)
    assert renyi.at_order(events.Group(events.Concentrated("0.1"), 3), 2.0)[0] == pytest.approx(1.8, rel=1e-12)


def sampled_gaussian(rate: str, sigma: str, order: float, swap: bool) -> float:
    q, s, a = truth.number(Fraction(rate)), truth.number(Fraction(sigma)), mpmath.mpf(order)

    def term(x: Any) -> Any:
        base = mpmath.exp(-x * x / (2 * s * s)) / (s * mpmath.sqrt(2 * mpmath.pi))
        mixed = base * (1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s)))
        return base**a * mixed ** (1 - a) if swap else mixed**a * base ** (1 - a)

    with mpmath.workdps(18):
        points = [-12, -6, -3, 0, 3, 6, 9, 12, 16, 24]
        return float(mpmath.log(mpmath.quad(term, [p * s for p in points])) / (a - 1))


@pytest.mark.parametrize(("rate", "sigma"), [("0.01", "1"), ("0.2", "2"), ("0.7", "1.5")])
def test_a_sample_of_gaussian_noise_has_its_divergence_in_both_directions(rate: str, sigma: str) -> None:
    event = events.PoissonSampled(events.Gaussian(1, sigma), rate)
    for order in (2.0, 9.0):
        removed, added = (sampled_gaussian(rate, sigma, order, swap) for swap in (False, True))
        found, told = renyi.at_order(event, order)
        assert told == 0
        assert added <= removed * (1 + 1e-9)
        assert removed * (1 - 1e-9) <= found <= removed * (1 + 1e-8)
    for order in (1.4, 7.7):  # between whole orders: interpolated, so above
        assert sampled_gaussian(rate, sigma, order, False) <= renyi.at_order(event, order)[0] * (1 + 1e-9)


@pytest.mark.parametrize("rate", ["0.05", "0.5", "0.95"])
@pytest.mark.parametrize(
    ("event", "law"),
    [
        (events.RandomizedResponse("1.2", 3), lambda: truth.response(Fraction("1.2"), 3)),
        (events.DiscreteLaplace(2, 1), lambda: truth.discrete_laplace(2, 1, 150)),
        (events.Approximate("0.8", "0"), lambda: truth.response(Fraction("0.8"))),
        (events.Exponential(2), lambda: two_points(Fraction(2), Fraction("1.5"))),
        (events.Exponential(2), lambda: two_points(Fraction(2), Fraction("0.4"))),
        (
            events.Composed((events.Pure("0.5"), events.DiscreteLaplace(1, 2))),
            lambda: truth.together(truth.response(Fraction("0.5")), truth.discrete_laplace(1, 2, 150)),
        ),
    ],
    ids=lambda item: getattr(item, "kind", None),
)
def test_samples_are_covered_in_both_directions(event: Event, law: Any, rate: str) -> None:
    sampled = truth.poisson_sampled(law(), Fraction(rate))
    for order in (1.2, 2.0, 3.5, 9.0):
        found = renyi.at_order(events.PoissonSampled(event, rate), order)[0]
        assert truth.divergence(sampled, order) <= found * (1 + mpmath.mpf(10) ** -25)
        assert truth.divergence(truth.swapped(sampled), order) <= found * (1 + mpmath.mpf(10) ** -25)
        assert found <= renyi.at_order(event, order)[0] * (1 + 1e-12)


def two_points(width: Fraction, top: Fraction) -> truth.Law:
    n, t = truth.number(width), truth.number(top)
    p = (mpmath.exp(n) - mpmath.exp(t)) / mpmath.expm1(n)
    return [(p, p * mpmath.exp(-t)), (1 - p, (1 - p) * mpmath.exp(n - t))]


def test_a_mirrored_loss_costs_no_more_to_add_than_to_remove() -> None:
    # x^n - x^(1-n) >= R (y^(1-n) - y^n) for x = 1 - q + q R, y = 1 - q + q/R: outcome pairs R and 1/R.
    for ratio in ("1.0001", "1.1", "2", "10", "400"):
        for rate in ("0.0001", "0.01", "0.3", "0.7", "0.999", "1"):
            for order in ("1.001", "1.5", "2", "5", "33.3"):
                r, q, n = (mpmath.mpf(text) for text in (ratio, rate, order))
                x, y = 1 - q + q * r, 1 - q + q / r
                removing, adding = x**n - x ** (1 - n), r * (y ** (1 - n) - y**n)
                assert removing * (1 + mpmath.mpf(10) ** -50) >= adding
    assert is_mirrored(events.Composed((events.Pure(1), events.Repeated(events.Gaussian(1, 1), 2))))
    assert not is_mirrored(events.Exponential(1))
    assert not is_mirrored(events.Concentrated(1))


def test_sampling_cannot_cost_more_than_the_whole_or_less_than_nothing() -> None:
    gaussian = events.Gaussian(1, 1)
    whole = renyi.at_order(gaussian, 4.0)
    assert renyi.at_order(events.PoissonSampled(gaussian, 1), 4.0) == whole
    assert renyi.at_order(events.PoissonSampled(gaussian, 0), 4.0) == (0.0, 0.0)
    assert renyi.at_order(events.PoissonSampled(gaussian, "0.5"), 2000.0)[0] <= 1000.0 * (1 + 1e-12)
    assert renyi.at_order(events.Shuffled(gaussian, 10), 4.0) == whole
    poisson = events.PoissonSampled(events.Pure(1), "0.1")
    assert renyi.at_order(events.Shuffled(poisson, 10), 4.0)[0] == math.inf
    sampled = renyi.at_order(events.PoissonSampled(events.Approximate(1, "0.01"), "0.1"), 4.0)
    assert sampled == pytest.approx(renyi.at_order(events.Approximate(math.log1p(0.1 * math.expm1(1)), "0.001"), 4.0))
    drawn = renyi.at_order(events.SampledWithoutReplacement(events.Pure(1), 1, 10), 4.0)[0]
    assert drawn == pytest.approx(renyi.at_order(events.Pure(math.log1p(0.1 * math.expm1(1))), 4.0)[0], rel=1e-10)


@pytest.mark.parametrize(
    ("entries", "at_least", "at_most"),
    [
        ({events.Laplace(1, 10): 100}, 4.692667, 4.985),
        ({events.Laplace(1, 10): 10_000}, 94.23586, 98.13),
        ({events.Gaussian(1, 10): 100}, 4.886554, 5.2216),
        ({events.RandomizedResponse(1, 2): 1000}, 591.079, 602.2),
        ({events.PoissonSampled(events.Gaussian(1, 1), "0.01"): 1000}, 2.12451, 2.44),
        ({events.Exponential("0.1"): 20}, 0.97, 0.9795),
    ],
)
def test_known_totals_are_approached_from_above(entries: dict[Event, int], at_least: float, at_most: float) -> None:
    found = renyi.epsilon(entries, 1e-6)
    assert at_least <= found <= at_most
    assert renyi.delta(entries, found) == pytest.approx(1e-6, rel=1e-4)


def test_deltas_set_aside_are_paid_first() -> None:
    entries: dict[Event, int] = {events.Approximate("0.1", "1e-7"): 5, events.Gaussian(1, 10): 3}
    aside = float(1 - (1 - Fraction("1e-7")) ** 5)
    assert renyi.epsilon(entries, aside * 0.999) == math.inf
    bare: dict[Event, int] = {events.Pure("0.1"): 5, events.Gaussian(1, 10): 3}
    assert renyi.epsilon(entries, 1e-6) == pytest.approx(renyi.epsilon(bare, (1e-6 - aside) / (1 - aside)), rel=1e-8)
    assert renyi.delta(entries, 50.0) == pytest.approx(aside, rel=1e-6)


def test_the_borders() -> None:
    assert renyi.epsilon({}, 0.0) == 0.0
    assert renyi.epsilon({events.Pure("0.1"): 3}, 0.0) == pytest.approx(0.3)
    assert renyi.epsilon({events.Gaussian(1, 1): 1}, 0.0) == math.inf
    assert renyi.epsilon({events.Gaussian(1, 1): 1}, 1.0) == 0.0
    for order in (1.0, 0.5, math.inf, math.nan):
        with pytest.raises(ParameterError):
            renyi.at_order(events.Pure(1), order)
