"""Which rows of which tables are read does not depend on one person: what engines count on neighbours.

The bomber alone satisfies the conditions. Without anchors an engine leaves out a whole table where that person is not
there. Counted are the rows of every table that scans go through, in every query of a plan, as the engine itself says.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tacit.curator import Curator
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, Policy, Source, Table
from tests.curator import bomb_tables, bombs
from tests.curator.pairs import Pair
from tests.postgres_server import Server

ROWS = 6_000
RARE = bombs.RARE
JOINS = [
    bombs.joined(2),
    f"SELECT count(*) FROM people p JOIN {RARE} a ON a.pid = p.pid JOIN {RARE} b ON b.pid = p.pid",
    "SELECT count(*) FROM bills b JOIN visits v ON b.vid = v.vid WHERE v.age = 101",
    "SELECT sum(p.born) FROM people p JOIN visits v ON v.pid = p.pid JOIN wards w ON w.ward = v.ward WHERE v.age = 101",
    "SELECT count(*) FROM people p LEFT JOIN visits v ON v.pid = p.pid WHERE p.born = 1900",
    "SELECT count(*) FROM people p RIGHT JOIN visits v ON v.pid = p.pid WHERE v.age = 101",
    "SELECT count(*) FROM people p FULL JOIN visits v ON v.pid = p.pid WHERE v.age = 101",
    "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.age = 101)",
    "SELECT count(*) FROM people WHERE born = 1900 AND pid NOT IN (SELECT pid FROM visits WHERE age = 101)",
    "SELECT avg(n) FROM (SELECT a.pid, count(*) AS n FROM people a JOIN visits v ON a.pid = v.pid WHERE v.age = 101 "
    "GROUP BY a.pid)",
    "SELECT count(*) FROM visits WHERE age = 101",
    "SELECT median(v.cost) FROM people p JOIN visits v ON p.pid = v.pid WHERE v.age = 101",
]
PICKS = [
    "SELECT median(cost) FROM visits WHERE age = 101",
    "SELECT ward, quantile_disc(cost, 0.1), quantile_disc(cost, 0.5), quantile_disc(cost, 0.9) FROM visits "
    "WHERE age = 101 GROUP BY ward",
]


@pytest.fixture(scope="module")
def in_memory() -> Iterator[Pair]:
    with bomb_tables.on_duckdb(ROWS) as pair:
        yield pair


def own_rows(table: str) -> int:
    """How many rows of the bomber the copy holds."""
    return {"people": 1, "visits": bomb_tables.MOST_VISITS, "bills": bomb_tables.MOST_BILLS}.get(table, 0)


def alike(one: Counter[str], other: Counter[str], scans: Counter[str]) -> None:
    assert one.keys() == other.keys()
    for table, rows in one.items():
        assert rows - other[table] == own_rows(table) * scans[table], (table, one, other)


# -- DuckDB ------------------------------------------------------------------------------------------------


def read_by_duckdb(curator: Curator, sql: str) -> tuple[Counter[str], Counter[str]]:
    path = curator._engine._worker._path  # type: ignore[attr-defined]
    rows: Counter[str] = Counter()
    scans: Counter[str] = Counter()
    with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
        connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")  # as the worker does
        for query in curator.planned(sql, 1).queries:  # type: ignore[union-attr]
            found = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {query.text()}").fetchone()
            assert found is not None
            profile = json.loads(found[1])
            stack: list[dict[str, Any]] = list(profile.get("operator", profile.get("children", [])))
            while stack:
                node = stack.pop()
                stack += node.get("children", [])
                name = str(node.get("extra_info", {}).get("Table", "")).split(".")[-1].strip('"')
                if name:
                    scans[name] += 1
                    rows[name] += int(node.get("rows_scanned", node.get("operator_rows_scanned", 0)))
    return rows, scans


@pytest.mark.parametrize("sql", JOINS + PICKS)
def test_duckdb_reads_the_same_rows_of_all_others_with_and_without_the_bomber(in_memory: Pair, sql: str) -> None:
    (one, scans), (other, again) = (read_by_duckdb(curator, sql) for curator in in_memory)
    assert scans == again
    assert all(other[table] >= 12 for table in other)  # all of it: the smallest table has as many rows
    alike(one, other, scans)


def test_the_worker_does_not_let_one_table_decide_which_blocks_of_another_are_read(in_memory: Pair) -> None:
    engine: Any = in_memory.one._engine
    reply = engine._worker.ask(
        {
            "sql": "SELECT count(*) AS n FROM duckdb_settings() WHERE name = 'disabled_optimizers' "
            "AND value LIKE '%join_filter_pushdown%'",
            "keys": [],
            "measures": ["n"],
        }
    )
    assert reply["measures"] == [[1]]


def test_what_duckdb_knows_of_a_column_is_what_the_policy_says(in_memory: Pair) -> None:
    """Plans follow from the least and greatest value of columns: they must not be one person's."""
    seen = []
    for curator in in_memory:
        path = curator._engine._worker._path  # type: ignore[attr-defined]
        with duckdb.connect(path, read_only=True) as connection:
            found = {}
            for table, columns in bomb_tables.COLUMNS.items():
                if table == "wards":
                    continue
                for name in ("tacit_unit", *(column.name for column in columns)):
                    row = connection.execute(f'SELECT stats("{name}") FROM tacit_rows."{table}" LIMIT 1').fetchone()
                    assert row is not None
                    told = row[0] if isinstance(row[0], dict) else json.loads(row[0])
                    found[table, name] = {part: told.get(part) for part in ("min", "max", "has_null", "has_unicode")}
            seen.append(found)
    assert seen[0] == seen[1]
    assert (seen[0]["visits", "age"]["min"], seen[0]["visits", "age"]["max"]) == (0, 120)


