"""A clinic's policy, and a working copy of its tables in a DuckDB in memory, for tests of plans."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import duckdb

from tacit.loss import Budget
from tacit.plan import Plan
from tacit.policy import Column, ColumnUnit, Policy, RowUnit, Source, Table
from tests.memory import fresh

FRAME = Source("frame", "made up")


def table(name: str, columns: Sequence[Column], *, unit: str | None = "patient", rows: int = 3) -> Table:
    """A private table; without a unit column every row is a unit."""
    whose = RowUnit() if unit is None else ColumnUnit(unit)
    return Table(name, FRAME, whose, rows, {column.name: column for column in columns})


def public(name: str, columns: Sequence[Column]) -> Table:
    """A public table."""
    return Table(name, FRAME, None, 1, {column.name: column for column in columns}, public=True)


VISITS = table(
    "visits",
    [
        Column("age", "integer", 0, 110, nullable=False),
        Column("sex", "text", values=("F", "M"), nullable=False),
        Column("ward", "text"),
        Column("charge", "real", Fraction(0), Fraction(1000)),
        Column("score", "integer", -50, 50),
        Column("day", "date", datetime.date(2023, 1, 1), datetime.date(2024, 12, 31)),
        Column(
            "seen",
            "timestamp",
            datetime.datetime(1969, 1, 1, tzinfo=datetime.UTC),
            datetime.datetime(1971, 1, 1, tzinfo=datetime.UTC),
        ),
        Column("urgent", "boolean"),
        Column("code", "integer"),
        Column("level", "integer", values=(1, 2, 5), nullable=False),
    ],
)
WARDS = public(
    "wards",
    [Column("ward", "text"), Column("floor", "integer", 0, 9), Column("wing", "text", values=("north", "south"))],
)
ROWS = table("readings", [Column("value", "real", Fraction(-1), Fraction(1), nullable=False)], unit=None, rows=1)


def clinic(*tables: Table) -> Policy:
    """A policy over these tables, or over all three."""
    chosen = tables or (VISITS, WARDS, ROWS)
    return Policy("clinic", {each.name: each for each in chosen}, Budget(100, "1/1000"), largest_epsilon=Fraction(100))


def copy_of(policy: Policy, content: dict[str, list[dict[str, Any]]]) -> duckdb.DuckDBPyConnection:
    """The working copy; rows give grid values, `tacit_unit` and `tacit_rank`."""
    connection = fresh()
    connection.execute("CREATE SCHEMA tacit_copy")
    for name, each in policy.tables.items():
        own = [] if each.public else ["tacit_unit BIGINT", "tacit_rank INTEGER"]
        kinds = {column.name: "VARCHAR" if column.kind == "text" else "BIGINT" for column in each.columns.values()}
        listed = ", ".join([*own, *(f'"{column}" {kind}' for column, kind in kinds.items())])
        connection.execute(f'CREATE TABLE tacit_copy."{name}" ({listed})')
        fill(connection, each, content.get(name, []))
    return connection


def fill(connection: duckdb.DuckDBPyConnection, each: Table, rows: list[dict[str, Any]]) -> None:
    """Replace a table's rows."""
    connection.execute(f'DELETE FROM tacit_copy."{each.name}"')
    names = [*([] if each.public else ["tacit_unit", "tacit_rank"]), *each.columns]
    if rows:
        marks = ", ".join("?" for _ in names)
        values = [[row.get(name) for name in names] for row in rows]
        connection.executemany(f'INSERT INTO tacit_copy."{each.name}" VALUES ({marks})', values)


def exact(connection: duckdb.DuckDBPyConnection, plan: Plan) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Cell -> measures (and the number of units, for unknown keys), as the pushed-down query gives them."""
    rows = connection.execute(plan.query.text()).fetchall()
    keys = len(plan.query.key_columns)
    return {tuple(row[:keys]): tuple(row[keys:]) for row in rows}
