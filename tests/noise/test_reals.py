from __future__ import annotations

import decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.noise.reals import LazyUniform, exp_enclosure, log_enclosure, log_of_uniform, settled_floor
from tests.noise.doubles import Served

rationals = st.fractions(min_value=-2000, max_value=2000, max_denominator=10**12)


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@given(rationals, st.integers(5, 60))
def test_exp_enclosures_hold_the_truth_tightly(x: Fraction, precision: int) -> None:
    low, high = exp_enclosure(x, precision)
    with mpmath.workdps(precision + 20):
        truth = mpmath.exp(real(x))
        assert mpmath.mpf(str(low)) <= truth <= mpmath.mpf(str(high))
        tight = max(truth * mpmath.mpf(10) ** (2 - precision), mpmath.mpf(10) ** (-10 * precision))
        assert mpmath.mpf(str(high)) - mpmath.mpf(str(low)) <= tight


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(5, 60))
def test_log_enclosures_hold_the_truth_tightly(x: Fraction, precision: int) -> None:
    low, high = log_enclosure(x, precision)
    with mpmath.workdps(precision + 40):
        truth = mpmath.log(real(x))
        assert mpmath.mpf(str(low)) <= truth <= mpmath.mpf(str(high))
        assert mpmath.mpf(str(high)) - mpmath.mpf(str(low)) <= mpmath.mpf(10) ** -precision


def test_enclosures_do_not_read_the_threads_own_decimal_context() -> None:
    with decimal.localcontext(decimal.Context(prec=1)):
        under_one_digit = exp_enclosure(Fraction(-3, 7), 50), log_enclosure(Fraction(3, 7), 50)
    assert under_one_digit == (exp_enclosure(Fraction(-3, 7), 50), log_enclosure(Fraction(3, 7), 50))


def test_an_exponent_beyond_all_reach_is_only_known_to_be_tiny() -> None:
    low, high = exp_enclosure(Fraction(-(10**30)), 20)
    assert low == 0
    assert 0 < high < Fraction(1, 10**100)


def test_a_lazy_uniform_lies_between_its_known_bits() -> None:
    uniform = LazyUniform(Served([0b1011 << 60]), 0b10, 2)
    uniform.refine(64)
    assert uniform.known == 66
    assert Fraction(uniform.numerator, 2**66) == Fraction(0b101011, 2**6)


@pytest.mark.parametrize(("next_word", "below"), [(0, True), (2**64 - 1, False)])
def test_an_undecided_comparison_is_settled_by_the_next_word(next_word: int, below: bool) -> None:
    # exp(-1) = 0.01011110... in binary; its first 64 bits leave the comparison open
    first = int(mpmath.floor(mpmath.exp(-1) * 2**64))
    uniform = LazyUniform(Served([next_word]), first, 64)
    assert uniform.is_below(lambda precision: exp_enclosure(Fraction(-1), precision)) is below
    assert uniform.known == 128


def test_logs_of_a_uniform_enclose_all_it_may_become() -> None:
    uniform = LazyUniform(Served(), 5, 4)
    low, high = log_of_uniform(uniform, 20)
    assert mpmath.mpf(str(low)) <= mpmath.log(mpmath.mpf(5) / 16)
    assert mpmath.mpf(str(high)) >= mpmath.log(mpmath.mpf(6) / 16)


def test_a_floor_waits_until_a_bit_is_set() -> None:
    uniform = LazyUniform(Served([0, 1 << 63]), 0, 3)
    assert settled_floor(
        uniform, lambda u, precision: (-log_of_uniform(u, precision)[1], -log_of_uniform(u, precision)[0])
    ) == int(mpmath.floor(mpmath.log(2) * 68))
