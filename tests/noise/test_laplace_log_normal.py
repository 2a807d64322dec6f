"""Statistical tests here reject at p < 1e-10 each."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.noise import laplace_log_normal
from tacit.noise.bits import SeededBitsForTestsOnly, secure
from tests.noise.doubles import Served, chance_at_most

ONES = 2**64 - 1
# the package exports the sampler under the same name, so the module is reached by its path
module = importlib.import_module("tacit.noise.laplace_log_normal")
ALARM = 1e-10


def survival(z: float, sigma: float) -> float:
    """P(|X exp(sigma Y)| >= z): the exponential tail averaged over the normal density by the trapezoid rule."""
    step = 1 / 64
    normal = np.arange(-12 * 64, 12 * 64 + 1) * step
    density = np.exp(-(normal**2) / 2) / math.sqrt(2 * math.pi)
    return float((np.exp(-z * np.exp(-sigma * normal)) * density).sum() * step)


def masses(scale: float, sigma: float, last: int) -> list[float]:
    """P(x) for x = -last..last, what is beyond pooled into the two ends."""
    tails = [1.0, *(survival((k - 0.5) / scale, sigma) for k in range(1, last + 1))]
    sides = [(tails[k] - tails[k + 1]) / 2 for k in range(1, last)] + [tails[last] / 2]
    return [*reversed(sides), 1 - tails[1], *sides]


def magnitude(u: mpmath.mpf, v: mpmath.mpf, turns: mpmath.mpf, scale: Fraction, sigma: Fraction) -> mpmath.mpf:
    """W = scale exp(sigma Y) E + 1/2, from the module's definition."""
    normal = mpmath.sqrt(-2 * mpmath.log(v)) * mpmath.cos(mpmath.pi * turns)
    spread = mpmath.mpf(sigma.numerator) / sigma.denominator
    return mpmath.mpf(scale.numerator) / scale.denominator * mpmath.exp(spread * normal) * -mpmath.log(u) + 0.5


def test_the_reference_tail_is_that_of_the_product() -> None:
    with mpmath.workdps(20):
        by_quadrature = mpmath.quad(
            lambda y: mpmath.exp(-2 * mpmath.exp(-1.5 * y)) * mpmath.npdf(y), [-12, -4, -1, 0, 1, 4, 12]
        )
    assert abs(survival(2.0, 1.5) - float(by_quadrature)) < 1e-12


def every_triple(known: int) -> NDArray[np.int64]:
    grid = np.arange(1 << known)
    return np.stack(np.meshgrid(grid, grid, grid, indexing="ij")).reshape(3, -1)


@pytest.mark.parametrize(
    ("sigma", "known", "triples"),
    [
        (Fraction(1, 10), 5, every_triple(5)),
        (Fraction(1, 5), 6, every_triple(6)),
        (Fraction(1), 9, np.random.default_rng(6).integers(0, 512, (3, 60_000))),
        (Fraction(5), 12, np.random.default_rng(7).integers(0, 4096, (3, 60_000))),
    ],
    ids=["all-5", "all-6", "some-9", "some-12"],
)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(4)], ids=str)
def test_every_narrow_triple_that_is_decided_lies_wholly_in_the_cell_of_its_value(
    scale: Fraction, sigma: Fraction, known: int, triples: NDArray[np.int64]
) -> None:
    """The extremes over the box of reals that a triple of words stands for are at its corners."""
    first, second, third = (part.astype(np.uint64) << np.uint64(64 - known) for part in triples)
    coarse = module.kernel((first, second, third), known, scale, sigma)
    decided = ~coarse.undecided
    assert decided.mean() > 0.03
    corners = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for steps in itertools.product((0, 1), repeat=3):
            ends = [(part + step) / np.longdouble(1 << known) for part, step in zip(triples, steps, strict=True)]
            radius = np.sqrt(-2 * np.log(ends[1]))
            normal = radius * np.cos(np.longdouble(math.pi) * ends[2])
            factor = np.longdouble(float(scale)) * np.exp(np.longdouble(float(sigma)) * normal)
            corners.append((factor * -np.log(ends[0]) + 0.5) / 2.0**coarse.shifts)
    lowest, highest = np.min(corners, axis=0)[decided], np.max(corners, axis=0)[decided]
    assert (lowest > coarse.quotients[decided] - 1e-12).all()
    assert (highest < coarse.quotients[decided] + 1 + 1e-12).all()


