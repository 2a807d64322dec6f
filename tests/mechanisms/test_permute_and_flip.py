"""Statistical tests here fail a correct sampler with probability below 1e-9 each."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations, permutations
from itertools import product as every
from typing import Any

import mpmath
import pytest

from tacit.loss import events
from tacit.mechanisms import Exponential, PermuteAndFlip
from tacit.noise import SeededBitsForTestsOnly
from tests.mechanisms.exact import FALSE_ALARM, Law, normalised, p_value, real, refused, worst_loss

TINY = mpmath.mpf(10) ** -40


def law(scores: Any, factor: Any) -> Law:
    """By the coins themselves: random order, the first accepted candidate is chosen."""
    accept = [mpmath.exp(real(factor) * (real(s) - real(max(scores)))) for s in scores]
    chosen = {i: mpmath.mpf(0) for i in range(len(scores))}
    for order in permutations(range(len(scores))):
        still = mpmath.mpf(1)
        for candidate in order:
            chosen[candidate] += still * accept[candidate]
            still *= 1 - accept[candidate]
    return {i: p / math.factorial(len(scores)) for i, p in chosen.items()}


@pytest.mark.parametrize("base", [[0, 0, 0], [3, 1, 0], ["5/2", 2, "9/4"]])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (2, "1/10"), ("1/4", 3)])
def test_neighbours_differ_by_at_most_epsilon(base: list[Any], sensitivity: Any, epsilon: Any) -> None:
    factor, step = PermuteAndFlip(sensitivity, epsilon).factor, Fraction(sensitivity)
    here = law([Fraction(b) for b in base], factor)
    for moves in every((-step, Fraction(0), step), repeat=3):
        there = law([Fraction(b) + m for b, m in zip(base, moves, strict=True)], factor)
        assert worst_loss(here, there) <= real(epsilon) + TINY


def test_epsilon_is_reached() -> None:
    here, there = law([0, 20], Fraction(1, 2)), law([1, 19], Fraction(1, 2))
    assert mpmath.almosteq(worst_loss(here, there), 1, 1e-6)


def test_monotone_scores_need_no_factor_of_two() -> None:
    assert PermuteAndFlip(1, 1, monotone=True).factor == 1
    for base in ([0, 0, 0], [3, 1, 0]):
        for moves in every((0, 1), repeat=3):
            moved = [b + m for b, m in zip(base, moves, strict=True)]
            assert worst_loss(law(base, 1), law(moved, 1)) <= 1 + TINY


@pytest.mark.parametrize("monotone", [False, True])
def test_every_set_of_outcomes_is_traded_off_no_better_than_under_laplace_noise(monotone: bool) -> None:
    """The event prices the choice as Laplace noise of sensitivity/scale epsilon: checked on every set of outcomes."""
    epsilon = Fraction(3, 2)
    mechanism = PermuteAndFlip(1, epsilon, monotone=monotone)
    assert mechanism.event == events.Laplace(epsilon, Fraction(1))

    def quantile(p: Any) -> Any:
        return mpmath.log(2 * p) if p < 0.5 else -mpmath.log(2 * (1 - p))

    furthest = mpmath.mpf(0)
    bases = [[0, 0, 0, 0], [2, 1, 1, 0], [4, 0, 0, 0], ["1/2", "1/3", 0, "-7/5"], [8, 0, -8, 0], [-1, 0, 0, 1]]
    steps = (0, "1/2", 1) if monotone else (-1, "1/3", 1)
    for base in bases:
        here = law([Fraction(b) for b in base], mechanism.factor)
        for moves in every(map(Fraction, steps), repeat=4):
            there = law([Fraction(b) + m for b, m in zip(base, moves, strict=True)], mechanism.factor)
            for outcomes in chain.from_iterable(combinations(range(4), size) for size in (1, 2)):
                one, other = (mpmath.fsum(side[i] for i in outcomes) for side in (here, there))
                furthest = max(furthest, abs(quantile(one) - quantile(other)))
    assert real(epsilon) * mpmath.mpf("0.5") < furthest <= real(epsilon) + TINY


def test_with_two_candidates_it_is_exactly_laplace_noise_on_the_gap() -> None:
    assert mpmath.almosteq(law([0, 3], 2)[0], mpmath.exp(-6) / 2, 1e-40)


@pytest.mark.statistical
def test_choices_follow_the_law_of_the_claim() -> None:
    """Enough draws that the factor of the other kind of scores would be noticed; 10 % are the next test's."""
    bits, scores = SeededBitsForTestsOnly(10), [3, 0, -4, 2]
    for mechanism, factor, other in (
        (PermuteAndFlip(2, 1), "1/4", "1/2"),
        (PermuteAndFlip(2, 1, monotone=True), "1/2", "1/4"),
    ):
        for direction, signed in (("scores", scores), ("losses", [-s for s in scores])):
            drawn = [mechanism.choose(range(4), **{direction: scores}, bits=bits) for _ in range(2500)]
            assert p_value(drawn, law(signed, factor)) > FALSE_ALARM
            assert p_value(drawn, law(signed, other)) < FALSE_ALARM


