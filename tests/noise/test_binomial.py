"""Statistical tests here reject at p < 1e-10 each."""

from __future__ import annotations

import importlib
import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.noise import binomial, multinomial
from tacit.noise.bits import BitSource, secure
from tests.noise.doubles import Served, chance_at_most

# the package exports the sampler under the same name, so the module is reached by its path
module = importlib.import_module("tacit.noise.binomial")
ALARM = 1e-10
ONES = 2**64 - 1


class Constant(BitSource):
    """One word over and over; remembers the largest request."""

    def __init__(self, word: int) -> None:
        self.word, self.largest = word, 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.largest = max(self.largest, count)
        return np.full(count, self.word, dtype=np.uint64)


def masses(n: int, p: Fraction) -> list[float]:
    return [float(math.comb(n, k) * p**k * (1 - p) ** (n - k)) for k in range(n + 1)]


def test_a_fair_count_uses_each_bit_it_was_asked_for_and_no_other() -> None:
    trials = np.array([0, 1, 63, 64, 65, 0, 128, 1000, 0], dtype=np.int64)
    assert module.fair(trials, Constant(ONES)).tolist() == trials.tolist()
    assert module.fair(trials, Constant(0)).tolist() == [0] * 9
    assert module.fair(np.array([3, 66]), Served([0b101 << 61, 7, 0b11 << 62])).tolist() == [2, 5]


def test_memory_is_bounded_whatever_the_count() -> None:
    long = 64 * module._BLOCK
    for trials in ([long], [long + 1], [5, 3 * long + 70, 0, 9], [64 * 40_000] * 5, [1] * 200_000):
        source = Constant(ONES)
        counts = np.array(trials, dtype=np.int64)
        assert module.fair(counts, source).tolist() == trials
        assert source.largest <= module._BLOCK


@pytest.mark.parametrize(("p", "depth"), [("5/8", 3), ("1/2", 1), ("1/4", 2), ("7/8", 3)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_string_of_coins_counts_exactly_as_often_as_the_binomial_law_says(n: int, p: str, depth: int) -> None:
    """All bits that p's expansion can ask for are enumerated, so the law must come out as exact fractions."""
    outcomes: Counter[int] = Counter()
    for coins in itertools.product(range(1 << n), repeat=depth):
        served = Served([coin << (64 - n) for coin in coins])
        # a round with fewer trials left looks at fewer of the top bits, all of them uniform
        outcomes[binomial(n, Fraction(p), None, served)] += 1
    exact = Fraction(p)
    for k in range(n + 1):
        assert Fraction(outcomes[k], 2 ** (n * depth)) == math.comb(n, k) * exact**k * (1 - exact) ** (n - k)


@pytest.mark.parametrize("p", ["1/3", "3/7", "9/10"])
def test_the_rounds_follow_an_endless_expansion_too(p: str) -> None:
    """One trial succeeds exactly for the strings below p; the few strings that agree with p so far stay open."""
    exact, depth, won = Fraction(p), 9, 0
    for coins in range(1 << depth):
        word = [(coins >> (depth - 1 - i) & 1) << 63 for i in range(depth)]
        if coins + 1 <= exact * 2**depth:
            assert binomial(1, exact, None, Served(word)) == 1
            won += 1
        elif coins >= exact * 2**depth:
            assert binomial(1, exact, None, Served(word)) == 0
    assert won == math.floor(exact * 2**depth)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "p"), [(1, "1/2"), (10, "1/3"), (64, "1/2"), (65, "1/2"), (100, "3/10"), (300, "1/1000"), (40, "9/10")]
)
def test_draws_follow_the_law(n: int, p: str) -> None:
    draws = binomial(n, p, 100_000, secure())
    assert chance_at_most(np.bincount(draws, minlength=n + 1), masses(n, Fraction(p))) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "p", "size"), [(2**32, "1/3", 1), (10**7 + 3, "1/1000", 20), (123_457, "1/2", 300)])
def test_large_counts_have_the_right_mean_and_spread(n: int, p: str, size: int) -> None:
    """7 standard deviations each: rate below 1e-10 (the spread only where there are many draws)."""
    exact = Fraction(p)
    draws = binomial(n, exact, size, secure())
    mean, variance = float(n * exact), float(n * exact * (1 - exact))
    assert abs(float(draws.mean()) - mean) < 7 * math.sqrt(variance / size)
    if size >= 300:
        assert abs(float(((draws - mean) ** 2).mean()) / variance - 1) < 7 * math.sqrt(2.2 / size)


def test_certain_and_impossible_trials_need_no_bits() -> None:
    assert binomial(2**40, 1, 3, Served()).tolist() == [2**40] * 3
    assert binomial(2**40, 0, None, Served()) == 0
    assert binomial(0, "1/3", 4, Served()).tolist() == [0] * 4
    assert binomial(5, "1/3", 0, Served()).size == 0
    assert type(binomial(5, "1/3", None, secure())) is int


@pytest.mark.statistical
def test_multinomial_rows_follow_the_joint_law() -> None:
    p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    rows = multinomial(4, p, 100_000, secure())
    assert (rows.sum(axis=1) == 4).all()
    cells = [(i, j) for i in range(5) for j in range(5 - i)]
    counts = np.array([int(((rows[:, 0] == i) & (rows[:, 1] == j)).sum()) for i, j in cells])
    joint = [
        float(
            Fraction(math.factorial(4), math.factorial(i) * math.factorial(j) * math.factorial(4 - i - j))
            * p[0] ** i
            * p[1] ** j
            * p[2] ** (4 - i - j)
        )
        for i, j in cells
    ]
    assert chance_at_most(counts, joint) > ALARM


def test_a_category_without_probability_is_never_chosen() -> None:
    rows = multinomial(50, [0, "0.5", 0, "0.5", 0], 200, secure())
    assert not rows[:, [0, 2, 4]].any()
    assert (rows.sum(axis=1) == 50).all()
    assert multinomial(7, [1], None, secure()).tolist() == [7]
    assert multinomial(10, ["0.1", "0.2", "0.7"], None, secure()).sum() == 10


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: binomial(-1, "1/2", 1, secure()), "'n' parameter"),
        (lambda: binomial(2**40 + 1, "1/2", 1, secure()), "'n' parameter must be a whole number from 0 to 2"),
        (lambda: binomial(2.0, "1/2", 1, secure()), "'n' parameter"),  # type: ignore[call-overload]
        (lambda: binomial(2, 1.5, 1, secure()), "'p' parameter"),
        (lambda: multinomial(2, [0.1, 0.2, 0.7], 1, secure()), "add up to exactly 1.*as text"),
        (lambda: multinomial(2, [], 1, secure()), "add up to exactly 1"),
        (lambda: multinomial(2, ["3/2", "-1/2"], 1, secure()), "'probabilities' parameter"),
    ],
)
def test_wrong_parameters_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()
