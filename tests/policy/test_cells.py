"""Cells of powers of two: against frexp, against their own definition, and for every kind of edge."""

from __future__ import annotations

import math
import random
import sys
from fractions import Fraction

import pytest

from tacit.policy import cells

RANDOM = random.Random(7)
FLOATS = [
    sign * value
    for value in (
        *(2.0**power for power in range(-70, 71)),
        *(math.nextafter(2.0**power, 0) for power in range(-70, 71)),
        *(math.nextafter(2.0**power, math.inf) for power in range(-70, 71)),
        *(RANDOM.lognormvariate(0, 20) for _ in range(500)),
        sys.float_info.max,
        sys.float_info.min,
        5e-324,
        1.0,
        0.1,
    )
    for sign in (1, -1)
]


def test_the_cell_is_the_sign_and_the_binary_exponent() -> None:
    for value in FLOATS:
        exponent = min(max(math.frexp(value)[1] - 1, -64), 65)  # frexp has its mantissa in [1/2, 1)
        assert cells.cell_of(Fraction(value)) == int(math.copysign(exponent + 65, value))
    assert cells.cell_of(0) == 0
    assert [cells.cell_of(number) for number in (1, 2, 3, 4, -1, -2)] == [65, 66, 66, 67, -65, -66]


def test_the_code_grows_with_the_number() -> None:
    ordered = sorted({*map(Fraction, FLOATS), Fraction(0)})
    codes = [cells.cell_of(value) for value in ordered]
    assert codes == sorted(codes)
    assert set(codes) == set(range(-cells.LAST, cells.LAST + 1))


def test_a_cell_holds_the_numbers_between_its_ends() -> None:
    for value in map(Fraction, FLOATS):
        cell = cells.cell_of(value)
        if abs(cell) < cells.LAST:
            assert cells.lower_end(cell) <= value <= cells.upper_end(cell)
    assert (cells.lower_end(0), cells.upper_end(0)) == (0, 0)
    assert (cells.lower_end(65), cells.upper_end(65)) == (1, 2)
    assert (cells.lower_end(-65), cells.upper_end(-65)) == (-2, -1)
    assert (cells.lower_end(1), cells.upper_end(-1)) == (0, 0)


def test_edges_tell_the_cells_apart() -> None:
    every = range(-cells.LAST, cells.LAST + 1)
    for value in (*map(Fraction, FLOATS[::9]), Fraction(0)):  # both signs, and all three sides of a power of two
        for cell in every[1:]:
            strictly, place = cells.edge(cell)
            assert (value > place if strictly else value >= place) == (cells.cell_of(value) >= cell)


def test_a_tree_of_comparisons_finds_the_cell_in_few_steps() -> None:
    every = range(-cells.LAST, cells.LAST + 1)
    for value in (*map(Fraction, FLOATS[::7]), Fraction(0)):

        def reaches(cell: int, yes: tuple[int, int], no: tuple[int, int], x: Fraction = value) -> tuple[int, int]:
            strictly, place = cells.edge(cell)
            found, steps = yes if (x > place if strictly else x >= place) else no
            return found, steps + 1

        found, steps = cells.decide(every, reaches, lambda cell: (cell, 0))
        assert found == cells.cell_of(value)
        assert steps <= 9


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(-5, 9, Fraction(1)), (0, 0, Fraction(1)), (3, 40, Fraction(1, 4)), (-9, -1, Fraction(3)), (1, 5, Fraction(1, 3))],
)
def test_the_cells_between_two_bounds_are_those_that_occur(low: int, high: int, step: Fraction) -> None:
    found = cells.cells_between(low, high, step)
    occurring = {cells.cell_of(number * step) for number in range(low, high + 1)}
    assert occurring <= set(found)
    assert (min(occurring), max(occurring)) == (found[0], found[-1])
    assert list(found) == sorted(set(found))
