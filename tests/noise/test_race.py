from __future__ import annotations

import decimal
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.noise import exponential_race, one_sided_race, secure
from tests.noise.doubles import Served, chance_at_most


def exact_key(score: Fraction, factor: Fraction, word: int, gumbel: bool, prior: float = 1.0) -> mpmath.mpf:
    """The key for U = word / 2**64 (its further bits zero), at high precision."""
    u = mpmath.mpf(word) / 2**64
    weight = mpmath.mpf((factor * score).numerator) / (factor * score).denominator + mpmath.log(prior)
    return weight - mpmath.log(-mpmath.log1p(-u) if gumbel else u)


@given(
    st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(1, 2**64 - 2)), min_size=1, max_size=6, unique=True),
    st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**9),
    st.booleans(),
)
def test_the_winner_is_the_one_with_the_largest_exact_key(
    runners: list[tuple[int, int]], factor: Fraction, gumbel: bool
) -> None:
    scores = np.array([score for score, _ in runners])
    words = [word for _, word in runners]
    keys = [exact_key(Fraction(score), factor, word, gumbel) for score, word in runners]
    race = exponential_race if gumbel else one_sided_race
    won = race(scores, factor, Served([*words, *[0] * 30]))
    # further bits are served as zeros, so the words themselves are the uniforms
    assert keys[won] >= max(keys) - mpmath.mpf(2) ** -150
    as_floats = race(scores.astype(np.float64), factor, Served([*words, *[0] * 30]))
    assert keys[as_floats] >= max(keys) - mpmath.mpf(2) ** -150


@pytest.mark.parametrize("gumbel", [True, False])
def test_a_tie_in_the_known_bits_is_settled_by_further_ones(gumbel: bool) -> None:
    race = exponential_race if gumbel else one_sided_race
    scores = np.array([5, 5])
    word = 3 << 60
    # smaller U, larger key
    assert race(scores, Fraction(1), Served([word, word, 0, 2**64 - 1])) == 0
    assert race(scores, Fraction(1), Served([word, word, 2**64 - 1, 0])) == 1


@pytest.mark.parametrize("gumbel", [True, False])
def test_keys_closer_than_floats_can_tell_are_compared_exactly(gumbel: bool) -> None:
    """Words are chosen to bring the keys of unequal scores within 2**-60 of each other, then a step to either side."""
    race = exponential_race if gumbel else one_sided_race
    factor = Fraction(1, 3)
    word = 2**62 + 12345
    ratio = mpmath.exp(mpmath.mpf(1) / 3)
    u = mpmath.mpf(word) / 2**64
    other = -mpmath.expm1(mpmath.log1p(-u) * ratio) if gumbel else u * ratio
    twin = int(mpmath.floor(other * 2**64))  # candidate 1 has a score higher by one
    seen = set()
    for step in range(-6, 7):
        words = [word, twin + step]
        keys = [exact_key(Fraction(score), factor, w, gumbel) for score, w in zip((0, 1), words, strict=True)]
        won = race(np.array([0, 1]), factor, Served([*words, *[0] * 20]))
        assert keys[won] == max(keys)
        seen.add(won)
    assert seen == {0, 1}


def test_an_applications_own_decimal_context_changes_nothing() -> None:
    """Keys 2**-100 apart, settled under a context of two digits: an operator that rounds to it would lose them."""
    word = 2**62 + 12345
    for first, second, winner in ((5, 6, 0), (6, 5, 1)):
        for race in (exponential_race, one_sided_race):
            with decimal.localcontext(decimal.Context(prec=2)):
                assert race(np.array([7, 7]), Fraction(1), Served([word, word, first << 28, second << 28])) == winner


@pytest.mark.statistical
@pytest.mark.parametrize("prior", [None, [1.0, 2.0, 0.5, 0.0, 3.0]])
def test_the_race_is_won_with_probability_proportional_to_the_weight(prior: list[float] | None) -> None:
    """False alarm 1e-9 each; enough draws that a factor 20 % off would be noticed."""
    scores = np.array([3, 1, 0, 2, -1])
    given_prior = None if prior is None else np.array(prior)
    won = [exponential_race(scores, Fraction(1, 2), secure(), given_prior) for _ in range(12_000)]

    def chance(factor: float) -> float:
        weights = np.exp(scores * factor) * (prior or [1.0] * 5)
        return chance_at_most(np.bincount(won, minlength=5), (weights / weights.sum()).tolist())

    assert chance(0.5) > 1e-9
    assert max(chance(0.4), chance(0.6)) < 1e-9


@pytest.mark.statistical
def test_the_one_sided_race_is_permute_and_flip() -> None:
    """Against permute-and-flip by enumeration of all orders; false alarm 1e-9."""
    scores = np.array([2, 1, 0, 2])
    keep = np.exp((scores - 2) / 2)
    law = np.zeros(4)
    for order in itertools.permutations(range(4)):
        reached = 1.0
        for candidate in order:
            law[candidate] += reached * keep[candidate] / math.factorial(4)
            reached *= 1 - keep[candidate]
    won = [one_sided_race(scores, Fraction(1, 2), secure()) for _ in range(30_000)]
    assert chance_at_most(np.bincount(won, minlength=4), law.tolist()) > 1e-9


@pytest.mark.statistical
def test_a_large_field_is_won_in_proportion_across_chunks() -> None:
    """40,000 candidates in three chunks; which quarter wins, against the exact law; false alarm 1e-9."""
    scores = np.repeat([0, 4, 1, 3], 10_000)
    weights = np.exp(np.array([0, 4, 1, 3]) / 2)
    won = [exponential_race(scores, Fraction(1, 2), secure()) // 10_000 for _ in range(1500)]
    assert chance_at_most(np.bincount(won, minlength=4), (weights / weights.sum()).tolist()) > 1e-9


def test_scores_at_the_ends_of_int64_do_not_overflow() -> None:
    extremes = np.array([-(2**63), 2**63 - 1])
    assert exponential_race(extremes, Fraction(1), secure()) == 1
    assert one_sided_race(np.array([1e308, -1e308]), Fraction(1), secure()) == 0


def test_a_word_of_zeros_is_the_best_draw_there_is_except_for_what_may_not_win() -> None:
    assert exponential_race(np.array([0, 40]), Fraction(1), Served([0, 2**63, *[1] * 20])) == 0
    prior = np.array([0.0, 1.0])
    assert exponential_race(np.array([0, 0]), Fraction(1), Served([0, 2**63]), prior) == 1


def test_races_without_runners_are_refused() -> None:
    with pytest.raises(ParameterError, match="'scores' parameter must be a list of at least one score"):
        exponential_race(np.array([], dtype=np.int64), Fraction(1), Served())
    with pytest.raises(ParameterError, match="'prior' parameter"):
        exponential_race(np.array([1, 2]), Fraction(1), Served(), np.zeros(2))
    with pytest.raises(ParameterError, match="'factor' parameter"):
        exponential_race(np.array([1, 2]), Fraction(1, 10**300), Served())
