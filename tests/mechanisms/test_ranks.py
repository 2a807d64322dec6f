"""Choices from leaves whose inside is not known: by every draw that can happen, their law is that of the definition."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import TacitError
from tacit.mechanisms import Extreme, Quantiles, quantiles, rank_choice
from tacit.mechanisms.quantiles import Choosing
from tacit.mechanisms.ranks import Found, Leaves, Line, Lookup, with_values
from tests.effort import every, tried
from tests.mechanisms.laws import Draws, draws
from tests.mechanisms.test_quantiles import HALF, THREE, Definition, assert_same, clamp, listed

__all__ = ["clamp", "draws"]

Cuts = Sequence[tuple[int, int]]
ROWS = [[], [2], [0, 0, 0, 4], [1, 1, 2, 3, 3, 3, 3], [0, 1, 2, 3, 4, 4]]
CUTS: list[Cuts] = [[(0, 4)], [(0, 1), (2, 4)], [(0, 0), (1, 3), (4, 4)], [(1, 2)], []]


def leaves(rows: Sequence[int], cuts: Cuts) -> tuple[Leaves, int]:
    """These stretches as leaves, where they hold rows; those that are not named are left out."""
    held = [(first, last) for first, last in cuts if any(first <= row <= last for row in rows)]
    below = [sum(row < first for row in rows) for first, _ in held]
    inside = [sum(first <= row <= last for row in rows) for first, last in held]
    return ([first for first, _ in held], [last for _, last in held], below, inside), len(rows)


def answer(rows: Sequence[int], asked: Lookup) -> Found:
    within = [row for row in rows if asked.first <= row <= asked.last]
    lower, upper = [row for row in within if row < asked.point], [row for row in within if row > asked.point]
    return Found(len(lower), within.count(asked.point), max(lower, default=None), min(upper, default=None))


def chosen(choosing: Choosing, rows: Sequence[int], times: list[int] | None = None) -> tuple[int, ...]:
    """What comes out when every question is answered from the rows."""
    try:
        asked = next(choosing)
        while True:
            if times is not None:
                times.append(len(asked))
            asked = choosing.send([answer(rows, each) for each in asked])
    except StopIteration as done:
        return tuple(done.value)


# One in three of all combinations: in steps of three every table, every cut and both shares meet all others in turn.
SOME = every(3, itertools.product(["1/2", "9/10"], ROWS, CUTS))


@pytest.mark.parametrize(("share", "rows", "cuts"), SOME, ids=str)
def test_one_quantile_of_leaves_has_the_law_of_its_definition(
    draws: Draws, clamp: int, rows: list[int], cuts: Cuts, share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_choice, "AHEAD", 1)
    q = Fraction(share)
    mechanism = Quantiles(5, [q], 3, Fraction(3, 2))
    law = draws.law(lambda: chosen(mechanism.choosing(*leaves(rows, cuts)), rows))
    truth = Definition(rows, 5, 1, 3, Fraction(3, 2)).points_by(0, 5, q * len(rows), max(q, 1 - q), clamp)
    assert_same(law, {(x,): chance for x, chance in truth})


@pytest.mark.parametrize("ahead", [2, 3])
def test_trials_drawn_ahead_leave_the_law_as_it_is(draws: Draws, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_choice, "AHEAD", ahead)
    monkeypatch.setattr(quantiles, "_clamp", lambda *_: 3)
    rows = [0, 1, 1, 1, 2]
    mechanism = Quantiles(3, HALF, 1, Fraction(2))
    law = draws.law(lambda: chosen(mechanism.choosing(*leaves(rows, [(0, 2)])), rows))
    truth = Definition(rows, 3, 1, 1, Fraction(2)).points_by(0, 3, Fraction(5, 2), Fraction(1, 2), 3)
    assert_same(law, {(x,): chance for x, chance in truth})


@pytest.mark.parametrize(
    ("rows", "cuts"),
    [
        ([0, 1, 1, 2], [(0, 2)]),
        ([0, 1, 1, 2], [(1, 2)]),
        ([0, 0, 2], [(0, 1), (2, 2)]),
        ([1, 1, 1, 1, 1], []),
        ([0, 0, 0, 0, 1, 2], [(0, 0), (1, 2)]),
    ],
    ids=str,
)
def test_three_quantiles_of_leaves_have_the_law_of_their_definition(
    draws: Draws, clamp: int, rows: list[int], cuts: Cuts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_choice, "AHEAD", 1)
    monkeypatch.setattr(quantiles, "SPLIT", 2)
    mechanism = Quantiles(3, THREE, 2, Fraction(4))
    law = draws.law(lambda: chosen(mechanism.choosing(*leaves(rows, cuts)), rows))
    assert_same(law, Definition(rows, 3, 2, 2, Fraction(4) / 2).together(THREE, clamp))


@pytest.mark.parametrize("greatest", [False, True], ids=["least", "greatest"])
@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_an_extreme_of_leaves_has_the_law_of_its_definition(
    draws: Draws, clamp: int, cuts: Cuts, greatest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_choice, "AHEAD", 1)
    monkeypatch.setattr(Extreme, "rank", 2)
    rows = [0, 1, 2, 3, 4, 4]
    mechanism = Extreme(5, greatest, 2, Fraction(1))
    law = draws.law(lambda: chosen(mechanism.choosing(*leaves(rows, cuts)), rows))
    wanted = Fraction(4 if greatest else 2)
    truth = Definition(rows, 5, 1, 2, Fraction(1)).points_by(0, 5, wanted, Fraction(1), clamp)
    assert_same(law, {(x,): chance for x, chance in truth})


def test_where_all_is_known_nothing_is_asked_and_where_it_is_not_it_must_be() -> None:
    rows = [0, 0, 2, 7]
    times: list[int] = []
    values, below, counts, total = listed(rows)
    chosen(Quantiles(8, THREE, 1, 1).choosing((values, values, below, counts), total), rows, times)
    assert not times
    with pytest.raises(TacitError, match="all values"):
        Quantiles(8, HALF, 1, 1).choose([], [], [], 4)


@pytest.mark.parametrize("shares", [HALF, [Fraction(place, 10) for place in range(1, 10)]], ids=["one", "nine"])
@pytest.mark.parametrize("epsilon", [1, 10**6])
def test_few_rounds_are_enough_however_the_rows_lie(shares: list[Fraction], epsilon: int) -> None:
    """One leaf of everything, on a grid of 2**40, with rows that lie close in one corner of it, or far apart."""
    generator = np.random.default_rng(3)
    for rows in (
        generator.integers(0, 1 << 40, 300).tolist(),
        generator.integers(0, 1000, 300).tolist(),
        [0] * 150 + [(1 << 40) - 1] * 150,
        np.exp(generator.normal(10, 4, 300)).astype(np.int64).tolist(),
    ):
        times: list[int] = []
        mechanism = Quantiles(1 << 40, shares, 1, epsilon)
        found = chosen(mechanism.choosing(([0], [(1 << 40) - 1], [0], [300]), 300), rows, times)
        assert list(found) == sorted(found)
        assert len(times) < 200


def test_a_line_that_has_learned_every_point_is_the_line_of_all_values() -> None:
    rows = [1, 1, 3, 4, 4, 4, 8]
    values, below, counts, total = listed(rows)
    full = Line(10, 4, (values, values, below, counts), total)
    for order in itertools.islice(itertools.permutations(range(10)), 0, None, 40_000):
        line = Line(10, 4, *leaves(rows, [(2, 5)]))
        for point in order:
            if not line.knows(point):
                line.learn(line.asked(point), answer(rows, line.asked(point)))
        for name in ("starts", "stops", "least", "most", "slopes"):
            assert getattr(line.pieces, name).tolist() == getattr(full.pieces, name).tolist()
        assert [line.mass(place) for place in range(41)] == [full.mass(place) for place in range(41)]


@settings(max_examples=tried(200), deadline=None)
@given(
    st.lists(st.one_of(st.integers(0, 40), st.sampled_from([7, 8])), max_size=60),
    st.lists(st.integers(0, 40), max_size=6),
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.integers(1, 6),
)
def test_leaves_whose_rows_are_read_fall_apart_into_small_ones_with_exact_ranks(
    rows: list[int], cuts: list[int], opened: list[bool], grain: int
) -> None:
    ends = sorted({*cuts, 40})
    known, total = leaves(rows, list(zip([0, *(end + 1 for end in ends)], ends, strict=False)))
    mask = np.array(opened[: len(known[0])], dtype=np.bool_)
    stretches = [(known[0][place], known[1][place]) for place in np.flatnonzero(mask)]
    values = np.array(sorted(row for row in rows if any(low <= row <= high for low, high in stretches)), dtype=np.int64)
    found = with_values(known, mask, values, grain)
    Line(41, 1, found, total)  # they are in order, and none overlaps another
    for first, last, below, held in zip(*(column.tolist() for column in found), strict=True):
        assert below == sum(row < first for row in rows)
        assert held == sum(first <= row <= last for row in rows) > 0
        if any(low <= first <= high for low, high in stretches):
            assert first == last or held < 2 * grain
            assert {first, last} <= set(rows)
        else:
            assert (first, last) in zip(known[0], known[1], strict=True)
    assert sum(found[3].tolist()) == total


@pytest.mark.parametrize("values", [[1], [1, 2, 3], [3, 1], [0, 2], [2, 4]], ids=str)
def test_rows_that_cannot_be_those_of_a_leaf_are_refused(values: list[int]) -> None:
    with pytest.raises(ValueError, match="contradict"):
        with_values(([1], [3], [0], [2]), np.array([True]), np.array(values), 1)


def test_a_leaf_that_is_hardly_ever_refused_is_drawn_from_once() -> None:
    """At epsilon 1e-6 a row changes next to nothing: the first candidate is kept, and no other is asked for."""
    rows = list(range(100))
    times: list[int] = []
    chosen(Quantiles(100, HALF, 1, Fraction(1, 10**6)).choosing(([0], [99], [0], [100]), 100), rows, times)
    assert times == [1]


@pytest.mark.parametrize(
    "found",
    [
        Found(3, 0, 1, 3),
        Found(0, 3, None, None),
        Found(1, 0, None, 3),
        Found(1, 0, 0, 3),
        Found(1, 0, 1, None),
        Found(1, 0, 1, 4),
        Found(-1, 1, None, 3),
    ],
    ids=str,
)
def test_answers_that_cannot_be_true_are_refused(found: Found) -> None:
    line = Line(5, 1, ([1], [3], [0], [2]), 2)
    with pytest.raises(ValueError, match="contradict"):
        line.learn(line.asked(2), found)


@pytest.mark.parametrize(
    ("listed_leaves", "total"),
    [
        (([0, 1], [1, 2], [0, 1], [1, 1]), 2),
        (([0], [4], [0], [0]), 0),
        (([2], [1], [0], [1]), 1),
        (([0], [1], [1], [1]), 2),
        (([0, 2], [1, 2], [0, 1], [2, 1]), 3),
        (([4], [4], [0], [1]), 2),
        (([0], [9], [0], [1]), 1),
        (([], [], [], []), -1),
    ],
    ids=str,
)
def test_leaves_that_cannot_be_are_refused(listed_leaves: Any, total: int) -> None:
    with pytest.raises(ValueError, match="contradict"):
        Line(5, 1, listed_leaves, total)
