"""Statistical tests here reject at p < 1e-10 each."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.noise import cauchy_like, rounded_laplace, rounded_normal, student_t
from tacit.noise import heavy as module
from tacit.noise.bits import SeededBitsForTestsOnly, secure
from tacit.noise.laws import Cauchy, ContinuousLaplace, Law, Quartic, Student
from tacit.noise.normal import Normal
from tacit.noise.reals import LazyUniform
from tests.noise.doubles import Served, chance_at_most, every_word

HALF = Fraction(1, 2)
ONES = 2**64 - 1
ALARM = 1e-10
LAWS = [ContinuousLaplace(), Cauchy(), Quartic(), *(Student(degrees) for degrees in (1, 2, 3, 4, 5, 12, 101)), Normal()]


def real(exact: Fraction) -> mpmath.mpf:
    return mpmath.mpf(exact.numerator) / exact.denominator


def density(law: Law, z: mpmath.mpf) -> mpmath.mpf:
    """Of |Z|, written from the definition: this is what `LAWS` must be."""
    if isinstance(law, ContinuousLaplace):
        return mpmath.exp(-z)
    if isinstance(law, Cauchy):
        return 2 / (mpmath.pi * (1 + z**2))
    if isinstance(law, Normal):
        return 2 * mpmath.npdf(z)
    if isinstance(law, Quartic):
        return 2 * mpmath.sqrt(2) / (mpmath.pi * (1 + z**4))
    assert isinstance(law, Student)
    nu = mpmath.mpf(law.degrees)
    peak = mpmath.gamma((nu + 1) / 2) / (mpmath.sqrt(nu * mpmath.pi) * mpmath.gamma(nu / 2))
    return 2 * peak * (1 + z**2 / nu) ** (-(nu + 1) / 2)


def survival(law: Law, z: mpmath.mpf) -> mpmath.mpf:
    """P(|Z| >= z) by other means than the code's: special functions, or series of the density."""
    if isinstance(law, ContinuousLaplace):
        return mpmath.exp(-z)
    if isinstance(law, Cauchy):
        return 1 - 2 * mpmath.atan(z) / mpmath.pi
    if isinstance(law, Normal):
        return mpmath.erfc(z / mpmath.sqrt(2))
    if isinstance(law, Quartic):
        # the integral of 1/(1 + t^4) from 0 to z is z 2F1(1, 1/4; 5/4; -z^4)
        return 1 - 2 * mpmath.sqrt(2) / mpmath.pi * z * mpmath.hyp2f1(1, 0.25, 1.25, -(z**4))
    assert isinstance(law, Student)
    nu = mpmath.mpf(law.degrees)
    return mpmath.betainc(nu / 2, mpmath.mpf(1) / 2, 0, nu / (nu + z**2), regularized=True)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_reference_law_is_the_integral_of_the_stated_density(law: Law) -> None:
    with mpmath.workdps(25):
        whole = mpmath.quad(lambda t: density(law, t), [0, 1, 2, 5, 20, 100, mpmath.inf])
        assert abs(whole - 1) < 1e-9
        inner = mpmath.quad(lambda t: density(law, t), [0, 1, mpmath.mpf(13) / 5])
        assert abs(1 - inner - survival(law, mpmath.mpf(13) / 5)) < 1e-15


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_float_and_enclosed_survival_agree_with_the_law_within_the_stated_band(law: Law) -> None:
    rng = np.random.default_rng(2)
    points = np.concatenate([[0.0, 1e-12, 0.5, 1.0, 30.0, 1e4, 1e9], rng.exponential(2.0, 60)])
    floats = law.survival(points)
    with mpmath.workdps(120):
        for point, value in zip(points, floats, strict=True):
            right = survival(law, mpmath.mpf(float(point)))
            assert abs(mpmath.mpf(float(value)) - right) <= law.band / 4, "so that no platform comes near the band"
            low, high = law.survival_enclosure(Fraction(float(point)), 40)
            assert mpmath.mpf(str(low)) <= right + mpmath.mpf(10) ** -90
            assert mpmath.mpf(str(high)) >= right - mpmath.mpf(10) ** -90
            assert high - low < 1e-38


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_density_falls_no_faster_than_the_stated_steepness_and_its_ratio_is_enclosed(law: Law) -> None:
    steepest = mpmath.mpf(0)
    for step in range(1, 400 if law.reach is None else 25 * int(law.reach)):
        z = mpmath.mpf(step) / 25
        steepest = max(steepest, -mpmath.diff(lambda t: mpmath.log(density(law, t)), z))
    assert steepest <= real(law.steepness) < 2 * steepest + 0.1
    near, far = Fraction(7, 5), Fraction(22, 3)
    low, high = law.density_ratio(near, far, 40)
    ratio = density(law, real(far)) / density(law, real(near))
    assert mpmath.mpf(str(low)) <= ratio <= mpmath.mpf(str(high))
    assert high - low < 1e-38


