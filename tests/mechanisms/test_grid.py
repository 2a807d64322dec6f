from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.mechanisms.grid import Grid, ceilings, exponent_of, floor_log2, lattice
from tacit.mechanisms.whole_numbers import WholeNumbers
from tests.effort import tried
from tests.mechanisms.exact import refused

LIMIT = 2**62
finite = st.floats(allow_nan=False, allow_infinity=False)
exponents = st.integers(-60, 60)
# values whose quotients by the step are near ties, where rounding is most easily wrong
near_ties = st.builds(
    lambda half, exponent, nudge: (
        math.nextafter(math.ldexp(half, exponent), nudge * math.inf) if nudge else math.ldexp(half, exponent)
    ),
    st.integers(-40, 40).map(lambda n: n / 2),
    st.just(0),
    st.sampled_from([-1, 0, 1]),
)


def rounded(value: float | int, exponent: int) -> int:
    """floor(x/g + 1/2) in rationals."""
    return math.floor(Fraction(value) / Fraction(2) ** exponent + Fraction(1, 2))


@given(st.lists(st.one_of(finite, near_ties), min_size=1, max_size=6), exponents)
@example([0.5, 1.5, -0.5, -2.5], 0)  # halves, whatever else is tried
def test_floats_are_rounded_exactly(values: list[float], exponent: int) -> None:
    expected = [min(max(rounded(v, exponent), -LIMIT), LIMIT) for v in values]
    grid = Grid(exponent, len(values))
    assert grid.points(np.array(values)).tolist() == expected
    assert grid.points(values).tolist() == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), st.integers(-70, 70))
def test_integers_are_rounded_exactly(values: list[int], exponent: int) -> None:
    expected = [min(max(rounded(v, exponent), -LIMIT), LIMIT) for v in values]
    grid = Grid(exponent, len(values))
    assert grid.points(np.array(values, dtype=np.int64)).tolist() == expected
    assert grid.points(values).tolist() == expected


@given(st.lists(st.one_of(finite, near_ties, st.floats(-4, 4)), min_size=1, max_size=4), st.data())
@settings(max_examples=tried(300))
def test_the_stated_sensitivity_is_never_exceeded(values: list[float], data: st.DataObject) -> None:
    """Neighbours anywhere: the sensitivity is the exact distance of the two vectors."""
    size = len(values)
    moved = data.draw(st.lists(st.one_of(finite, near_ties, st.floats(-4, 4)), min_size=size, max_size=size))
    grid = Grid(data.draw(st.integers(-4, 4)), size)
    far = [abs(Fraction(a) - Fraction(b)) for a, b in zip(values, moved, strict=True)]
    if not any(far):
        return
    left, right = grid.points(np.array(values)).tolist(), grid.points(np.array(moved)).tolist()
    steps = [abs(a - b) for a, b in zip(left, right, strict=True)]
    assert sum(steps) <= grid.taxicab(sum(far, Fraction(0)))
    squared = sum(d * d for d in far)
    # the least rational S with S**2 >= squared, from above
    sensitivity = Fraction(math.isqrt(math.ceil(squared * 2**40)) + 1, 2**20)
    assert sum(s * s for s in steps) <= grid.euclidean(sensitivity) ** 2


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=4), st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_small_moves_across_ties_are_covered(values: list[float], moves: list[float]) -> None:
    grid = Grid(0, len(values))
    moved = [v + m for v, m in zip(values, moves, strict=False)]
    distance = sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(values, moved, strict=True)), Fraction(0))
    steps = np.abs(grid.points(np.array(values)) - grid.points(np.array(moved))).sum()
    assert steps <= (grid.taxicab(distance) if distance else 0)


@pytest.mark.parametrize(("size", "sensitivity"), [(1, "5/2"), (1, "3"), (3, "5/2"), (3, "3"), (5, "1/8")])
def test_the_taxicab_bound_is_reached(size: int, sensitivity: str) -> None:
    """All but one coordinate step over a tie by almost nothing; the last one takes the rest."""
    grid, exact = Grid(0, size), Fraction(sensitivity)
    tiny = Fraction(1, 2**40)
    before = [0.5 - 2.0**-41] * size
    after = [0.5 - 2.0**-41 + 2.0**-40] * (size - 1) + [float(Fraction(before[-1]) + exact - (size - 1) * tiny)]
    assert sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(before, after, strict=True)) <= exact
    steps = np.abs(grid.points(np.array(before)) - grid.points(np.array(after))).sum()
    assert steps == grid.taxicab(exact) == math.ceil(exact) + size - 1


def test_the_euclidean_bound_is_the_triangle_inequality() -> None:
    assert Grid(0, 1).euclidean(Fraction(5, 2)) == 3
    bound = Grid(-2, 9).euclidean(Fraction(1))
    assert 7 <= bound < Fraction(7) * (1 + Fraction(1, 2**50))
    before, after = np.full(4, 0.49), np.full(4, 0.51)
    steps = Grid(0, 4).points(after) - Grid(0, 4).points(before)
    assert math.hypot(*steps) == 2 <= Grid(0, 4).euclidean(Fraction(1, 25))


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("sensitivity", [1.0, 0.1, 3e-9, 7e12, 1.9999999])
def test_the_default_grid_costs_less_than_a_millionth_of_the_sensitivity(size: int, sensitivity: float) -> None:
    grid = lattice(sensitivity, size, None)
    assert isinstance(grid, Grid)
    stated = Fraction(sensitivity)
    assert grid.taxicab(stated) * grid.unit <= stated * (1 + Fraction(1, 10**6))
    assert grid.euclidean(stated) * grid.unit <= stated * (1 + Fraction(1, 10**6))
    assert grid.taxicab(stated) * grid.unit >= stated


