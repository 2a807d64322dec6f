"""Several filters side by side: the theorem by enumeration of adaptive conversations, and how long a budget lasts."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BudgetExceeded, ParameterError
from tacit.loss import events
from tacit.loss.budget import Budget
from tacit.loss.filters import AnyFilter, BasicFilter, Filter, GaussianFilter, RenyiFilter, choose_filter
from tacit.loss.spent import NOTHING, Spent
from tests.effort import tried

TENTH = Fraction(1, 10)


def admitted(rule: Filter, event: events.Event) -> int:
    """How many releases of one kind the rule admits, by bisection over one composed release."""
    low, high = 0, 1
    while rule.admits(NOTHING, events.Repeated(event, high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rule.admits(NOTHING, events.Repeated(event, middle)) else (low, middle)
    return low


# What plain addition admits below the line of 0.1; a Renyi order of its own at half the delta above it.
COUNTS = {
    (1, "1"): 1,
    (1, "0.5"): 2,
    (1, "0.2"): 5,
    (1, "0.1"): 10,
    (1, "0.05"): 21,
    (1, "0.01"): 462,
    (3, "1"): 3,
    (3, "0.5"): 6,
    (3, "0.1"): 39,
    (3, "0.01"): 3500,
}


@pytest.mark.parametrize(("budget", "each"), COUNTS)
def test_a_budget_lasts_at_least_so_many_questions(budget: int, each: str) -> None:
    rule = choose_filter(Budget(budget, 1e-6))
    assert admitted(rule, events.Laplace(Fraction(1), 1 / Fraction(each))) >= COUNTS[budget, each]


@given(st.lists(st.sampled_from(["0.3", "0.1", "0.02", "0.005"]), max_size=60))
@settings(max_examples=tried(40))
def test_whatever_plain_addition_or_the_renyi_rule_admits_is_admitted(asked: list[str]) -> None:
    rule = choose_filter(Budget(1, 1e-6))
    assert isinstance(rule, AnyFilter)
    state, own = NOTHING, [NOTHING for _ in rule.rules]
    for epsilon in asked:
        event = events.Pure(epsilon)
        prices = [part.price(event) for part in rule.rules]
        own = [before + price for before, price in zip(own, prices, strict=True) if price is not None]
        any_admits = any(spent.within(part.limit) for spent, part in zip(own, rule.rules, strict=True))
        assert rule.admits(state, event) is any_admits
        if not any_admits:
            break
        state = rule.charge(state, event)


# -- the theorem, by enumeration -------------------------------------------------------------------


def leaking(epsilon: Fraction, delta: Fraction) -> Iterator[tuple[float, float]]:
    """All outcomes of the worst (epsilon, delta) mechanism: its P and its Q probability. Loss may be infinite."""
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    for p, q in ((yes, 1 - yes), (1 - yes, yes)):
        yield (1 - float(delta)) * p, (1 - float(delta)) * q
    if delta:
        yield float(delta), 0.0
        yield 0.0, float(delta)


MENU = [(Fraction(1, 10), Fraction(0)), (Fraction(4, 10), Fraction(0)), (Fraction(2, 10), Fraction(1, 40))]


def worst_delta(rule: Filter, epsilon: Fraction, menu: list[tuple[Fraction, Fraction]]) -> float:
    """The true delta of the conversation that hurts most: at every state the adversary picks what to ask, or stops.

    All is counted by the ratio of P to Q so far, exp(tenths/10), which is all of the past that matters beside the
    filter's state; `None` is an outcome that Q never gives, whose P-mass counts in full.
    """

    @functools.cache
    def worst(state: Spent, tenths: int) -> float:
        """delta per unit of Q-mass that has this ratio after `state`."""
        ratio = math.exp(tenths / 10)
        best = max(0.0, ratio - math.exp(epsilon))
        for cost, own in menu:
            event = events.Approximate(cost, own) if own else events.RandomizedResponse(cost, 2)
            if not rule.admits(state, event):
                continue
            after, total = rule.charge(state, event), 0.0
            for p, q in leaking(cost, own):
                if q == 0.0:
                    total += ratio * p  # revealed for good: nothing that follows can matter
                elif p > 0.0:
                    total += q * worst(after, tenths + round(10 * math.log(p / q)))
            best = max(best, total)
        return best

    return worst(NOTHING, 0)


def two_orders(share: Fraction) -> Callable[[Budget], Filter]:
    """Two Renyi orders, each with this share of delta; without the checks of `AnyFilter`, which refuses too much."""

    def make(budget: Budget) -> Filter:
        part = Budget(budget.epsilon, budget.delta * share)
        rules = tuple(RenyiFilter(part, Fraction(0), Fraction(order)) for order in (2, 8))
        rule = AnyFilter(budget, tuple(BasicFilter(Budget(budget.epsilon)) for _ in rules))
        object.__setattr__(rule, "rules", rules)
        return rule

    return make


@pytest.mark.parametrize("delta", ["0.001", "0.02", "0.1"])
@pytest.mark.parametrize("epsilon", ["0.5", "1"])
@pytest.mark.parametrize("make", [choose_filter, two_orders(Fraction(1, 2))])
def test_no_adaptive_conversation_passes_delta(make: Callable[[Budget], Filter], epsilon: str, delta: str) -> None:
    budget = Budget(epsilon, delta)
    menu = MENU if make is choose_filter else MENU[:2]
    assert worst_delta(make(budget), budget.epsilon, menu) <= float(budget.delta)


def test_the_conversation_uses_what_no_single_rule_would_admit() -> None:
    """Else the test above would say nothing about several rules: some transcript needs the one, another the other."""
    budget = Budget(1, "0.001")
    rule = choose_filter(budget)
    assert isinstance(rule, AnyFilter)
    longest = {part.kind: set[tuple[int, int]]() for part in rule.rules}
    for small, large in itertools.product(range(40), range(4)):
        asked = events.Composed(
            (events.Repeated(events.Pure("0.05"), small), events.Repeated(events.Pure("0.4"), large))
        )
        for part in rule.rules:
            if part.admits(NOTHING, asked):
                longest[part.kind].add((small, large))
    assert longest["renyi"] - longest["basic"]
    assert longest["basic"] - longest["renyi"]


def test_the_same_rules_with_the_whole_delta_for_each_admit_more() -> None:
    """Why the deltas must be shared: with the whole of it for each rule the sum over the A_k is twice the promise."""
    budget = Budget("0.5", "0.1")
    shared, whole = (
        worst_delta(two_orders(Fraction(*share))(budget), budget.epsilon, MENU[:2]) for share in ((1, 2), (1, 1))
    )
    assert whole > shared


# -- states, refusals, texts -----------------------------------------------------------------------


def test_a_release_without_a_finite_price_ends_that_rule_alone() -> None:
    rule = choose_filter(Budget(1, 1e-6))
    gaussian = events.Gaussian(Fraction(1), Fraction(100))  # no pure part: addition cannot count it
    state = rule.charge(NOTHING, gaussian)
    assert state.beside == (None,)
    assert rule.remaining(state).beside == (None,)
    assert rule.charge(state, events.Pure("0.01")).beside == (None,)
    after, asked = state, 0
    while rule.admits(after, events.Pure(TENTH)):
        after, asked = rule.charge(after, events.Pure(TENTH)), asked + 1
    assert 0 < asked <= admitted(rule.rules[0], events.Pure(TENTH)) < 10  # type: ignore[attr-defined]


def test_deltas_of_events_are_counted_by_each_rule() -> None:
    rule = choose_filter(Budget(1, 1e-6))
    state = rule.charge(NOTHING, events.Approximate("0.5", "1e-7"))
    assert state.delta == state.beside[0].delta == Fraction(1, 10**7)  # type: ignore[union-attr]
    state = rule.charge(state, events.Approximate("0.5", "1e-7"))  # by addition
    assert not rule.admits(state, events.Pure("0.1"))
    assert not rule.admits(NOTHING, events.Approximate("0.5", "3e-7"))  # more than a rule's share


def test_a_refusal_speaks_of_the_rule_that_comes_closest() -> None:
    rule = choose_filter(Budget(1, 1e-6))
    state = rule.charge(rule.charge(NOTHING, events.Pure("0.4")), events.Pure("0.4"))
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.3; 0\.2 is left") as refused:
        rule.charge(state, events.Pure("0.3"))
    assert (refused.value.asked, refused.value.remaining) == (Fraction(3, 10), Fraction(2, 10))


def test_states_read_back_from_their_text() -> None:
    rule = choose_filter(Budget(1, 1e-6))
    for event in (events.Pure(TENTH), events.Gaussian(Fraction(1), Fraction(50))):
        state = rule.charge(NOTHING, event)
        assert Spent.from_dict(state.to_dict()) == state
    assert Spent(TENTH).to_dict() == {"loss": "1/10", "delta": "0"}  # as ledgers have always had it
    with pytest.raises(ParameterError):
        Spent.from_dict({"loss": "1", "delta": "0", "beside": "1"})


def test_rules_that_promise_too_much_together_are_refused() -> None:
    budget = Budget(1, 1e-6)
    half = Budget(1, "5e-7")
    for rules in (
        (),
        (BasicFilter(half),),
        (BasicFilter(budget), GaussianFilter(half)),
        (BasicFilter(Budget(2)), RenyiFilter(budget)),
        (choose_filter(half), BasicFilter(half)),
    ):
        with pytest.raises(ParameterError, match="rules"):
            AnyFilter(budget, rules)
    assert AnyFilter(budget, (BasicFilter(half), GaussianFilter(half))).budget == budget


def test_states_of_different_rules_do_not_add_up() -> None:
    with pytest.raises(ParameterError, match="same rules"):
        Spent(beside=(NOTHING,)) + Spent(beside=(NOTHING, NOTHING))
