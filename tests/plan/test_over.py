"""Window functions over an answer, questions inside outputs, and aggregates of two columns: as DuckDB has them."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from tacit.errors import QuestionError
from tacit.plan import KnownKeys, Plan, finish, make_plan
from tacit.plan.answers.bends import HALF_A_STEP
from tacit.plan.plan import Expected
from tacit.question import read
from tests.plan.copies import clinic, copy_of

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


def test_a_question_inside_is_paid_for_and_shared_by_every_cell() -> None:
    sql = "SELECT level, count(*) / (SELECT count(*) FROM visits WHERE age > 40) AS share FROM visits GROUP BY level"
    plan = make_plan(read(sql), clinic(), epsilon=1)
    alone = make_plan(read("SELECT level, count(*) FROM visits GROUP BY level"), clinic(), epsilon=1)
    assert len(plan.inner) == 1
    assert [each.block for each in plan.measures] == [0, 1]
    assert plan.measures[0].mechanism.event.scale == 2 * alone.measures[0].mechanism.event.scale  # type: ignore[union-attr]
    assert isinstance(plan.keys, KnownKeys)
    table = finish(plan, plan.keys.cells, [np.array([10, 20, 30]), np.array([40, 40, 40])])
    assert table.columns[1] == [0.25, 0.5, 0.75]
    found = copy_of(clinic(), {}).execute(plan.inner[0].text()).fetchall()
    assert found == [(0,)]


def test_a_question_inside_may_be_an_output_by_itself() -> None:
    plan = make_plan(read("SELECT count(*), (SELECT sum(age) FROM visits) AS s FROM visits"), clinic(), epsilon=1)
    assert finish(plan, [()], [np.array([3]), np.array([40])]).columns == ([3], [40])


def test_a_question_inside_must_be_about_the_same_units() -> None:
    with pytest.raises(QuestionError, match="same kind of unit"):
        make_plan(read("SELECT count(*) - (SELECT count(*) FROM readings) FROM visits"), clinic(), epsilon=1)


PAIRS = ["corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_count"]


@pytest.mark.parametrize("name", PAIRS)
def test_an_aggregate_of_two_columns_is_what_duckdb_computes(name: str) -> None:
    """The exact sums of the pushed-down query, finished without noise, against the engine's own function."""
    random = np.random.default_rng(3)
    rows = []
    for unit in range(60):
        age, score = int(random.integers(0, 111)), int(random.integers(-50, 51))
        rows.append(
            {
                "tacit_unit": unit,
                "tacit_rank": 1,
                "age": age,
                "sex": "F",
                "level": 1,
                "score": score if unit % 7 else None,
            }
        )
    connection = copy_of(clinic(), {"visits": rows})
    plan = make_plan(read(f"SELECT {name}(score, age) AS y FROM visits"), clinic(), epsilon=1)
    exact = connection.execute(plan.query.text()).fetchone()
    assert exact is not None
    table = finish(plan, [()], [np.array([number]) for number in exact])
    wanted = connection.execute(f"SELECT {name}(score, age) FROM tacit_copy.visits").fetchone()
    assert wanted is not None
    assert table.columns[0][0] == pytest.approx(wanted[0])


def test_bool_or_and_bool_and_ask_whether_a_count_is_nearer_to_one_or_to_none() -> None:
    plan = make_plan(read("SELECT bool_or(age > 3) AS o, bool_and(age > 3) AS a FROM visits"), clinic(), epsilon=1)
    assert [finish(plan, [()], [np.array([n]), np.array([m])]).columns for n, m in ((0, 0), (1, 1))] == [
        ([False], [True]),
        ([True], [False]),
    ]


def test_expected_errors_know_of_windows() -> None:
    plan = make_plan(read("SELECT level, sum(count(*)) OVER () AS t FROM visits GROUP BY level"), clinic(), epsilon=1)
    assert all(isinstance(each, Expected) for each in plan.errors_at(100))
