"""The constants of the theorem about floats, against sums that are as wrong as float32 can make them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.learning.neural import floats


@pytest.mark.parametrize("people", [1, 7, 64, 256])
def test_the_error_of_a_block_covers_the_worst_order(people: int) -> None:
    """Each addition rounded the same way: numbers of length at most 1, added one by one in float32."""
    bound = floats.block_error(people)
    for value in (1 / 3, 0.1, 1 - 2**-10):
        total = np.float32(0)
        weight = np.float32(value)
        for _ in range(people):
            total = np.float32(total + np.float32(weight * np.float32(0.7)))
        assert abs(float(total) - people * float(weight) * float(np.float32(0.7))) <= bound
    assert bound == pytest.approx(people * (people + 2) * 2.0**-24, rel=1e-4)


def test_larger_chunks_are_added_in_blocks() -> None:
    assert floats.block_error(8192) == floats.block_error(4096) < 0.0042


@pytest.mark.parametrize("people", [512, 1024, 2096, 4096])
def test_the_error_of_a_group_covers_blocks_that_are_added_in_float32(people: int) -> None:
    """One block is as wrong as it can be, and each sum of blocks is rounded away by half a unit in its last place."""
    block, unit = floats.block_of(people), 2.0**-24
    worst, held = floats.gamma(block + 2) * block, block * 1.0
    for _ in range(min(floats.TOGETHER, -(-people // block)) - 1):
        held += block
        worst += unit * held
        held += worst
    assert worst <= floats.block_error(people) <= 1.01 * worst


def test_a_norm_is_never_below_the_truth() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 10, 1000):
        own = rng.normal(size=size).astype(np.float32)
        rounded = np.float32(0)
        for each in own:
            rounded = np.float32(rounded + each * each)
        exact = math.sqrt(sum(Fraction(float(each)) ** 2 for each in own))
        above = float(np.sqrt(rounded)) * floats.norm_factor(size) + floats.VANISHING
        assert exact <= above <= exact * (1 + 2e-4) + 1e-12


@pytest.mark.parametrize(("clip", "coordinates", "error"), [(1, 100, 0.0), (Fraction(1, 2), 10_000, 0.004)])
def test_the_sensitivity_is_that_of_two_changed_chunks(clip: Fraction, coordinates: int, error: float) -> None:
    """Two chunks change: each is off before and after, and each is rounded to whole numbers before and after."""
    exponent = floats.units_for(Fraction(clip), Fraction(1), coordinates)
    found = float(floats.sensitivity(Fraction(clip), error, coordinates, exponent))
    units = 2.0**exponent
    expected = units * float(clip) * (1 + 2 * 2 * error) + 2 * (2 * 0.5 * math.sqrt(coordinates))
    assert expected <= found <= expected * (1 + 1e-8)


@pytest.mark.parametrize("coordinates", [1, 10**4, 10**7, 10**10])
def test_rounding_costs_less_than_a_hundredth(coordinates: int) -> None:
    exponent = floats.units_for(Fraction(1), Fraction(2), coordinates)
    exact = float(floats.sensitivity(Fraction(1), 0.0, coordinates, exponent)) / 2.0**exponent
    assert 1 <= exact < 1.01


@pytest.mark.parametrize("people", [1, 255, 256, 257, 1000, 1120, 4096, 8192])
def test_blocks_are_equal_parts_of_a_chunk(people: int) -> None:
    length = floats.block_of(people)
    assert length <= floats.BLOCK
    assert -(-people // length) == -(-people // floats.BLOCK)  # no more blocks than it takes


@pytest.mark.parametrize(("people", "chunks"), [(1, 8), (256, 8), (2304, 8), (1 << 17, 8), (1 << 20, 1)])
def test_a_span_has_few_enough_blocks_to_be_added_in_float64(people: int, chunks: int) -> None:
    assert floats.chunks_together(people) == chunks
    assert chunks * -(-people // floats.BLOCK) <= 1 << 12
