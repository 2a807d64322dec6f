"""Budgets are what a person wrote: exact decimals, in a partial order, with basic arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.loss.budget import Budget
from tacit.loss.targets import epsilon_of_concentrated

exact = st.fractions(min_value=0, max_value=1)
budgets = st.builds(Budget, st.fractions(min_value=0, max_value=1000), exact)


def test_ten_tenths_are_exactly_one() -> None:
    tenth = Budget(0.1, 1e-7)
    assert tenth * 10 == Budget(1, 1e-6)
    total = Budget(0)
    for _ in range(10):
        total = total + tenth
    assert total == Budget(1, "1e-6")
    assert tenth.epsilon == Fraction(1, 10)
    assert tenth.epsilon != Fraction(0.1)


def test_every_way_to_write_a_number_reads_the_same() -> None:
    assert (
        Budget(0.25) == Budget("1/4") == Budget(Decimal("0.25")) == Budget(Fraction(1, 4)) == Budget(np.float64(0.25))
    )
    assert Budget(np.float64(0.1)).epsilon == Fraction(1, 10)
    assert Budget(3) == Budget(3.0)


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "much", None, True])
def test_nonsense_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="'epsilon' parameter must be"):
        Budget(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'delta' parameter must be"):
        Budget(1, bad)  # type: ignore[arg-type]


def test_a_delta_above_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="from 0 to 1"):
        Budget(1, 1.5)


@given(budgets, budgets)
def test_order_means_cover_in_both_parts(a: Budget, b: Budget) -> None:
    assert (a <= b) == (a.epsilon <= b.epsilon and a.delta <= b.delta) == b.covers(a) == (b >= a)
    assert (a < b) == (a <= b and a != b)
    assert (a > b) == (b < a)


def test_two_budgets_may_be_in_no_order() -> None:
    assert not Budget(1, 0.1) <= Budget(2, 0)
    assert not Budget(2, 0) <= Budget(1, 0.1)


@given(budgets, budgets)
def test_what_was_added_can_be_taken_away(a: Budget, b: Budget) -> None:
    total = a + b
    assert total.epsilon == a.epsilon + b.epsilon
    assert total.delta == min(1, a.delta + b.delta)
    if a.delta + b.delta <= 1:
        assert total - b == a


def test_more_than_there_is_cannot_be_taken() -> None:
    with pytest.raises(ParameterError, match="at most"):
        Budget(1, 0.1) - Budget(0.5, 0.2)


@given(budgets, st.integers(1, 60))
def test_equal_parts_make_the_whole(budget: Budget, parts: int) -> None:
    assert (budget / parts) * parts == budget == parts * (budget / parts)


@given(budgets)
def test_text_and_json_read_back(budget: Budget) -> None:
    assert Budget.from_json(budget.to_json()) == budget
    assert eval(repr(budget), {"Budget": Budget}) == budget
    assert hash(Budget.from_dict(budget.to_dict())) == hash(budget)


def test_the_text_is_what_was_written() -> None:
    assert repr(Budget(3, 1e-6)) == "Budget(epsilon=3, delta=1e-06)"
    assert repr(Budget(0.1)) == "Budget(epsilon=0.1)"
    assert Budget("1/3", 0.5).to_json() == '{"delta":"1/2","epsilon":"1/3"}'


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"epsilon":"1"}', '{"epsilon":"1","delta":"0","rho":"1"}'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Budget.from_json(text)


def implied_epsilon(rho: mpmath.mpf, delta: mpmath.mpf) -> mpmath.mpf:
    """The least epsilon over orders a of Proposition 12 of Canonne, Kamath and Steinke, by a fine search."""

    def at(gap: mpmath.mpf) -> mpmath.mpf:
        order = 1 + gap
        return order * rho + (mpmath.log(1 / delta) + gap * mpmath.log(1 - 1 / order) - mpmath.log(order)) / gap

    low, high = mpmath.mpf("1e-8"), mpmath.mpf("1e12")
    for _ in range(300):  # golden section on a logarithmic scale
        left = low ** mpmath.mpf("0.618") * high ** mpmath.mpf("0.382")
        right = low ** mpmath.mpf("0.382") * high ** mpmath.mpf("0.618")
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at(low)


@pytest.mark.parametrize(("rho", "delta"), [("0.5", "1e-6"), ("0.0001", "1e-9"), ("20", "1e-3"), ("1", "1e-100")])
def test_a_budget_from_rho_is_the_best_conversion_rounded_up(rho: str, delta: str) -> None:
    with mpmath.workdps(40):
        least = implied_epsilon(mpmath.mpf(rho), mpmath.mpf(delta))
        found = Budget.from_rho(rho, delta).epsilon
        assert least <= mpmath.mpf(found.numerator) / found.denominator <= least * (1 + mpmath.mpf("1e-6"))


@given(st.fractions(min_value="1/1000", max_value=10), st.fractions(min_value="1/1000000000", max_value="1/10"))
def test_the_readable_epsilon_of_a_rho_is_rounded_up(rho: Fraction, delta: Fraction) -> None:
    implied, shown = epsilon_of_concentrated(rho, delta), Budget.from_rho(rho, delta).epsilon
    assert implied <= shown <= implied * (1 + Fraction(1, 10**11))
    assert len(str(shown.numerator * 10**20 // shown.denominator).rstrip("0")) <= 12


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.01, 1e-9), (30, 1e-3), (5, 5.4e-5)])
def test_rho_of_a_budget_leads_back_to_it(epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    assert Budget.from_rho(budget.rho(), budget.delta) <= Budget(epsilon * (1 + 1e-6), delta)
    with mpmath.workdps(40):
        rho = mpmath.mpf(budget.rho().numerator) / budget.rho().denominator
        assert implied_epsilon(rho, mpmath.mpf(repr(delta))) <= mpmath.mpf(repr(epsilon))
        assert implied_epsilon(rho * mpmath.mpf("1.00001"), mpmath.mpf(repr(delta))) > mpmath.mpf(repr(epsilon))


def test_nothing_concentrated_fits_without_delta() -> None:
    assert Budget(3).rho() == 0
    assert Budget.from_rho(0, 0.1) == Budget(0, 0.1)
