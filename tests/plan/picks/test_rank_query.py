"""The queries behind quantiles against ranks counted in Python: ties, empty cells, NULL keys, windows of any size."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tacit.mechanisms.ranks import Line
from tacit.plan.picks import rank_query as module
from tacit.plan.picks.rank_probe import Probe, probe_query, reading_query
from tacit.plan.picks.rank_query import Keyed, RankWindow, rank_query
from tests.effort import tried
from tests.memory import fresh

ROWS = "SELECT k AS k0, n AS k1, x AS v FROM t WHERE NOT x IS NULL"
POINTS = 5000


def table(points: int) -> Keyed:
    parsed = sqlglot.parse_one(ROWS, read="duckdb")
    assert isinstance(parsed, exp.Select)
    return Keyed(parsed, ("k0", "k1"), (True, False), (True, True), points)


def run(rows: list[tuple[Any, ...]], query: exp.Expr) -> list[tuple[Any, ...]]:
    with fresh() as connection:
        connection.execute("CREATE TABLE t (k VARCHAR, n BIGINT, x BIGINT)")
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        return connection.execute(query.sql(dialect="duckdb")).fetchall()


def cells_of(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[int]]:
    cells: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for *key, value in rows:
        if value is not None:
            cells[tuple(key)].append(value)
    return cells


def near(window: RankWindow, below: int, count: int, total: int) -> bool:
    wanted = Fraction(window.numerator * total, window.denominator)
    if window.cap is not None:
        wanted = min(Fraction(window.cap, 2), Fraction(total, 2))
        wanted = total - wanted if window.from_top else wanted
    return below <= wanted + window.reach and below + count >= wanted - window.reach


def likely(window: RankWindow) -> RankWindow:
    return window if window.likely is None else replace(window, reach=window.likely)


LIKELY = st.one_of(st.none(), st.integers(0, 4))
WINDOWS = st.lists(
    st.one_of(
        st.builds(RankWindow, st.integers(1, 9), st.just(10), st.integers(0, 5), likely=LIKELY),
        st.builds(RankWindow, st.just(1), st.just(2), st.integers(0, 3), st.integers(2, 20), st.booleans(), LIKELY),
    ),
    min_size=1,
    max_size=4,
)
TABLES = st.lists(
    st.tuples(
        st.sampled_from(["a", "it's; 1 2", "", None]),
        st.sampled_from([-3, 7, None]),
        st.one_of(st.none(), st.sampled_from([0, POINTS - 1]), st.integers(700, 705), st.integers(0, POINTS - 1)),
    ),
    max_size=80,
)


PLACES = st.one_of(st.sampled_from([0, POINTS - 1]), st.integers(699, 706), st.integers(0, POINTS - 1))


@settings(max_examples=tried(25), deadline=None)
@given(TABLES, WINDOWS, st.integers(0, 6), st.sampled_from([(9, 9, 5, 9), (1, 3, 2, 1), (1, 1, 3, 2), (12, 12, 1, 1)]))
def test_leaves_near_the_wanted_ranks_come_back_with_their_exact_ranks(
    rows: list[tuple[Any, ...]], windows: list[RankWindow], grain: int, passes: tuple[int, int, int, int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, bits in zip(("_SMALL", "_FIRST", "_NEXT", "_FINER"), passes, strict=True):
            patch.setattr(module, name, bits)
        found = run(rows, rank_query(table(POINTS), windows, grain))
    leaves: dict[tuple[Any, ...], list[tuple[int, ...]]] = defaultdict(list)
    for first_key, second_key, *leaf in found:
        leaves[first_key, second_key].append(tuple(leaf))
    cells = cells_of(rows)
    assert set(leaves) <= set(cells)
    for cell, values in cells.items():
        listed = sorted(leaves[cell])
        for first, last, below, held, total in listed:
            assert total == len(values)
            assert below == sum(value < first for value in values)
            assert held == sum(first <= value <= last for value in values) > 0
            # small enough, or a single point; what has no more rows than the grain may have come together
            small = first == last or held <= max(3 * grain, 1)
            assert small or not any(near(each, below, held, total) for each in map(likely, windows))
        # none overlaps another: the line takes them as they are
        columns = [[leaf[place] for leaf in listed] for place in range(4)]
        Line(POINTS, 1, (columns[0], columns[1], columns[2], columns[3]), len(values))
        # every value near a wanted rank lies in a leaf
        for value in set(values):
            below, count = sum(each < value for each in values), values.count(value)
            if any(near(window, below, count, len(values)) for window in windows):
                assert any(first <= value <= last for first, last, *_ in listed)


@pytest.mark.parametrize("points", [20, POINTS], ids=["one pass", "several"])
def test_a_window_holds_its_ends_and_nothing_beyond_them(points: int) -> None:
    rows = [("a", 1, value) for value in range(20)]
    for window, low, high in (
        (RankWindow(1, 2, 3), 6, 13),
        (RankWindow(1, 4, 0), 4, 5),
        (RankWindow(1, 2, 2, cap=8), 1, 6),
        (RankWindow(1, 2, 2, cap=8, from_top=True), 13, 18),
    ):
        found = run(rows, rank_query(table(points), [window], 0))
        assert sorted(leaf[2] for leaf in found) == list(range(low, high + 1))


def test_what_leaves_the_engine_does_not_grow_with_the_rows() -> None:
    windows = [RankWindow(place, 10, 200) for place in range(1, 10)]
    query = rank_query(table(1 << 30), windows, 20).sql(dialect="duckdb")
    found = []
    with fresh() as connection:
        for size in (100_000, 400_000):
            connection.execute(
                f"CREATE OR REPLACE TABLE t AS SELECT 'a' AS k, 1::BIGINT AS n, "
                f"(hash(i) % {1 << 30})::BIGINT AS x FROM range({size}) s(i)"
            )
            found.append(len(connection.execute(query).fetchall()))
    # 9 windows of 400 rows in leaves of 20 rows, some of them cut at the ends
    assert all(150 < each < 400 for each in found)
    assert found[1] < 1.2 * found[0]


@settings(max_examples=20, deadline=None)
@given(TABLES, st.lists(st.tuples(PLACES, PLACES, PLACES), min_size=1, max_size=12), st.integers(0, 3))
def test_a_probe_counts_the_rows_on_either_side_of_a_point(
    rows: list[tuple[Any, ...]], places: list[tuple[int, ...]], start: int
) -> None:
    cells = cells_of(rows)
    keys: list[Any] = [*cells, ("nobody", 5)]
    probes = [
        Probe((start + number) % len(keys), *(sorted(three)[place] for place in (0, 2, 1)))
        for number, three in enumerate(places)
    ]
    found = {line[0]: line[1:] for line in run(rows, probe_query(table(POINTS), keys, probes))}
    for number, probe in enumerate(probes):
        inside = [value for value in cells.get(keys[probe.cell], []) if probe.first <= value <= probe.last]
        below = [value for value in inside if value < probe.point]
        above = [value for value in inside if value > probe.point]
        expected = (len(below), inside.count(probe.point), max(below) + 1 if below else None, min(above, default=None))
        assert found.get(number, (0, 0, None, None)) == expected
        assert (number in found) == bool(inside)


@settings(max_examples=20, deadline=None)
@given(TABLES, st.lists(st.tuples(PLACES, PLACES), min_size=1, max_size=12), st.integers(0, 3))
def test_a_reading_returns_all_rows_of_a_stretch(
    rows: list[tuple[Any, ...]], places: list[tuple[int, ...]], start: int
) -> None:
    cells = cells_of(rows)
    keys: list[Any] = [*cells, ("nobody", 5)]
    stretches = [Probe((start + number) % len(keys), min(two), max(two), min(two)) for number, two in enumerate(places)]
    found = sorted(divmod(packed, POINTS) for (packed,) in run(rows, reading_query(table(POINTS), keys, stretches)))
    assert found == sorted(
        (number, value)
        for number, stretch in enumerate(stretches)
        for value in cells.get(keys[stretch.cell], [])
        if stretch.first <= value <= stretch.last
    )


def test_without_keys_a_probe_reads_all_rows() -> None:
    parsed = sqlglot.parse_one("SELECT x AS v FROM t", read="duckdb")
    assert isinstance(parsed, exp.Select)
    whole = Keyed(parsed, (), (), (), POINTS)
    rows = [("a", 1, value) for value in (3, 3, 8)]
    assert run(rows, probe_query(whole, [()], [Probe(0, 0, 9, 5)])) == [(0, 2, 0, 4, 8)]
    assert sorted(run(rows, rank_query(whole, [RankWindow(1, 2, 9)], 0))) == [(3, 3, 0, 2, 3), (8, 8, 2, 1, 3)]


def test_a_large_grid_takes_a_few_passes_and_a_small_one_takes_one() -> None:
    def passes(points: int, windows: int) -> int:
        text = rank_query(table(points), [RankWindow(1, 2, 5)] * windows, 10).sql(dialect="duckdb")
        return text.count("COUNT(*)")

    assert [passes(points, 1) for points in (1, 111, 512, 513, 10**9, 1 << 40)] == [1, 1, 1, 2, 6, 8]
    # with many windows one more, over all cells together
    assert [passes(points, 9) for points in (1, 512, 513, 10**9, 1 << 40)] == [1, 1, 3, 5, 7]