@pytest.mark.parametrize("offset", [HALF, Fraction(1, 64)], ids=str)
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(40)], ids=str)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_every_narrow_word_that_is_decided_lies_wholly_in_the_cell_of_its_value(
    law: Law, scale: Fraction, offset: Fraction
) -> None:
    known = 9
    floors, undecided = module.kernel(every_word(known), known, law, float(scale), float(offset))
    open_places = set(undecided.tolist())
    edges: dict[int, mpmath.mpf] = {}

    def edge(k: int) -> mpmath.mpf:
        if k not in edges:
            edges[k] = survival(law, real((k - offset) / scale)) if k > 0 else mpmath.mpf(1)
        return edges[k]

    for place, floor in enumerate(floors):
        if place not in open_places:
            assert edge(int(floor) + 1) <= mpmath.mpf(place) / 2**known
            assert mpmath.mpf(place + 1) / 2**known <= edge(int(floor))
    assert len(open_places) < 0.6 * 2**known, "so wide a band would decide nothing"


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(10), Fraction(1000), Fraction(2**17)], ids=str)
@pytest.mark.parametrize("law", LAWS[:7], ids=str)
def test_full_words_next_to_an_edge_are_settled_by_further_bits(law: Law, scale: Fraction) -> None:
    for k in (1, 2, 17):
        with mpmath.workdps(60):
            first_bits = int(mpmath.floor(survival(law, real((k - HALF) / scale)) * 2**63))
        word = np.array([first_bits << 1], dtype=np.uint64)
        if first_bits == 0:
            continue
        # zeros leave U below the edge, so that the draw reaches k; ones lift it above
        for further, value in ((0, k), (ONES, k - 1)):
            _, undecided = module.kernel(word, 63, law, float(scale), 0.5)
            assert undecided.tolist() == [0], "a word on an edge must not be decided in float64"
            assert module.from_words(word, 63, law, scale, HALF, Served([further] * 4)).tolist() == [value]


@pytest.mark.parametrize("guess", [0, 1, 57, 58, 59, 60, 10**6])
def test_settling_finds_the_same_draw_from_any_guess(guess: int) -> None:
    law, scale = Quartic(), Fraction(50)
    inside = survival(law, mpmath.mpf(58.2) / 50)
    uniform = LazyUniform(Served(), int(mpmath.floor(inside * 2**64)), 64)
    assert module.settle(uniform, law, scale, HALF, guess) == 58


def masses(law: Law, scale: Fraction, last: int) -> list[float]:
    """P(x) for x = -last..last, what is beyond pooled into the two ends."""
    tails = [mpmath.mpf(1), *(survival(law, real((k - HALF) / scale)) for k in range(1, last + 1))]
    sides = [float((tails[k] - tails[k + 1]) / 2) for k in range(1, last)] + [float(tails[last] / 2)]
    return [*reversed(sides), float(1 - tails[1]), *sides]


