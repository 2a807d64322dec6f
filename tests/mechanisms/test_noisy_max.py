"""Statistical tests here fail a correct sampler with probability below 1e-9 each."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import chain, combinations
from itertools import product as every
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.loss import events
from tacit.mechanisms import NoisyMax
from tacit.noise import SeededBitsForTestsOnly
from tests.mechanisms.exact import FALSE_ALARM, Law, p_value, real, refused, worst_loss

TINY = mpmath.mpf(10) ** -30


@functools.cache
def powers_of(base: Any, count: int) -> list[Any]:
    return [base**exponent for exponent in range(count)]


def law(scores: list[int], scale: Any) -> Law:
    """Who has the largest score + geometric noise, ties split evenly: every height, every set of leaders."""
    heights = range(max(scores), max(scores) + math.ceil(90 * Fraction(scale)) + 2)
    powers = powers_of(mpmath.exp(-1 / real(scale)), len(heights) + max(scores) - min(scores))
    leading = 1 - powers[1]
    players = range(len(scores))
    groups = list(chain.from_iterable(combinations(players, size) for size in range(1, len(scores) + 1)))
    chosen = {i: mpmath.mpf(0) for i in players}
    for height in heights:
        tails = [powers[height - s] for s in scores]  # who is lower than this has the rest: 1 - tail
        high = [leading * tail for tail in tails]
        low = [1 - tail for tail in tails]
        for leaders in groups:
            weight = mpmath.mpf(1) / len(leaders)
            for i in players:
                weight *= high[i] if i in leaders else low[i]
            for leader in leaders:
                chosen[leader] += weight
    assert abs(mpmath.fsum(chosen.values()) - 1) < TINY
    return chosen


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (2, 3)])
def test_neighbours_differ_by_at_most_epsilon_and_reach_it(sensitivity: int, epsilon: int) -> None:
    scale = NoisyMax(sensitivity, epsilon).noise_scale
    assert scale == Fraction(2 * sensitivity, epsilon)
    worst = mpmath.mpf(0)
    for base in ([0, 0, 0], [4, 1, 0], [9, 0, 0]):
        here = law(base, scale)
        for moves in every((-sensitivity, 0, sensitivity), repeat=3):
            there = law([b + m for b, m in zip(base, moves, strict=True)], scale)
            worst = max(worst, worst_loss(here, there))
    assert epsilon * mpmath.mpf("0.99") < worst <= epsilon + TINY


def test_monotone_scores_need_half_the_noise() -> None:
    scale = NoisyMax(1, 1, monotone=True).noise_scale
    assert scale == 1
    for base in ([0, 0, 0], [4, 1, 0]):
        for moves in every((0, 1), repeat=3):
            moved = [b + m for b, m in zip(base, moves, strict=True)]
            assert worst_loss(law(base, scale), law(moved, scale)) <= 1 + TINY


@pytest.mark.statistical
def test_choices_follow_the_law_of_the_claim_ties_included() -> None:
    """Enough draws that the scale of the other kind of scores would be noticed; a scale of 0.9 is another test's."""
    bits, scores = SeededBitsForTestsOnly(11), [2, 2, 0, -1]
    for mechanism, scale, other in (
        (NoisyMax(1, 2), 1, Fraction(1, 2)),
        (NoisyMax(1, 2, monotone=True), Fraction(1, 2), 1),
    ):
        for direction, signed in (("scores", scores), ("losses", [-s for s in scores])):
            drawn = [mechanism.choose(range(4), **{direction: scores}, bits=bits) for _ in range(3000)]
            assert p_value(drawn, law(signed, scale)) > FALSE_ALARM
            assert p_value(drawn, law(signed, other)) < FALSE_ALARM


@pytest.mark.parametrize("scores", [[10, 0, 0, 0], [10, 10, 3, 3, 3], [6, 5, 4, 3, 2, 1]])
@pytest.mark.parametrize("confidence", ["1/2", "9/10", "999/1000"])
def test_the_shortfall_is_exceeded_no_more_often_than_it_says(scores: list[int], confidence: str) -> None:
    mechanism = NoisyMax(1, 3)
    bound = mechanism.shortfall(len(scores), confidence=confidence)
    exact = law(scores, mechanism.noise_scale)
    assert mpmath.fsum(exact[i] for i, s in enumerate(scores) if s <= max(scores) - bound) <= 1 - real(confidence)


@pytest.mark.statistical
def test_the_scale_of_the_noise_shows_in_how_often_a_runner_up_wins() -> None:
    """Enough draws that a scale of 0.9 times the right one would be noticed."""
    mechanism, bits = NoisyMax(1, 1), SeededBitsForTestsOnly(16)
    drawn = [mechanism.choose(range(2), scores=[6, 0], bits=bits) for _ in range(30_000)]
    assert p_value(drawn, law([6, 0], 2)) > FALSE_ALARM
    ten_percent_less = law([6, 0], "9/5")
    assert p_value(drawn, ten_percent_less) < FALSE_ALARM


def test_a_sum_beyond_int64_wins_and_does_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.noise.geometric", lambda scale, size, bits: np.array([2**63 - 1, 0, 0]))
    assert NoisyMax(1, 1).choose("abc", scores=[2**40, 0, 5]) == "a"


def test_huge_scores_and_huge_noise_make_no_false_ties() -> None:
    bits = SeededBitsForTestsOnly(12)
    ends = np.array([2**63 - 1, -(2**63), 0])
    assert {NoisyMax(1, 1).choose("abc", scores=ends, bits=bits) for _ in range(20)} == {"a"}
    chosen = [NoisyMax(1, Fraction(1, 2**70)).choose("abc", scores=[0, 1, 2], bits=bits) for _ in range(300)]
    assert set(chosen) == {"a", "b", "c"}
    chosen = [NoisyMax(1, Fraction(1, 2**60)).choose("abc", scores=ends, bits=bits) for _ in range(300)]
    assert {"a", "c"} <= set(chosen)


def test_the_event_is_a_pure_guarantee() -> None:
    assert NoisyMax(2, "1/3").event == events.Pure(Fraction(1, 3))
    assert NoisyMax(2, "1/3").scale == 12.0


@pytest.mark.parametrize("scores", [[1.0, 2.0], [math.nan, 1.0], np.array([1.0, 2.0])])
def test_real_scores_are_refused_by_their_type(scores: Any) -> None:
    refused(lambda: NoisyMax(1, 1).choose("ab", scores=scores), "scores")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 1.0, Fraction(1, 2)])
def test_a_wrong_sensitivity_is_refused(value: Any) -> None:
    refused(lambda: NoisyMax(value, 1), "sensitivity")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 1e-300, 10**400])
def test_a_wrong_epsilon_is_refused(value: Any) -> None:
    refused(lambda: NoisyMax(1, value), "epsilon")


def test_candidates_from_data_are_refused() -> None:
    refused(lambda: NoisyMax(1, 1).choose({"a"}, scores=[1]), "candidates")
    refused(lambda: NoisyMax(1, 1).choose([], scores=[]), "candidates")
