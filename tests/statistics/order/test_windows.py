"""Local sensitivity of order statistics at every distance, against enumeration of all data sets on small grids."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from tacit.statistics.order.windows import (
    REACH,
    Rank,
    Sorted,
    smooth_sensitivity,
    smooth_sensitivity_replaced,
    units_to_exceed,
)

Table = tuple[int, ...]  # how many rows have each value

QUANTILES = [Fraction(text) for text in ("0", "1/4", "1/3", "2/5", "1/2", "2/3", "3/4", "9/10", "1")]


def rows_of(values: Table, table: Table) -> list[int]:
    return [value for value, count in zip(values, table, strict=True) for _ in range(count)]


def plain(values: Table, table: Table, q: Fraction) -> int:
    """The order statistic by its definition, with nothing of the library."""
    rows = rows_of(values, table)
    m = math.ceil(q * len(rows)) if q else 1
    return values[0] if m < 1 else values[-1] if m > len(rows) else rows[m - 1]


@cache
def enumerated(values: Table, q: Fraction, r: int, most: int, farthest: int) -> dict[tuple[Table, int], int]:
    """A(a) of every table of at most `most` - a - r rows, by walking over all tables."""
    tables = [each for each in itertools.product(range(most + 1), repeat=len(values)) if sum(each) <= most]
    statistic = {each: plain(values, each, q) for each in tables}
    units = [each for each in itertools.product(range(r + 1), repeat=len(values)) if 1 <= sum(each) <= r]
    moves = dict.fromkeys(tables, 0)
    for each in tables:
        for unit in units:
            other = tuple(a + b for a, b in zip(each, unit, strict=True))
            if other in moves:
                moved = abs(statistic[each] - statistic[other])
                moves[each], moves[other] = max(moves[each], moved), max(moves[other], moved)
    found = {}
    for distance in range(farthest + 1):
        found |= {(each, distance): moves[each] for each in tables if sum(each) + distance + r <= most}
        before = dict(moves)
        for each in tables:
            for place in range(len(values)):
                other = (*each[:place], each[place] + 1, *each[place + 1 :])
                if other in before:
                    moves[each] = max(moves[each], before[other])
                    moves[other] = max(moves[other], before[each])
    return found


def lines(values: Table, q: Fraction, r: int, most: int, farthest: int) -> Iterator[tuple[Sorted, int, int]]:
    for (table, distance), truth in enumerated(values, q, r, most, farthest).items():
        codes = np.array(rows_of(values, table), dtype=np.int64)
        yield Sorted(codes, values[0], values[-1], Rank(q), r), distance, truth


@pytest.mark.parametrize("q", QUANTILES)
def test_added_or_removed_rows_move_it_exactly_as_far_as_enumeration_says(q: Fraction) -> None:
    for values in ((0, 1, 3), (0, 4, 5)):
        for line, distance, truth in lines(values, q, 1, 12, 4):
            assert line.moves_within(distance) == truth


@pytest.mark.parametrize("q", QUANTILES)
@pytest.mark.parametrize("r", [2, 3])
def test_units_of_several_rows_move_it_no_further_and_just_as_far_while_a_unit_of_rows_is_left(
    q: Fraction, r: int
) -> None:
    for line, distance, truth in lines((0, 1, 3), q, r, 11, 3):
        found = line.moves_within(distance)
        assert found >= truth
        if distance <= line.codes.size - r:
            assert found == truth


@pytest.mark.parametrize("q", QUANTILES)
def test_replaced_rows_move_it_exactly_as_far_as_enumeration_says(q: Fraction) -> None:
    values = (0, 1, 3)
    for n in (1, 2, 5, 9):
        tables = [each for each in itertools.product(range(n + 1), repeat=len(values)) if sum(each) == n]
        statistic = {each: plain(values, each, q) for each in tables}
        apart = {(x, y): sum(abs(a - b) for a, b in zip(x, y, strict=True)) // 2 for x in tables for y in tables}
        moves = {x: max(abs(statistic[x] - statistic[y]) for y in tables if apart[x, y] <= 1) for x in tables}
        for x in tables:
            line = Sorted(np.array(rows_of(values, x)), 0, 3, Rank(q))
            for distance in range(4):
                truth = max(moves[y] for y in tables if apart[x, y] <= distance)
                assert line.replaced_within(distance) == truth


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)])
def test_the_smooth_sensitivity_is_the_discounted_maximum_over_all_distances(q: Fraction) -> None:
    for values in ((0, 1, 3), (0, 2, 9)):
        for r in (1, 2):
            for table in itertools.product(range(4), repeat=3):
                line = Sorted(np.array(rows_of(values, table), dtype=np.int64), 0, values[-1], Rank(q), r)
                distances = range(sum(table) + r + 2)
                moves = [line.moves_within(a) for a in distances]
                replaced = [line.replaced_within(a) for a in distances] if r == 1 and sum(table) else None
                for smoothness in (Fraction(1, 50), Fraction(1, 2)):
                    rate = float(smoothness) / r
                    truth = max(math.exp(-rate * a) * moved for a, moved in enumerate(moves))
                    assert smooth_sensitivity(line, smoothness) == pytest.approx(truth, rel=1e-12)
                    if replaced is not None:
                        truth = max(math.exp(-rate * a) * moved for a, moved in enumerate(replaced))
                        assert smooth_sensitivity_replaced(line, smoothness) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(7, 8), Fraction(1)])
def test_neighbours_differ_by_the_smoothness_and_the_distance_by_one(q: Fraction) -> None:
    random = np.random.default_rng(5)
    smoothness, low, high = Fraction(1, 7), 0, 1000
    for _ in range(70):
        r = int(random.integers(1, 4))
        codes = np.sort(random.integers(low, high + 1, random.integers(0, 40)) // random.choice([1, 100]))
        more = np.sort(np.append(codes, random.integers(low, high + 1, random.integers(1, r + 1))))
        x, y = (Sorted(each, low, high, Rank(q), r) for each in (codes, more))
        first, second = smooth_sensitivity(x, smoothness), smooth_sensitivity(y, smoothness)
        assert abs(math.log(first / second)) <= float(smoothness) * (1 + 1e-12)
        assert min(first, second) >= abs(x.value - y.value)
        for bound in (0, 3, 50, 400):
            near = units_to_exceed(x, bound), units_to_exceed(y, bound)
            assert abs(near[0] - near[1]) <= 1
            if abs(x.value - y.value) > bound:
                assert near == (0, 0)


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
def test_the_distance_to_a_larger_move_is_the_one_by_enumeration(q: Fraction) -> None:
    truths = enumerated((0, 1, 3), q, 1, 12, 4)
    for table in {table for table, _ in truths}:
        line = Sorted(np.array(rows_of((0, 1, 3), table), dtype=np.int64), 0, 3, Rank(q))
        for bound in (0, 1, 2):
            known = [distance for distance in range(5) if truths.get((table, distance), 0) > bound]
            if known:
                assert units_to_exceed(line, bound) == known[0]
    codes = np.arange(9, dtype=np.int64)
    assert units_to_exceed(Sorted(codes, 0, 8, Rank(q)), 8) == REACH
    assert units_to_exceed(Sorted(np.full(9, 4), 0, 8, Rank(Fraction(1, 2))), 3, replaced=True) == 4


def test_a_million_rows_are_the_same_work_as_their_middle() -> None:
    codes = np.sort(np.random.default_rng(1).integers(0, 2**32, 10**6))
    line = Sorted(codes, 0, 2**32, Rank(Fraction(1, 2)))
    middle = Sorted(codes[499_000:501_000], 0, 2**32, Rank(Fraction(1, 2)))
    assert smooth_sensitivity(line, Fraction(1, 6)) == pytest.approx(smooth_sensitivity(middle, Fraction(1, 6)))
