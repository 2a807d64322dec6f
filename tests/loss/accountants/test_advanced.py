"""Advanced composition: the theorem for unequal epsilons."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.loss import events
from tacit.loss.accountants import advanced, optimal
from tacit.loss.accountants.basic import Priced
from tacit.loss.events import Event
from tests.effort import tried
from tests.loss import truth


def test_unequal_epsilons_follow_hoeffding() -> None:
    parts = [Priced(Fraction("0.1"), Fraction(0), 40), Priced(Fraction("0.03"), Fraction(0), 100)]
    with mpmath.workdps(40):
        drift = 4 * mpmath.tanh(mpmath.mpf("0.05")) + 3 * mpmath.tanh(mpmath.mpf("0.015"))
        exact = drift + mpmath.sqrt(2 * mpmath.log(10**6) * (mpmath.mpf("0.4") + mpmath.mpf("0.09")))
        slack = float(mpmath.mpf(10) ** -6)
        assert exact * (1 - mpmath.mpf(10) ** -15) <= advanced.unequal(parts, slack) <= exact * (1 + 1e-13)
    assert advanced.unequal(parts, 0.0) == pytest.approx(7.0, rel=1e-14)
    assert advanced.unequal([Priced(Fraction("0.1"), Fraction(0), 2)], 1e-6) == pytest.approx(0.2, rel=1e-14)
    assert advanced.unequal([Priced(math.inf, Fraction(0), 2)], 1e-6) == math.inf


@given(
    st.lists(st.tuples(st.fractions("0.02", 2, max_denominator=50), st.fractions(0, "0.05")), min_size=1, max_size=6),
    st.sampled_from([1e-1, 1e-2, 1e-3]),
)
@settings(max_examples=tried(30), deadline=None)
def test_the_exact_composition_is_never_dearer(pairs: list[tuple[Fraction, Fraction]], slack: float) -> None:
    entries: dict[Event, int] = {}
    for epsilon, delta in pairs:
        event = events.Approximate(epsilon, delta)
        entries[event] = entries.get(event, 0) + 1
    target = 1 - (1 - slack) * math.prod(1 - float(delta) for _, delta in pairs)
    found = advanced.epsilon(entries, target)
    with mpmath.workdps(40):
        law = truth.together(*(truth.approximate(*pair) for pair in pairs))
        assert truth.delta(law, found) <= target * (1 + 1e-12)
        assert truth.delta(law, 0.4 * found) <= advanced.delta(entries, 0.4 * found) * (1 + 1e-12)


def test_many_small_releases_beat_the_plain_sum_and_obey_the_optimum() -> None:
    entries: dict[Event, int] = {events.Laplace(1, 10): 100}
    found = advanced.epsilon(entries, 1e-6)
    assert optimal.epsilon(entries, 1e-6) < found < 10.0
    first_known = math.sqrt(2 * 100 * math.log(1e6)) * 0.1 + 100 * 0.1 * math.expm1(0.1)
    assert found < first_known
    assert found == pytest.approx(10 * math.tanh(0.05) + math.sqrt(2 * math.log(1e6)), rel=1e-12)
    assert advanced.delta(entries, found) == pytest.approx(1e-6, rel=1e-8)
    assert advanced.delta(entries, 10.0) == 0.0
    assert advanced.delta(entries, 0.1) == 1.0


def test_deltas_are_not_forgotten() -> None:
    entries: dict[Event, int] = {events.Approximate("0.1", "1e-7"): 5}
    assert advanced.epsilon(entries, 4e-7) == math.inf
    assert advanced.delta(entries, 0.5) == pytest.approx(5e-7, rel=1e-6)
    assert Fraction(advanced.delta(entries, 0.5)) >= 1 - (1 - Fraction("1e-7")) ** 5


def test_gaussian_noise_gets_a_share_of_delta() -> None:
    entries: dict[Event, int] = {events.Gaussian(1, 50): 20, events.Pure("0.01"): 10}
    found = advanced.epsilon(entries, 1e-5)
    mu = math.sqrt(20) / 50
    with mpmath.workdps(40):
        # The truth is below Gaussian noise alone at epsilon less all of the pure ones.
        assert truth.gaussian_delta(mu, found - 0.1) <= 1e-5
    assert advanced.delta(entries, found) <= 1e-4
    assert advanced.epsilon(entries, 0.0) == math.inf
    assert advanced.epsilon({}, 0.0) == 0.0
    assert advanced.epsilon(entries, 1.0) == 0.0
