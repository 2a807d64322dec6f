"""The best of a random number of runs: the stated divergence is never below that of laws worked out exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.loss import events
from tacit.loss.numbers.outward import Floats
from tacit.statistics.selection.renyi_trials import divergences, epsilon_of_best, mean_trials
from tacit.statistics.selection.trials import NegativeBinomial

ORDERS: Floats = np.array([1.5, 2.0, 4.0, 16.0])
LAWS = [NegativeBinomial(Fraction(shape), Fraction(stop)) for shape in (0, 1) for stop in ("1/2", "1/20", "1/300")]


def chances(number: NegativeBinomial) -> Floats:
    """Pr[K = k], by its definition, to where nothing is left."""
    shape, stay = float(number.shape), 1 - float(number.stop)
    found, mass = [], stay
    for k in range(1, 12_000):
        found.append(mass)
        mass *= stay * (k + shape) / (k + 1)
    return np.array(found) / sum(found)


def best_law(number: NegativeBinomial, law: Floats) -> Floats:
    """Of the best of K draws of outcomes in rising order."""
    up_to = np.concatenate([[0.0], np.cumsum(law)])
    weights, powers = chances(number), np.arange(1, 12_000)
    reached = np.array([float(weights @ np.power(min(q, 1.0), powers)) for q in up_to])
    return np.diff(reached)


def divergence(first: Floats, second: Floats, order: float) -> float:
    return math.log(float(np.sum(first**order * second ** (1 - order)))) / (order - 1)


@pytest.mark.parametrize("number", LAWS, ids=repr)
def test_the_bound_holds_for_runs_whose_laws_are_known(number: NegativeBinomial) -> None:
    """Randomised response among three, in every order of its outcomes, and the two truths that neighbours may have."""
    assert mean_trials(number) == pytest.approx(float(chances(number) @ np.arange(1, 12_000)), rel=1e-6)
    for epsilon in (0.1, 0.5, 2.0):
        run = events.RandomizedResponse(Fraction(epsilon), 3)
        bound = divergences(number, [run], ORDERS)
        high, low = math.exp(epsilon) / (math.exp(epsilon) + 2), 1 / (math.exp(epsilon) + 2)
        for here in range(3):
            for there in range(3):
                laws = [best_law(number, np.where(np.arange(3) == at, high, low)) for at in (here, there)]
                told = [divergence(*laws, order) for order in ORDERS]
                assert (np.array(told) <= bound + 1e-9).all()


def test_the_price_of_gaussian_runs_is_a_few_times_that_of_one_and_grows_slowly() -> None:
    run = events.DiscreteGaussian(Fraction(1), Fraction(40), 1)
    delta = Fraction(1, 10**6)
    one = 5.0 / 40
    prices = [epsilon_of_best(NegativeBinomial(Fraction(1), Fraction(1, mean)), [run], delta) for mean in (5, 50, 500)]
    assert prices == sorted(prices)
    assert one < prices[0]
    assert prices[2] < 5 * one


def test_runs_that_set_a_delta_aside_have_no_bound_here() -> None:
    number = LAWS[0]
    assert np.isinf(divergences(number, [events.Approximate(Fraction(1), Fraction(1, 100))])).all()
    assert epsilon_of_best(number, [events.Approximate(Fraction(1), Fraction(1, 100))], Fraction(1, 10)) == math.inf


def test_the_worst_candidate_counts() -> None:
    number, delta = LAWS[1], Fraction(1, 10**6)
    mild, strong = (
        events.DiscreteGaussian(Fraction(1), Fraction(9), 1),
        events.DiscreteGaussian(Fraction(1), Fraction(3), 1),
    )
    assert epsilon_of_best(number, [mild, strong], delta) == epsilon_of_best(number, [strong], delta)
    assert epsilon_of_best(number, [mild], delta) < epsilon_of_best(number, [strong], delta)


def test_the_bound_is_the_formula_of_the_theorem() -> None:
    """Written out once more for Gaussian runs, where D(a) = a rho, at orders that the search over b knows as well."""
    run, number = events.DiscreteGaussian(Fraction(1), Fraction(10), 1), NegativeBinomial(Fraction(1), Fraction(1, 20))
    rho = 1 / 200
    for order in (2.0, 8.0, 32.0):
        second = min((1 - 1 / b) * b * rho + math.log(20) / b for b in ORDERS)
        plain = order * rho + 2 * second + math.log(20) / (order - 1)
        found = divergences(number, [run], np.sort(np.unique([*ORDERS, order])))
        at = int(np.searchsorted(np.sort(np.unique([*ORDERS, order])), order))
        more = min(second, (1 - 1 / order) * order * rho + math.log(20) / order)
        assert found[at] == pytest.approx(plain - 2 * (second - more), rel=1e-6)
