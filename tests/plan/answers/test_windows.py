"""Window functions over an answer: as DuckDB has them, with the noise of all they add."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from tacit.plan import KnownKeys, Plan, finish, make_plan
from tacit.plan.answers.bends import HALF_A_STEP
from tacit.plan.plan import Expected
from tacit.question import read
from tests.plan.copies import clinic

LEVELS = (1, 2, 5)
COUNTS = {1: 40, 2: 70, 5: 40}


def answered(sql: str) -> tuple[Plan, list[tuple[Any, ...]]]:
    """The answer where the noise happens to be zero: 40 rows of level 1, 70 of level 2, 40 of level 5."""
    plan = make_plan(read(sql), clinic(), epsilon=1)
    assert isinstance(plan.keys, KnownKeys)
    table = finish(plan, plan.keys.cells, [np.array([COUNTS[level] for (level,) in plan.keys.cells])])
    return plan, list(zip(*table.columns, strict=True))


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits AS SELECT unnest([1, 2, 5]) AS level, unnest([40, 70, 40]) AS n")
    connection.execute("CREATE TABLE rows AS SELECT level FROM visits, range(n)")
    return connection


WINDOWS = [
    "rank() OVER (ORDER BY count(*) DESC)",
    "dense_rank() OVER (ORDER BY count(*))",
    "row_number() OVER (ORDER BY count(*), level DESC)",
    "percent_rank() OVER (ORDER BY count(*))",
    "cume_dist() OVER (ORDER BY count(*) DESC)",
    "sum(count(*)) OVER ()",
    "sum(count(*)) OVER (ORDER BY level)",
    "sum(count(*)) OVER (ORDER BY count(*))",
    "avg(count(*)) OVER (ORDER BY level ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "max(count(*)) OVER (ORDER BY level ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)",
    "min(level) OVER (PARTITION BY count(*) > 50)",
    "count(*) OVER (PARTITION BY count(*))",
    "lag(count(*)) OVER (ORDER BY level)",
    "lead(level, 2) OVER (ORDER BY level)",
    "first_value(level) OVER (ORDER BY count(*) DESC, level)",
    "last_value(count(*)) OVER (ORDER BY level)",
    "count(*) / sum(count(*)) OVER ()",
    "count(*) - lag(count(*), 1) OVER (ORDER BY level)",
]


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_is_what_duckdb_makes_of_the_same_rows(window: str, plain: duckdb.DuckDBPyConnection) -> None:
    _, ours = answered(f"SELECT level, {window} AS w FROM visits GROUP BY level ORDER BY level")
    theirs = plain.execute(f"SELECT level, {window} AS w FROM rows GROUP BY level ORDER BY level").fetchall()
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    assert [row[1] for row in ours] == pytest.approx([None if row[1] is None else float(row[1]) for row in theirs])


def test_having_comes_before_windows_and_qualify_after() -> None:
    sql = "SELECT level, rank() OVER (ORDER BY level) AS r FROM visits GROUP BY level"
    assert answered(sql + " HAVING count(*) < 50")[1] == [(1, 1), (5, 2)]
    assert answered(sql + " QUALIFY r > 1")[1] == [(2, 2), (5, 3)]


def test_an_outer_select_over_an_answer_is_one_question() -> None:
    inner = "SELECT level, count(*) AS n FROM visits GROUP BY level"
    assert answered(f"SELECT level, n * 2 AS twice FROM ({inner}) WHERE n > 50")[1] == [(2, 140)]
    assert answered(f"WITH t AS ({inner}) SELECT * FROM t ORDER BY n DESC, level LIMIT 2")[1] == [(2, 70), (1, 40)]


def test_a_running_total_carries_the_noise_of_all_it_adds() -> None:
    plan = make_plan(
        read("SELECT level, sum(count(*)) OVER (ORDER BY level) AS c, count(*) AS n FROM visits GROUP BY level"),
        clinic(),
        epsilon=1,
    )
    assert isinstance(plan.keys, KnownKeys)
    table = finish(plan, plan.keys.cells, [np.array([10, 20, 30])])
    one = plan.measures[0].deviation
    assert table.columns[1] == [10.0, 30.0, 60.0]
    totals = [one * rows**0.5 + HALF_A_STEP for rows in (1, 2, 3)]  # on whole steps, however many rows
    assert table.deviations[1] == pytest.approx(totals)


def test_expected_errors_know_of_windows() -> None:
    plan = make_plan(read("SELECT level, sum(count(*)) OVER () AS t FROM visits GROUP BY level"), clinic(), epsilon=1)
    assert all(isinstance(each, Expected) for each in plan.errors_at(100))
