"""The query behind quantiles against ranks counted in Python: ties, empty cells, NULL keys, small and large windows."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tacit.plan import rank_query as module
from tacit.plan.rank_query import Window, rank_query

ROWS = "SELECT k AS k0, x AS v FROM t WHERE NOT x IS NULL"


def run(rows: list[tuple[Any, Any]], points: int, windows: list[Window] | None) -> list[tuple[Any, ...]]:
    parsed = sqlglot.parse_one(ROWS, read="duckdb")
    assert isinstance(parsed, exp.Select)
    query = rank_query(parsed, ["k0"], [True], points, windows)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (k VARCHAR, x BIGINT)")
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        return sorted(connection.execute(query.sql(dialect="duckdb")).fetchall(), key=str)


def truth(rows: list[tuple[Any, Any]], windows: list[Window] | None) -> list[tuple[Any, ...]]:
    cells: dict[Any, list[int]] = defaultdict(list)
    for key, value in rows:
        if value is not None:
            cells[key].append(value)
    found = []
    for key, values in cells.items():
        total = len(values)
        for value, count in Counter(values).items():
            below = sum(each < value for each in values)
            if windows is None or any(_near(window, below, count, total) for window in windows):
                found.append((key, value, below, count, total))
    return sorted(found, key=str)


def _near(window: Window, below: int, count: int, total: int) -> bool:
    wanted = Fraction(window.numerator * total, window.denominator)
    if window.cap is not None:
        wanted = min(Fraction(window.cap, 2), Fraction(total, 2))
        wanted = total - wanted if window.from_top else wanted
    return below <= wanted + window.reach and below + count >= wanted - window.reach


WINDOWS = st.lists(
    st.one_of(
        st.builds(Window, st.integers(1, 9), st.just(10), st.integers(0, 5)),
        st.builds(Window, st.just(1), st.just(2), st.integers(0, 3), st.integers(2, 20), st.booleans()),
    ),
    min_size=1,
    max_size=4,
)
POINTS = 1000


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]),
            st.one_of(st.none(), st.sampled_from([0, 999]), st.integers(0, 5), st.integers(0, POINTS - 1)),
        ),
        max_size=60,
    ),
    st.one_of(st.none(), WINDOWS),
    st.sampled_from([(12, 10, 7), (1, 3, 2), (1, 1, 3), (1, 8, 2)]),
)
def test_the_values_near_the_wanted_ranks_come_back_with_their_exact_ranks(
    rows: list[tuple[Any, Any]], windows: list[Window] | None, passes: tuple[int, int, int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, bits in zip(("_SMALL", "_FIRST", "_NEXT"), passes, strict=True):
            patch.setattr(module, name, bits)
        assert run(rows, POINTS, windows) == truth(rows, windows)


def test_a_large_grid_takes_a_few_passes_and_a_small_one_takes_one() -> None:
    def passes(points: int) -> int:
        parsed = sqlglot.parse_one(ROWS, read="duckdb")
        assert isinstance(parsed, exp.Select)
        text = rank_query(parsed, ["k0"], [True], points, [Window(1, 2, 5)]).sql(dialect="duckdb")
        return text.count("COUNT(*)")

    assert [passes(points) for points in (1, 111, 4096, 4097, 10**9, 1 << 40)] == [1, 1, 1, 2, 4, 6]
