"""Basic composition, and what each event guarantees on its own."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from tacit.loss import events
from tacit.loss.accountants import basic
from tacit.loss.accountants.basic import guarantee
from tacit.loss.accountants.event_curve import smallest_epsilon
from tacit.loss.events import Event
from tests.loss import truth

NOTHING = Fraction(0)


@pytest.mark.parametrize(
    ("event", "epsilon", "delta"),
    [
        (events.Pure("0.3"), Fraction("0.3"), NOTHING),
        (events.Approximate("0.3", "0.01"), Fraction("0.3"), Fraction("0.01")),
        (events.Laplace(3, 10), Fraction("0.3"), NOTHING),
        (events.DiscreteLaplace(3, 10), Fraction("0.3"), NOTHING),
        (events.Exponential("0.3"), Fraction("0.3"), NOTHING),
        (events.RandomizedResponse("0.3", 7), Fraction("0.3"), NOTHING),
        (events.KeySelection("0.3", "0.01", 4), Fraction("1.2"), Fraction("0.04")),
        (events.KeySelection("0.3", "0.5", 4), Fraction("1.2"), Fraction(1)),
        (events.Concentrated(0), NOTHING, NOTHING),
        (events.Concentrated("0.1"), math.inf, NOTHING),
        (events.Gaussian(1, 1), math.inf, NOTHING),
        (events.DiscreteGaussian(1, 1, 1), math.inf, NOTHING),
        (events.DiscreteGaussian("0.99", 1, 3), NOTHING, NOTHING),
        (events.Composed((events.Pure(1), events.Approximate(2, "0.1"))), Fraction(3), Fraction("0.1")),
        (events.Repeated(events.Approximate(2, "0.1"), 3), Fraction(6), Fraction("0.3")),
        (events.Parallel((events.Pure(3), events.Approximate(2, "0.1"))), Fraction(3), Fraction("0.1")),
        (events.Parallel(()), NOTHING, NOTHING),
        (events.Group(events.Pure("0.3"), 4), Fraction("1.2"), NOTHING),
        (events.Group(events.PoissonSampled(events.Gaussian(1, 1), "0.1"), 2), math.inf, NOTHING),
        (events.PoissonSampled(events.Pure(1), 1), Fraction(1), NOTHING),
        (events.PoissonSampled(events.Pure(1), 0), NOTHING, NOTHING),
        (events.PoissonSampled(events.Gaussian(1, 1), "0.1"), math.inf, NOTHING),
        (events.Shuffled(events.Pure("0.3"), 1000), Fraction("0.3"), NOTHING),
    ],
)
def test_each_kind_guarantees_what_its_definition_says(event: Event, epsilon: object, delta: Fraction) -> None:
    assert guarantee(event) == (epsilon, delta)


@pytest.mark.parametrize(
    "event",
    [
        events.PoissonSampled(events.Approximate("0.7", "0.02"), "0.1"),
        events.SampledWithoutReplacement(events.Approximate("0.7", "0.02"), 3, 30),
    ],
)
def test_a_sample_is_amplified_by_its_rate(event: Event) -> None:
    epsilon, delta = guarantee(event)
    with mpmath.workdps(40):
        exact = mpmath.log1p(mpmath.expm1(mpmath.mpf(7) / 10) / 10)
        assert isinstance(epsilon, Fraction)
        assert exact <= truth.number(epsilon) <= exact * (1 + mpmath.mpf(10) ** -14)
    assert delta == Fraction("0.002")


def test_a_group_of_samples_pays_the_group_formula() -> None:
    each, _ = guarantee(sampled := events.PoissonSampled(events.Pure(1), "0.1"))
    assert guarantee(events.Group(sampled, 3)) == (3 * each, NOTHING)


def test_a_pair_of_neighbour_relations_that_do_not_fit_guarantees_nothing_or_the_unsampled_price() -> None:
    poisson = events.PoissonSampled(events.Pure(1), "0.1")
    assert guarantee(events.SampledWithoutReplacement(poisson, 1, 10))[0] == math.inf
    assert guarantee(events.Shuffled(poisson, 10))[0] == math.inf
    replaced = events.SampledWithoutReplacement(events.Pure(1), 1, 10)
    assert guarantee(events.PoissonSampled(replaced, "0.1")) == guarantee(replaced)


def test_epsilons_add_and_deltas_add() -> None:
    entries = {events.Pure("0.1"): 10, events.Approximate("0.5", "1e-7"): 4}
    assert basic.epsilon(entries, 1e-6) == 3.0
    assert basic.epsilon(entries, math.nextafter(4e-7, 1)) == 3.0
    assert basic.epsilon(entries, 3.9e-7) == math.inf
    assert basic.delta(entries, 3.0) == pytest.approx(4e-7, rel=1e-15)
    assert Fraction(basic.delta(entries, 3.0)) >= Fraction("4e-7")
    assert basic.delta(entries, 2.999) == 1.0
    assert basic.delta(entries, math.inf) == pytest.approx(4e-7)


def test_a_total_that_no_double_holds_is_rounded_up() -> None:
    assert Fraction(basic.epsilon({events.Pure("0.1"): 3}, 0.0)) >= Fraction("0.3")


def test_noise_without_an_epsilon_shares_what_is_left_of_delta_equally() -> None:
    gaussian = events.Gaussian(1, 10)
    entries: dict[Event, int] = {gaussian: 4, events.Approximate("0.5", "2e-7"): 1}
    each = smallest_epsilon(gaussian, (1e-6 - 2e-7) / 4)
    assert basic.epsilon(entries, 1e-6) == pytest.approx(4 * each + 0.5, rel=1e-12)
    assert basic.epsilon(entries, 2e-7) == math.inf
    assert basic.epsilon({gaussian: 1}, 0.0) == math.inf
    with mpmath.workdps(40):
        share = truth.gaussian_delta(Fraction(1, 10), mpmath.mpf(each))
        exact = 4 * share + mpmath.mpf(2) / 10**7
        found = basic.delta(entries, 4 * each + 0.5)
        assert exact * (1 - mpmath.mpf(10) ** -12) <= found <= exact * (1 + mpmath.mpf(10) ** -9)
    assert basic.delta(entries, 0.4) == 1.0


def test_nothing_released_costs_nothing_and_delta_one_is_free() -> None:
    assert basic.epsilon({}, 0.0) == 0.0
    assert basic.delta({}, 0.0) == 0.0
    assert basic.epsilon({events.Gaussian(1, 1): 5}, 1.0) == 0.0