@pytest.mark.statistical
def test_the_factor_shows_in_how_often_a_runner_up_wins() -> None:
    """Enough draws that a factor 10 % off would be noticed."""
    mechanism, bits = PermuteAndFlip(1, 1), SeededBitsForTestsOnly(17)
    drawn = [mechanism.choose(range(2), scores=[2, 0], bits=bits) for _ in range(36_000)]
    assert p_value(drawn, law([2, 0], "1/2")) > FALSE_ALARM
    assert p_value(drawn, law([2, 0], "9/20")) < FALSE_ALARM
    assert p_value(drawn, law([2, 0], "11/20")) < FALSE_ALARM


@pytest.mark.parametrize("scores", [[3, 0, 0, 0], [1, 1, 0, 0], [4, 3, 2, 1], [0, 0, 0, 0]])
def test_it_is_never_worse_than_the_exponential_mechanism(scores: list[int]) -> None:
    factor = PermuteAndFlip(1, 1).factor
    assert factor == Exponential(1, 1).factor
    other = normalised({i: mpmath.exp(real(factor) * s) for i, s in enumerate(scores)})
    ours = law(scores, factor)
    lost = [mpmath.fsum(p * (max(scores) - scores[i]) for i, p in side.items()) for side in (ours, other)]
    assert lost[0] <= lost[1] + TINY
    if max(scores) > min(scores):
        assert lost[0] < lost[1]


@pytest.mark.parametrize("confidence", ["1/2", "9/10", "999/1000"])
@pytest.mark.parametrize("scores", [[10, 0, 0, 0], [10, 10, 3, 3, 3], [6, 5, 4, 3, 2, 1]])
def test_the_shortfall_is_exceeded_no_more_often_than_it_says(scores: list[int], confidence: str) -> None:
    mechanism = PermuteAndFlip(1, 3)
    bound = mechanism.shortfall(len(scores), confidence=confidence)
    exact = law(scores, mechanism.factor)
    assert mpmath.fsum(exact[i] for i, s in enumerate(scores) if s <= max(scores) - bound) <= 1 - real(confidence)


@pytest.mark.parametrize("scores", [[math.nan, 1.0], [math.inf, -math.inf], [10**400, 0]])
def test_no_score_raises_an_error(scores: list[Any]) -> None:
    assert PermuteAndFlip(1, 1).choose(["a", "b"], scores=scores) in ("a", "b")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 1e-300, 10**400])
def test_wrong_parameters_are_refused(value: Any) -> None:
    refused(lambda: PermuteAndFlip(value, 1), "sensitivity", "epsilon")
    refused(lambda: PermuteAndFlip(1, value), "epsilon")
    refused(lambda: PermuteAndFlip(1, 1).choose([], scores=[]), "candidates")
    refused(lambda: PermuteAndFlip(1, 1).choose({"a"}, scores=[1]), "candidates")
