"""Statistical tests here reject at p < 1e-10 each. What all rounded laws share is tested in `test_heavy`."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from tacit.errors import ParameterError
from tacit.noise import normal as module
from tacit.noise import rounded_normal
from tacit.noise.bits import secure
from tests.noise.doubles import Served, every_word

HALF = Fraction(1, 2)
ONES = 2**64 - 1


def survival(z: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(z / mpmath.sqrt(2))


def real(exact: Fraction) -> mpmath.mpf:
    return mpmath.mpf(exact.numerator) / exact.denominator


def inverse_error(p: float) -> float:
    """How far the float inverse of Phi is from the truth at p, by one exact step of Newton's from it."""
    with mpmath.workdps(40):
        z = mpmath.mpf(float(ndtri(p)))
        return float(abs((mpmath.ncdf(z) - mpmath.mpf(p)) / mpmath.npdf(z)))


def test_the_float_inverse_is_eight_times_closer_than_the_error_analysis_takes_it_to_be() -> None:
    rng = np.random.default_rng()
    seams = [0.13533528323661269, 2.0**-27, 2.0**-10, 0.5, 0.25, 0.1353, 0.1354, np.exp(-32.0) * 2**22]
    near_seams = [each * (1 + offset) for each in seams for offset in (-1e-9, -1e-14, 0.0, 1e-14, 1e-9)]
    points = [*near_seams, *rng.uniform(2.0**-21, 0.5, 1000), *np.exp2(rng.uniform(-27, -1, 1000))]
    assert max(inverse_error(float(p)) for p in points if 2.0**-27 <= p <= 0.5) < 2.0**-49


@pytest.mark.parametrize("offset", [HALF, Fraction(1, 64)], ids=str)
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(40)], ids=str)
def test_every_narrow_word_that_is_decided_lies_wholly_in_the_cell_of_its_value(
    scale: Fraction, offset: Fraction
) -> None:
    known = 13
    with mpmath.workdps(30):
        # a narrow word and zeros, 63 bits in all
        words = every_word(known)
        floors, undecided = module.kernel(words, float(scale), float(offset))
        open_places = set(undecided.tolist())
        edges = [survival(real((k - offset) / scale)) if k > 0 else mpmath.mpf(1) for k in range(400)]
        for place, floor in enumerate(floors):
            if place not in open_places:
                u = mpmath.mpf(place) / 2**known
                # all U that begin with the 63 bits "this word and zeros"
                assert edges[int(floor) + 1] <= u
                assert u + mpmath.mpf(2) ** -63 <= edges[int(floor)]
    assert len(open_places) < 0.05 * 2**known


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(10), Fraction(1000), Fraction(2**20)], ids=str)
def test_full_words_next_to_an_edge_are_settled_by_further_bits(scale: Fraction) -> None:
    for k in (1, 2, 17):
        with mpmath.workdps(60):
            first_bits = int(mpmath.floor(survival(real((k - HALF) / scale)) * 2**63))
        if first_bits == 0:
            continue
        word = np.array([first_bits << 1], dtype=np.uint64)
        assert module.kernel(word, float(scale), 0.5)[1].tolist() == [0], "on an edge, float64 must not decide"
        # zeros leave U below the edge, so that the draw reaches k; ones lift it above. The first bit is the sign
        for further, value in ((0, k), (ONES, k - 1)):
            assert rounded_normal(scale, 1, Served([first_bits] + [further] * 4)).tolist() == [value]
            assert rounded_normal(scale, 1, Served([first_bits | 1 << 63] + [further] * 4)).tolist() == [-value]


def test_words_at_every_distance_from_an_edge_are_settled_or_right() -> None:
    """Around the band itself: a decided word lies on its side of the edge, however close."""
    for scale in (Fraction(5), Fraction(2**20)):
        with mpmath.workdps(60):
            edge = survival(real((12 - HALF) / scale)) * 2**63
            for power in range(30):
                for side in (-1, 1):
                    bits = int(mpmath.floor(edge)) + side * (1 << power)
                    floors, undecided = module.kernel(np.array([bits << 1], dtype=np.uint64), float(scale), 0.5)
                    if not undecided.size:
                        assert floors[0] >= 12 if bits + 1 <= edge else floors[0] < 12


def test_small_uniform_numbers_next_to_an_edge_are_settled_or_right() -> None:
    """U between 2**-26 and 2**-20: cells of words are wide there, and one that an edge cuts is never decided."""
    scale = Fraction(2**20)
    for start in np.linspace(4.92, 5.6, 25):
        k = int(start * 2**20)
        with mpmath.workdps(60):
            edge = survival(real((k - HALF) / scale)) * 2**63
            cell = int(mpmath.floor(edge))
            assert 2**37 < cell < 2**43
            _, undecided = module.kernel(np.array([cell << 1], dtype=np.uint64), float(scale), 0.5)
            assert undecided.size, "the edge cuts this cell"
            for away in (*range(1, 40), *(1 << power for power in range(6, 25))):
                for bits in (cell - away, cell + away):
                    floors, undecided = module.kernel(np.array([bits << 1], dtype=np.uint64), float(scale), 0.5)
                    if not undecided.size:
                        assert floors[0] >= k if bits + 1 <= edge else floors[0] < k
    words = np.random.default_rng(1).integers(2**38, 2**44, 1000, dtype=np.uint64)
    assert module.kernel(words, float(scale), 0.5)[1].size <= 5, "nearly all of them are decided"


def test_small_uniform_numbers_are_never_left_to_the_float_inverse() -> None:
    words = np.array([0, 1, 2**37 - 2, 2**38 - 2], dtype=np.uint64)
    _, undecided = module.kernel(words, 1000.0, 0.5)
    assert undecided.tolist() == [0, 1, 2, 3]
    with mpmath.workdps(60):
        u = mpmath.mpf(3) / 2**63 + mpmath.mpf(1) / 2**64
        z = mpmath.findroot(lambda t: mpmath.log(survival(t)) - mpmath.log(u), 8.7)
        assert rounded_normal(1000, 1, Served([3, 2**63, *[5] * 8])).tolist() == [int(mpmath.floor(1000 * z + 0.5))]


@pytest.mark.statistical
def test_variance_and_fourth_moment_are_those_of_a_rounded_normal() -> None:
    """Relative errors of the two moments have standard deviations of .0014 and .0033: 7 of each, rate below 1e-11."""
    draws = rounded_normal(Fraction(2**40), 1_000_000, secure()).astype(float) / 2.0**40
    assert abs(np.mean(draws**2) - 1) < 7 * np.sqrt(2 / 1e6)
    assert abs(np.mean(draws**4) / 3 - 1) < 7 * np.sqrt(96 / 9 / 1e6)


def test_sizes_scales_and_types() -> None:
    assert type(rounded_normal(10, None, secure())) is int
    assert type(rounded_normal(2**100, None, secure())) is int
    assert rounded_normal(10, 0, secure()).size == 0
    assert rounded_normal(10, 40_000, secure()).shape == (40_000,)
    assert not rounded_normal(Fraction(1, 10**400), 500, secure()).any()
    assert rounded_normal(2**80, 50, secure()).dtype == object
    for wrong in (0, -1, float("nan"), "x"):
        with pytest.raises(ParameterError, match="'scale' parameter"):
            rounded_normal(wrong, 1, secure())
