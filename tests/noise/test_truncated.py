"""Statistical tests here reject at p < 1e-10 each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.noise import truncated as module
from tacit.noise import truncated_discrete_laplace, truncated_geometric
from tacit.noise.bits import secure
from tests.noise.doubles import Served, chance_at_most, every_word

ONES = 2**64 - 1
ALARM = 1e-10


def masses(scale: Fraction, low: int, high: int) -> list[float]:
    """The stated law, summed up by brute force."""
    weights = [mpmath.exp(-abs(x) * mpmath.mpf(scale.denominator) / scale.numerator) for x in range(low, high + 1)]
    total = mpmath.fsum(weights)
    return [float(weight / total) for weight in weights]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("scale", "count"),
    [
        (Fraction(10), 5),
        (Fraction(10), 7),
        (Fraction(10), 8),
        (Fraction(10), 40),
        (Fraction(1, 3), 4),
        (Fraction(1000), 2),
    ],
    ids=str,
)
def test_truncated_geometric_draws_follow_their_law(scale: Fraction, count: int) -> None:
    draws = truncated_geometric(scale, count, 100_000, secure())
    assert 0 <= draws.min() <= draws.max() < count
    assert chance_at_most(np.bincount(draws, minlength=count), masses(scale, 0, count - 1)) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(4), Fraction(300)], ids=str)
@pytest.mark.parametrize(
    ("low", "high"), [(-3, 8), (-8, 3), (-20, 20), (-1, 1), (2, 9), (-9, -2), (0, 5), (-5, 0), (-4, 1)]
)
def test_truncated_laplace_draws_follow_their_law(scale: Fraction, low: int, high: int) -> None:
    draws = truncated_discrete_laplace(scale, low, high, 100_000, secure())
    assert low <= draws.min() <= draws.max() <= high
    counts = np.bincount(draws - low, minlength=high - low + 1)
    assert chance_at_most(counts, masses(scale, low, high)) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(("power", "reach"), [(45, 44), (45, 50), (80, 79), (80, 85), (1200, 1199)])
def test_draws_at_huge_scales_follow_the_continuous_law_and_fill_the_low_bits_evenly(power: int, reach: int) -> None:
    scale, low, high, size = 2**power, -(2**reach) // 3, 2**reach, 20_000 if power < 60 else 4_000
    draws = [int(draw) for draw in truncated_discrete_laplace(scale, low, high, size, secure())]
    assert low <= min(draws) <= max(draws) <= high
    with mpmath.workdps(50):
        edges = [low + (high + 1 - low) * i // 10 for i in range(11)]

        def below(x: int) -> mpmath.mpf:
            return mpmath.sign(x) * (1 - mpmath.exp(-mpmath.mpf(abs(x)) / scale))

        whole = below(edges[-1]) - below(edges[0])
        probabilities = [float((below(b) - below(a)) / whole) for a, b in itertools.pairwise(edges)]
    cells = np.array([sum(draw >= edge for edge in edges[1:-1]) for draw in draws])
    assert chance_at_most(np.bincount(cells, minlength=10), probabilities) > ALARM
    low_bits = np.bincount(np.array([draw % 32 for draw in draws]), minlength=32)
    assert chance_at_most(low_bits, [1 / 32] * 32) > ALARM


@pytest.mark.parametrize("scale", [Fraction(10), Fraction(13, 7), Fraction(2**70)], ids=str)
def test_every_narrow_word_is_kept_or_not_as_the_exact_probability_tells(scale: Fraction) -> None:
    known = 11
    words = every_word(known)
    for share in (0, 1, 3, 7):
        k = int(scale * Fraction(share, 10))
        threshold = mpmath.exp(-mpmath.mpf(k) * scale.denominator / scale.numerator)
        drawn = np.full(words.size, k, dtype=object if k > 2**62 else np.int64)
        # zeros as further bits leave U at the foot of its interval, ones lift it to the top
        for further, reach in ((0, 0), (ONES, 1)):
            kept = module.kept_by(drawn, words, scale, Served([further] * 4000), known)
            for place in range(words.size):
                inside = mpmath.mpf(place + reach) / 2**known
                right = inside < threshold if reach == 0 else inside <= threshold
                assert bool(kept[place]) is bool(right)


@pytest.mark.parametrize(
    ("scale", "low", "high"),
    [("10", -3, 8), ("1/4", -1, 1), (f"{2**90}", -5, 7), ("3", -(10**30), 2), ("1/1000000000000", -5, 5)],
)
def test_the_share_of_the_negative_side_is_enclosed(scale: str, low: int, high: int) -> None:
    exact = Fraction(scale)
    with mpmath.workdps(150):
        a = mpmath.exp(-mpmath.mpf(exact.denominator) / exact.numerator)
        below, above = a * (1 - a**-low), 1 - a ** (high + 1)
        share = below / (below + above)
        ends = module.negative_share(exact, low, high, 40)
        assert mpmath.mpf(str(ends[0])) <= share <= mpmath.mpf(str(ends[1]))
        assert ends[1] - ends[0] < 1e-38


def test_a_word_that_equals_the_first_bits_of_the_share_is_settled_by_further_bits() -> None:
    scale, low, high = Fraction(10), -3, 8
    with mpmath.workdps(50):
        a = mpmath.exp(-mpmath.mpf(1) / 10)
        first = int(mpmath.floor(a * (1 - a**3) / (a * (1 - a**3) + 1 - a**9) * 2**64))
    for further, negative in ((0, True), (ONES, False)):
        drawn = truncated_discrete_laplace(scale, low, high, None, Served([first, further] + [5 << 61] * 6))
        assert (drawn < 0) is negative
    for word, negative in ((first - 1, True), (first + 1, False)):
        drawn = truncated_discrete_laplace(scale, low, high, None, Served([word] + [5 << 61] * 6))
        assert (drawn < 0) is negative


def test_results_are_whole_numbers_of_the_asked_size() -> None:
    assert truncated_discrete_laplace(3, 4, 4, 5, secure()).tolist() == [4] * 5
    assert truncated_discrete_laplace(3, -4, -4, None, secure()) == -4
    assert type(truncated_geometric(2**70, 2**75, None, secure())) is int
    assert truncated_geometric(10, 5, 0, secure()).size == 0
    assert truncated_geometric(Fraction(5, 2), 1, 9, secure()).tolist() == [0] * 9
    assert truncated_geometric(10, 50, 40_000, secure()).shape == (40_000,)
    assert truncated_geometric(2**70, 100, 10, secure()).dtype == np.int64
    far = truncated_discrete_laplace(5, 2**70, 2**71, 5, secure())
    assert all(isinstance(draw, int) and 2**70 <= draw < 2**70 + 500 for draw in far)
    assert truncated_discrete_laplace(Fraction(1, 10**12), -5, 5, 50, secure()).tolist() == [0] * 50


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: truncated_geometric(0, 5, 1, secure()), "'scale' parameter"),
        (lambda: truncated_geometric(1, 0, 1, secure()), "'count' parameter"),
        (lambda: truncated_discrete_laplace(1, 3, 2, 1, secure()), "'high' parameter must be at least the 'low'"),
        (lambda: truncated_discrete_laplace(1, 0.0, 2, 1, secure()), "'low' parameter must be a whole number"),  # type: ignore[call-overload]
        (lambda: truncated_discrete_laplace(1, 0, Fraction(5, 2), 1, secure()), "'high' parameter"),  # type: ignore[call-overload]
    ],
)
def test_wrong_parameters_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()