def test_nobodys_rows_cost_no_column_in_blocks_where_there_are_none() -> None:
    """Their mark is one constant in every block but the last, and a total reads no ranks."""
    rows = pa.table({"pid": range(300_000), "age": [n % 100 for n in range(300_000)]})
    stated = Policy(
        "totals",
        {"t": Table("t", Source("frame", "t"), ColumnUnit("pid"), 1, {"age": Column("age", "integer", 0, 120)})},
        Budget(10, "0.5"),
    )
    with Curator(stated, frames={"t": rows}) as curator:
        path = curator._engine._worker._path  # type: ignore[attr-defined]
        text = curator.planned("SELECT count(*), sum(age) FROM t", 1).queries[0].text()  # type: ignore[union-attr]
        with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
            marks = connection.execute(
                "SELECT row_group_id, any_value(compression) FROM pragma_storage_info('tacit_rows.t') "
                "WHERE column_name = 'tacit_end' AND segment_type <> 'VALIDITY' GROUP BY ALL ORDER BY ALL"
            ).fetchall()
            plan = str(connection.execute(f"EXPLAIN {text}").fetchall())
            counted = connection.execute("SELECT count(*), min(age), max(age) FROM tacit_copy.t").fetchall()
    assert len(marks) > 1
    assert {compression for _, compression in marks[:-1]} == {"Constant"}
    assert "tacit_rank" not in plan
    assert counted == [(300_000, 0, 99)]


def test_a_person_with_a_rare_value_does_not_change_a_plan(in_memory: Pair) -> None:
    sql = "SELECT age, count(*) FROM visits WHERE age > 100 GROUP BY age"
    plans = []
    for curator in in_memory:
        path = curator._engine._worker._path  # type: ignore[attr-defined]
        with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
            text = curator.planned(sql, 1).queries[0].text()  # type: ignore[union-attr]
            found = connection.execute(f"EXPLAIN (FORMAT json) {text}").fetchone()
            assert found is not None
            plans.append(_shape(json.loads(found[1])))
    assert plans[0] == plans[1]


def _shape(node: Any) -> Any:
    nodes = node if isinstance(node, list) else [node]
    return [(each.get("name"), _shape(each.get("children", []))) for each in nodes]


# two sources that a value ties to each other, which many people share, and the unit to a third one
TIED = (
    "SELECT count(*) FROM people p JOIN visits a ON a.pid = p.pid JOIN visits b ON b.pid = p.pid AND b.ward = a.ward",
    "SELECT count(*) FROM people p JOIN visits a ON a.pid = p.pid LEFT JOIN visits b "
    "ON b.pid = p.pid AND b.ward = a.ward",
)