@pytest.mark.parametrize("sigma", [Fraction(1, 10), Fraction(3), Fraction(40)], ids=str)
@pytest.mark.parametrize("scale", [Fraction(7), Fraction(2**16), Fraction(10**12, 7), Fraction(2**300)], ids=str)
def test_full_words_that_are_decided_in_float64_agree_with_sixty_digits(scale: Fraction, sigma: Fraction) -> None:
    words = tuple(SeededBitsForTestsOnly(11).words(1200).reshape(3, 400))
    coarse = module.kernel((words[0], words[1], words[2]), 64, scale, sigma)
    assert coarse.undecided.mean() < 0.02
    for place in np.flatnonzero(~coarse.undecided):
        u, v, turns = (mpmath.mpf(int(word[place])) / 2**64 for word in words)
        exact = magnitude(u, v, turns, scale, sigma) / mpmath.mpf(2) ** int(coarse.shifts[place])
        assert int(mpmath.floor(exact)) == int(coarse.quotients[place])
        if coarse.shifts[place]:
            assert exact / -mpmath.log(u) > 2**15, "a cell must be a small part of the scale"


def test_a_triple_on_an_edge_is_settled_by_further_bits() -> None:
    scale, sigma, k = Fraction(50), Fraction(1, 2), 40
    v_word, turns_word = 0x5A5A5A5A12345678, 0x2345678923456789  # a positive normal: all further ones shrink W
    v, turns = mpmath.mpf(v_word) / 2**64, mpmath.mpf(turns_word) / 2**64
    factor = (magnitude(mpmath.exp(-1), v, turns, scale, sigma) - 0.5) / 1
    u_word = int(mpmath.floor(mpmath.exp(-(k - 0.5) / factor) * 2**64))
    triple = tuple(np.array([word], dtype=np.uint64) for word in (u_word, v_word, turns_word))
    words = (triple[0], triple[1], triple[2])
    assert module.kernel(words, 64, scale, sigma).undecided.tolist() == [True]
    sign = np.array([0], dtype=np.uint64)
    assert module.from_words(sign, words, 64, scale, sigma, Served([0] * 9)).tolist() == [k]
    assert module.from_words(sign, words, 64, scale, sigma, Served([ONES] * 9)).tolist() == [k - 1]
    assert module.from_words(~sign, words, 64, scale, sigma, Served([0] * 9)).tolist() == [-k]


