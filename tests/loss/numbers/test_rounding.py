"""Outward rounding, checked in exact arithmetic, and the search that returns only what has passed."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.loss.numbers import edge, rounding

positive = st.builds(
    lambda top, bottom, power: Fraction(top, bottom) * Fraction(2) ** power,
    st.integers(1, 10**30),
    st.integers(1, 10**30),
    st.integers(-900, 900),
)


@given(st.one_of(positive, positive.map(lambda x: -x), st.just(Fraction(0))))
def test_doubles_bracket_a_rational_as_neighbours(exact: Fraction) -> None:
    low, high = rounding.float_down(exact), rounding.float_up(exact)
    assert Fraction(low) <= exact <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


def test_beyond_the_doubles_the_bracket_is_the_last_double_and_infinity() -> None:
    huge = Fraction(10) ** 400
    assert (rounding.float_down(huge), rounding.float_up(huge)) == (sys.float_info.max, math.inf)
    assert (rounding.float_down(-huge), rounding.float_up(-huge)) == (-math.inf, -sys.float_info.max)
    assert rounding.float_up(1 / huge) > 0 == rounding.float_down(1 / huge)


@given(st.one_of(positive, st.fractions(min_value="1/2", max_value=2)))
def test_logarithms_are_bracketed_closely(exact: Fraction) -> None:
    low, high = rounding.fraction_log_down(exact), rounding.fraction_log_up(exact)
    with mpmath.workdps(60):
        truth = mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)
        assert low <= truth <= high
        assert high - low <= mpmath.mpf("1e-11") * max(1, abs(truth))


def test_the_logarithm_next_to_one_does_not_cancel() -> None:
    nearly = 1 - Fraction(1, 10**40)
    assert rounding.fraction_log_down(nearly) == pytest.approx(-1e-40, rel=1e-12)


@given(positive)
def test_dyadics_are_short_and_on_their_side(exact: Fraction) -> None:
    up, down = rounding.dyadic_up(exact), rounding.dyadic_down(exact)
    assert down <= exact <= up
    assert (up - down) * 2**51 <= exact
    for found in (up, down):
        odd = found.numerator // (found.numerator & -found.numerator)
        assert odd.bit_length() <= 54
        assert found.denominator & (found.denominator - 1) == 0


@given(positive)
def test_square_roots_are_at_least_and_hardly_more(exact: Fraction) -> None:
    root = rounding.sqrt_up(exact)
    assert exact <= root**2 <= exact * (1 + Fraction(1, 2**50))


def test_a_perfect_square_keeps_its_root() -> None:
    assert rounding.sqrt_up(Fraction(9, 4)) == Fraction(3, 2)


@pytest.mark.parametrize("scale", [Fraction(10) ** 309, Fraction(1, 10**309)])
def test_a_scale_outside_the_doubles_is_refused(scale: Fraction) -> None:
    with pytest.raises(ParameterError, match="ordinary size"):
        rounding.noise_scale("scale", scale)


@pytest.mark.parametrize("at", [1e-9, 0.3, 1.0, 7.0, 1e9])
@pytest.mark.parametrize("guess", [1e-3, 1.0, 50.0])
def test_the_least_value_that_passes_is_found_and_passes(at: float, guess: float) -> None:
    for excess in (lambda x: at - x, lambda x: math.log(at / x), lambda x: 1.0 if x < at else -math.inf):
        found = edge.least(excess, guess, tolerance=1e-6, stride=0.5)
        assert at <= found <= at * (1 + 1e-6)


def test_where_nothing_passes_the_answer_is_infinite() -> None:
    assert edge.least(lambda _: 1.0, 1.0, tolerance=1e-6, stride=1.0) == math.inf
