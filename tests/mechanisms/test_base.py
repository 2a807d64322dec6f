from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.base import only_one, ordinary, quantile
from tacit.noise.functions import Interval
from tacit.noise.reals import Enclosure
from tests.mechanisms.exact import refused


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_a_quantile_is_the_first_number_whose_tail_is_small_enough_wherever_the_search_starts(
    answer: int, near: int
) -> None:
    def tail(t: int, precision: int) -> Enclosure:
        return Interval.of(Fraction(1, t + 2) + Fraction(1, 10**9), precision).enclosure

    # tail(t) <= 1/(answer + 1) exactly from t = answer on: the small addition decides t + 2 = answer + 1
    assert quantile(tail, Fraction(1, answer + 1), near) == answer


def test_a_quantile_takes_as_many_digits_as_the_comparison_needs() -> None:
    asked: list[int] = []

    def tail(t: int, precision: int) -> Enclosure:
        asked.append(precision)
        third = Fraction(1, 3) * (1 if t else 2) + Fraction(1, 10**70)
        return Interval.of(third, precision).enclosure

    assert quantile(tail, Fraction(1, 3) + Fraction(2, 10**70)) == 1
    assert max(asked) > 70


def test_exactly_one_of_several_parameters_is_given() -> None:
    assert only_one(epsilon=None, scale=2) == "scale"
    refused(lambda: only_one(epsilon=1, scale=2), "epsilon or scale")
    refused(lambda: only_one(epsilon=None, scale=None), "epsilon or scale")


@pytest.mark.parametrize(
    "scale", [Fraction(2) ** 1024, Fraction(2) ** 5000, Fraction(1, 2**1023), Fraction(1, 2**5000)]
)
def test_a_scale_that_no_float_can_hold_is_refused(scale: Fraction) -> None:
    refused(lambda: ordinary("epsilon", scale, "?"), "epsilon")


def test_a_scale_that_floats_can_hold_is_kept_exactly() -> None:
    assert ordinary("epsilon", Fraction(10, 3), 0.3) == Fraction(10, 3)
