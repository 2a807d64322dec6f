"""Beliefs and tests against Bayes' rule worked out on explicit mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.loss.budget import Budget
from tacit.loss.posterior import belief_after, group_budget, membership_advantage, true_positive_rate


def test_a_yes_to_randomised_response_moves_two_percent_to_nearly_six() -> None:
    """Table 3/4, 1/4 is epsilon ln 3: Bayes gives 0.02 * 0.75/(0.02 * 0.75 + 0.98 * 0.25) = 3/52."""
    after = belief_after("0.02", Budget(Fraction(math.log(3))))
    assert after.upper == pytest.approx(3 / 52, rel=1e-12)
    assert round(after.upper, 4) == 0.0577
    assert after.lower == pytest.approx(0.02 / (0.02 + 0.98 * 3), rel=1e-12)
    assert after.failure == 0


@given(st.floats(0.001, 5))
def test_a_belief_of_forty_percent_stays_within_the_factor(epsilon: float) -> None:
    after = belief_after("0.4", Budget(epsilon))
    assert 0.4 * math.exp(-epsilon) < after.lower < 0.4 < after.upper < 0.4 * math.exp(epsilon)


@settings(deadline=None)
@given(st.fractions(min_value="1/1000000", max_value="999999/1000000"), st.fractions(min_value=0, max_value=800))
def test_the_interval_holds_bayes_and_no_more(prior: Fraction, epsilon: Fraction) -> None:
    after = belief_after(prior, Budget(epsilon))
    with mpmath.workdps(60):
        p = mpmath.mpf(prior.numerator) / prior.denominator
        factor = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        top, bottom = p * factor / (p * factor + 1 - p), p / (p + (1 - p) * factor)
        assert top <= after.upper <= top * (1 + mpmath.mpf("1e-12"))
        assert bottom >= after.lower >= bottom * (1 - mpmath.mpf("1e-12")) - mpmath.mpf("1e-300")


def test_certainty_does_not_move() -> None:
    assert (belief_after(0, Budget(2)).lower, belief_after(0, Budget(2)).upper) == (0, 0)
    assert (belief_after(1, Budget(2)).lower, belief_after(1, Budget(2)).upper) == (1, 1)


def test_with_a_delta_a_failure_must_be_stated() -> None:
    for failure in (0, 1e-6, 1.3e-6):  # delta (1 + exp(-1)) = 1.368e-6
        with pytest.raises(ParameterError, match="state the one you accept"):
            belief_after(0.5, Budget(1, 1e-6), failure)


def worst_pair(epsilon: float, delta: float, lift: float) -> tuple[list[float], list[float]]:
    """An (epsilon, delta) pair that shows a ratio exp(epsilon + lift) as often as it may, and the mirror image."""
    high = delta / (1 - math.exp(-lift))
    low = high * math.exp(-epsilon - lift)
    rest = 1 - high - low
    return [high, low, rest], [low, high, rest]


@pytest.mark.parametrize(("epsilon", "delta", "lift"), [(1.0, 1e-3, 0.5), (0.1, 1e-4, 0.01), (3.0, 1e-2, 2.0)])
def test_the_failure_covers_the_worst_pair_there_is(epsilon: float, delta: float, lift: float) -> None:
    p, q = worst_pair(epsilon, delta, lift)
    excess = sum(max(a - math.exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))
    assert excess == pytest.approx(delta)  # the pair really has this delta
    # At a failure just below what the pair shows, the interval must be wide enough to hold its posterior.
    failure = (p[0] + p[1]) * 0.999
    after = belief_after(0.5, Budget(Fraction(epsilon), Fraction(delta)), Fraction(failure))
    assert after.upper >= p[0] / (p[0] + q[0])
    assert after.lower <= p[1] / (p[1] + q[1])
    # And it is close to that: at a failure a little above, the bound on the loss is at most a little more.
    wide = belief_after(0.5, Budget(Fraction(epsilon), Fraction(delta)), Fraction(failure * 1.5))
    assert wide.upper < after.upper


@settings(deadline=None)
@given(st.floats(0.01, 5), st.floats(0, 0.5), st.floats(0, 1))
def test_no_test_detects_more_than_the_bound(epsilon: float, delta: float, false: float) -> None:
    """The pair of Kairouz, Oh and Viswanath is the worst (epsilon, delta) pair: its best randomised test attains it."""
    grow = math.exp(epsilon)
    p = [delta, (1 - delta) * grow / (1 + grow), (1 - delta) / (1 + grow), 0]
    q = [0, (1 - delta) / (1 + grow), (1 - delta) * grow / (1 + grow), delta]
    power, level = 0.0, false
    for a, b in zip(p, q, strict=True):
        share = min(1.0, level / b) if b > 0 else 1.0
        power, level = power + share * a, level - share * b
    bound = true_positive_rate(Budget(Fraction(epsilon), Fraction(delta)), Fraction(false))
    assert power <= bound + 1e-12
    assert bound <= power + 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 1e-3), (3.0, 0.2)])
def test_the_advantage_is_the_largest_gap_of_the_two_rates(epsilon: float, delta: float) -> None:
    budget = Budget(Fraction(epsilon), Fraction(delta))
    gaps = [true_positive_rate(budget, Fraction(i, 2000)) - i / 2000 for i in range(2001)]
    assert max(gaps) == pytest.approx(membership_advantage(budget), abs=1e-3)
    assert max(gaps) <= membership_advantage(budget) + 1e-12
    assert membership_advantage(budget) == pytest.approx((math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1))


def test_an_enormous_epsilon_promises_nothing() -> None:
    assert membership_advantage(Budget(10**6)) == 1
    assert true_positive_rate(Budget(10**6), "1e-9") == 1
    assert belief_after("1/2", Budget(10**6)).upper == 1
    assert belief_after("1/2", Budget(10**6)).lower == 0


def test_a_group_of_three_pays_three_epsilons_and_the_geometric_sum_of_deltas() -> None:
    grouped = group_budget(Budget(0.5, 1e-6), 3)
    assert grouped.epsilon == Fraction(3, 2)
    assert float(grouped.delta) == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1.0)), rel=1e-12)
    assert group_budget(Budget(0.5, 1e-6), 1) == Budget(0.5, 1e-6)
