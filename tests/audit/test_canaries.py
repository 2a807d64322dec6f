"""Auditing in one run: the tail bound against published and enumerated truth, and a noisy sum that is audited."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit import ParameterError
from tacit.audit import canaries, one_run
from tacit.audit.canaries import chance_of, epsilon_from_guesses


def test_it_is_the_figure_that_the_theorems_authors_print() -> None:
    # Steinke, Nasr, Jagielski 2023, appendix D: 75 of 100 guesses right among 1,000 canaries, 95 %, delta 1e-4
    assert epsilon_from_guesses(1000, 100, 75, 1e-4, 0.05) == pytest.approx(0.673, abs=5e-4)


def test_without_a_delta_it_is_the_tail_of_a_binomial() -> None:
    q = math.e / (1 + math.e)
    assert chance_of(100, 40, 35, 1.0, 0.0) == pytest.approx(float(stats.binom.sf(34, 40, q)))
    assert chance_of(100, 40, 0, 1.0, 0.0) == 1


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_a_trainer_that_answers_by_randomised_response_is_overstated_no_more_often_than_stated(epsilon: float) -> None:
    guesses, failure = 60, 0.01
    right = np.arange(guesses + 1)
    chances = stats.binom.pmf(right, guesses, 1 / (1 + math.exp(-epsilon)))
    found = np.array([epsilon_from_guesses(guesses, guesses, int(v), 0.0, failure) for v in right])
    failed = float(chances[found > epsilon + 1e-5].sum())
    assert failed <= failure
    assert found.max() > epsilon


@pytest.mark.parametrize("delta", [0.001, 0.01, 0.05])
def test_trainers_that_leak_with_probability_delta_are_overstated_no_more_often_than_stated(delta: float) -> None:
    count, failure = 60, 0.02
    right = np.arange(count + 1)
    coins = stats.binom.pmf(right, count, 0.5)
    name_and_shame = stats.binom.pmf(right, count, 0.5 + delta / 2)  # each canary shown with probability delta
    everything = (1 - delta) * coins + delta * (right == count)  # all of them, with probability delta
    found = np.array([epsilon_from_guesses(count, count, int(v), delta, failure) for v in right])
    for law in (name_and_shame, everything):
        assert float(law[found > 0].sum()) <= failure


def noisy_sum(deviation: float, size: int) -> Any:
    def trainer(included: list[int]) -> Any:
        total = np.zeros(size)
        total[included] += 1
        return total + np.random.default_rng().normal(0, deviation, size)

    return trainer


@pytest.mark.statistical
def test_a_noisy_sum_is_found_out_in_one_run_and_a_very_noisy_one_is_not() -> None:
    """At deviation 0.5 a canary is guessed with 84 %; 1,000 of them at confidence 1 - 1e-9 give above 1 always but for
    1e-8. At deviation 1,000 (epsilon far below 0.05 at delta 1e-5) a bound above 0.5 has probability below 1e-9."""
    clear = one_run(noisy_sum(0.5, 1000), lambda total, canary: total[canary], range(1000), confidence=1 - 1e-9)
    assert clear.epsilon > 1
    assert clear.guesses in (1000, 500, 250, 125, 62, 31)
    blurred = one_run(noisy_sum(1000, 1000), lambda total, canary: total[canary], range(1000), confidence=1 - 1e-9)
    assert blurred.epsilon < 0.5
    fixed = one_run(noisy_sum(0.01, 100), lambda total, canary: total[canary], range(100), guesses=40)
    assert (fixed.guesses, fixed.right) == (40, 40)


def test_only_what_was_included_is_seen_by_the_trainer() -> None:
    seen: list[list[str]] = []

    def trainer(included: list[str]) -> set[str]:
        seen.append(included)
        return set(included)

    found = one_run(trainer, lambda result, canary: float(canary in result), [str(n) for n in range(200)])
    assert len(seen) == 1
    assert found.epsilon > 1
    assert 50 < len(seen[0]) < 150


def test_numbers_of_guesses_that_are_tried_share_the_failure_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []

    def noted(count: int, made: int, right: int, delta: float, failure: float) -> float:
        shares.append(failure)
        return 0.0

    monkeypatch.setattr(canaries, "epsilon_from_guesses", noted)
    one_run(lambda included: None, lambda result, canary: 0.0, range(100), confidence="0.99")
    assert len(shares) == 6
    assert sum(shares) == pytest.approx(0.01)


@pytest.mark.parametrize(("count", "guesses"), [(1, None), (10, 11), (10, 0)])
def test_too_few_canaries_or_impossible_guesses_are_refused(count: int, guesses: int | None) -> None:
    with pytest.raises(ParameterError):
        one_run(lambda included: None, lambda result, canary: 0.0, range(count), guesses=guesses)