def test_whole_sensitivities_mean_whole_numbers_and_floats_mean_a_grid() -> None:
    assert lattice(1, 1, None) == WholeNumbers()
    assert lattice(Fraction(3, 2), 1, None) == WholeNumbers()
    assert lattice(1.0, 1, None) == Grid(-20, 1)
    assert lattice(1, 3, 0.25) == Grid(-2, 3)


@pytest.mark.parametrize("grid", [3, 0.1, 0, -1, float("nan"), float("inf"), 2.0**-1001, 2.0**901, "x", True])
def test_a_step_that_is_no_power_of_two_of_ordinary_size_is_refused(grid: Any) -> None:
    refused(lambda: lattice(1.0, 1, grid), "grid")


EXTREME = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 10**400, -(10**400), Fraction(1, 3), np.float32(0.1)]


@pytest.mark.parametrize("value", EXTREME, ids=range(len(EXTREME)))
def test_no_real_value_raises_and_all_answers_are_points_of_the_grid(value: Any) -> None:
    grid = Grid(-3, 2)
    for given_value in (value, [value], np.array([value], dtype=object)):
        released = grid.release(given_value, lambda size: 1 if size is None else np.ones(size, dtype=np.int64))
        for number in np.atleast_1d(released):
            assert math.isfinite(number)
            assert (Fraction(float(number)) / Fraction(1, 8)).denominator == 1


def test_what_is_not_a_number_reads_as_a_public_constant() -> None:
    grid = Grid(-3, 4)
    assert grid.points(np.array([math.nan, math.inf, -math.inf, 0.3])).tolist() == [0, LIMIT, -LIMIT, 2]
    assert grid.points([math.nan, math.inf, -math.inf, 0.3]).tolist() == [0, LIMIT, -LIMIT, 2]


def test_a_released_real_is_rounded_only_after_the_noise() -> None:
    grid = Grid(-3, 1)
    # 2**60 + 1 steps have no float: the nearest one leaves, still a multiple of the step
    assert grid.release(2.0**57, lambda size: 1) == 2.0**57
    assert grid.release(10**30, lambda size: 0) == 1e30
    assert Grid(-1000).release(0, lambda size: 2**1100) == 2.0**100
    assert Grid(900).release(0, lambda size: -(2**200)) == -1.7976931348623157e308


@pytest.mark.parametrize(("one", "other"), [(0.1, 0.3), (1e-300, 0.7), (-1.0, 0.99999), (2.0**30 + 0.1, 2.0**30)])
def test_the_sets_of_reachable_outputs_are_the_same_for_neighbours(one: float, other: float) -> None:
    """The classic attack on float noise looks for outputs that only one of two inputs can give."""
    grid = Grid(-20, 1)
    centre = rounded(one, -20)
    window = range(-5000, 5000)
    reach = [
        {grid.release(value, lambda size, k=k, v=value: k + centre - rounded(v, -20)) for k in window}
        for value in (one, other)
    ]
    assert reach[0] == reach[1]
    assert reach[0] == {math.ldexp(centre + k, -20) for k in window}


@pytest.mark.parametrize(
    "values", [True, "1", None, 1j, np.array([1j]), np.array(["a"]), np.array([True]), [True], ["a"], [None]]
)
def test_what_is_no_real_number_by_its_type_is_refused(values: Any) -> None:
    with pytest.raises(ParameterError, match="parameter must be"):
        Grid(0, 5).release(values, lambda size: 0 if size is None else np.zeros(size, dtype=np.int64))


def test_extended_floats_are_refused_because_converting_them_could_move_them_apart() -> None:
    refused(lambda: Grid(0, 5).points(np.array([1.0], dtype=np.longdouble)), "values")


def test_more_values_than_declared_are_refused() -> None:
    refused(lambda: Grid(0, 2).release([1.0, 2.0, 3.0], lambda size: np.zeros(size, dtype=np.int64)), "values")


@given(
    st.lists(st.one_of(finite, st.integers(-(2**60), 2**60), near_ties), min_size=1, max_size=5),
    st.integers(-1000, 900),
)
def test_ceilings_are_exact(values: list[float | int], exponent: int) -> None:
    expected = [min(max(math.ceil(Fraction(v) / Fraction(2) ** exponent), -1000), 1000) for v in values]
    assert ceilings(values, exponent, -1000, 1000).tolist() == expected
    floats = [v for v in values if isinstance(v, float)]
    exact = [min(max(math.ceil(Fraction(v) / Fraction(2) ** exponent), -1000), 1000) for v in floats]
    assert ceilings(np.array(floats, dtype=float), exponent, -1000, 1000).tolist() == exact


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_the_floor_of_a_binary_logarithm_is_exact(value: Fraction) -> None:
    assert Fraction(2) ** floor_log2(value) <= value < Fraction(2) ** (floor_log2(value) + 1)


def test_powers_of_two_are_recognised() -> None:
    assert [exponent_of(g) for g in (1, 0.5, 8, Fraction(1, 1024), "1/4")] == [0, -1, 3, -10, -2]
