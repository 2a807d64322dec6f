from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.noise import discrete_laplace, exponential, geometric, secure
from tacit.noise import laplace as module
from tests.noise.doubles import Served, chance_at_most, every_word

SCALES = [Fraction(1, 10), Fraction(1), Fraction(3, 2), Fraction(10), Fraction(1000), Fraction(2**20)]


def tail(k: int, scale: Fraction, two_sided: bool) -> mpmath.mpf:
    """P(|X| >= k), from the mass function (1 - a)/(1 + a) a^|x| or (1 - a) a^k, a = exp(-1/scale)."""
    if k <= 0:
        return mpmath.mpf(1)
    a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    return 2 * a**k / (1 + a) if two_sided else a**k


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("scale", SCALES[:4])
def test_every_narrow_word_that_is_decided_lies_wholly_in_the_cell_of_its_value(
    scale: Fraction, two_sided: bool
) -> None:
    """Enumeration: the sampler is a function of U, and it is the inverse of the exact tail wherever it decides."""
    width = 12
    words = every_word(width)
    uniforms = words << np.uint64(1) if two_sided else words
    known = width - 1 if two_sided else width
    floors, undecided = exponential.floors(uniforms, *module.float_constants(scale, two_sided), known)
    open_places = set(undecided.tolist())
    crossed = 0
    for place, floor in enumerate(floors):
        low = mpmath.mpf(int(uniforms[place]) >> (64 - known)) / 2**known
        high = low + mpmath.mpf(1) / 2**known
        one = exponential.floor_of_one(int(uniforms[place]), *module.float_constants(scale, two_sided), known)
        if place in open_places:
            assert one is None
            # a word may only be left open when a boundary is near: within one further cell of it
            crossed += 1
            continue
        value = int(floor)
        assert one == value
        assert tail(value + 1, scale, two_sided) <= low
        assert high <= tail(value, scale, two_sided)
    assert crossed < 0.6 * len(words), "so wide a band would decide nothing"


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("scale", SCALES)
def test_full_words_next_to_a_boundary_are_decided_right_or_left_open(scale: Fraction, two_sided: bool) -> None:
    known = 63 if two_sided else 64
    decided = 0
    for multiple in (0.01, 0.3, 1.0, 2.5, 9.0):
        value = max(1, int(multiple * float(scale)))
        edge = int(mpmath.floor(tail(value, scale, two_sided) * 2**known))
        for offset in [sign * (1 << j) for j in range(52) for sign in (-1, 1)]:
            uniform = edge + offset
            if not 0 < uniform < 2**known:
                continue
            word = uniform << (64 - known)
            one = exponential.floor_of_one(word, *module.float_constants(scale, two_sided), known)
            floors, undecided = exponential.floors(
                np.array([word], dtype=np.uint64), *module.float_constants(scale, two_sided), known
            )
            for found in ([one] if one is not None else []) + ([] if undecided.size else [int(floors[0])]):
                decided += 1
                low, high = (mpmath.mpf(end) / mpmath.mpf(2) ** known for end in (uniform, uniform + 1))
                assert tail(found + 1, scale, two_sided) <= low
                assert high <= tail(found, scale, two_sided)
    assert decided > 50


@pytest.mark.parametrize("scale", SCALES[:4])
def test_the_first_bit_signs_the_draw_and_the_others_alone_give_its_size(scale: Fraction) -> None:
    width = 10
    drawn: dict[tuple[int, int], int] = {}
    for word in every_word(width):
        uniform = (int(word) << 1) & (2**64 - 1)
        if exponential.floor_of_one(uniform, *module.float_constants(scale, True), width - 1) is None:
            continue
        value = module.one_from_word(int(word), width, scale, True, Served())
        assert value == int(module.from_words(np.array([word]), width, scale, True, Served())[0])
        drawn[int(word) >> 63, uniform >> (64 - width + 1)] = value
    assert drawn
    for (sign, uniform), value in drawn.items():
        assert value == -drawn[1 - sign, uniform]
        assert value <= 0 if sign else value >= 0


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1), Fraction(10), Fraction(2**20), Fraction(2**45, 3)])
def test_an_undecided_draw_is_settled_by_its_further_bits(scale: Fraction, two_sided: bool) -> None:
    rng = np.random.default_rng(5)
    for known in (3, 8, 20, 63):
        for _ in range(12):
            prefix = int(rng.integers(0, 1 << min(known, 62)))
            further = [int(word) for word in rng.integers(0, 2**64, size=6, dtype=np.uint64)]
            value = exponential.settle(prefix << (64 - known), known, scale, two_sided, Served(further))
            exact = prefix
            for word in further:
                exact = exact << 64 | word
            low = mpmath.mpf(exact) / mpmath.mpf(2) ** (known + 64 * len(further))
            with mpmath.workdps(130):
                assert tail(value + 1, scale, two_sided) <= low <= tail(value, scale, two_sided)


