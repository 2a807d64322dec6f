from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.interval import Interval


@given(st.lists(st.one_of(st.floats(-20, 20), st.integers(-40, 40).map(lambda n: n / 4)), max_size=6))
def test_every_point_stands_in_the_cell_that_holds_it(values: list[float]) -> None:
    edges = sorted(values)
    interval = Interval(-3, "10.3", 0.5)
    assert (interval.first, interval.last) == (-6, 20)
    borders = interval.borders(np.array(edges)).tolist()
    assert borders == interval.borders(edges).tolist()
    assert borders[0] == -6
    assert borders[-1] == 21
    for point in range(-6, 21):
        cell = sum(1 for edge in edges if Fraction(edge) <= Fraction(point, 2))
        assert borders[cell] <= point < borders[cell + 1]


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_the_default_grid_has_floats_for_points_and_fits_any_interval(one: float, other: float) -> None:
    lower, upper = min(one, other), max(one, other)
    if upper - lower < 1e-9 * max(abs(lower), abs(upper), 1e-200):
        return
    interval = Interval(lower, upper)
    for point in (interval.first, interval.last):
        assert lower <= interval.real(point) <= upper
        assert Fraction(interval.real(point)) == point * Fraction(2) ** interval.exponent
    assert interval.last - interval.first < 2**53


def test_an_edge_below_the_one_before_it_is_read_as_equal() -> None:
    assert Interval(0, 9, 1).borders([5.0, 2.0, math.nan]).tolist() == [0, 5, 5, 10, 10]


def test_integer_edges_of_any_size_are_exact() -> None:
    assert Interval(0, 9, 2).borders(np.array([-(2**63), 3, 4, 2**63 - 1])).tolist() == [0, 0, 2, 2, 5, 5]
