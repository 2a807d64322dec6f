from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.noise import functions
from tacit.noise.functions import Interval, cos_of_half_turns, pi
from tacit.noise.reals import LazyUniform
from tests.noise.doubles import Served

PRECISIONS = [8, 20, 41, 63, 120]


def exact(value: mpmath.mpf) -> Fraction:
    """The binary rational that an mpmath number is."""
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)


def truth(function: Callable[[mpmath.mpf], mpmath.mpf], argument: Fraction) -> Fraction:
    with mpmath.workdps(250):
        return exact(function(mpmath.mpf(argument.numerator) / argument.denominator))


def assert_encloses(interval: Interval, value: Fraction, width: Fraction) -> None:
    assert Fraction(interval.low) <= value <= Fraction(interval.high)
    assert Fraction(interval.high) - Fraction(interval.low) <= width


@pytest.mark.parametrize("precision", PRECISIONS)
def test_pi_lies_in_its_narrow_enclosure(precision: int) -> None:
    assert_encloses(pi(precision), truth(lambda _: mpmath.pi + 0, Fraction(0)), Fraction(30, 10**precision))


@pytest.mark.parametrize("places", [18, 30, 51, 130])
def test_the_whole_number_series_behind_pi_is_cut_by_less_than_its_margin(places: int) -> None:
    unit = 10**places
    value = 16 * functions._arctan_of_reciprocal(5, unit) - 4 * functions._arctan_of_reciprocal(239, unit)
    off = abs(truth(lambda _: mpmath.pi + 0, Fraction(0)) * unit - value)
    assert off < 20 * (2.1 * (0.72 * places + 2) + 1) < 100 * places


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("x", ["0", "1/1000000007", "1/20", "1/3", "1", "7/2", "1000", f"{10**40}/3", "-2/7", "-90"])
def test_arctangents_lie_in_their_narrow_enclosures(x: str, precision: int) -> None:
    argument = Fraction(x)
    assert_encloses(
        Interval.of(argument, precision).arctan(), truth(mpmath.atan, argument), Fraction(400, 10**precision)
    )


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("x", ["1/7", "1", "2", f"{10**30}/7", f"7/{10**30}"])
def test_roots_exponentials_and_logarithms_lie_in_their_narrow_enclosures(x: str, precision: int) -> None:
    argument = Fraction(x)
    interval = Interval.of(argument, precision)
    root = truth(mpmath.sqrt, argument)
    assert_encloses(interval.sqrt(), root, root * Fraction(40, 10**precision))
    assert_encloses(interval.ln(), truth(mpmath.log, argument), Fraction(1000, 10**precision))
    if argument < 100:
        decay = truth(lambda value: mpmath.exp(-value), argument)
        assert_encloses((-interval).exp(), decay, Fraction(40, 10**precision))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("numerator", [0, 1, 100, 511, 512, 513, 700, 1023])
def test_the_cosine_of_a_lazy_half_turn_is_enclosed_from_both_ends_of_what_is_known(
    numerator: int, precision: int
) -> None:
    interval = cos_of_half_turns(LazyUniform(Served(), numerator, 10), precision)
    high = truth(lambda value: mpmath.cos(mpmath.pi * value), Fraction(numerator, 1024))
    low = truth(lambda value: mpmath.cos(mpmath.pi * value), Fraction(numerator + 1, 1024))
    slack = Fraction(300, 10**precision)
    assert low - slack <= Fraction(interval.low) <= low
    assert high <= Fraction(interval.high) <= high + slack


def test_an_operation_on_intervals_holds_the_operation_on_any_of_their_points() -> None:
    rng = random.Random(5)

    def point(interval: tuple[Fraction, Fraction]) -> Fraction:
        return interval[0] + (interval[1] - interval[0]) * Fraction(rng.randrange(101), 100)

    def ends() -> tuple[Fraction, Fraction]:
        centre = Fraction(rng.randrange(-300, 300), rng.choice([1, 3, 7, 10**9]))
        return centre, centre + Fraction(rng.randrange(200), rng.choice([1, 13, 10**6]))

    for _ in range(2000):
        first, second = ends(), ends()
        x, y = (Interval(Interval.of(a, 12).low, Interval.of(b, 12).high, 12) for a, b in (first, second))
        a, b = point(first), point(second)
        for interval, value in [(x + y, a + b), (x - y, a - b), (x * y, a * b), (-x, -a), (x.power(3), a**3)]:
            assert Fraction(interval.low) <= value <= Fraction(interval.high)
        if y.low > 0 or y.high < 0:
            assert Fraction((x / y).low) <= a / b <= Fraction((x / y).high)


def test_a_minus_sign_keeps_every_digit() -> None:
    third = Interval.of(Fraction(1, 3), 60)
    assert (-third).low == Decimal("-0." + "3" * 59 + "4")
    assert (-third).high == Decimal("-0." + "3" * 60)


def test_an_interval_around_zero_divides_nothing() -> None:
    with pytest.raises(ZeroDivisionError, match="around zero"):
        Interval.of(1, 10) / Interval(Decimal(-1), Decimal(1), 10)


@pytest.mark.parametrize(
    ("function", "reference", "low", "high"),
    [
        (np.exp, mpmath.exp, -44.0, 0.0),
        (np.exp2, lambda x: mpmath.power(2, x), 0.0, 1.0),
        (np.log, mpmath.log, 1e-19, 1.0),
        (np.log, mpmath.log, 1.0, 6.0),
        (np.arctan, mpmath.atan, -1.0, 40.0),
        (lambda x: np.arctan2(1.0, x), lambda x: mpmath.atan2(1, x), 0.0, 1e4),
        (np.cos, mpmath.cos, 0.0, math.pi),
        (np.sqrt, mpmath.sqrt, 0.0, 90.0),
    ],
)
def test_the_float_functions_are_within_the_eight_last_places_that_the_bands_assume(
    function: Callable[[np.ndarray], np.ndarray],
    reference: Callable[[mpmath.mpf], mpmath.mpf],
    low: float,
    high: float,
) -> None:
    # several sizes of array, because vectorised and scalar loops may use different code
    rng = np.random.default_rng(8)
    for size in (1, 7, 1500):
        x = rng.uniform(low, high, size) ** (1 if low else 3) * (1 if low or high <= 0 else high**-2)
        for argument, value in zip(x, function(x), strict=True):
            right = reference(mpmath.mpf(float(argument)))
            assert abs(mpmath.mpf(float(value)) - right) <= 8 * np.spacing(abs(float(value)))


def test_intervals_do_not_read_the_threads_own_decimal_context() -> None:
    import decimal

    with decimal.localcontext(decimal.Context(prec=7, Emin=-95, Emax=96)):
        tiny, angle = Interval.of(-(10**6), 60).exp(), Interval.of(3, 110).arctan()
    assert tiny.high > 0
    assert angle.enclosure == Interval.of(3, 110).arctan().enclosure
