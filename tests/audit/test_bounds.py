"""Counts to bounds, against binomial tails summed exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from tacit.audit.bounds import Bound, above, below, epsilon_low, epsilon_of, needed

COUNTS = [(0, 50), (1, 50), (7, 50), (25, 50), (49, 50), (50, 50), (3, 2000), (700, 2000)]


def tail(draws: int, least: int, p: float) -> mpmath.mpf:
    """P[Binomial >= least], term by term."""
    p = mpmath.mpf(p)
    if least < draws / 2:
        return 1 - mpmath.fsum(mpmath.binomial(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(least))
    return mpmath.fsum(mpmath.binomial(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(least, draws + 1))


@pytest.mark.parametrize(("hits", "draws"), COUNTS)
@pytest.mark.parametrize("failure", [0.05, 1e-6])
def test_the_lower_bound_is_where_so_many_hits_or_more_have_the_failure_probability(
    hits: int, draws: int, failure: float
) -> None:
    found = float(below(hits, draws, failure))
    if hits == 0:
        assert found == 0
    else:
        assert abs(tail(draws, hits, found) / failure - 1) < 1e-6


@pytest.mark.parametrize(("hits", "draws"), COUNTS)
@pytest.mark.parametrize("failure", [0.05, 1e-6])
def test_the_upper_bound_is_where_so_many_hits_or_fewer_have_the_failure_probability(
    hits: int, draws: int, failure: float
) -> None:
    found = float(above(hits, draws, failure))
    if hits == draws:
        assert found == 1
    else:
        assert abs((1 - tail(draws, hits + 1, found)) / failure - 1) < 1e-6


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_epsilon_is_the_log_of_the_ratio_of_bounds_that_share_the_failure_probability(delta: float) -> None:
    hits, others, draws, failure = 60, 15, 100, 0.02

    # both bounds are held to binomial tails above; here: which share of the failure each gets, and where delta goes
    least, most = float(below(hits, draws, 0.01)), float(above(others, draws, 0.01))
    wanted = math.log((least - delta) / most)
    assert float(epsilon_low(hits, others, draws, delta, failure)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.2), (0.3, 0.3), (0.9, 0.05), (0.99, 0.6)])
def test_the_bound_fails_no_more_often_than_stated_summed_over_all_counts(p: float, q: float, delta: float) -> None:
    draws, failure = 40, 0.05
    counts = np.arange(draws + 1)
    hits, others = np.meshgrid(counts, counts, indexing="ij")
    found = epsilon_low(hits, others, draws, delta, failure)
    weights = np.outer(stats.binom.pmf(counts, draws, p), stats.binom.pmf(counts, draws, q))
    assert weights[found > epsilon_of(p, q, delta) + 1e-12].sum() <= failure


def test_no_event_gives_a_bound_below_zero_and_none_without_hits() -> None:
    assert float(epsilon_low(0, 10, 100, 0.0, 0.01)) == 0
    assert float(epsilon_low(10, 90, 100, 0.0, 0.01)) == 0
    assert epsilon_of(0.2, 0.0, 0.0) == math.inf
    assert epsilon_of(0.2, 0.0, 0.3) == 0


def test_the_event_has_an_interval_around_its_estimate() -> None:
    bound = Bound(0.9, 0.0, 0.99, "an event", "x", 1000, 500, 180, 0.1)
    assert bound.estimate == pytest.approx(math.log(500 / 180))
    assert float(epsilon_low(500, 180, 1000, 0.0, 0.01)) < bound.estimate < bound.upper
    high, low = float(above(500, 1000, 0.005)), float(below(180, 1000, 0.005))
    assert bound.upper == pytest.approx(math.log(high / low))


@pytest.mark.parametrize(("p", "q", "delta", "epsilon"), [(0.75, 0.15, 0.0, 1.0), (0.3, 0.05, 0.05, 1.0)])
def test_the_draws_said_to_be_needed_show_the_violation_about_nine_times_of_ten(
    p: float, q: float, delta: float, epsilon: float
) -> None:
    failure = 0.01

    def power(draws: int) -> float:
        counts = np.arange(draws + 1)
        likely_hits = counts[stats.binom.pmf(counts, draws, p) > 1e-9]
        likely_others = counts[stats.binom.pmf(counts, draws, q) > 1e-9]
        hits, others = np.meshgrid(likely_hits, likely_others, indexing="ij")
        shown = epsilon_low(hits, others, draws, delta, failure) > epsilon
        weights = np.outer(stats.binom.pmf(likely_hits, draws, p), stats.binom.pmf(likely_others, draws, q))
        return float(weights[shown].sum())

    count = needed(p, q, delta, epsilon, failure)
    assert count is not None
    assert power(count) > 0.9
    assert power(count // 2) < 0.9


def test_no_number_of_draws_shows_a_violation_that_is_none() -> None:
    assert needed(0.5, 0.25, 0.0, 1.0, 0.01) is None
    assert needed(0.5, float(Fraction(1, 2) / 3), 0.0, 1.0986, 0.01, most=10**4) is None
