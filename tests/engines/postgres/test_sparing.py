"""Without a copy: the quick way to the rows that a unit keeps finds the same rows as ranking all of them does.

And one row more in a source changes the copy of no other row: each is read by itself.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlglot

from tacit.engines.postgres.engine import PostgresEngine
from tacit.engines.secret import Secret
from tacit.policy import Policy
from tacit.policy.read import parse
from tests.engines.conformance.engines import content
from tests.engines.postgres.test_engine import Place, Query, place

__all__ = ["place"]  # a fixture

TOML = """
name = "clinic"
source = "postgres:$TACIT_TEST_DATABASE"
working_copy = "{copy}"
[budget]
epsilon = 1
[tables.people]
unit = "pid"
rows_per_unit = 2
[tables.people.columns]
code = {{ type = "integer", between = [0, 9] }}
[tables.visits]
unit = {{ key = "code", table = "people" }}
rows_per_unit = {rows}
[tables.visits.columns]
age = {{ type = "integer", between = [0, 50], outside = "drop", nullable = false }}
weight = {{ type = "real", between = [0.0, 99.5] }}
seen = {{ type = "date", between = [2000-01-01, 2030-12-31] }}
at = {{ type = "timestamp", between = [2000-01-01T00:00:00, 2030-12-31T23:59:59] }}
well = {{ type = "boolean" }}
note = {{ type = "text" }}
"""
COLUMNS = ("age", "weight", "seen", "at", "well", "note")
SECRET = Secret(bytes(range(32)))


def asking(table: str, columns: tuple[str, ...], ranks: bool) -> Query:
    listed = ", ".join(f't."{column}" AS "{column}"' for column in columns)
    groups = ", ".join(str(place + 1) for place in range(1 + len(columns)))
    ranked = "WHERE t.tacit_rank >= 1" if ranks else ""
    sql = f"SELECT t.tacit_unit AS u, {listed}, count(*) AS m FROM tacit_copy.{table} AS t {ranked} GROUP BY {groups}"
    return Query(sqlglot.parse_one(sql, dialect="duckdb"), ("u", *columns))


def kept(policy: Policy, table: str, columns: tuple[str, ...], ranks: bool = True) -> Counter[Any]:
    with PostgresEngine.register(policy, SECRET) as engine:
        return Counter({key: count for key, (count,) in content(engine, asking(table, columns, ranks)).items()})


ODD = (
    *("NaN", "inf", "-inf", "1e400", "-0", "", " 7 ", "07"),
    *("1_000", "1,000", "é", "\\x", "2024-02-30", "infinity", "#", '"'),
)


@pytest.fixture
def clinic(place: Place) -> Iterator[psycopg.Connection[Any]]:
    """Everything in text, which can hold whatever a file can, and what only a text can be."""
    place.use(place.server.url(place.name))
    place.sql("DROP TABLE visits")
    place.sql("CREATE TABLE people (pid text, code text)")
    place.sql("CREATE TABLE visits (code text, age text, weight text, seen text, at text, well text, note text)")
    with psycopg.connect(place.server.url(place.name), autocommit=True) as connection:
        yield connection


def drawn(seed: int, rows: int) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)  # rows of a test

    def value(usual: Any) -> Any:
        return draw.choice([None, draw.choice(ODD), *[str(usual)] * 6])

    return [
        (
            value(draw.randrange(12)),
            value(draw.randrange(60)),
            value(draw.random() * 120),
            value(f"20{draw.randrange(10, 40)}-0{draw.randrange(1, 10)}-11"),
            value(f"2024-0{draw.randrange(1, 10)}-11 10:00:00"),
            value(draw.choice(["yes", "no", "1"])),
            value(draw.choice("abc")),
        )
        for _ in range(rows)
    ]


def insert(connection: psycopg.Connection[Any], table: str, rows: list[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1])
def test_ranking_only_the_units_with_too_many_rows_keeps_the_same_rows(
    clinic: psycopg.Connection[Any], seed: int
) -> None:
    draw = random.Random(seed)
    units = [f"p{number}" for number in range(5)] + ["é" * 1_200 + end for end in "abcd"]  # long ones become short
    insert(clinic, "people", [(draw.choice(units), str(draw.randrange(12))) for _ in range(20)])
    insert(clinic, "visits", drawn(seed, 150))
    for rows in (1, 3, 1000):
        policy = parse(TOML.format(copy="query", rows=rows))
        for table, columns in (("visits", COLUMNS), ("people", ("code",))):
            quick = kept(policy, table, columns, ranks=False)
            assert quick == kept(policy, table, columns)
            most = policy.tables[table].rows_per_unit or 0
            assert max(Counter(key[0] for key in quick.elements()).values()) <= most


@pytest.mark.parametrize("copy", ["query", "clinic_copy"])
def test_one_row_more_changes_the_copy_of_no_other_row(clinic: psycopg.Connection[Any], copy: str) -> None:
    """With a bound that cuts nothing off, the copy has the new row more, or is the same: nothing else moves."""
    insert(clinic, "people", [(f"p{number}", str(number)) for number in range(12)])
    insert(clinic, "visits", drawn(7, 60))
    policy = parse(TOML.format(copy=copy, rows=1000))
    before = kept(policy, "visits", COLUMNS, ranks=False)
    assert sum(before.values()) > 20
    usual = ("3", "40", "70.5", "2024-02-29", "2024-02-29 10:00:00", "yes", "a")
    values = (None, "x" * 100_000, *ODD[:7])
    odd = [(*usual[:place], each, *usual[place + 1 :]) for place in range(7) for each in values]
    engine = PostgresEngine.register(policy, SECRET)
    for row in odd[::5] if copy == "query" else odd[::12]:
        insert(clinic, "visits", [row])
        if copy != "query":
            engine.close()
            engine = PostgresEngine.register(policy, SECRET, anew=True)
        found = content(engine, asking("visits", COLUMNS, False))
        after = Counter({key: count for key, (count,) in found.items()})
        assert sum((after - before).values()) <= 1
        assert not before - after
        clinic.execute("DELETE FROM visits WHERE ctid = (SELECT max(ctid) FROM visits)")
    engine.close()
