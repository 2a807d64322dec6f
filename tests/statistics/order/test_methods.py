"""How fine a choice by rank is: as fine as asked, a power of two of codes, and part of what is asked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import ParameterError
from tacit.statistics import median
from tacit.statistics.order.methods import FINEST_BITS, Frame, bits_of


@pytest.mark.parametrize("resolution", ["1/1000000", "0.03", 1, 7, 100, 10**9])
@pytest.mark.parametrize(("low", "high", "step"), [(0, 2**32, Fraction(100, 2**32)), (-50, 50, Fraction(1)), (3, 3, 1)])
def test_points_are_as_far_apart_as_asked_or_as_near_as_can_be(
    resolution: object, low: int, high: int, step: Fraction
) -> None:
    wanted = Fraction(str(resolution)) / step
    frame = Frame(low, high, 1, False, bits_of(wanted, high - low), Fraction(step))
    apart = 1 << frame.coarser
    coarsest = (high - low).bit_length() <= frame.coarser + 1
    finest = frame.coarser == max((high - low).bit_length() - FINEST_BITS, 0)
    assert apart <= max(wanted, 1) or finest
    assert 2 * apart > wanted or coarsest
    assert frame.points <= 2**FINEST_BITS + 1


def test_a_coarse_choice_shows_round_numbers_and_is_a_question_of_its_own() -> None:
    frame = pd.DataFrame({"who": range(400), "age": np.full(400, 40)})
    with tacit.protect(
        frame, unit="who", columns={"age": tacit.between(0, 99)}, budget=tacit.Budget(10**5), largest_epsilon=10**4
    ) as clinic:
        plain = median(clinic, "data.age", epsilon=10**4)
        coarse = median(clinic, "data.age", epsilon=10**4, resolution=10)
        assert not coarse.repeated
        assert plain.value == 40
        assert coarse.value == 40
    with pytest.raises(ParameterError, match="resolution"):
        median(np.zeros(3), bounds=(0, 1), epsilon=1, resolution=0)
