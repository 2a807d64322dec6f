"""A query in steps gives what the whole query gives, on an engine that is here without Java."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from tacit.engines.dialects import Place, text
from tacit.engines.spark.steps import in_steps
from tests.curator import bomb_tables
from tests.curator.pairs import Pair

QUESTIONS = {
    "SELECT median(cost) FROM visits": 5,
    "SELECT quantile_disc(cost, 0.1), quantile_disc(cost, 0.5), quantile_disc(cost, 0.9) FROM visits": 4,
    "SELECT ward, min(age) FROM visits WHERE cost > 10 GROUP BY ward": 1,
    "SELECT median(v.cost) FROM people p JOIN visits v ON p.pid = v.pid": 6,
    "SELECT ward, count(*) FROM visits GROUP BY ward": 0,
}


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with bomb_tables.on_duckdb(1_000) as found:
        yield found


@pytest.mark.parametrize(("sql", "steps"), QUESTIONS.items())
def test_a_query_in_steps_gives_what_the_whole_query_gives(pair: Pair, sql: str, steps: int) -> None:
    path = pair.one._engine._worker._path  # type: ignore[attr-defined]
    plan = pair.one.planned(sql, 1)
    longest = 0
    with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
        for query in plan.queries:  # type: ignore[union-attr]
            found = in_steps(query.ast, "kept")
            longest = max(longest, len(found.kept))
            whole = connection.execute(text(query.ast, "duckdb", Place())).fetchall()
            for name, each in found.kept:
                connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {text(each, 'duckdb', Place())}")
            last = text(found.last, "duckdb", Place())
            assert sorted(connection.execute(last).fetchall(), key=repr) == sorted(whole, key=repr)
            assert "MATERIALIZED" not in last
    assert longest == steps


def test_only_what_is_marked_and_reads_a_table_is_a_step() -> None:
    query = sqlglot.parse_one(
        "WITH a AS MATERIALIZED (SELECT 1 AS x), b AS (SELECT x FROM t), c AS MATERIALIZED (SELECT x FROM b, a), "
        "d AS NOT MATERIALIZED (SELECT x FROM c) SELECT x FROM d UNION ALL SELECT x FROM c",
        dialect="duckdb",
    )
    found = in_steps(query, "kept")
    ((name, step),) = found.kept
    assert name == "kept_0"
    assert [each.alias for each in step.args["with_"].expressions] == ["a", "b"]
    assert [each.alias for each in found.last.args["with_"].expressions] == ["c", "d"]
    assert {table.name for table in found.last.find_all(exp.Table)} == {"kept_0", "c", "d"}


def test_a_query_without_steps_stays_as_it_is() -> None:
    query = sqlglot.parse_one("SELECT count(*) FROM t")
    assert in_steps(query, "kept").last is query