@pytest.mark.parametrize("sql", TIED)
def test_sources_that_a_value_ties_are_tied_by_the_unit_as_well(in_memory: Pair, sql: str) -> None:
    text = in_memory.one.planned(sql, 1).queries[0].text()  # type: ignore[union-attr]
    assert '"visits".tacit_unit = "visits#2".tacit_unit' in text
    path = in_memory.one._engine._worker._path  # type: ignore[attr-defined]
    with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
        found = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {text}").fetchone()
    assert found is not None
    profile = json.loads(found[1])
    stack: list[dict[str, Any]] = list(profile.get("operator", profile.get("children", [])))
    most = 0
    while stack:
        node = stack.pop()
        stack += node.get("children", [])
        most = max(most, int(node.get("intermediate_rows", node.get("operator_cardinality", 0))))
    # two visits of each person, and the bomber's; by the ward alone there would be a quarter of all pairs
    assert 0 < most <= 4 * ROWS + bomb_tables.MOST_VISITS**2


# -- PostgreSQL --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["copy", "query"])
def in_database(request: pytest.FixtureRequest, postgres: Server) -> Iterator[Pair]:
    names = [f"alike_{side}_{request.param}" for side in ("with", "without")]
    one, other = (postgres.database(name) for name in names)
    with bomb_tables.on_postgres((one, other), ROWS, "query" if request.param == "query" else None) as pair:
        yield pair
    for name in names:
        postgres.drop(name)


def read_by_postgres(curator: Curator, sql: str) -> tuple[Counter[str], Counter[str]]:
    engine: Any = curator._engine
    engine.is_stale()  # opens the session
    rows: Counter[str] = Counter()
    scans: Counter[str] = Counter()
    connection = engine._session._open()
    for query in curator.planned(sql, 1).queries:  # type: ignore[union-attr]
        text = f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {engine._text(query.ast)}"
        ((profile,),) = engine._session.look(lambda _, text=text: connection.execute(text.encode()).fetchall())
        stack = [profile[0]["Plan"]]
        while stack:
            node = stack.pop()
            stack += node.get("Plans", [])
            name = node.get("Relation Name")
            if name:
                # what a scan went through: what it gave and what its own condition left out
                seen = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
                scans[name] += 1
                rows[name] += round(seen * node["Actual Loops"])
    return rows, scans


@pytest.mark.parametrize("sql", TIED)
def test_postgres_joins_nobody_with_others_on_the_way(in_database: Pair, sql: str) -> None:
    engine: Any = in_database.one._engine
    connection = engine._session._open()
    (query,) = in_database.one.planned(sql, 1).queries  # type: ignore[union-attr]
    text = f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {engine._text(query.ast)}"
    ((profile,),) = connection.execute(text.encode()).fetchall()
    stack, most = [profile[0]["Plan"]], 0.0
    while stack:
        node = stack.pop()
        stack += node.get("Plans", [])
        most = max(most, node["Actual Rows"] * node["Actual Loops"])
    assert 0 < most <= 4 * ROWS + bomb_tables.MOST_VISITS**2


@pytest.mark.parametrize("sql", [*JOINS, PICKS[0]])
def test_postgres_reads_the_same_rows_of_all_others_with_and_without_the_bomber(in_database: Pair, sql: str) -> None:
    (one, scans), (other, again) = (read_by_postgres(curator, sql) for curator in in_database)
    assert scans == again
    for table, rows in one.items():
        # without a copy all rows of the source are gone through, also those beyond the bound
        most = len(bomb_tables.bomber().get(table, [])) * scans[table]
        assert other[table] > 0
        assert 0 <= rows - other[table] <= most, (table, one, other)


def test_postgres_plans_alike_with_and_without_the_bomber(in_database: Pair) -> None:
    """What the server knows of a column's values is one person's too: it must not choose another kind of plan."""
    for sql in bombs.every(bombs.ANSWERED):
        shapes = []
        # a plan reads no row: it is that of both
        plan = in_database.one.planned(sql, 1, delta="1e-9" if "GROUP BY 1" in sql else None)
        for curator in in_database:
            engine: Any = curator._engine
            engine.is_stale()  # opens the session
            connection = engine._session._open()
            texts = [f"EXPLAIN (FORMAT json) {engine._text(query.ast)}" for query in plan.queries]  # type: ignore[union-attr]
            shapes.append([_kinds(connection.execute(text.encode()).fetchone()[0][0]["Plan"]) for text in texts])
        assert shapes[0] == shapes[1], sql


def _kinds(node: dict[str, Any]) -> Any:
    told = [node.get(part) for part in ("Node Type", "Join Type", "Strategy", "Workers Planned", "Relation Name")]
    return told, [_kinds(each) for each in node.get("Plans", [])]