def test_a_word_on_a_boundary_takes_the_ambiguous_path_and_both_sides_come_right() -> None:
    scale = Fraction(10)
    boundary = tail(7, scale, True)
    prefix = int(mpmath.floor(boundary * 2**63))
    word = prefix << 1  # of the 63 bits of U, at the top of a word
    assert exponential.floor_of_one(word, *module.float_constants(scale, True), 63) is None
    assert exponential.settle(word, 63, scale, True, Served([0, 0])) == 7
    assert exponential.settle(word, 63, scale, True, Served([2**64 - 1, 2**64 - 1])) == 6
    # and through the public door, signed by the first bit
    assert discrete_laplace(scale, None, Served([prefix, 0, 0])) == 7
    assert discrete_laplace(scale, None, Served([1 << 63 | prefix, 2**64 - 1])) == -6
    assert discrete_laplace(scale, 2, Served([prefix, 1 << 63 | prefix, 0, 2**64 - 1])).tolist() == [7, -6]


def test_a_word_without_a_single_one_is_far_out_in_the_tail_but_finite() -> None:
    drawn = discrete_laplace(Fraction(1), None, Served([0, 0, 1 << 63]))
    # U = 2**-128: |X| = floor(ln 2 / (1 + 1/e) + 128 ln 2)
    assert drawn == int(mpmath.floor(mpmath.log(2 / (1 + mpmath.exp(-1))) + 128 * mpmath.log(2)))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "scale", [Fraction(1, 10), Fraction(1), Fraction(10), Fraction(1000), Fraction(2**30), Fraction(2**45)]
)
def test_discrete_laplace_draws_follow_the_mass_function(scale: Fraction) -> None:
    """200,000 draws in up to 64 cells of the exact law; false alarm 1e-9 each."""
    size = 200_000
    drawn = discrete_laplace(scale, size, secure())
    # edges at about equal steps of probability on each side, as exact integers
    edges = sorted(
        {int(mpmath.ceil(-mpmath.log(mpmath.mpf(j) / 32) * scale.numerator / scale.denominator)) for j in range(1, 33)}
    )
    edges = [edge for edge in edges if edge > 0] or [1]
    borders = [-edge for edge in reversed(edges)] + [
        edge - 1 for edge in edges
    ]  # cells (.., -e], ..., (-e0, e0-1], ...
    observed = np.bincount(np.searchsorted(np.array(borders), drawn, side="left"), minlength=len(borders) + 1)

    def at_most(x: int) -> mpmath.mpf:
        return 1 - tail(x + 1, scale, True) / 2 if x >= 0 else tail(-x, scale, True) / 2

    cumulative = [mpmath.mpf(0), *[at_most(border) for border in borders], mpmath.mpf(1)]
    law = [float(b - a) for a, b in itertools.pairwise(cumulative)]
    assert chance_at_most(observed, law) > 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(2**30), Fraction(2**45)])
def test_the_low_bits_of_a_wide_draw_are_as_even_as_the_law_says(scale: Fraction) -> None:
    """Float noise shows here first. x mod 16 is uniform within 2**-25; false alarm 1e-9."""
    drawn = discrete_laplace(scale, 200_000, secure())
    assert chance_at_most(np.bincount(drawn % 16, minlength=16), [1 / 16] * 16) > 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1000), Fraction(2**30)])
def test_the_tails_are_as_heavy_as_the_law_says(scale: Fraction) -> None:
    """Counts beyond 1e-3 and 1e-4 of the law within 7 standard deviations: false alarm below 1e-10 (Chernoff)."""
    size = 400_000
    drawn = np.abs(discrete_laplace(scale, size, secure()))
    for share in (1e-3, 1e-4):
        edge = int(float(scale) * -np.log(share))
        expected = float(tail(edge, scale, True)) * size
        assert abs(int((drawn >= edge).sum()) - expected) <= 7 * expected**0.5 + 7


@pytest.mark.statistical
def test_geometric_draws_follow_the_mass_function() -> None:
    """False alarm 1e-9 each."""
    for scale in (Fraction(1, 2), Fraction(5), Fraction(2**21)):
        drawn = geometric(scale, 100_000, secure())
        assert drawn.min() >= 0
        edges = sorted({max(1, int(j * float(scale) / 4)) for j in range(1, 30)})
        observed = np.bincount(np.searchsorted(np.array(edges), drawn, side="right"), minlength=len(edges) + 1)
        tails = [mpmath.mpf(1), *[tail(edge, scale, False) for edge in edges], mpmath.mpf(0)]
        law = [float(a - b) for a, b in itertools.pairwise(tails)]
        assert chance_at_most(observed, law) > 1e-9


