"""The number that stands for a stretch of codes has the fewest digits of all in it, and lies near the middle."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.statistics.order.roundest import roundest


def zeros(number: int) -> int:
    """How many zeros a whole number ends with; zero itself has more than any."""
    text = str(abs(number))
    return 99 if number == 0 else len(text) - len(text.rstrip("0"))


@given(st.integers(-5000, 5000), st.integers(0, 300))
def test_no_whole_number_of_the_stretch_is_rounder_and_none_as_round_is_nearer_to_the_middle(
    low: int, more: int
) -> None:
    stretch = range(low, low + more + 1)
    shown = roundest(low, low + more, Fraction(1))
    assert shown in stretch
    most = max(map(zeros, stretch))
    alike = [each for each in stretch if each % 10**most == 0] if most < 99 else [0]
    assert abs(2 * shown - 2 * low - more) == min(abs(2 * each - 2 * low - more) for each in alike)


@given(st.integers(-(2**40), 2**40), st.integers(0, 2**12), st.integers(-30, 8))
def test_the_code_is_one_of_the_stretch_whatever_it_is_worth(low: int, more: int, power: int) -> None:
    assert low <= roundest(low, low + more, Fraction(2) ** power) <= low + more


@pytest.mark.parametrize("number", [37, Fraction(75, 2), Fraction(1, 4), 0, -12])
def test_round_numbers_on_a_fine_grid_are_found_again(number: Fraction) -> None:
    step = Fraction(1, 2**20)
    code = int(number / step)
    for below, above in ((0, 15), (15, 0), (7, 8), (0, 0)):
        assert roundest(code - below, code + above, step) * step == number
