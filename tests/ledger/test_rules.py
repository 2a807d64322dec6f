"""Rules: the sum is exact or above, never below; a refusal carries exact numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import BudgetExceeded, ParameterError
from tacit.ledger.rules import PriceByRule, Rule, shown, total
from tacit.loss import Budget, events
from tacit.loss.filters import NOTHING, BasicFilter, ConcentratedFilter, RenyiFilter, Spent

ONE = Rule.of("the dataset", BasicFilter(Budget(1, "1/100")))
TENTH = ONE.price(events.Pure("1/10"))


def test_ten_tenths_are_one_and_not_a_hair_more() -> None:
    state = NOTHING
    for _ in range(10):
        state = TENTH.after(state)
    assert state == Spent(Fraction(1))
    with pytest.raises(BudgetExceeded):
        ONE.price(events.Pure(Fraction(1, 10**60))).after(state)


def test_a_refusal_says_who_what_and_how_much() -> None:
    state = Spent(Fraction(95, 100))
    with pytest.raises(BudgetExceeded, match=r"needs epsilon 0\.1; 0\.05 is left .* for the dataset") as refusal:
        TENTH.after(state)
    assert (refusal.value.asked, refusal.value.remaining) == (Fraction(1, 10), Fraction(1, 20))


def test_where_epsilons_do_not_add_up_a_refusal_speaks_of_shares() -> None:
    """Three of four equal charges are paid: another two would be half of the budget, and a quarter is left."""
    rule = Rule.of("analyst 'ana'", RenyiFilter(Budget(2, "1e-6")))
    quarter = rule.limit.loss / 4
    double = PriceByRule(rule, Spent(quarter * 2))
    with pytest.raises(BudgetExceeded) as refusal:
        double.after(Spent(quarter * 3))
    assert str(refusal.value) == (
        "This question needs 50 % of the budget (epsilon 2, delta 1e-06) for analyst 'ana'; 25 % is left. "
        "Ask with a smaller epsilon, or see the ledger."
    )
    assert (refusal.value.asked, refusal.value.remaining) == (quarter * 2, quarter)
    third = rule.limit.delta / 3
    with pytest.raises(BudgetExceeded, match=r"needs 33\.4 % .* 33\.3 % is left\. Ask with a smaller delta"):
        PriceByRule(rule, Spent(quarter, third + third / 10**6)).after(Spent(quarter, 2 * third))
    with pytest.raises(BudgetExceeded, match=r"needs 3\.00e\+11 % .* 100 % is left"):
        PriceByRule(rule, Spent(quarter * 12 * 10**9)).after(NOTHING)


def test_a_refusal_for_delta_speaks_of_delta() -> None:
    price = ONE.price(events.Approximate("1/10", "1/50"))
    with pytest.raises(BudgetExceeded, match=r"needs delta 0\.02; 0\.01 is left") as refusal:
        price.after(NOTHING)
    assert (refusal.value.asked, refusal.value.remaining) == (Fraction(1, 50), Fraction(1, 100))


def test_an_event_without_a_finite_price_is_refused() -> None:
    with pytest.raises(ParameterError, match="basic filter of the dataset can price"):
        ONE.price(events.Gaussian(1, 1))


def test_a_price_is_what_the_filter_charges() -> None:
    rule = Rule.of("the dataset", ConcentratedFilter(Budget(3, "1/1000000")))
    for event in (events.Pure("1/10"), events.DiscreteGaussian(1, 10, 3), events.Approximate("1/10", "1/100000000")):
        assert rule.price(event).after(NOTHING) == rule.filter.charge(NOTHING, event)


@given(st.lists(st.fractions(0, 10, max_denominator=100), max_size=30))
def test_sums_of_short_fractions_are_exact(amounts: list[Fraction]) -> None:
    state = NOTHING
    for amount in amounts:
        state = total(state, Spent(amount, amount))
    exact = sum(amounts, Fraction(0))
    assert (state.loss, state.delta) == (exact, exact)


def test_ever_new_denominators_do_not_make_the_sum_grow_without_end() -> None:
    state, exact = NOTHING, Fraction(0)
    for number in range(200):
        amount = Fraction(1, 2**120 + 2 * number + 1)
        state, exact = total(state, Spent(amount)), exact + amount
    assert exact < state.loss < exact + Fraction(201, 10**100)
    assert len(str(state.loss)) < 500
    assert exact.denominator.bit_length() > 10_000


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(1, 3), "0.333333"),
        (Fraction(0), "0"),
        (Fraction(5), "5"),
        (Fraction(3000), "3000"),
        (Fraction(10) ** 400, "1.00e+400"),
    ],
)
def test_amounts_are_shown_in_six_digits_whatever_their_size(amount: Fraction, text: str) -> None:
    assert shown(amount) == text
