"""Public numbers are read exactly or refused in one sentence."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import parameters
from tacit.errors import ParameterError


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        (3, Fraction(3)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-6", Fraction(1, 10**6)),
        (Decimal("0.125"), Fraction(1, 8)),
        (Fraction(2, 7), Fraction(2, 7)),
        (0.1, Fraction(3602879701896397, 36028797018963968)),
        (np.float64(0.5), Fraction(1, 2)),
        (np.float32(0.1), Fraction(13421773, 134217728)),
        (np.int64(-4), Fraction(-4)),
    ],
)
def test_a_number_is_read_as_the_rational_it_is(written: Any, exact: Fraction) -> None:
    assert parameters.rational("x", written) == exact


@pytest.mark.parametrize(
    "written", [True, False, None, float("nan"), float("inf"), float("-inf"), "abc", "1/0", 1j, [1], Decimal("NaN")]
)
def test_what_is_no_finite_number_is_refused(written: Any) -> None:
    with pytest.raises(ParameterError):
        parameters.rational("x", written)


def test_a_refusal_says_what_is_allowed_what_was_found_and_how_to_mend_it() -> None:
    refusal = parameters.refuse("scale", "a finite number above 0", -1, "Use a larger one.")
    assert str(refusal) == ("The 'scale' parameter must be a finite number above 0. Got -1 instead. Use a larger one.")
    assert len(str(parameters.refuse("x", "short", "y" * 1000))) < 200
    assert isinstance(refusal, ValueError)


@pytest.mark.parametrize(
    ("reader", "good", "bad"),
    [
        (parameters.positive, [1, "1e-300", 5e-324], [0, -1, "0", 0.0]),
        (parameters.non_negative, [0, 1, 0.0], [-1, "-1/1000000"]),
        (parameters.probability, [0, 1, 0.5], [-1e-9, 1.0000001, 2]),
        (parameters.open_probability, [0.5, "1e-30"], [0, 1, -1, 2]),
    ],
)
def test_each_range_includes_its_own_border_only(reader: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert reader("x", value) == parameters.rational("x", value)
    for value in bad:
        with pytest.raises(ParameterError, match="The 'x' parameter must be"):
            reader("x", value)


def test_a_whole_number_must_be_written_as_one() -> None:
    assert parameters.whole("n", 3) == 3
    assert parameters.whole("n", np.int32(3), least=3) == 3
    assert parameters.whole("n", Fraction(6, 2)) == 3
    assert isinstance(parameters.whole("n", np.int64(3)), int)
    for bad in (3.0, "3", True, Fraction(1, 2), 2, None):
        with pytest.raises(ParameterError, match="at least 3"):
            parameters.whole("n", bad, least=3)
    assert parameters.whole("n", 0) == 0
    with pytest.raises(ParameterError):
        parameters.whole("n", -1)


@given(st.fractions())
def test_text_of_a_rational_reads_back_without_loss(exact: Fraction) -> None:
    assert parameters.rational("x", parameters.as_text(exact)) == exact


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_never_rounded(value: float) -> None:
    assert float(parameters.rational("x", value)) == value


@pytest.mark.parametrize("value", ["1e999999999", "-1E-999999999", Decimal("1e999999"), "1" * 30_000, "1e", "e5"])
def test_a_number_that_few_characters_blow_up_is_refused_at_once(value: object) -> None:
    with pytest.raises(ParameterError, match="'x' parameter must be a finite number"):
        parameters.rational("x", value)


def test_exponents_that_people_write_are_read() -> None:
    assert parameters.rational("x", "1e-300") == Fraction(1, 10**300)
    assert parameters.rational("x", Decimal("2.5E+3")) == 2500
