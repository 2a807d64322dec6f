"""Events taken apart: every identity against its definition."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.loss import events
from tacit.loss.events import Event
from tacit.loss.simplify import group_delta, simplify

LEAVES: tuple[Event, ...] = (
    events.Pure(1),
    events.Laplace(1, 10),
    events.DiscreteGaussian(1, 3, 2),
    events.PoissonSampled(events.Gaussian(1, 1), "0.01"),
    events.Shuffled(events.Pure(1), 100),
)


def nested(leaves: st.SearchStrategy[Event]) -> st.SearchStrategy[Event]:
    return st.one_of(
        st.lists(leaves, max_size=3).map(lambda parts: events.Composed(tuple(parts))),
        st.tuples(leaves, st.integers(0, 4)).map(lambda pair: events.Repeated(*pair)),
    )


def counted(event: Event) -> list[Event]:
    """The leaves one by one."""
    if isinstance(event, events.Composed):
        return [leaf for part in event.events for leaf in counted(part)]
    if isinstance(event, events.Repeated):
        return counted(event.event) * event.count
    return [event]


@given(st.lists(st.recursive(st.sampled_from(LEAVES), nested, max_leaves=8), max_size=4))
def test_compositions_become_their_leaves_each_as_often_as_released(released: list[Event]) -> None:
    one_by_one = [leaf for event in released for leaf in counted(event)]
    assert simplify(released) == {leaf: one_by_one.count(leaf) for leaf in one_by_one}


@pytest.mark.parametrize(
    ("event", "alone"),
    [
        (events.Pure("0.5"), events.Pure("1.5")),
        (events.Laplace("2", 10), events.Laplace(6, 10)),
        (events.DiscreteLaplace(2, 10), events.DiscreteLaplace(6, 10)),
        (events.Gaussian("0.5", 4), events.Gaussian("1.5", 4)),
        (events.DiscreteGaussian("0.5", 4, 7), events.DiscreteGaussian("1.5", 4, 7)),
        (events.Concentrated("0.1"), events.Concentrated("0.9")),
        (events.Exponential("0.1"), events.Exponential("0.3")),
        (events.RandomizedResponse("0.1", 5), events.Pure("0.3")),
    ],
)
def test_a_group_of_three_is_one_leaf(event: Event, alone: Event) -> None:
    assert simplify([events.Group(event, 3)]) == {alone: 1}
    assert simplify([events.Group(event, 1)]) == {event: 1}


def test_the_delta_of_a_group_is_the_geometric_sum_rounded_up() -> None:
    epsilon, delta = Fraction("0.3"), Fraction(1, 10**6)
    with mpmath.workdps(40):
        exact = mpmath.mpf(10) ** -6 * mpmath.fsum(mpmath.exp(mpmath.mpf("0.3") * i) for i in range(5))
        found = group_delta(epsilon, delta, 5)
        assert exact <= mpmath.mpf(found.numerator) / found.denominator <= exact * (1 + mpmath.mpf(10) ** -12)
    (leaf,) = simplify([events.Group(events.Approximate(epsilon, delta), 5)])
    assert leaf == events.Approximate(5 * epsilon, found)


def test_the_delta_of_a_group_is_exact_where_epsilon_is_nothing_and_never_above_one() -> None:
    assert group_delta(Fraction(0), Fraction(1, 10), 3) == Fraction(3, 10)
    assert group_delta(Fraction(100), Fraction(1, 10), 50) == 1
    assert group_delta(Fraction(10**9), Fraction(1, 10), 2) == 1
    assert group_delta(Fraction(1, 10**400), Fraction(1, 10), 2) == 1  # the divisor underflows: refuse to guess
    assert group_delta(Fraction(1), Fraction(0), 50) == 0


def test_groups_inside_groups_multiply() -> None:
    inner = events.Group(events.Group(events.Pure(1), 2), 3)
    assert simplify([inner]) == {events.Pure(6): 1}


def test_a_group_of_a_composition_is_the_composition_of_the_groups() -> None:
    both = events.Composed((events.Pure(1), events.Repeated(events.Gaussian(1, 2), 5)))
    assert simplify([events.Group(both, 2)]) == {events.Pure(2): 1, events.Gaussian(2, 2): 5}


def test_equal_parts_on_disjoint_units_cost_one_of_them() -> None:
    part = events.Composed((events.Pure(1), events.Gaussian(1, 2)))
    again = events.Composed((events.Gaussian(1, 2), events.Pure(1)))
    assert simplify([events.Parallel((part, again, part))]) == {events.Pure(1): 1, events.Gaussian(1, 2): 1}
    assert simplify([events.Parallel((part,))]) == {events.Pure(1): 1, events.Gaussian(1, 2): 1}
    assert simplify([events.Parallel(())]) == {}


def test_unequal_parts_stay() -> None:
    parts = events.Parallel((events.Pure(1), events.Pure(2)))
    assert simplify([parts]) == {parts: 1}


def test_a_group_spread_over_parts_collapses_only_where_costs_add() -> None:
    assert simplify([events.Group(events.Parallel((events.Laplace(1, 2),) * 2), 3)]) == {events.Laplace(3, 2): 1}
    for part in (
        events.DiscreteGaussian(1, 2, 1),
        events.PoissonSampled(events.Pure(1), "0.5"),
        events.KeySelection(1, "0.01", 2),
    ):
        spread = events.Group(events.Parallel((part, part)), 3)
        assert simplify([spread]) == {spread: 1}


def test_key_selection_is_one_rule_for_each_key_but_a_group_is_left_alone() -> None:
    selection = events.KeySelection(1, "0.01", 4)
    assert simplify([selection, selection]) == {events.Approximate(1, "0.01"): 8}
    assert simplify([events.Group(selection, 2)]) == {events.Group(selection, 2): 1}


def test_samples_are_leaves_and_their_groups_stay() -> None:
    sampled = events.PoissonSampled(events.Composed((events.Pure(1), events.Pure(1))), "0.1")
    assert simplify([sampled, events.Group(sampled, 2)]) == {sampled: 1, events.Group(sampled, 2): 1}