def observed(draws: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    clipped = np.clip(draws, -last, last).astype(np.int64)
    return np.bincount(clipped + last, minlength=2 * last + 1)


SAMPLERS: list[tuple[Law, Callable[[Fraction, int], NDArray[np.int64]]]] = [
    (ContinuousLaplace(), lambda scale, size: rounded_laplace(scale, size, secure())),
    (Cauchy(), lambda scale, size: cauchy_like(scale, 2, size, secure())),
    (Quartic(), lambda scale, size: cauchy_like(scale, 4, size, secure())),
    (Student(1), lambda scale, size: student_t(scale, 1, size, secure())),
    (Student(2), lambda scale, size: student_t(scale, 2, size, secure())),
    (Student(5), lambda scale, size: student_t(scale, 5, size, secure())),
    (Normal(), lambda scale, size: rounded_normal(scale, size, secure())),
]


def name_of(value: object) -> str | None:
    """A name that is the same in every process: a function's text holds its address."""
    return None if callable(value) else str(value)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(25)], ids=str)
@pytest.mark.parametrize(("law", "sample"), SAMPLERS, ids=name_of)
def test_draws_follow_the_rounded_law(
    law: Law, sample: Callable[[Fraction, int], NDArray[np.int64]], scale: Fraction
) -> None:
    last = 4 + int(4 * scale)
    draws = sample(scale, 100_000)
    assert chance_at_most(observed(draws, last), masses(law, scale, last)) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("power", [30, 45, 100])
@pytest.mark.parametrize(("law", "sample"), SAMPLERS, ids=name_of)
def test_draws_at_huge_scales_follow_the_law_and_fill_the_low_bits_evenly(
    law: Law, sample: Callable[[Fraction, int], NDArray[np.int64]], power: int
) -> None:
    scale = 3 << power
    draws = [int(draw) for draw in sample(Fraction(scale), 100_000 if power < 62 else 20_000)]
    coarse = np.array([(16 * draw + scale) // (2 * scale) for draw in draws], dtype=object)
    assert chance_at_most(observed(np.clip(coarse, -99, 99), 40), masses(law, Fraction(8), 40)) > ALARM
    low_bits = np.bincount(np.array([draw % 64 for draw in draws]), minlength=64)
    assert chance_at_most(low_bits, [1 / 64] * 64) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "step"), [(ContinuousLaplace(), 4), (Cauchy(), 4), (Quartic(), 2), (Student(4), 4), (Normal(), 4)]
)
def test_the_split_into_quotient_and_remainder_loses_nothing(law: Law, step: int) -> None:
    """At a scale so small that the density changes much within a cell, and zero's half cell is not rare."""
    scale, bits, last = Fraction(8), SeededBitsForTestsOnly(77), 30
    quotients = module.from_words(bits.words(8_000), 64, law, scale / step, Fraction(1, 2 * step), bits)
    draws = module.with_remainders(quotients, law, scale, step, bits)
    signed = masses(law, scale, last)
    folded = [signed[last], *(2 * mass for mass in signed[last + 1 :])]
    assert chance_at_most(np.bincount(np.minimum(draws, last), minlength=last + 1), folded) > ALARM


@pytest.mark.parametrize("law", LAWS[:5], ids=str)
def test_a_remainder_is_kept_exactly_below_the_ratio_of_densities(law: Law) -> None:
    scale, start, drawn = Fraction(100), 64, 100
    fraction_bits = 2**63 + 12345
    w = drawn + mpmath.mpf(fraction_bits) / 2**64
    ratio = density(law, (w - 0.5) / 100) / density(law, mpmath.mpf(63.5) / 100)
    numerator = int(mpmath.floor(ratio * 2**40))
    for nearby, kept in ((numerator - 1, True), (numerator + 1, False)):
        fraction = LazyUniform(Served([ONES] * 9), fraction_bits, 64)
        assert module.keeps(LazyUniform(Served([0] * 9), nearby, 40), fraction, law, scale, start, drawn) is kept


@pytest.mark.parametrize(("first_bit", "kept"), [(0, False), (1, True)])
def test_the_half_of_the_cell_below_zero_is_never_kept(first_bit: int, kept: bool) -> None:
    fraction = LazyUniform(Served([first_bit << 63]))
    assert module.keeps(LazyUniform(Served(), 0, 64), fraction, Cauchy(), Fraction(2**40), 0, 0) is kept


