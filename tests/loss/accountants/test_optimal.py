"""Optimal composition against the binomial sum and against all outcomes enumerated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.loss import events
from tacit.loss.accountants import optimal
from tacit.loss.curves.repeated_response import RepeatedResponse, all_told, with_delta
from tacit.loss.events import Event
from tests.effort import tried
from tests.loss import truth


@pytest.fixture(autouse=True)
def _precisely() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def binomial(epsilon: Fraction, count: int, at: float) -> Any:
    """delta of `count` responses at epsilon `at`, term by term."""
    e, x = truth.number(epsilon), mpmath.mpf(at)
    p = 1 / (1 + mpmath.exp(-e))
    return mpmath.fsum(
        mpmath.binomial(count, lies)
        * p ** (count - lies)
        * (1 - p) ** lies
        * (1 - mpmath.exp(x - (count - 2 * lies) * e))
        for lies in range(count + 1)
        if (count - 2 * lies) * e > x
    )


@given(
    st.fractions("0.001", 5),
    st.integers(1, 60),
    st.floats(0, 1),
    st.sampled_from([0, Fraction("1e-5"), Fraction("0.2")]),
)
@settings(max_examples=tried(60), deadline=None)
def test_equal_terms_are_exact(epsilon: Fraction, count: int, part: float, told: Fraction) -> None:
    at = part * count * float(epsilon)
    exact = 1 - (1 - truth.number(told)) ** count * (1 - binomial(epsilon, count, at))
    found = optimal.delta({events.Approximate(epsilon, told): count}, at)
    assert exact <= found + mpmath.mpf(10) ** -50
    assert found <= exact * (1 + mpmath.mpf(10) ** -8) + mpmath.mpf(10) ** -11


@pytest.mark.parametrize(
    ("event", "count", "delta", "known"),
    [
        (events.Pure("0.1"), 10, 1e-6, 0.999370906),
        (events.RandomizedResponse(1, 2), 100, 1e-6, 83.5307),
        (events.RandomizedResponse(1, 2), 1000, 1e-6, 591.08),
        (events.Exponential("0.1"), 20, 1e-6, 1.789),
    ],
)
def test_known_figures(event: Event, count: int, delta: float, known: float) -> None:
    found = optimal.epsilon({event: count}, delta)
    assert found == pytest.approx(known, rel=3e-4 if known < 2 else 1e-5)
    epsilon = getattr(event, "epsilon", Fraction("0.1"))
    assert binomial(epsilon, count, found) <= delta < binomial(epsilon, count, found * (1 - 1e-9))


@pytest.mark.parametrize(("epsilon", "count"), [("0.5", 7), ("0.01", 3000), ("2", 40), ("0.001", 20)])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9, 1e-14])
def test_the_smallest_epsilon_meets_delta_and_no_smaller_one_does(epsilon: str, count: int, delta: float) -> None:
    found = optimal.epsilon({events.Pure(epsilon): count}, delta)
    assert binomial(Fraction(epsilon), count, found) <= delta
    if found > 0:
        assert binomial(Fraction(epsilon), count, found * (1 - 1e-7)) > delta


@pytest.mark.parametrize("count", [10**5, 10**7])
def test_a_great_many_terms_cost_little_time_and_stay_sound(count: int) -> None:
    coins = RepeatedResponse.of(0.01, count)
    assert len(coins.losses) < 300_000
    # Under P the loss is a sum of independent +-e: compare with the normal law of the same mean and variance.
    p = 1 / (1 + math.exp(-0.01))
    mean, spread = count * 0.01 * (2 * p - 1), 0.01 * math.sqrt(count * 4 * p * (1 - p))
    found = coins.epsilon(1e-6)
    assert 4 < (found - mean) / spread < 4.8
    assert coins.delta(np.array([found]))[0] <= 1e-6


@given(
    st.lists(
        st.tuples(st.fractions("0.01", 2, max_denominator=1000), st.sampled_from([0, "0.001"])), min_size=2, max_size=7
    ),
    st.sampled_from([0.1, 1e-2, 1e-4]),
)
@settings(max_examples=tried(25), deadline=None)
def test_unequal_terms_bound_all_outcomes_enumerated(pairs: list[tuple[Fraction, Any]], delta: float) -> None:
    entries: dict[Event, int] = {}
    for epsilon, told in pairs:
        event = events.Approximate(epsilon, told)
        entries[event] = entries.get(event, 0) + 1
    law = truth.together(*(truth.approximate(epsilon, Fraction(told)) for epsilon, told in pairs))
    found = optimal.epsilon(entries, delta)
    if math.isfinite(found):
        assert truth.delta(law, found) <= delta
        assert found == 0 or truth.delta(law, found * (1 - 1e-4) - 1e-12) > delta
    at = 0.5 * float(sum(epsilon for epsilon, _ in pairs))
    exact = truth.delta(law, at)
    assert exact <= optimal.delta(entries, at) <= exact * (1 + mpmath.mpf("1e-3")) + 1e-12


def test_more_than_a_thousand_different_terms_stay_affordable() -> None:
    entries: dict[Event, int] = {events.Pure(Fraction(k, 10**5)): 1 for k in range(1, 1200)}
    found = optimal.epsilon(entries, 1e-6)
    squares = sum(float(event.epsilon) ** 2 for event in entries if isinstance(event, events.Pure))
    hoeffding = squares / 2 + math.sqrt(2 * squares * math.log(1e6))
    assert 0.7 * hoeffding < found < hoeffding


def test_deltas_alone_can_exhaust_the_target() -> None:
    entries: dict[Event, int] = {events.Approximate("0.1", "1e-7"): 5}
    assert optimal.epsilon(entries, 4e-7) == math.inf
    assert optimal.epsilon(entries, 0.0) == math.inf
    assert optimal.epsilon({events.Pure("0.1"): 3, events.Pure("0.2"): 1}, 0.0) == pytest.approx(0.5)
    assert optimal.delta(entries, 10.0) == pytest.approx(5e-7, rel=1e-6)


def test_gaussian_noise_gets_a_share_of_delta() -> None:
    entries: dict[Event, int] = {events.Gaussian(1, 50): 20}
    found = optimal.epsilon(entries, 1e-5)
    assert truth.gaussian_delta(mpmath.sqrt(20) / 50, found) <= 1e-5
    assert optimal.epsilon(entries, 0.0) == math.inf
    assert optimal.delta(entries, found) < 1e-4


def test_nothing_released_costs_nothing() -> None:
    assert optimal.epsilon({}, 0.0) == 0.0
    assert optimal.delta({}, 0.0) == 0.0
    assert optimal.epsilon({events.Pure(0): 5}, 1e-9) == 0.0
    assert optimal.epsilon({events.Pure(1): 5}, 1.0) == 0.0


def test_set_aside_deltas_compose_exactly() -> None:
    assert Fraction(all_told(1e-7, 5)) >= 1 - (1 - Fraction(1e-7)) ** 5
    assert all_told(1e-7, 5) == pytest.approx(float(1 - (1 - Fraction(1e-7)) ** 5), rel=1e-13)
    assert all_told(0.0, 5) == 0.0
    assert all_told(1.0, 1) == 1.0
    assert float(with_delta(np.array([0.5]), 0.1, 2)[0]) == pytest.approx(1 - 0.81 * 0.5, rel=1e-13)
