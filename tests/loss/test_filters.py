"""Filters: limits against arbitrary precision, sums against formulas, and the counterexample that calls for them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BudgetExceeded, ParameterError
from tacit.loss import events, filters
from tacit.loss.budget import Budget
from tacit.loss.filters import AnyFilter, BasicFilter, ConcentratedFilter, Filter, GaussianFilter, RenyiFilter
from tacit.loss.spent import NOTHING, Spent
from tests.effort import tried

TARGET = Budget(5, 5.4e-5)
RESERVING: list[Callable[[Budget], Filter]] = [ConcentratedFilter, RenyiFilter]
ALL: list[Callable[[Budget], Filter]] = [
    BasicFilter,
    ConcentratedFilter,
    RenyiFilter,
    GaussianFilter,
    filters.choose_filter,
]


def gaussian(mu: Fraction | float | str) -> events.Gaussian:
    return events.Gaussian(Fraction(mu), Fraction(1))


# -- the counterexample ----------------------------------------------------------------------------


def normal_below(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


def delta_of_gaussian(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """Its curve, also below zero."""
    return normal_below(mu / 2 - epsilon / mu) - np.exp(epsilon) * normal_below(-mu / 2 - epsilon / mu)


def delta_of_response(epsilon_zero: float, epsilon: np.ndarray) -> np.ndarray:
    """The curve of randomised response by listing its two outcomes."""
    truth = math.exp(epsilon_zero) / (1 + math.exp(epsilon_zero))
    shown = ((truth, 1 - truth), (1 - truth, truth))
    return np.sum([np.maximum(p - np.exp(epsilon) * q, 0) for p, q in shown], axis=0)


def whole_delta(choose: Callable[[np.ndarray, np.ndarray], np.ndarray], epsilon: float) -> float:
    """delta of one Gaussian answer with mu = 0.3 and then, by its loss, a release whose curve is `choose`."""
    mu = 0.3
    x = np.linspace(-12, 12, 48001)  # the answer around its own mean
    weight = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    loss = mu * x + mu * mu / 2
    return float(weight @ choose(loss, epsilon - loss))


def test_stopping_by_the_tight_total_is_no_filter() -> None:
    """Both branches pass (5, 5.4e-5) on their own; choosing between them by the first outcome doubles delta."""
    response = whole_delta(lambda _, left: delta_of_response(4.0, left), 5.0)
    second = whole_delta(lambda _, left: delta_of_gaussian(1.178, left), 5.0)
    both = whole_delta(lambda _, left: np.maximum(delta_of_response(4.0, left), delta_of_gaussian(1.178, left)), 5.0)
    assert response <= 5.4e-5
    assert second <= 5.4e-5
    assert both == pytest.approx(1.07e-4, abs=0.005e-4)
    # The branch is chosen by the first answer alone: response exactly where that loss is high.
    high = whole_delta(
        lambda loss, left: np.where(loss > 1, delta_of_response(4.0, left), delta_of_gaussian(1.178, left)), 5.0
    )
    assert high > 5.4e-5
    direct = delta_of_gaussian(math.hypot(0.3, 1.178), np.array([5.0]))[0]
    assert second == pytest.approx(direct, rel=1e-6)  # the integral itself, checked where a closed form exists


@pytest.mark.parametrize("make", ALL)
def test_every_filter_refuses_a_branch_of_the_counterexample(make: Callable[[Budget], Filter]) -> None:
    rule = make(TARGET)
    if not rule.admits(NOTHING, gaussian("0.3")):
        return  # it refuses both branches
    state = rule.charge(NOTHING, gaussian("0.3"))
    branches = [events.RandomizedResponse(Fraction(4), 2), gaussian("1.178")]
    assert not all(rule.admits(state, branch) for branch in branches)


# -- limits ----------------------------------------------------------------------------------------


def converted_log_delta(order: mpmath.mpf, divergence: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """log of max over y of (1 - exp(-y)) exp(-(a-1) y), found numerically, plus (a-1)(D - eps)."""
    gap = order - 1
    peak = mpmath.log1p(1 / gap)
    constant = max(
        mpmath.log(1 - mpmath.exp(-y)) - gap * y
        for y in (peak * (1 + step / mpmath.mpf(1000)) for step in range(-9, 10))
    )
    return constant + gap * (divergence - epsilon)


def as_mpf(exact: Fraction) -> mpmath.mpf:
    return mpmath.mpf(exact.numerator) / exact.denominator


@settings(max_examples=tried(40), deadline=None)
@given(st.floats(-3, 2), st.floats(-30, -0.5), st.sampled_from([0, "1/10", "1/2"]))
def test_the_renyi_limit_is_the_largest_that_converts_to_the_target(e: float, d: float, reserve: str) -> None:
    budget = Budget(Fraction(10**e), Fraction(10**d))
    rule = RenyiFilter(budget, Fraction(reserve))
    with mpmath.workdps(50):
        order, left = as_mpf(rule.order), as_mpf(budget.delta * (1 - Fraction(reserve)))
        for factor, fits in ((1, True), (mpmath.mpf(1) + mpmath.mpf("1e-9"), False)):
            implied = converted_log_delta(order, as_mpf(rule.limit.loss) * factor, as_mpf(budget.epsilon))
            assert (implied <= mpmath.log(left)) is fits
    assert rule.limit.delta == budget.delta * Fraction(reserve)


def test_the_default_order_is_the_best_for_gaussian_noise() -> None:
    rule = RenyiFilter(Budget(1, 1e-6))

    def room(order: Fraction) -> Fraction:
        return RenyiFilter(Budget(1, 1e-6), order=order).limit.loss / order

    here = room(rule.order)
    for factor in ("1/2", "9/10", "99/100", "101/100", "11/10", "2"):
        other = 1 + Fraction(float((rule.order - 1) * Fraction(factor)))
        assert room(Fraction(float(other))) < here * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.05, 1e-9), (20, 1e-3)])
def test_the_gaussian_limit_is_exactly_one_release(epsilon: float, delta: float) -> None:
    mu_squared = GaussianFilter(Budget(epsilon, delta)).limit.loss
    with mpmath.workdps(60):
        eps = mpmath.mpf(repr(epsilon))
        for factor, fits in ((1, True), (mpmath.mpf("1.0001"), False)):
            mu = mpmath.sqrt(as_mpf(mu_squared) * factor)
            lost = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
            assert (lost <= mpmath.mpf(repr(delta))) is fits


def test_the_basic_limit_is_the_budget() -> None:
    assert BasicFilter(Budget(1, 1e-6)).limit == Spent(Fraction(1), Fraction(1, 10**6))


# -- prices and sums -------------------------------------------------------------------------------


def test_ten_tenths_fill_a_basic_filter_exactly() -> None:
    rule, state = BasicFilter(Budget(1)), NOTHING
    for _ in range(10):
        state = rule.charge(state, events.Pure("0.1"))
    assert rule.remaining(state) == NOTHING
    assert not rule.admits(state, events.Pure("1e-30"))
    with pytest.raises(BudgetExceeded) as refused:
        rule.charge(state, events.Pure("0.1"))
    assert (refused.value.asked, refused.value.remaining) == (Fraction(1, 10), 0)
    assert rule.admits(state, events.Pure(0))


def test_own_deltas_are_summed_too() -> None:
    rule = BasicFilter(Budget(1, 1e-6))
    state = rule.charge(NOTHING, events.Approximate("0.1", "6e-7"))
    assert not rule.admits(state, events.Approximate("0.1", "5e-7"))
    with pytest.raises(BudgetExceeded, match="delta") as refused:
        rule.charge(state, events.Approximate("0.1", "5e-7"))
    assert refused.value.remaining == Fraction(4, 10**7)
    assert rule.admits(state, events.Approximate("0.1", "4e-7"))


@pytest.mark.parametrize("make", RESERVING)
def test_own_deltas_may_only_use_the_reserve(make: Callable[[Budget], Filter]) -> None:
    rule = make(Budget(2, 1e-6))
    small = events.Approximate("0.01", "2.5e-7")
    state = rule.charge(rule.charge(NOTHING, small), small)  # the reserve is a half: 5e-7
    assert state.delta == Fraction(5, 10**7)
    assert not rule.admits(state, events.Approximate("0.01", "1e-9"))
    assert rule.admits(state, events.Pure("0.01"))


def test_gaussian_noise_costs_half_mu_squared_in_rho_and_order_times_that_in_divergence() -> None:
    event = gaussian("0.3")
    concentrated, renyi = ConcentratedFilter(TARGET), RenyiFilter(TARGET)
    assert float(concentrated.price(event).loss) == pytest.approx(0.045, rel=1e-12)  # type: ignore[union-attr]
    assert float(renyi.price(event).loss / renyi.order) == pytest.approx(0.045, rel=1e-12)  # type: ignore[union-attr]
    assert GaussianFilter(TARGET).price(event) == Spent(Fraction(9, 100))


def test_randomised_response_costs_its_own_divergence() -> None:
    rule = RenyiFilter(Budget(3, 1e-5))
    order, truth = float(rule.order), 0.75
    by_hand = math.log(truth**order * 0.25 ** (1 - order) + 0.25**order * truth ** (1 - order)) / (order - 1)
    price = rule.price(events.RandomizedResponse(Fraction(math.log(3)), 2))
    assert price is not None
    assert by_hand <= float(price.loss) <= by_hand * (1 + 1e-9)


@settings(max_examples=tried(40), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                gaussian("0.2"),
                events.Laplace(Fraction(1), Fraction(5)),
                events.DiscreteLaplace(2, Fraction(9)),
                events.Exponential(Fraction(1, 4)),
                events.RandomizedResponse(Fraction(1, 3), 3),
                events.Pure(Fraction(1, 5)),
                events.Concentrated(Fraction(1, 100)),
                events.Repeated(events.Pure(Fraction(1, 50)), 3),
            ]
        ),
        max_size=60,
    )
)
def test_the_renyi_filter_admits_all_that_the_concentrated_one_does(asked: list[events.Event]) -> None:
    concentrated, renyi = ConcentratedFilter(Budget(3, 1e-6)), RenyiFilter(Budget(3, 1e-6))
    spent_rho = spent_divergence = NOTHING
    for event in asked:
        if not concentrated.admits(spent_rho, event):
            break
        spent_rho = concentrated.charge(spent_rho, event)
        # Prices are rounded up at 2^-52, hence the room of a billionth.
        price = renyi.price(event)
        assert price is not None
        spent_divergence = spent_divergence + price
        assert spent_divergence.loss <= renyi.limit.loss * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("make", ALL)
def test_two_halves_cost_as_much_as_the_whole(make: Callable[[Budget], Filter]) -> None:
    rule, event = make(Budget(5, 1e-5)), gaussian("0.25")
    if isinstance(rule, BasicFilter):
        event = events.Pure("0.3")  # type: ignore[assignment]
    twice = rule.charge(rule.charge(NOTHING, event), event)
    assert rule.charge(NOTHING, events.Repeated(event, 2)) == twice
    assert rule.charge(NOTHING, events.Composed((event, event))) == twice
    assert twice.loss == 2 * rule.charge(NOTHING, event).loss > 0


@pytest.mark.parametrize("make", [BasicFilter, *RESERVING, filters.choose_filter])
def test_no_adaptive_choice_of_responses_passes_delta(make: Callable[[Budget], Filter]) -> None:
    """The best adversary by dynamic programming: at each loss it picks the response, or stops, that hurts most."""
    budget = Budget(1, 0.1)
    rule = make(budget)
    menu = {1: events.RandomizedResponse(Fraction(1, 10), 2), 4: events.RandomizedResponse(Fraction(4, 10), 2)}

    @functools.cache
    def worst(state: Spent, tenths: int) -> float:
        """delta per unit of P-mass that has this loss, in tenths, after `state`."""
        best = max(0.0, -math.expm1(float(budget.epsilon) - tenths / 10))
        for step, event in menu.items():
            if rule.admits(state, event):
                after, truth = rule.charge(state, event), 1 / (1 + math.exp(-step / 10))
                best = max(best, truth * worst(after, tenths + step) + (1 - truth) * worst(after, tenths - step))
        return best

    reached = worst(NOTHING, 0)
    assert reached <= float(budget.delta)
    assert reached == 0 if isinstance(rule, BasicFilter) else reached > 0.002


# -- refusals --------------------------------------------------------------------------------------


def test_what_a_rule_cannot_price_is_refused() -> None:
    for rule, event in (
        (BasicFilter(TARGET), gaussian(1)),
        (GaussianFilter(TARGET), events.Pure("1e-9")),
        (GaussianFilter(TARGET), events.DiscreteGaussian(Fraction(1), Fraction(100), 1)),
        (GaussianFilter(TARGET), events.Composed((gaussian("0.1"), events.Pure("0.1")))),
    ):
        assert rule.price(event) is None
        assert not rule.admits(NOTHING, event)
        with pytest.raises(ParameterError, match="can price"):
            rule.charge(NOTHING, event)


def test_a_filter_that_converts_needs_a_delta() -> None:
    for budget in (Budget(1), Budget(0, 0.1)):
        for make in (ConcentratedFilter, RenyiFilter, GaussianFilter):
            with pytest.raises(ParameterError, match="budget"):
                make(budget)


@pytest.mark.parametrize("order", [1, "1/2", -3, "1/3", "7/3"])
def test_a_wrong_order_is_refused(order: str) -> None:
    with pytest.raises(ParameterError, match="order"):
        RenyiFilter(TARGET, order=Fraction(order))


@pytest.mark.parametrize("reserve", [1, "3/2", "-1/10"])
def test_a_wrong_reserve_is_refused(reserve: str) -> None:
    with pytest.raises(ParameterError, match="reserve"):
        filters.choose_filter(TARGET, reserve)


# -- commitment ------------------------------------------------------------------------------------


def test_the_default_is_addition_or_one_renyi_order_and_basic_without_delta() -> None:
    assert filters.choose_filter(Budget(3)) == BasicFilter(Budget(3))
    assert filters.choose_filter(Budget(3, 1e-6)) == AnyFilter(
        Budget(3, 1e-6), (RenyiFilter(Budget(3, "75e-8"), Fraction(1, 3)), BasicFilter(Budget(3, "25e-8")))
    )
    assert filters.choose_filter(Budget(3, 1e-6), 0) == AnyFilter(
        Budget(3, 1e-6), (RenyiFilter(Budget(3, 1e-6), Fraction(0)), BasicFilter(Budget(3)))
    )


@pytest.mark.parametrize("make", ALL)
def test_a_filter_reads_back_from_its_text(make: Callable[[Budget], Filter]) -> None:
    rule = make(Budget("1/3", 1e-5))
    again = filters.from_json(rule.to_json())
    assert again == rule
    assert again.limit == rule.limit
    assert type(again) is type(rule)
    assert Spent.from_dict(rule.limit.to_dict()) == rule.limit


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind":"any"}',
        '{"kind":"basic"}',
        '{"kind":"basic","budget":{"epsilon":"1","delta":"0"},"order":"2"}',
        '{"kind":"renyi","budget":{"epsilon":"1","delta":"1/10"},"reserve":"1/2","order":"1"}',
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        filters.from_json(text)
