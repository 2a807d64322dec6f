"""What was released so far as one figure, and how many more fit: against the truth, the filter, and plain counting."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.loss import Budget, compose, events
from tacit.loss.filters import BasicFilter, Filter, choose_filter
from tacit.loss.spent import NOTHING, Spent
from tacit.loss.worth import MOST_DIFFERENT, AskedPrice, how_many_like, worth
from tests.effort import tried

MILLIONTH = Fraction(1, 10**6)


def laplace(epsilon: str) -> events.Event:
    return events.DiscreteLaplace(1, 1 / Fraction(epsilon))


def simulated(rule: Filter, state: Spent, event: events.Event, most: int) -> int:
    """Asked one by one until the filter refuses."""
    for count in range(most):
        if not rule.admits(state, event):
            return count
        state = rule.charge(state, event)
    return most


def test_a_few_answers_are_worth_the_sum_of_their_epsilons() -> None:
    """Exactly, without a delta; with one hardly less: the chance of e**0.7 in all is 2**-7, and a millionth forgives it
    no more than one part in ten thousand."""
    assert Fraction("0.6998") < worth([(laplace("0.1"), 7)], Budget(1, MILLIONTH)) <= Fraction(7, 10)
    assert worth([(laplace("0.1"), 7)], Budget(1)) == Fraction(7, 10)
    assert worth([], Budget(1)) == 0


def test_many_answers_are_worth_their_tight_total_and_not_less_than_the_truth() -> None:
    """The truth lies between the two ends of the discretised composition, which is made in another way."""
    many = [(laplace("0.01"), 400), (laplace("0.02"), 10)]
    found = worth(many, Budget(1, MILLIONTH))
    least, _ = compose([event for event, count in many for _ in range(count)]).bracket(MILLIONTH)
    assert least <= found <= Fraction("1.001") * Fraction(least)
    assert found < Fraction(42, 10)  # plain addition


@pytest.mark.parametrize("budget", [Budget(1), Budget(1, MILLIONTH), Budget(3, MILLIONTH), Budget("0.05", "1e-9")])
@pytest.mark.parametrize("epsilon", ["0.5", "0.1", "0.01"])
def test_whatever_a_filter_admitted_is_worth_at_most_its_budget(budget: Budget, epsilon: str) -> None:
    rule, event = choose_filter(budget), laplace(epsilon)
    admitted = how_many_like(NOTHING, rule.price(event) or NOTHING, rule.limit)
    assert admitted is not None
    assert worth([(event, admitted)] if admitted else [], budget) <= budget.epsilon


@given(
    st.lists(st.sampled_from(["0.3", "0.1", "0.05", "0.02"]), max_size=6),
    st.sampled_from(["0.4", "0.1", "0.07", "0.02"]),
    st.booleans(),
)
@settings(max_examples=tried(60), deadline=None)
def test_the_number_of_more_is_what_the_filter_admits_one_by_one(before: list[str], next_: str, slip: bool) -> None:
    rule = choose_filter(Budget(1, MILLIONTH if slip else 0))
    state = NOTHING
    for epsilon in before:
        if rule.admits(state, laplace(epsilon)):
            state = rule.charge(state, laplace(epsilon))
    price = rule.price(laplace(next_))
    assert price is not None
    assert how_many_like(state, price, rule.limit) == simulated(rule, state, laplace(next_), 1000)


def test_own_deltas_end_it_as_well_and_a_price_of_nothing_never_does() -> None:
    rule = BasicFilter(Budget(10, Fraction(1, 100)))
    event = events.Approximate(Fraction(1, 10), Fraction(3, 1000))
    price = rule.price(event)
    assert price is not None
    assert how_many_like(NOTHING, price, rule.limit) == 3 == simulated(rule, NOTHING, event, 100)
    assert how_many_like(NOTHING, NOTHING, rule.limit) is None
    assert how_many_like(Spent(Fraction(11)), price, rule.limit) == 0


def test_a_filter_of_several_rules_that_has_lost_one_goes_on_with_the_others() -> None:
    rule = choose_filter(Budget(1, MILLIONTH))
    gaussian = events.Gaussian(Fraction(1), Fraction(40))
    state = rule.charge(NOTHING, gaussian)  # plain addition has no price for it
    price = rule.price(laplace("0.1"))
    assert price is not None
    assert how_many_like(state, price, rule.limit) == simulated(rule, state, laplace("0.1"), 100)


def test_a_price_is_told_as_it_was_asked_for() -> None:
    both = events.Composed((laplace("0.1"), laplace("0.2")))
    assert AskedPrice.of(both) == AskedPrice(Fraction(3, 10), None, Fraction(0))
    told = AskedPrice.of(events.Gaussian(Fraction(1), Fraction(10)))
    assert told.epsilon is None
    assert told.rho is not None
    assert float(told.rho) == pytest.approx(1 / 200)


def test_ten_thousand_entries_are_read_in_a_moment_however_different() -> None:
    """Seconds of this process's own time, so that a busy machine does not matter."""
    budget = Budget(10, MILLIONTH)
    few = [(events.DiscreteLaplace(1, Fraction(10_000 + place, 10)), 500) for place in range(20)]
    many = [(events.DiscreteLaplace(1, Fraction(100_000 + place, 10)), 1) for place in range(10_000)]
    assert len(many) > MOST_DIFFERENT
    for each in (few, many):
        start = time.process_time()
        found = worth(each, budget)
        assert time.process_time() - start < 2
        assert 0 < found < budget.epsilon
