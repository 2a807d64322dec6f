"""Worlds: a working copy and all its neighbours, asked at once, on any engine.

A world is the copy without the rows of one unit, in every private table at once, which is what neighbours are; or the
copy in which all units are called by other numbers. A `Store` holds one copy and gives the exact results of a plan's
queries in several worlds: `Views` on DuckDB through views whose variables say which world it is; on other engines
`together` puts the same query over all worlds into one statement, which the engine itself translates, runs and reads
(`engine_worlds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import duckdb
from sqlglot import exp

from tacit.plan import Plan
from tacit.plan.plan import Query
from tacit.policy import Policy, Table

Rows = list[dict[str, Any]]
Cells = dict[tuple[Any, ...], tuple[int, ...]]
Blocks = tuple[Cells, ...]
"""Cell -> measures (and the number of units, for unknown keys): of each of the plan's `counted` queries."""

COPY, UNIT, WORLD = "tacit_copy", "tacit_unit", "tacit_world"


@dataclass(frozen=True, slots=True)
class World:
    """The copy without a unit (None: with all), its units' numbers times `turn`."""

    gone: int | None = None
    turn: int = 1


class Store(Protocol):
    """One working copy at a time."""

    def load(self, policy: Policy, rows: Mapping[str, Rows]) -> None:
        """Hold these rows in place of those before."""

    def blocks(self, plan: Plan, worlds: Sequence[World]) -> list[Blocks]:
        """The exact results of the plan's queries in each world."""


def names_and_kinds(table: Table) -> dict[str, str]:
    """The columns of a table of the copy, and which of them hold text."""
    own = {} if table.public else {UNIT: "BIGINT", "tacit_rank": "INTEGER"}
    return own | {name: "TEXT" if column.kind == "text" else "BIGINT" for name, column in table.columns.items()}


def measures_of(query: Query) -> tuple[str, ...]:
    """The columns that are numbers: the measures, then the count of units where the keys are unknown."""
    return query.measure_columns + (() if query.unit_column is None else (query.unit_column,))


class Views:
    """DuckDB: tables behind views that leave out the unit `gone` and multiply the units' numbers by `turn`."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._connection.execute("CREATE SCHEMA kept; CREATE SCHEMA tacit_copy")
        self._enter(World())

    def close(self) -> None:
        self._connection.close()

    def load(self, policy: Policy, rows: Mapping[str, Rows]) -> None:
        for name, table in policy.tables.items():
            self._load(table, rows[name])

    def _load(self, table: Table, rows: Rows) -> None:
        kinds = names_and_kinds(table)
        listed = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
        self._connection.execute(f'CREATE OR REPLACE TABLE kept."{table.name}" ({listed})')
        if rows:
            marks = ", ".join("(" + ", ".join("?" for _ in kinds) + ")" for _ in rows)
            values = [row[name] for row in rows for name in kinds]
            self._connection.execute(f'INSERT INTO kept."{table.name}" VALUES {marks}', values)
        left_out = "" if table.public else " WHERE tacit_unit <> getvariable('gone')"
        seen = "*" if table.public else "* REPLACE (CAST(tacit_unit * getvariable('turn') AS BIGINT) AS tacit_unit)"
        self._connection.execute(
            f'CREATE OR REPLACE VIEW tacit_copy."{table.name}" AS SELECT {seen} FROM kept."{table.name}"{left_out}'
        )

    def blocks(self, plan: Plan, worlds: Sequence[World]) -> list[Blocks]:
        queries = [(query, query.text()) for query in plan.counted]
        found = []
        for world in worlds:
            self._enter(world)
            found.append(tuple(self._cells(query, text) for query, text in queries))
        return found

    def _enter(self, world: World) -> None:
        gone = -1 if world.gone is None else world.gone  # no unit has this number
        self._connection.execute(f"SET VARIABLE gone = {gone}; SET VARIABLE turn = {world.turn}")

    def _cells(self, query: Query, text: str) -> Cells:
        keys, width = len(query.key_columns), len(measures_of(query))
        rows = self._connection.execute(text).fetchall()
        return {tuple(row[:keys]): tuple(row[keys : keys + width]) for row in rows}


@dataclass(frozen=True, slots=True)
class Together:
    """A query over several worlds as an engine takes it: the world's number is a key before all others."""

    ast: exp.Expr
    key_columns: tuple[str, ...]
    measure_columns: tuple[str, ...]
    few: bool = False


def together(query: Query, worlds: Sequence[World], policy: Policy) -> Together:
    """The same query in every world, one after the other in one statement."""
    measures = measures_of(query)
    columns = (*query.key_columns, *measures)
    parts: list[exp.Query] = []
    for number, world in enumerate(worlds):
        seen = exp.alias_(exp.Literal.number(number), WORLD)
        inside = _inside(query.ast, world, policy).subquery("tacit_seen")
        parts.append(exp.select(seen, *(exp.column(name) for name in columns)).from_(inside))
    union = reduce(lambda one, other: exp.union(one, other, distinct=False, copy=False), parts)
    return Together(union, (WORLD, *query.key_columns), measures)


def _inside(query: exp.Select, world: World, policy: Policy) -> exp.Select:
    """The query with every private table of the copy replaced by what a world has of it."""
    changed = query.copy()
    for table in [node for node in changed.find_all(exp.Table) if node.db == COPY]:
        each = policy.tables[table.name]
        if each.public:
            continue
        alias = table.alias or table.name
        bare = exp.Table(this=table.this.copy(), db=table.args["db"].copy())
        unit = exp.column(exp.to_identifier(UNIT))
        turned = exp.cast(exp.Mul(this=unit, expression=exp.Literal.number(world.turn)), "BIGINT")
        columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in names_and_kinds(each) if name != UNIT]
        rows = exp.select(exp.alias_(turned, UNIT), *columns).from_(bare)
        if world.gone is not None:
            rows = rows.where(exp.NEQ(this=unit.copy(), expression=exp.Literal.number(world.gone)))
        table.replace(rows.subquery(exp.to_identifier(alias, quoted=True)))
    return changed
