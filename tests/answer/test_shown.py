"""How numbers read: no digit that matters is left out, however large the number is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.answer import Answer
from tacit.answer.shown import key_text, shown
from tacit.plan.answers.bends import FARTHEST
from tacit.statistics import mean

SIZES = [0.004, 1.5, 37.5, 4.2e3, 987_654.3, 1_708_735_134.78375, 24_687_354_742_554.668]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", [1e-9, 1e-6, 1e-3, 0.3, 2.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_left_out_is_at_most_a_tenth_of_the_interval(size: float, share: float, sign: int) -> None:
    value, reach = sign * size, share * size
    printed = float(shown(value, reach).replace(",", ""))
    assert abs(printed - value) <= max(reach / 10, 1e-14 * size)


def test_a_mean_of_moments_is_not_printed_to_six_digits() -> None:
    assert shown(1_708_735_134.78375, 0.258) == "1,708,735,134.78"
    assert shown(1_708_735_134.78375, 18_200.0) == "1.708735e+09"
    assert shown(0.297, 0.0295) == "0.297"
    assert shown(47.76659292035398, 0) == "47.766592920354"


@pytest.mark.parametrize("value", [0.0, math.inf, -math.inf, 5e-324, 1.7e308])
@pytest.mark.parametrize("reach", [None, 0, 5e-324, 1.0, math.inf, math.nan])
def test_every_number_can_be_shown(value: float, reach: float | None) -> None:
    assert shown(value, reach)
    assert key_text(value)


def test_values_that_stand_for_themselves_keep_their_decimals() -> None:
    assert key_text(1e12 + 57.3) == "1000000000057.3"
    assert key_text(0.1 + 0.2) == "0.3"
    assert key_text((8.7, 1e9 + 0.5)) == "[8.7, 1000000000.5]"
    assert key_text(2024.0) == "2024"


def test_a_study_prints_its_ends_apart_from_each_other() -> None:
    values = 1.7e9 + np.arange(5_000.0)
    printed = str(mean(values, bounds=(1.6e9, 1.8e9), epsilon=10**6)).splitlines()[2]
    value, low, high = (float(each.strip("[], ").replace(",", "")) for each in printed.split())
    assert low < value < high


def test_an_answer_of_which_nothing_is_known_says_so_instead_of_a_number() -> None:
    """Once as "+/- 1e+150": a logarithm of what may be zero, and a quotient by it."""
    columns = ((1.5, None, 2.0), (3.0, 3.0, 3.0))
    facts = {"epsilon": "1", "delta": "0", "unit": "one row", "noise": "n", "rows_per_unit": "1", "entry": "1"}
    spreads = ((FARTHEST, FARTHEST, 0.1), (1.0, 1.0, 1.0))
    answer = Answer(("a", "b"), ("real", "real"), columns, spreads, False, facts, False)
    assert "1.5 +/- ?" in str(answer)
    assert "1e+" not in str(answer)
    assert any("may be anything" in note for note in answer.notes)
    assert answer.intervals()["a"][:2] == [None, None]
    assert answer.intervals()["a"][2] == pytest.approx((2 - 0.196, 2 + 0.196), abs=1e-3)
    assert answer.to_dict()["a_low"][0] is None
    assert [each["value"] for each in answer.chart_spec()["data"]["values"]] == [2.0, 3.0, 3.0, 3.0]
    sure = Answer(("b",), ("real",), columns[1:], spreads[1:], False, facts, False)
    assert not any("may be anything" in note for note in sure.notes)
