"""Working copies made inside a test's own connection, without a worker, from rows written in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from tacit.engines.duckdb import registration
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation
from tacit.loss.budget import Budget
from tacit.policy import Column, Policy, Source, Table, Unit

CONNECTION = duckdb.connect(config={"threads": 1})
SECRET = Secret(bytes(range(32)))


@dataclass(frozen=True)
class Rows:
    """A source: its columns with their engine types, and its rows."""

    types: Mapping[str, str]
    rows: Sequence[tuple[Any, ...]]


def private(name: str, unit: Unit, rows_per_unit: int, *columns: Column) -> Table:
    return Table(name, Source("frame", name), unit, rows_per_unit, {column.name: column for column in columns})


def policy_of(*tables: Table) -> Policy:
    return Policy("p", {table.name: table for table in tables}, Budget(3, 1e-6))


def copies(policy: Policy, sources: Mapping[str, Rows], secret: Secret = SECRET) -> dict[str, Counter[tuple[Any, ...]]]:
    """What the copy of each private table holds: (unit as in the source, rank, columns...), counted."""
    for schema in ("tacit_copy", "tacit_rows"):
        CONNECTION.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    CONNECTION.execute("DROP TABLE IF EXISTS tacit_units")
    relations = {}
    for name, source in sources.items():
        columns = ", ".join(f'"{column}" {kind}' for column, kind in source.types.items())
        CONNECTION.execute(f"CREATE OR REPLACE TABLE source_{name} ({columns})")
        if source.rows:
            marks = "(" + ", ".join("?" for _ in source.types) + ")"
            values = [value for row in source.rows for value in row]
            CONNECTION.execute(f"INSERT INTO source_{name} VALUES {', '.join([marks] * len(source.rows))}", values)
        relations[name] = Relation(f"source_{name}", source.types)
    for step in registration.statements(policy, relations, secret):
        CONNECTION.execute(step.sql)
    dense = CONNECTION.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'tacit_units'").fetchone()
    assert dense is not None
    unit = "(SELECT key FROM tacit_units WHERE id = tacit_unit)" if dense[0] else "tacit_unit"
    return {
        name: Counter(CONNECTION.execute(f"SELECT {unit}, * EXCLUDE (tacit_unit) FROM tacit_copy.{name}").fetchall())
        for name in policy.tables
    }