def test_words_without_any_bit_set_are_drawn_further_not_cut_off() -> None:
    # V = 2**-128: a normal of 13.3, far beyond what 64 bits reach
    zero = np.zeros(1, dtype=np.uint64)
    u = np.array([2**63], dtype=np.uint64)
    served = Served([1] + [0] * 60)
    drawn = module.from_words(zero, (u, zero, zero), 64, Fraction(1), Fraction(4), served)
    exact = magnitude(mpmath.mpf(1) / 2, mpmath.mpf(2) ** -128, mpmath.mpf(0), Fraction(1), Fraction(4))
    assert drawn.dtype == object
    assert abs(drawn[0] / int(exact) - 1) < 1e-4
    assert drawn[0] > 2**64


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [Fraction(1, 4), Fraction(1), Fraction(3)], ids=str)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(5)], ids=str)
def test_draws_follow_the_rounded_law(scale: Fraction, sigma: Fraction) -> None:
    last = 4 + int(4 * scale)
    draws = np.clip(laplace_log_normal(scale, sigma, 200_000, secure()), -last, last).astype(np.int64)
    counts = np.bincount(draws + last, minlength=2 * last + 1)
    assert chance_at_most(counts, masses(float(scale), float(sigma), last)) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("power", [30, 45, 100])
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(2)], ids=str)
def test_draws_at_huge_scales_follow_the_law_and_fill_the_low_bits_evenly(power: int, sigma: Fraction) -> None:
    scale = 3 << power
    draws = [int(draw) for draw in laplace_log_normal(scale, sigma, 100_000 if power < 40 else 30_000, secure())]
    coarse = np.array([min(max((8 * draw + scale) // (2 * scale), -24), 24) for draw in draws])
    assert chance_at_most(np.bincount(coarse + 24, minlength=49), masses(4.0, float(sigma), 24)) > ALARM
    low_bits = np.bincount(np.array([draw % 64 for draw in draws]), minlength=64)
    assert chance_at_most(low_bits, [1 / 64] * 64) > ALARM


@pytest.mark.statistical
def test_the_split_into_quotient_and_remainder_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With cells of half the scale and every remainder looked at, at a scale where zero is not rare."""
    monkeypatch.setattr(module, "_SCALE_BITS", 2)
    monkeypatch.setattr(module, "_KEEP_AT_ONCE", np.uint64(0))
    scale, sigma, last = Fraction(6), Fraction(1, 2), 12
    draws = laplace_log_normal(scale, sigma, 2_500, SeededBitsForTestsOnly(4))
    counts = np.bincount(np.clip(draws, -last, last).astype(np.int64) + last, minlength=2 * last + 1)
    assert chance_at_most(counts, masses(6.0, 0.5, last)) > ALARM


def test_zero_is_always_looked_at_because_half_of_its_cell_is_outside() -> None:
    draw = module.Draw(Fraction(2**40), Fraction(1, 100), (2**63, 2**63, 2**62), 64, Served([0] * 20))
    quotients, shifts = np.zeros(1, dtype=np.int64), np.array([23])
    # remainder 0, then a chance that would keep anything, then the fraction: below 1/2, so both are drawn again
    served = Served([0, 0, 0, 3 << 41, 0])
    assert module._with_remainders(quotients, shifts, lambda _: draw, served).tolist() == [3]
    served = Served([0, 0, 2**63])
    assert module._with_remainders(quotients, shifts, lambda _: draw, served).tolist() == [0]


@pytest.mark.statistical
def test_the_tail_is_as_heavy_as_stated() -> None:
    """A count of about 900 against its mean: 7 standard deviations, rate below 1e-10."""
    size, far, sigma = 200_000, 100, 2.0
    draws: NDArray[np.int64] = laplace_log_normal(1, 2, size, secure())
    mean = size * survival(far - 0.5, sigma)
    assert mean > 500
    assert abs(int((np.abs(draws) >= far).sum()) - mean) < 7 * math.sqrt(mean)


def test_sizes_and_tiny_scales() -> None:
    assert type(laplace_log_normal(10, 1, None, secure())) is int
    assert laplace_log_normal(10, 1, 0, secure()).size == 0
    assert laplace_log_normal(10, 1, 40_000, secure()).shape == (40_000,)
    assert not laplace_log_normal(Fraction(1, 10**400), 1, 300, secure()).any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: laplace_log_normal(0, 1, 1, secure()), "'scale' parameter"),
        (lambda: laplace_log_normal(float("inf"), 1, 1, secure()), "'scale' parameter"),
        (lambda: laplace_log_normal(1, 0, 1, secure()), "'sigma' parameter.*rounded_laplace"),
        (lambda: laplace_log_normal(1, 101, 1, secure()), "'sigma' parameter.*up to 100"),
    ],
)
def test_wrong_parameters_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()
