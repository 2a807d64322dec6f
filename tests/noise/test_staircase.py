"""Statistical tests here reject at p < 1e-10 each."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.noise import optimal_inner_width, staircase
from tacit.noise.bits import secure
from tests.noise.doubles import Served, chance_at_most

ONES = 2**64 - 1
# the package exports the sampler under the same name, so the module is reached by its path
module = importlib.import_module("tacit.noise.staircase")
ALARM = 1e-10


def mass(x: int, sensitivity: int, epsilon: Fraction, inner: int) -> mpmath.mpf:
    """The stated mass function."""
    b = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    height = (1 - b) / (2 * inner + 2 * b * (sensitivity - inner) - (1 - b))
    step, within = divmod(abs(x), sensitivity)
    return height * b**step * (1 if within < inner else b)


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1), Fraction(3)], ids=str)
@pytest.mark.parametrize(("sensitivity", "inner"), [(1, 1), (2, 1), (5, 1), (5, 3), (5, 5), (8, 2)])
def test_the_masses_add_up_to_one_and_neighbours_differ_by_the_factor_exp_epsilon_and_no_more(
    sensitivity: int, inner: int, epsilon: Fraction
) -> None:
    reach = 60 * sensitivity * max(1, round(3 / epsilon))
    masses = {x: mass(x, sensitivity, epsilon, inner) for x in range(-reach, reach + 1)}
    assert abs(mpmath.fsum(masses.values()) - 1) < 1e-20
    worst = max(
        abs(mpmath.log(masses[x] / masses[x + shift]))
        for x in range(-3 * sensitivity, 3 * sensitivity)
        for shift in range(1, sensitivity + 1)
    )
    assert abs(worst - mpmath.mpf(epsilon.numerator) / epsilon.denominator) < 1e-30


def test_at_sensitivity_one_it_is_the_geometric_mechanism() -> None:
    a = mpmath.exp(-mpmath.mpf(7) / 10)
    for x in range(-9, 10):
        assert abs(mass(x, 1, Fraction(7, 10), 1) - (1 - a) / (1 + a) * a ** abs(x)) < 1e-40


@pytest.mark.parametrize("epsilon", ["1/50", "1/3", "1", "2", "5", "12"])
@pytest.mark.parametrize("sensitivity", [1, 2, 3, 4, 7, 12, 30])
def test_the_optimal_width_is_the_best_of_all(sensitivity: int, epsilon: str) -> None:
    """Against the expected magnitude of every width, from the masses of one step."""
    exact = Fraction(epsilon)
    b = mpmath.exp(-mpmath.mpf(exact.numerator) / exact.denominator)

    def magnitude(inner: int) -> mpmath.mpf:
        heights = [mass(i, sensitivity, exact, inner) for i in range(sensitivity)]
        # step k is b**k times step 0, with each x larger by k D: sums of b**k and of k b**k
        zeroth, first = 1 / (1 - b), b / (1 - b) ** 2
        return 2 * mpmath.fsum(h * (i * zeroth + sensitivity * first) for i, h in enumerate(heights))

    best = min(range(1, sensitivity + 1), key=magnitude)
    assert optimal_inner_width(sensitivity, exact) == best


def test_the_optimal_width_is_exact_for_huge_sensitivities_and_extreme_epsilons() -> None:
    with mpmath.workdps(80):
        right = int(mpmath.ceil(10**50 / (1 + mpmath.exp(mpmath.mpf(1) / 6))))
    assert optimal_inner_width(10**50, Fraction(1, 3)) == right
    assert optimal_inner_width(10**9, 10**6) == 1
    assert optimal_inner_width(10**9, 10**12) == 1
    assert optimal_inner_width(9, Fraction(1, 10**30)) == 5
    assert optimal_inner_width(10, Fraction(1, 10**30)) == 5


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "inner"),
    [
        (1, Fraction(1, 2), None),
        (2, Fraction(1), None),
        (5, Fraction(7, 10), None),
        (5, Fraction(7, 10), 1),
        (5, Fraction(7, 10), 5),
        (4, Fraction(3), 3),
    ],
    ids=str,
)
def test_draws_follow_the_law(sensitivity: int, epsilon: Fraction, inner: int | None) -> None:
    draws = staircase(sensitivity, epsilon, 100_000, secure(), inner)
    width = inner or optimal_inner_width(sensitivity, epsilon)
    last = 6 * sensitivity
    probabilities = [float(mass(x, sensitivity, epsilon, width)) for x in range(-last, last + 1)]
    rest = (1 - sum(probabilities)) / 2
    probabilities[0] += rest
    probabilities[-1] += rest
    counts = np.bincount(np.clip(draws, -last, last) + last, minlength=2 * last + 1)
    assert chance_at_most(counts, probabilities) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("sensitivity", "epsilon"), [(2**40, Fraction(2)), (2**70, Fraction(2)), (3, Fraction(1, 2**60))]
)
def test_draws_at_huge_sensitivities_and_tiny_epsilons_follow_the_coarse_law(
    sensitivity: int, epsilon: Fraction
) -> None:
    """P(|X| >= k D) is b**k up to the share of one point; 8 standard deviations of a binomial, rate below 1e-14."""
    size = 4_000
    draws = staircase(sensitivity, epsilon, size, secure())
    for share in (Fraction(1, 2), Fraction(1), Fraction(2)):
        step = round(share / epsilon)
        p = float(mpmath.exp(-step * mpmath.mpf(epsilon.numerator) / epsilon.denominator))
        beyond = sum(abs(int(draw)) >= step * sensitivity for draw in draws)
        assert abs(beyond - size * p) < 8 * (size * p * (1 - p)) ** 0.5 + 1
    assert abs(sum(int(draw) > 0 for draw in draws) - size / 2) < 8 * (size / 4) ** 0.5
    assert all(isinstance(draw, int | np.int64) for draw in draws)


def test_a_word_on_the_edge_between_the_parts_is_settled_by_further_bits() -> None:
    sensitivity, epsilon, inner = 5, Fraction(7, 10), 2
    with mpmath.workdps(60):
        b = mpmath.exp(-mpmath.mpf(7) / 10)
        first = int(mpmath.floor(3 * b / (2 + 3 * b) * 2**64))
    for word, further, outer in (
        (first, [0], True),
        (first, [ONES], False),
        (first - 1, [], True),
        (first + 1, [], False),
    ):
        served = Served([word, *further] + [2**61] * 20)
        within = module._places(sensitivity, epsilon, inner, 1, served)
        assert bool(within[0] >= inner) is outer


def test_the_share_of_the_outer_part_is_enclosed() -> None:
    with mpmath.workdps(60):
        b = mpmath.exp(-mpmath.mpf(7) / 10)
        ends = module.outer_share(5, Fraction(7, 10), 2, 40)
        assert mpmath.mpf(str(ends[0])) <= 3 * b / (2 + 3 * b) <= mpmath.mpf(str(ends[1]))
        assert ends[1] - ends[0] < 1e-39


def test_a_negative_zero_is_drawn_again() -> None:
    # geometric 0 (U just below 1), place 0, sign minus: redrawn; then the same with sign plus
    drawn = staircase(2, Fraction(5), 1, Served([ONES - 1, 2**63, 0, 2**63, ONES - 1, 2**63, 0, 0]))
    assert drawn.tolist() == [0]
    # a single draw takes the part and the sign together, then a place in either part (one point each here)
    assert staircase(2, Fraction(5), None, Served([ONES - 1, 2**63, 2**63, ONES - 1, 2**63, 0])) == 0


def test_a_single_draws_part_is_settled_by_further_bits() -> None:
    with mpmath.workdps(60):
        b = mpmath.exp(-mpmath.mpf(7) / 10)
        first = int(mpmath.floor(b / (1 + b) * 2**64))
    for word, further, drawn in ((first, [0], 1), (first, [ONES], 0), (first - 1, [], 1), (first + 1, [], 0)):
        assert staircase(2, Fraction(7, 10), None, Served([ONES - 1, word, 0, *further]), inner=1) == drawn


@pytest.mark.statistical
def test_single_draws_follow_the_law() -> None:
    draws = np.array([staircase(5, Fraction(7, 10), None, secure()) for _ in range(10_000)])
    width = optimal_inner_width(5, Fraction(7, 10))
    probabilities = [float(mass(x, 5, Fraction(7, 10), width)) for x in range(-30, 31)]
    rest = (1 - sum(probabilities)) / 2
    probabilities[0] += rest
    probabilities[-1] += rest
    assert chance_at_most(np.bincount(np.clip(draws, -30, 30) + 30, minlength=61), probabilities) > ALARM


def test_extreme_epsilons_and_sizes() -> None:
    assert staircase(7, 10**9, 50, secure(), inner=1).tolist() == [0] * 50
    assert type(staircase(7, 1, None, secure())) is int
    assert staircase(7, 1, 0, secure()).size == 0
    assert staircase(7, 1, 40_000, secure()).shape == (40_000,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: staircase(0, 1, 1, secure()), "'sensitivity' parameter"),
        (lambda: staircase(2.0, 1, 1, secure()), "'sensitivity' parameter"),  # type: ignore[call-overload]
        (lambda: staircase(2, 0, 1, secure()), "'epsilon' parameter"),
        (lambda: staircase(2, 1, 1, secure(), inner=3), "from 1 to the sensitivity, 2. Got 3"),
        (lambda: staircase(2, 1, 1, secure(), inner=0), "'inner' parameter"),
        (lambda: optimal_inner_width(0, 1), "'sensitivity' parameter"),
        (lambda: optimal_inner_width(1, float("nan")), "'epsilon' parameter"),
    ],
)
def test_wrong_parameters_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()
