"""Which cells GROUP BY has: a column comes before an output of its name, and WHERE on a key narrows the cells shown."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

from tacit.curator import Curator
from tacit.errors import QuestionError
from tacit.loss import Budget
from tacit.policy import Column, ColumnUnit, Policy, Source, Table
from tests.memory import fresh

ALL = 10**6  # so much that no noise is left: another number than the true one has probability below e**-1,000
SALES = pa.Table.from_pylist(
    [
        {
            "who": row,
            "c": f"{'cC'[row % 2]}0{row % 3}",
            "d": None if row % 7 == 0 else row % 5,
            "town": f"t{row % 4}",
            "day": f"2024-01-0{1 + row % 4}",
            "ok": row % 2 == 0,
        }
        for row in range(120)
    ]
)
COLUMNS = [
    Column("c", "text", values=("C00", "C01", "C02", "c00", "c01", "c02"), nullable=False),
    Column("d", "integer", 0, 4),
    Column("town", "text", nullable=False),  # of which nobody knows the values
    Column("day", "date", datetime.date(2024, 1, 1), datetime.date(2024, 1, 4), nullable=False),
    Column("ok", "boolean", nullable=False),
]
POLICY = Policy(
    "shop",
    {"sales": Table("sales", Source("frame", "sales"), ColumnUnit("who"), 1, {each.name: each for each in COLUMNS})},
    Budget(10**9, Fraction(1, 10)),
    largest_epsilon=Fraction(10**9),
)


@pytest.fixture(scope="module")
def shop() -> Iterator[Curator]:
    with Curator(POLICY, frames={"sales": SALES}) as curator:
        yield curator


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with fresh() as connection:
        connection.register("raw", SALES)
        connection.execute("CREATE VIEW sales AS SELECT * REPLACE (CAST(day AS DATE) AS day) FROM raw")
        yield connection


# every cell that is left has rows here, so plain SQL shows the same ones
SAME = (
    "SELECT upper(c) AS c, count(*) AS n FROM sales GROUP BY c",
    "SELECT upper(c) AS c, count(*) AS n FROM sales GROUP BY c HAVING c = 'c00'",
    "SELECT upper(c) AS c, count(*) AS n FROM sales GROUP BY c ORDER BY c DESC, n LIMIT 3",
    "SELECT d * 2 AS d, count(*) AS n FROM sales GROUP BY d",
    "SELECT d * 2 AS e, count(*) AS n FROM sales GROUP BY e",
    "SELECT d * 2 AS e, count(*) AS n FROM sales GROUP BY e HAVING e > 2",
    "SELECT sum(n) FROM (SELECT upper(c) AS c, count(*) AS n FROM sales GROUP BY upper(c)) GROUP BY c",
    "SELECT c, count(*) AS n FROM sales WHERE c IN ('c00', 'c01') GROUP BY c",
    "SELECT c, count(*) AS n FROM sales WHERE c = 'c00' GROUP BY c",
    "SELECT c, count(*) AS n FROM sales WHERE 'c00' = c OR c = 'C01' GROUP BY c",
    "SELECT c, count(*) AS n FROM sales WHERE c <> 'c00' AND d IS NOT NULL GROUP BY c",
    "SELECT c, count(*) AS n FROM sales WHERE NOT c IN ('c00', 'c01') GROUP BY c",
    "SELECT d, count(*) AS n FROM sales WHERE d BETWEEN 1 AND 3 GROUP BY d",
    "SELECT d, count(*) AS n FROM sales WHERE d > 1.5 OR d IS NULL GROUP BY d",
    "SELECT d, count(*) AS n FROM sales WHERE NOT (d > 1) GROUP BY d",
    "SELECT d, count(*) AS n FROM sales WHERE 2 <= d AND c = 'c00' GROUP BY d",
    "SELECT d, count(*) AS n FROM sales WHERE d NOT IN (1, 3) GROUP BY d",
    "SELECT d % 2 AS odd, count(*) AS n FROM sales WHERE d % 2 = 1 GROUP BY odd",
    "SELECT day, count(*) AS n FROM sales WHERE day >= '2024-01-03' GROUP BY day",
    "SELECT day, count(*) AS n FROM sales WHERE day < DATE '2024-01-03' GROUP BY day",
    "SELECT ok, count(*) AS n FROM sales WHERE ok GROUP BY ok",
    "SELECT ok, count(*) AS n FROM sales WHERE ok = false GROUP BY ok",
    "SELECT ok, count(*) AS n FROM sales WHERE NOT ok GROUP BY ok",
    "SELECT c, ok, count(*) AS n FROM sales WHERE c IN ('c00', 'C00') AND (ok OR ok IS NULL) GROUP BY c, ok "
    "HAVING count(*) > 0",
    "SELECT town, count(*) AS n FROM sales WHERE town IN ('t0', 't3') GROUP BY town",
    "SELECT town, count(*) AS n FROM sales WHERE town = 't1' OR town = 't2' GROUP BY town",
    "SELECT c, count(*) AS n FROM sales WHERE c = 'c00' AND c = 'c01' GROUP BY c",
    "SELECT d, count(*), sum(d), avg(d) FROM sales WHERE d = 1 AND d = 2 GROUP BY d",
    "SELECT c, ok, count(*) AS n FROM sales WHERE c IN ('c00', 'C01') GROUP BY ROLLUP (c, ok) HAVING count(*) > 0",
)


@pytest.mark.parametrize("sql", SAME)
def test_the_answer_has_the_cells_that_plain_sql_has(
    shop: Curator, database: duckdb.DuckDBPyConnection, sql: str
) -> None:
    answer = shop.ask(sql, ALL)
    assert sorted(answer.rows(), key=str) == sorted(database.execute(sql).fetchall(), key=str)


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("lower(c) = 'c00'", 6),  # a function of the key is not looked into
        ("c > 'a'", 6),  # which of two texts comes first is the engine's to say
        ("c = 'c00' OR d = 1", 6),  # another column may make it true
        ("c = 'c00' AND (c = 'c00' OR d = 1)", 1),
        ("d IN (1, 2) OR c IN ('c00', 'c01')", 6),
        ("c = 'elsewhere'", 0),  # no value of the policy
    ],
)
def test_a_value_stays_unless_where_cannot_be_true_of_it(shop: Curator, where: str, shown: int) -> None:
    assert len(shop.ask(f"SELECT c, count(*) FROM sales WHERE {where} GROUP BY c", ALL)) == shown


def test_a_column_that_no_output_may_show_alone_is_refused_as_in_sql(shop: Curator) -> None:
    with pytest.raises(QuestionError, match="Column 'c' stands alone"):
        shop.plan("SELECT c AS d, count(*) FROM sales GROUP BY d", 1)


def test_values_that_the_question_lists_need_no_delta(shop: Curator) -> None:
    answer = shop.ask("SELECT town, count(*) AS n FROM sales WHERE town IN ('t0', 'nowhere') GROUP BY town", ALL)
    assert dict(answer.rows()) == {"t0": 30, "nowhere": 0}
    assert answer.receipt["delta"] == "0"
