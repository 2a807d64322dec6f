"""ROLLUP, CUBE, GROUPING SETS: every level is the sum of the finest cells, and made to agree it is nearer the truth."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import QuestionError
from tacit.plan import KnownKeys, finish, make_plan
from tacit.plan.levels import Levels
from tacit.question import read
from tests.plan.copies import clinic


@st.composite
def some_levels(draw: st.DrawFn) -> Levels:
    """A few keys of a few values, and some sets of them."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    every = [one for count in range(len(sizes) + 1) for one in itertools.combinations(range(len(sizes)), count)]
    return Levels(sizes, tuple(draw(st.lists(st.sampled_from(every), min_size=1, max_size=5, unique=True))))


def matrix(levels: Levels) -> NDArray[np.float64]:
    """From the finest cells to the cells of all levels, written out one by one."""
    finest = list(itertools.product(*(range(size) for size in levels.sizes)))
    rows = []
    for one in levels.sets:
        for cell in itertools.product(*(range(levels.sizes[key]) for key in one)):
            rows.append([float(all(at[key] == cell[place] for place, key in enumerate(one))) for at in finest])
    return np.array(rows)


@given(some_levels(), st.integers(0, 2**32 - 1))
def test_agreeing_is_the_least_squares_solution(levels: Levels, seed: int) -> None:
    noisy = np.random.default_rng(seed).normal(size=sum(levels.lengths)) * 100
    all_levels = matrix(levels)
    finest = np.linalg.pinv(all_levels, rcond=1e-9) @ noisy
    assert np.allclose(levels.agreeing(noisy, levels), all_levels @ finest, atol=1e-8)


@given(some_levels())
def test_the_spread_is_that_of_the_projection(levels: Levels) -> None:
    all_levels = matrix(levels)
    projection = all_levels @ np.linalg.pinv(all_levels, rcond=1e-9)
    assert np.allclose(levels.spread(levels) ** 2, np.diag(projection), atol=1e-9)


@given(some_levels(), st.integers(0, 2**32 - 1))
def test_sums_are_exact_and_agreeing_never_raises_the_total_error(levels: Levels, seed: int) -> None:
    random = np.random.default_rng(seed)
    finest = np.array([int(number) << 80 for number in random.integers(0, 9, np.prod(levels.sizes))], dtype=object)
    exact = levels.sums(finest)
    wanted = [sum(int(a) * b for a, b in zip(row, finest, strict=True)) for row in matrix(levels)]
    assert list(exact) == wanted
    truth = matrix(levels) @ random.integers(0, 99, np.prod(levels.sizes)).astype(float)
    noisy = truth + random.laplace(size=truth.size) * 10
    before, after = ((each - truth) @ (each - truth) for each in (noisy, levels.agreeing(noisy, levels)))
    assert after <= before + 1e-6


@given(some_levels(), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_one_unit_moves_all_levels_by_no_more_than_stated(levels: Levels, seed: int, rows: int) -> None:
    """r rows, each in some finest cell: L1 at most S r, squared L2 at most S r**2."""
    random = np.random.default_rng(seed)
    moved = np.zeros(int(np.prod(levels.sizes)))
    for cell in random.integers(0, moved.size, rows):
        moved[cell] += 1
    change = levels.sums(moved)
    assert np.abs(change).sum() <= len(levels.sets) * rows
    assert (change**2).sum() <= len(levels.sets) * rows**2 + 1e-9


ROLLUP = (
    "SELECT sex, level, count(*) AS n, sum(age) AS s, grouping(sex, level) AS g "
    "FROM visits GROUP BY ROLLUP (sex, level)"
)


def test_a_rollup_is_planned_with_every_level_and_its_sensitivity() -> None:
    plan = make_plan(read(ROLLUP), clinic(), epsilon=1)
    assert isinstance(plan.keys, KnownKeys)
    assert plan.keys.cells[:3] == (("F", 1), ("F", 2), ("F", 5))
    assert plan.keys.cells[6:] == (("F", None), ("M", None), (None, None))
    count = make_plan(read(ROLLUP.replace("sum(age)", "count(age)")), clinic(), epsilon=1).measures[0]
    assert (count.l1, count.l2**2 >= 27, count.l2**2 < Fraction(28), count.linf) == (9, True, True, 3)
    together = plan.measures[0]  # with a sum: parts that add up to 110 a row, on each of three levels
    assert (together.l1, together.linf) == (3 * 3 * 110, 3 * 110)


def test_children_sum_to_parents_in_the_answer() -> None:
    plan = make_plan(read(ROLLUP), clinic(), epsilon=1)
    random = np.random.default_rng(7)
    noisy = [random.normal(size=9) * 50 for _ in plan.measures]
    assert isinstance(plan.keys, KnownKeys)
    table = finish(plan, plan.keys.cells, noisy)
    for column in (2, 3):
        values = table.columns[column]
        assert sum(values[:3]) == pytest.approx(values[6])
        assert sum(values[6:8]) == pytest.approx(values[8])
    assert table.columns[4] == [0, 0, 0, 0, 0, 0, 1, 1, 3]


def test_a_cube_has_every_set() -> None:
    plan = make_plan(read("SELECT sex, level, count(*) FROM visits GROUP BY CUBE (sex, level)"), clinic(), epsilon=1)
    assert isinstance(plan.keys, KnownKeys)
    assert len(plan.keys.cells) == 6 + 2 + 3 + 1


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT ward, count(*) FROM visits GROUP BY ROLLUP (ward)", "keys that are known"),
        ("SELECT sex, count(DISTINCT patient) FROM visits GROUP BY ROLLUP (sex)", "does not add up"),
        ("SELECT sex, count(DISTINCT age) FROM visits GROUP BY CUBE (sex)", "does not add up"),
    ],
)
def test_what_cannot_be_levelled_is_refused(sql: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        make_plan(read(sql), clinic(), epsilon=1, delta="1/1000")
