"""Sums over all rows less those that are cut are the sums over the rows that are kept."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest
import sqlglot

from tacit.engines.postgres.additive import less_cut

FROM = 'FROM tacit_copy."t" AS "t"'
PLAIN = [
    f"SELECT COUNT(*) AS m0 {FROM}",
    f'SELECT COALESCE(SUM("t"."x"), 0) AS m0, 7 * COUNT(*) - COALESCE(SUM("t"."x"), 0) AS m1 {FROM}',
    f'SELECT "t"."k" AS k0, COUNT("t"."x") AS m0, COUNT(*) AS m1 {FROM} GROUP BY 1',
    f'SELECT "t"."k" AS k0, "t"."u" AS k1, COALESCE(SUM("t"."x" * "t"."x"), 0) AS m0 {FROM} WHERE "t"."x" > 2 '
    "GROUP BY 1, 2",
    f'SELECT CASE WHEN "t"."x" > 5 THEN 1 ELSE 0 END AS k0, COALESCE(SUM("t"."u"), 0) AS m0 {FROM} GROUP BY 1',
    f'SELECT COUNT(CASE WHEN "t"."x" > 3 THEN 1 ELSE NULL END) AS m0 {FROM} WHERE "t"."k" IS NULL',
]
OTHER = [
    f'SELECT COUNT(DISTINCT "t"."u") AS m0 {FROM}',
    f'SELECT MAX("t"."x") AS m0 {FROM}',
    f'SELECT SUM("t"."x") AS m0 {FROM}',
    f'SELECT "t"."x" AS k0 {FROM}',
    f"SELECT CAST(0 AS BIGINT) AS m0 {FROM}",
    f'SELECT DISTINCT "t"."k" AS k0, COUNT(*) AS m0 {FROM} GROUP BY 1',
    f'SELECT "t"."k" AS k0, COUNT(*) AS m0 {FROM} GROUP BY 1 HAVING COUNT(*) > 1',
    f'SELECT "t"."k" AS k0, COUNT(*) AS m0 {FROM} GROUP BY 1 ORDER BY 1 LIMIT 1',
    f'SELECT "t"."k" AS k0, COUNT(*) AS m0 {FROM} GROUP BY ROLLUP (1)',
    f'SELECT COUNT(*) AS m0, "t"."k" AS k0 {FROM} GROUP BY 2',
    f"SELECT COUNT(*) AS m0 FROM (SELECT 1 AS a {FROM}) AS s",
    f"WITH r AS (SELECT 1 AS a {FROM}) SELECT COUNT(*) AS m0 FROM r AS r",
    f'SELECT COUNT(*) AS m0 {FROM} JOIN tacit_copy."s" AS "s" ON "t"."u" = "s"."u"',
    f'SELECT COUNT(*) AS m0 {FROM} WHERE "t"."u" IN (SELECT "s"."u" FROM tacit_copy."s" AS "s")',
    f"SELECT COUNT(*) AS m0, COALESCE(SUM(COUNT(*)) OVER (), 0) AS m1 {FROM}",
    f"SELECT COUNT(*) AS m0 {FROM} UNION ALL SELECT 1 AS m0",
]


def rows_of(connection: duckdb.DuckDBPyConnection, sql: str) -> list[Any]:
    return sorted(connection.execute(sql).fetchall(), key=repr)


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(config={"threads": 1})
    found.execute("CREATE SCHEMA tacit_copy; CREATE SCHEMA kept")
    return found


@pytest.mark.parametrize("sql", PLAIN)
@pytest.mark.parametrize("kept", ["some", "none", "all"])
def test_the_form_without_the_cut_rows_gives_what_the_copy_gives(
    connection: duckdb.DuckDBPyConnection, sql: str, kept: str
) -> None:
    draw = random.Random(sql)
    rows = [
        (draw.randrange(6), draw.choice(["a", "b", None]), draw.choice([None, 1, 4, 9]), draw.random() < 0.5)
        for _ in range(40)
    ]
    rows.append((99, "of cut rows alone", 4, True))
    names = {"tacit_copy.t": rows, "tacit_cut": [], "kept.t": []}
    for row in rows:
        cut = row[3] if kept == "some" else kept == "none"
        names["tacit_cut" if cut else "kept.t"].append(row)
    for name, held in names.items():
        connection.execute(f"CREATE TABLE {name} (u BIGINT, k VARCHAR, x BIGINT, cut BOOLEAN)")
        if held:
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", held)
    changed = less_cut(sqlglot.parse_one(sql, dialect="duckdb"), "tacit_cut")
    assert changed is not None
    found = rows_of(connection, changed.sql(dialect="duckdb"))
    assert found == rows_of(connection, sql.replace("tacit_copy.", "kept."))


@pytest.mark.parametrize("sql", OTHER)
def test_what_is_no_formula_of_sums_over_one_table_is_left_as_it_is(sql: str) -> None:
    assert less_cut(sqlglot.parse_one(sql, dialect="duckdb"), "tacit_cut") is None