def test_zero_is_always_looked_at_because_half_of_its_cell_is_outside() -> None:
    quotients, scale, step = np.zeros(1, dtype=np.int64), Fraction(2**40), 2**24
    # remainder 0, then a chance that would keep anything, then the fraction: below 1/2, so both are drawn again
    again = Served([0, 0, 0, 3 << 40, 0])
    assert module.with_remainders(quotients, Cauchy(), scale, step, again).tolist() == [3]
    assert module.with_remainders(quotients, Cauchy(), scale, step, Served([0, 0, 2**63])).tolist() == [0]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_uniform_number_close_to_one_settles_at_zero(law: Law) -> None:
    assert module.settle(LazyUniform(Served(), 2**64 - 2, 64), law, Fraction(10), HALF, 0) == 0
    assert module.settle(LazyUniform(Served(), 2**64 - 2, 64), law, Fraction(10), HALF, 5) == 0


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "sample", "far"),
    [(Cauchy(), SAMPLERS[1][1], 1000), (Quartic(), SAMPLERS[2][1], 15), (Student(2), SAMPLERS[4][1], 30)],
    ids=name_of,
)
def test_the_tails_are_as_heavy_as_stated(
    law: Law, sample: Callable[[Fraction, int], NDArray[np.int64]], far: int
) -> None:
    """A count of about 200 or more against its mean: 7 standard deviations, rate below 1e-10."""
    size = 400_000
    beyond = int((np.abs(sample(Fraction(1), size)) >= far).sum())
    mean = size * float(survival(law, mpmath.mpf(far) - 0.5))
    assert abs(beyond - mean) < 7 * math.sqrt(mean)


def test_a_draw_beyond_int64_comes_back_whole_as_a_python_integer() -> None:
    # U = 1.5 * 2**-63: a Cauchy magnitude of about 2**64 / (1.5 pi), times 2**30
    words = [1, 2**40 + 1, 2**63]
    further = [2**63] + [7] * 12
    draws = cauchy_like(2**30, 2, 3, Served(words + further + [5] * 12))
    assert draws.dtype == object
    expected = 2**30 / mpmath.tan(mpmath.pi / 2 * mpmath.mpf(1.5) / 2**63)
    assert all(isinstance(draw, int) for draw in draws)
    assert abs(draws[0] / int(expected) - 1) < 1e-9
    assert abs(draws[0]) > 2**63


def test_the_first_bit_is_the_sign_and_takes_no_part_in_the_magnitude() -> None:
    words = [0x1234567890ABCDEF, 0x9234567890ABCDEF]
    first, second = rounded_laplace(1000, 2, Served(words))
    assert first == -second
    magnitude = 1000 * -mpmath.log(mpmath.mpf(0x1234567890ABCDEF) / 2**63)
    assert first == int(mpmath.floor(magnitude + 0.5))


@pytest.mark.parametrize("scale", [Fraction(1, 10**400), Fraction(1, 10**20)])
def test_a_tiny_scale_draws_zeros(scale: Fraction) -> None:
    for draws in (
        cauchy_like(scale, 4, 500, secure()),
        student_t(scale, 3, 500, secure()),
        rounded_laplace(scale, 500, secure()),
    ):
        assert not draws.any()


def test_a_size_of_none_gives_a_python_integer_and_zero_an_empty_array() -> None:
    assert type(cauchy_like(10, 4, None, secure())) is int
    assert type(student_t(2**80, 3, None, secure())) is int
    assert rounded_laplace(10, 0, secure()).size == 0
    assert student_t(10, 3, 40_000, secure()).shape == (40_000,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cauchy_like(1, 3, 1, secure()), "'power' parameter must be 2 or 4. Got 3"),
        (lambda: cauchy_like(1, [2], 1, secure()), "'power' parameter must be 2 or 4"),  # type: ignore[call-overload]
        (lambda: cauchy_like(0, 2, 1, secure()), "'scale' parameter"),
        (lambda: rounded_laplace(float("nan"), 1, secure()), "'scale' parameter"),
        (lambda: student_t(-1, 2, 1, secure()), "'scale' parameter"),
        (lambda: student_t(1, 0, 1, secure()), "'degrees' parameter"),
        (lambda: student_t(1, 2.5, 1, secure()), "'degrees' parameter"),  # type: ignore[call-overload]
        (lambda: student_t(1, 1001, 1, secure()), "from 1 to 1000. Got 1001"),
    ],
)
def test_wrong_parameters_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()
