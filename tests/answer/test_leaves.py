"""What is known of the ranks before a choice: the rows that are read, against the rows themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.answer import leaves as module
from tacit.answer.leaves import Near, ReadRows, read
from tacit.engines.exact import Exact, Keys
from tacit.mechanisms import Extreme, Quantiles
from tacit.mechanisms.ranks import Leaves, Line, Lookup
from tacit.plan.picks.rank_probe import Probe
from tests.effort import tried
from tests.mechanisms.test_ranks import answer, leaves

POINTS = 60
VALUES = st.lists(st.one_of(st.integers(0, POINTS - 1), st.sampled_from([7, 8])), max_size=60)
STRETCHES = [(0, 4), (5, 5), (6, 19), (25, 39), (40, 41), (42, POINTS - 1)]  # 20 to 24 are in none
MECHANISMS: list[Quantiles | Extreme] = [
    Quantiles(POINTS, ["0.5"], 1, 20),
    Quantiles(POINTS, ["0.2", "0.5", "0.9"], 1, 30),
    Quantiles(POINTS, ["0.1", "0.5", "0.6"], 3, 1),
    Extreme(POINTS, True, 1, 30),
]


def as_arrays(rows: list[int], stretches: list[tuple[int, int]]) -> tuple[Leaves, int]:
    (first, last, below, held), total = leaves(rows, stretches)
    return (np.array(first), np.array(last), np.array(below), np.array(held)), total


def pick_of(mechanism: Quantiles | Extreme) -> Any:
    return SimpleNamespace(mechanism=mechanism, columns=(None,), reading=lambda cells, stretches: stretches)


@settings(max_examples=tried(150), deadline=None)
@given(
    st.lists(VALUES, min_size=1, max_size=4),
    st.sampled_from(MECHANISMS),
    st.tuples(*[st.sampled_from([1, 10**6])] * 3),
    VALUES,
)
def test_what_was_read_is_what_the_rows_are(
    tables: list[list[int]], mechanism: Quantiles | Extreme, most: tuple[int, int, int], asked_for: list[int]
) -> None:
    cells: Keys = [(number,) for number in range(len(tables))]
    near: Near = {}
    for cell, rows in zip(cells, tables, strict=True):
        if rows:
            near[cell] = as_arrays(rows, STRETCHES)

    def run(stretches: list[Probe]) -> Exact:
        found: list[int] = []
        for number, each in enumerate(stretches):
            found += [number * POINTS + row for row in tables[each.cell] if each.first <= row <= each.last]
        return Exact([()] * len(found), {module.VALUES: found[::-1]})

    with pytest.MonkeyPatch.context() as patch:
        for name, limit in zip(("_MOST_ROWS", "_MOST_STRETCHES", "_MOST_IN_ALL"), most, strict=True):
            patch.setattr(module, name, limit)
        known, shelves = read(pick_of(mechanism), run, near, cells)  # type: ignore[arg-type]
    for number, rows in enumerate(tables):
        if not rows:
            continue
        columns, total = known[cells[number]]
        line = Line(POINTS, 1, columns, total)
        for point in range(POINTS):
            if line.knows(point):
                low, high = sum(row < point for row in rows), sum(row <= point for row in rows)
                assert line.interval(point) == (low, high)
        for point in asked_for:
            if not line.knows(point):
                asked = line.asked(point)
                found = shelves[number].find(asked) if number in shelves else None
                assert found in (None, answer(rows, asked))
                if found is not None:
                    line.learn(asked, found)


@settings(max_examples=tried(200), deadline=None)
@given(VALUES, st.tuples(*[st.integers(0, POINTS - 1)] * 3))
def test_rows_that_were_read_tell_what_a_probe_would(rows: list[int], places: tuple[int, int, int]) -> None:
    first, point, last = sorted(places)
    kept = [Probe(0, 0, 19, 0), Probe(0, 25, POINTS - 1, 25)]
    here = sorted(row for row in rows if not 20 <= row <= 24)
    asked = Lookup(first, last, point, 0)
    inside = any(each.first <= first and last <= each.last for each in kept)
    found = ReadRows(np.array(here, dtype=np.int64), kept).find(asked)
    assert found == (answer(rows, asked) if inside else None)


def test_rows_that_lie_in_no_leaf_part_two_stretches() -> None:
    rows = [1, 2, 10, 21, 22]
    read_stretches: list[Probe] = []

    def run(stretches: list[Probe]) -> Exact:
        read_stretches.extend(stretches)
        return Exact([()] * 4, {module.VALUES: [2, POINTS + 21, 1, POINTS + 22]})

    near: Near = {(): as_arrays(rows, [(0, 5), (20, 25)])}
    read(pick_of(Quantiles(POINTS, ["0.5"], 1, "0.1")), run, near, [()])  # type: ignore[arg-type]
    assert [(each.first, each.last) for each in read_stretches] == [(0, 5), (20, 25)]


def test_cells_with_too_many_likely_rows_are_not_read() -> None:
    near: Near = {(): as_arrays([0, *[50] * 4_000], [(0, 50)])}
    asked: list[Any] = []

    def run(query: Any) -> Exact:
        asked.append(query)
        return Exact([], {module.VALUES: np.zeros(0, dtype=np.int64)})

    known, shelves = read(pick_of(MECHANISMS[0]), run, near, [()])
    assert (known, shelves) == (near, {})
    assert len(asked) == 1  # of one point, for the sake of the clock: one person must not decide whether there is one


def test_no_more_rows_and_stretches_are_read_at_once_than_an_engine_takes() -> None:
    cells = [
        _opened(number, rows, count) for number, (rows, count) in enumerate([(5, 3), (5, 3), (6, 1), (11, 1), (1, 9)])
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_ROWS", 10)
        patch.setattr(module, "_MOST_STRETCHES", 8)
        batches = module._batches(cells)
    assert [[each.cell for each in some] for some in batches] == [[0, 1], [2], [3], [4]]


def _opened(cell: int, rows: int, count: int) -> module._Opened:
    return module._Opened(cell, np.zeros(1, dtype=np.bool_), [Probe(cell, 0, 0, 0)] * count, rows)


def test_what_was_read_is_not_shown() -> None:
    rows = ReadRows(np.array([4711], dtype=np.int64), [Probe(0, 4711, 4711, 4711)])
    assert "4711" not in repr(rows) + repr(_opened(0, 4711, 1))