def test_a_wide_draw_is_put_together_from_quotient_and_remainder() -> None:
    """Scale 2**30 splits at m = 2**11: Q at scale 2**19, then a remainder below m that is kept or not, and a sign."""
    scale = Fraction(2**30)
    q_word = int(mpmath.floor(mpmath.exp(-mpmath.mpf(3.5) / 2**19) * 2**64))  # floor(-2**19 ln U) = 3
    remainder = 1234
    served = Served([q_word, 0, 1 << 63, remainder << (64 - 11)])
    assert discrete_laplace(scale, None, served) == -(3 * 2**11 + remainder)
    served = Served([q_word, remainder << (64 - 11), 0, 1 << 63])
    assert discrete_laplace(scale, 1, served).tolist() == [-(3 * 2**11 + remainder)]


@pytest.mark.parametrize("kept", [True, False])
def test_a_remainder_is_kept_exactly_with_its_probability(kept: bool) -> None:
    scale = Fraction(2**30)
    q_word = int(mpmath.floor(mpmath.exp(-mpmath.mpf(3.5) / 2**19) * 2**64))
    edge = int(mpmath.floor(mpmath.exp(-mpmath.mpf(1234) / 2**30) * 2**64))
    word = edge - 1 if kept else edge + 1
    first = [q_word, 1234 << 53, word]
    again = [] if kept else [77 << 53, 0]
    drawn = discrete_laplace(scale, 1, Served([*first, *again, 0]))
    assert drawn.tolist() == [3 * 2**11 + (1234 if kept else 77)]
    scalar = [q_word, word, 0, 1234 << 53] + ([] if kept else [q_word, 0, 0, 77 << 53])
    assert discrete_laplace(scale, None, Served(scalar)) == 3 * 2**11 + (1234 if kept else 77)


def test_minus_zero_is_redrawn_so_that_zero_is_not_counted_twice() -> None:
    scale = Fraction(2**30)
    zero = 2**64 - 1  # U next to 1: Q = 0
    assert discrete_laplace(scale, None, Served([zero - 2**30, 0, 1 << 63, 0, zero - 2**30, 0, 1 << 63, 5 << 53])) == -5


def test_huge_scales_come_as_exact_python_integers() -> None:
    drawn = discrete_laplace(Fraction(2**200), 40, secure())
    assert drawn.dtype == object
    assert all(isinstance(value, int) for value in drawn)
    # all 40 below 2**190 in size has probability below 2**-360
    assert max(abs(value) for value in drawn) > 2**190
    assert len({value % 2**64 for value in drawn}) == 40


def test_a_draw_too_large_for_int64_is_not_cut_off() -> None:
    scale = Fraction(2**56)  # m = 2**37, Q at scale 2**19; U = 2**-193 gives Q above 2**26
    drawn = discrete_laplace(scale, 1, Served([0, 0, 0, 1 << 62, 0, 0, 0]))
    assert drawn.dtype == object
    assert drawn[0] > 2**63


def test_as_many_are_drawn_as_were_asked_for() -> None:
    for size in (0, 1, 5, 16_384, 16_385, 40_000):
        assert discrete_laplace(Fraction(3), size, secure()).shape == (size,)
        assert geometric(Fraction(2**30), size, secure()).shape == (size,)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "wide", None])
def test_a_scale_that_is_not_a_positive_number_is_refused(scale: object) -> None:
    with pytest.raises(ParameterError, match="'scale' parameter must be a finite number above 0"):
        discrete_laplace(scale, 1, Served())
    with pytest.raises(ParameterError, match="'scale' parameter"):
        geometric(scale, None, Served())


def test_float_logarithms_and_exponentials_are_within_the_band_they_are_trusted_with() -> None:
    """The proofs allow 8 units in the last place; numpy and math are asked on 4,000 arguments each."""
    rng = np.random.default_rng(7)
    v = np.concatenate([rng.random(2000), 2.0 ** -rng.uniform(0, 64, 2000)])
    for values in (np.log(v), np.array([math.log(x) for x in v])):
        for x, y in zip(v, values, strict=True):
            truth = mpmath.log(mpmath.mpf(float(x)))
            assert abs(truth - mpmath.mpf(float(y))) <= 8 * np.spacing(abs(float(truth)))
    x = -rng.uniform(0, 700, 4000)
    for argument, y in zip(x, np.exp(x), strict=True):
        truth = mpmath.exp(mpmath.mpf(float(argument)))
        assert abs(truth - mpmath.mpf(float(y))) <= 8 * np.spacing(float(truth))
