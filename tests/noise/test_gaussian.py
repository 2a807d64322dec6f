from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.noise import discrete_gaussian, secure
from tacit.noise import gaussian as module
from tests.noise.doubles import Served, chance_at_most, every_word


def keep_probability(y: int, variance: Fraction) -> mpmath.mpf:
    """What the rejection step needs: the ratio of the Gaussian to the Laplace mass, scaled to be at most 1."""
    t = int(mpmath.floor(mpmath.sqrt(mpmath.mpf(variance.numerator) / variance.denominator))) + 1
    v = mpmath.mpf(variance.numerator) / variance.denominator
    gauss = -(mpmath.mpf(y) ** 2) / (2 * v)
    laplace = -mpmath.mpf(abs(y)) / t
    best = v / (2 * mpmath.mpf(t) ** 2)  # the largest log-ratio over the reals, at |y| = v/t
    return mpmath.exp(gauss - laplace - best)


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1), Fraction(9, 4), Fraction(100), Fraction(10**6)])
def test_every_narrow_word_keeps_or_drops_a_draw_as_its_probability_says(variance: Fraction) -> None:
    width = 9
    words = every_word(width)
    sigma = float(variance) ** 0.5
    for y in sorted({0, 1, -1, 2, int(sigma), -int(2 * sigma), int(4 * sigma)}):
        p = keep_probability(y, variance)
        for word in words:
            low, high = mpmath.mpf(int(word)) / 2**64, (mpmath.mpf(int(word)) + 2 ** (64 - width)) / 2**64
            if low < p < high:
                # the boundary's own word is open: its further bits decide
                for further in (0, 2**64 - 1):
                    expected = further == 0
                    assert module.one_kept(y, int(word), variance, Served([further] * 3), width) is expected
                    many = module.kept_by(np.array([y]), np.array([word]), variance, Served([further] * 3), width)
                    assert many.tolist() == [expected]
                continue
            expected = high <= p
            settled = Served([2**63])  # whatever comes next cannot change it
            one = module.one_kept(y, int(word), variance, settled, width)
            many = module.kept_by(np.array([y]), np.array([word]), variance, Served([2**63]), width)
            assert one == expected
            assert many.tolist() == [expected]


def test_a_word_on_the_boundary_is_settled_by_the_next() -> None:
    variance = Fraction(100)
    edge = int(mpmath.floor(keep_probability(3, variance) * 2**64))
    for further, kept in ((0, True), (2**64 - 1, False)):
        assert module.one_kept(3, edge, variance, Served([further]), 64) is kept
        drawn = module.kept_by(np.array([3, 3]), np.array([edge, 0], dtype=np.uint64), variance, Served([further]), 64)
        assert drawn.tolist() == [kept, True]


@pytest.mark.parametrize("variance", [Fraction(2**90), Fraction(2**130)])
def test_words_next_to_the_boundary_are_decided_right_at_large_variances(variance: Fraction) -> None:
    sigma = 2.0 ** (variance.numerator.bit_length() / 2)
    for multiple in (0.2, 1.0, 3.3):
        y = int(multiple * sigma)
        edge = int(mpmath.floor(keep_probability(y, variance) * 2**64))
        for offset in (-(2**40), -(2**22), -5, 5, 2**22, 2**40):
            word = edge + offset
            assert module.one_kept(y, word, variance, Served([2**63]), 64) is (offset < 0)
            drawn = np.array([y], dtype=object if y >= 2**63 else np.int64)
            kept = module.kept_by(drawn, np.array([word], dtype=np.uint64), variance, Served([2**63]), 64)
            assert kept.tolist() == [offset < 0]


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(10), Fraction(1000)])
def test_draws_follow_the_mass_function(sigma: Fraction) -> None:
    """150,000 draws against the exact mass function; false alarm 1e-9 each."""
    variance = sigma**2
    drawn = discrete_gaussian(variance, 150_000, secure())
    reach = int(12 * sigma) + 3
    v = mpmath.mpf(variance.numerator) / variance.denominator
    masses = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) for x in range(-reach, reach + 1)]
    total = mpmath.fsum(masses)
    assert np.abs(drawn).max() <= reach
    step = max(1, int(sigma / 8))
    cells = (drawn + reach) // step
    law = [float(mpmath.fsum(masses[i : i + step]) / total) for i in range(0, len(masses), step)]
    assert chance_at_most(np.bincount(cells, minlength=len(law)), law) > 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [2**30, 2**45])
def test_wide_draws_follow_the_law_in_bulk_and_in_their_low_bits(sigma: int) -> None:
    """Against the normal law, from which a cell of the lattice law differs by less than 1e-8; false alarm 1e-9 each."""
    drawn = discrete_gaussian(Fraction(sigma) ** 2, 150_000, secure())
    edges = np.arange(-4, 4.25, 0.25)
    observed = np.bincount(np.searchsorted(edges * sigma, drawn), minlength=edges.size + 1)
    cumulative = np.array([0.0, *[float(mpmath.ncdf(edge)) for edge in edges], 1.0])
    assert chance_at_most(observed, np.diff(cumulative).tolist()) > 1e-9
    assert chance_at_most(np.bincount(drawn % 16, minlength=16), [1 / 16] * 16) > 1e-9


@pytest.mark.statistical
def test_single_draws_follow_the_same_law_as_arrays() -> None:
    """False alarm 1e-9."""
    variance = Fraction(9, 4)
    drawn = np.array([discrete_gaussian(variance, None, secure()) for _ in range(30_000)])
    masses = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(9) / 4)) for x in range(-15, 16)]
    law = [float(mass / mpmath.fsum(masses)) for mass in masses]
    assert chance_at_most(np.bincount(drawn + 15, minlength=31), law) > 1e-9


def test_huge_variances_come_as_exact_python_integers() -> None:
    drawn = discrete_gaussian(Fraction(2**300), 20, secure())
    assert all(isinstance(value, int) for value in drawn)
    # 20 draws all within 2**140 of zero have probability below 2**-180
    assert max(abs(value) for value in drawn) > 2**140


def test_as_many_are_drawn_as_were_asked_for() -> None:
    for size in (0, 1, 8_192, 8_193, 20_000):
        assert discrete_gaussian(Fraction(4), size, secure()).shape == (size,)


@pytest.mark.parametrize("variance", [0, -1, float("nan"), float("inf"), Fraction(1, 10**201)])
def test_a_variance_out_of_range_is_refused(variance: object) -> None:
    with pytest.raises(ParameterError, match="'variance' parameter"):
        discrete_gaussian(variance, 1, Served())
