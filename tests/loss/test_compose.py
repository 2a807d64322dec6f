"""Totals against exact truths: binomial sums for responses, the closed form for Gaussian noise."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from typing import get_args

import mpmath
import pytest

from tacit import loss
from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.loss.compose import AccountantName, Total

NAMES = get_args(AccountantName)
RESPONSE = events.RandomizedResponse(Fraction(1, 2), 2)
GAUSSIAN = events.Gaussian(Fraction(1), Fraction(10))


def response_delta(epsilon_zero: Fraction, count: int, epsilon: float) -> mpmath.mpf:
    """The exact delta of `count` responses: a sum over how many told the truth."""
    with mpmath.workdps(60):
        step = mpmath.mpf(epsilon_zero.numerator) / epsilon_zero.denominator
        truth = 1 / (1 + mpmath.exp(-step))
        return mpmath.fsum(
            mpmath.binomial(count, j)
            * truth**j
            * (1 - truth) ** (count - j)
            * max(0, 1 - mpmath.exp(mpmath.mpf(epsilon) - (2 * j - count) * step))
            for j in range(count + 1)
        )


def gaussian_delta(mu: mpmath.mpf, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        eps = mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)


@pytest.mark.parametrize("count", [1, 7, 60])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_tight_epsilon_of_responses_is_the_binomial_one(count: int, delta: float) -> None:
    epsilon = compose([RESPONSE] * count).epsilon(delta)
    assert response_delta(RESPONSE.epsilon, count, epsilon) <= delta
    assert response_delta(RESPONSE.epsilon, count, epsilon * 0.999 - 1e-9) > delta


@pytest.mark.parametrize("count", [1, 100, 5000])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_tight_epsilon_of_gaussians_is_the_closed_form(count: int, delta: float) -> None:
    epsilon = compose([events.Repeated(GAUSSIAN, count)]).epsilon(delta)
    mu = mpmath.sqrt(count) / 10
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu, epsilon * 0.999) > delta


@pytest.mark.parametrize("name", NAMES)
def test_every_accountant_bounds_the_binomial_truth(name: AccountantName) -> None:
    account = compose([RESPONSE] * 20).by(name)
    for delta in (0.2, 1e-3, 1e-7):
        assert response_delta(RESPONSE.epsilon, 20, account.epsilon(delta)) <= delta
    for epsilon in (0.5, 3.0, 7.5):
        assert account.delta(epsilon) >= response_delta(RESPONSE.epsilon, 20, epsilon)


@pytest.mark.parametrize("name", NAMES)
def test_every_accountant_bounds_a_gaussian_or_says_that_it_cannot(name: AccountantName) -> None:
    account = compose([GAUSSIAN] * 50).by(name)
    mu = mpmath.sqrt(50) / 10
    epsilon = account.epsilon(1e-6)
    assert epsilon == math.inf or gaussian_delta(mu, epsilon) <= 1e-6
    assert account.delta(2.0) >= gaussian_delta(mu, 2.0)
    assert account.delta(2.0) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_epsilon_and_delta_undo_each_other(name: AccountantName) -> None:
    account = compose([events.Laplace(Fraction(1), Fraction(5))] * 30).by(name)
    epsilon = account.epsilon(1e-5)
    if name == "basic":
        assert (epsilon, account.delta(epsilon)) == (6, 0)
    else:
        assert account.delta(epsilon) <= 1.01e-5
        assert account.delta(epsilon * 0.99) > 1e-5


def test_mixed_events_stand_in_the_known_order() -> None:
    mixed = [events.Laplace(Fraction(1), Fraction(10)), RESPONSE, events.Pure(Fraction(1, 10))] * 20
    total = compose(mixed)
    tight, rdp, zcdp, basic = (total.by(name).epsilon(1e-6) for name in ("tight", "rdp", "zcdp", "basic"))
    assert tight < rdp <= zcdp * (1 + 1e-9)
    assert tight < basic == pytest.approx(14)


def test_the_bracket_holds_the_truth_and_is_narrow() -> None:
    total = compose([RESPONSE] * 40)
    lower, upper = total.bracket(1e-6)
    assert lower <= upper <= lower * 1.01
    assert response_delta(RESPONSE.epsilon, 40, upper) <= 1e-6
    assert response_delta(RESPONSE.epsilon, 40, lower * (1 - 1e-9)) >= 1e-6


def test_the_curve_is_the_points_asked_for() -> None:
    total = compose([GAUSSIAN] * 100)
    points = total.curve(epsilons=[1, 2], deltas=["1e-6"])
    assert points == sorted([(1.0, total.delta(1)), (2.0, total.delta(2)), (total.epsilon("1e-6"), 1e-6)])
    deltas = [delta for _, delta in total.curve(epsilons=[0, 1, 2, 3, 4, 5])]
    assert deltas == sorted(deltas, reverse=True)
    assert total.curve(epsilons=[1], by="zcdp")[0][1] == total.by("zcdp").delta(1)


def test_nested_and_repeated_events_are_the_flat_list() -> None:
    flat = compose([RESPONSE, GAUSSIAN, RESPONSE, GAUSSIAN])
    nested = compose([events.Repeated(events.Composed((RESPONSE, events.Composed((GAUSSIAN,)))), 2)])
    assert nested.entries == flat.entries == {RESPONSE: 2, GAUSSIAN: 2}
    assert nested.epsilon(1e-6) == flat.epsilon(1e-6)
    equal_but_not_the_same = events.Gaussian(Fraction(2), Fraction(20))
    assert compose([equal_but_not_the_same]).epsilon(1e-6) == pytest.approx(compose([GAUSSIAN]).epsilon(1e-6))
    assert flat.events == (RESPONSE, GAUSSIAN, RESPONSE, GAUSSIAN)


def test_equal_objects_are_counted_even_when_they_are_not_the_same_object() -> None:
    copies = [events.RandomizedResponse(Fraction(1, 2), 2) for _ in range(5)]
    assert compose([*copies, RESPONSE, RESPONSE]).entries == {RESPONSE: 7}


def test_nothing_released_costs_nothing() -> None:
    assert compose([]).epsilon(1e-6) == 0
    assert compose([]).delta(0) == 0


def test_at_delta_zero_the_pure_epsilons_add_and_at_one_nothing_is_left() -> None:
    total = compose([RESPONSE] * 3)
    assert total.epsilon(0) == 1.5
    assert total.delta(1.5) == 0
    assert total.epsilon(1) == 0
    assert compose([GAUSSIAN]).epsilon(0) == math.inf


def test_nonsense_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"Pass mechanism\.event"):
        compose([(1.0, 1e-6)])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="basic, advanced"):
        compose([]).by("moments")  # type: ignore[arg-type]
    for bad in (-1, math.nan, 2, None):
        with pytest.raises(ParameterError, match="delta"):
            compose([]).epsilon(bad)  # type: ignore[arg-type]
    for bad in (-1, math.nan, math.inf, None):
        with pytest.raises(ParameterError, match="epsilon"):
            compose([]).delta(bad)  # type: ignore[arg-type]


# -- the room's surface ----------------------------------------------------------------------------


def test_the_names_of_the_room_are_these() -> None:
    missing = [name for name in loss.__all__ if not hasattr(loss, name)]
    assert missing == []
    kinds = {kind.__name__ for kind in events.kinds().values()}
    assert kinds | {
        "Account",
        "AnyFilter",
        "BasicFilter",
        "Belief",
        "Budget",
        "ConcentratedFilter",
        "Event",
        "Filter",
        "GaussianFilter",
        "Odometer",
        "RenyiFilter",
        "Spent",
        "Total",
        "Travelled",
        "belief_after",
        "choose_filter",
        "compose",
        "group_budget",
        "membership_advantage",
        "true_positive_rate",
    } == set(loss.__all__)
    assert isinstance(loss.compose([]), Total)
    with pytest.raises(AttributeError, match="no attribute"):
        loss.nothing_of_this_name  # noqa: B018


def test_importing_the_room_stays_light_and_compose_stays_a_function() -> None:
    script = (
        "import sys, tacit.loss, tacit.loss.calibrate; "
        "assert callable(tacit.loss.compose); "
        "assert not [name for name in sys.modules if name.split('.')[0] in ('scipy', 'pandas', 'duckdb')]; "
        "from tacit.loss import Budget, choose_filter; choose_filter(Budget(1))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_promises_about_different_neighbours_have_no_total() -> None:
    added = events.PoissonSampled(events.Pure(Fraction(1)), Fraction(1, 2))
    replaced = events.SampledWithoutReplacement(events.Pure(Fraction(1)), 1, 2)
    with pytest.raises(ParameterError, match="'events' parameter must be stated for one neighbour relation"):
        compose([added, replaced])
    with pytest.raises(ParameterError, match="one neighbour relation"):
        compose([events.Composed((added, events.Parallel((replaced,))))])
    assert compose([added, events.Pure(Fraction(1))]).epsilon(0) > 1
