"""Intervals by rank hold the quantiles of every small data set, and their losses move by their sensitivity at most."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.noise import SeededBitsForTestsOnly
from tacit.statistics.frameworks.own_functions import outputs
from tacit.statistics.frameworks.sample_and_aggregate import SampleAndAggregate, _Median
from tacit.statistics.order.methods import ByRank, Frame
from tacit.statistics.order.rank_interval import RankInterval, widths_of
from tests.statistics.test_smooth_interval import neighbours, tables

LEVEL = Fraction(19, 20)

ONE_AND_SEVERAL = [
    (Fraction(0),),
    (Fraction(1, 10),),
    (Fraction(1, 2),),
    (Fraction(3, 4),),
    (Fraction(1),),
    (Fraction(1, 3), Fraction(3, 4)),  # the second is further from one half
]


@functools.lru_cache(maxsize=10_000)  # the same whatever epsilon is
def room_by_hand(
    points: int, shares: tuple[Fraction, ...], chosen: tuple[int, ...], lists: tuple[tuple[int, ...], ...]
) -> list[int]:
    """By how many rows, times the common denominator, each width but the last holds all the quantiles."""
    d = math.lcm(*(share.denominator for share in shares))
    room = []
    for width in widths_of(points).tolist()[:-1]:
        sides = []
        for share, point, rows in zip(shares, chosen, lists, strict=True):
            p, n = int(d * share), len(rows)
            sides += [p * n - d * sum(row < point - width for row in rows)] if share != 0 else []
            sides += [d * sum(row <= point + width for row in rows) - p * n] if share != 1 else []
        room.append(min(sides))
    return room


def losses_by_hand(interval: RankInterval, chosen: list[int], lists: list[list[int]]) -> list[int]:
    """From the definition, row by row."""
    room = room_by_hand(interval.points, interval.shares, tuple(chosen), tuple(map(tuple, lists)))
    stretches = itertools.pairwise([-math.inf, *room, math.inf])
    return [int(max(low + 1 - interval.target, interval.target - high, 0)) for low, high in stretches]


def tally(rows: list[int]) -> Any:
    return np.unique(np.array(rows, dtype=np.int64), return_counts=True)


@pytest.mark.parametrize("shares", ONE_AND_SEVERAL)
def test_intervals_by_rank_hold_the_quantiles_of_every_small_data_set(shares: tuple[Fraction, ...]) -> None:
    """The exact law of the choice, over all data sets of one to five rows on six points, and released points."""
    sets = [[v for v, n in enumerate(table) for _ in range(n)] for table in tables(6, 5) if sum(table)]
    widths, count = widths_of(6), len(shares)
    for epsilon in (Fraction(1), Fraction(8), Fraction(60)):
        interval = RankInterval.of(6, shares, 1, epsilon, Fraction(4, 5))
        for rows in sets:
            truths = [rows[max(math.ceil(share * len(rows)), 1) - 1] for share in shares]
            for chosen in ([0, 5], [2, 2], [5, 3]):
                losses = interval._losses(chosen[:count], [tally(rows)] * count, widths)
                assert losses.tolist() == losses_by_hand(interval, chosen[:count], [rows] * count)
                weights = np.exp(-float(interval.choice.factor) * losses)
                held = np.ones(widths.size, dtype=bool)
                for share, point, truth in zip(shares, chosen, truths, strict=False):
                    held &= (share == 0) | (point - widths <= truth)
                    held &= (share == 1) | (point + widths >= truth)
                assert weights[held].sum() / weights.sum() >= 0.8


@pytest.mark.parametrize("shares", ONE_AND_SEVERAL)
@pytest.mark.parametrize("rows", [1, 2])
def test_losses_of_widths_move_by_their_sensitivity_at_most(shares: tuple[Fraction, ...], rows: int) -> None:
    epsilon, count = Fraction(30), len(shares)
    interval = RankInterval.of(6, shares, rows, epsilon, LEVEL)
    sensitivity = epsilon / (2 * interval.choice.factor)
    widths, worst = widths_of(6), 0
    for table in tables(3, 5):
        for other in neighbours(table, rows):
            one, two = (tally(np.repeat(np.array([0, 2, 5]), each).tolist()) for each in (table, other))
            for chosen in ([0, 5], [2, 2], [5, 3]):
                first, second = (interval._losses(chosen[:count], [each] * count, widths) for each in (one, two))
                worst = max(worst, int(np.abs(first - second).max()))
    assert worst == sensitivity


@pytest.mark.parametrize("shares", ONE_AND_SEVERAL)
def test_losses_of_widths_move_by_their_sensitivity_at_most_when_a_row_is_replaced(
    shares: tuple[Fraction, ...],
) -> None:
    """All tables of up to five rows on three of six points, with one row moved; the sensitivity is attained."""
    epsilon, count = Fraction(30), len(shares)
    interval = RankInterval.of(6, shares, 1, epsilon, LEVEL, replaced=True)
    sensitivity = epsilon / (2 * interval.choice.factor)
    widths, worst = widths_of(6), 0
    for table in tables(3, 5):
        for one, two in itertools.permutations(range(3), 2):
            if not table[one]:
                continue
            other = list(table)
            other[one], other[two] = other[one] - 1, other[two] + 1
            lists = [tally(np.repeat(np.array([0, 2, 5]), each).tolist()) for each in (table, other)]
            for chosen in ([0, 5], [2, 2], [5, 3]):
                first, second = (interval._losses(chosen[:count], [each] * count, widths) for each in lists)
                worst = max(worst, int(np.abs(first - second).max()))
    assert worst == sensitivity


def test_widths_grow_by_a_quarter_of_a_doubling_up_to_the_whole_grid() -> None:
    for points in (1, 2, 5, 1000, 2**20 + 1):
        widths = widths_of(points)
        assert widths[0] == 0
        assert widths[-1] == points
        assert len(widths) <= 4 * math.log2(points + 1) + 3
        grown = widths[widths >= 20]
        assert np.all(grown[1:] / grown[:-1] < 1.3)


def test_the_ends_of_an_extreme_are_those_of_the_grid() -> None:
    bits = SeededBitsForTestsOnly(3)
    rows = [tally([3, 4, 5])]
    assert RankInterval.of(10, [Fraction(0)], 1, Fraction(100), LEVEL).around([3], rows, bits) == [(0, 3)]
    assert RankInterval.of(10, [Fraction(1)], 1, Fraction(100), LEVEL).around([5], rows, bits) == [(5, 9)]
    assert RankInterval.of(10, [Fraction(1, 2)], 1, Fraction(100), LEVEL).around([4], rows, bits) == [(4, 4)]


def test_an_epsilon_whose_losses_do_not_fit_a_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        RankInterval.of(2**20, [Fraction(1, 2)], 1, Fraction(1, 10**20), LEVEL)


def test_quantiles_of_several_rows_of_a_unit_make_room_for_all_of_them() -> None:
    one, three = (
        ByRank.of(Frame(0, 10**6, rows, False), (Fraction(1, 2),), Fraction(1), Fraction(1, 5), LEVEL).intervals[0]
        for rows in (1, 3)
    )
    assert three.target >= 3 * one.target - 2


def test_one_block_that_says_something_else_moves_the_losses_of_widths_by_their_sensitivity_at_most() -> None:
    """All pairs of three results on a small grid that differ in one block; the sensitivity is reached."""
    study = SampleAndAggregate(len, blocks=3, output_bounds=(0, 1))
    (output,) = outputs((0, 1))
    combiner = study._combiner(output, Fraction(2), Fraction(0), Fraction(1, 2), Fraction(19, 20))
    assert isinstance(combiner, _Median)
    interval = combiner.interval
    assert interval is not None
    widths, places = widths_of(interval.points), (0, 1, 2048, 4096)

    def losses(results: tuple[int, ...], chosen: int) -> Any:
        return interval._losses([chosen], [np.unique(np.array(results), return_counts=True)], widths)

    most = 0
    for results in itertools.product(places, repeat=3):
        for other, chosen in itertools.product(places, places):
            moved = np.abs(losses(results, chosen) - losses((other, *results[1:]), chosen))
            most = max(most, int(moved.max()))
    assert most == Fraction(1) / (2 * interval.choice.factor)  # the interval has an epsilon of 1
