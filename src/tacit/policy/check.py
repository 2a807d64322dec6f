"""Checking: do the policy's tables and columns exist, and can their kinds hold what the policy states?

Promise: only names and kinds are looked at, never a value. Every problem is found, each with its key path, what was
found, what is allowed, and the nearest name there is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from tacit.errors import PolicyError
from tacit.policy.columns import Kind
from tacit.policy.policy import Policy, Table
from tacit.policy.units import ColumnUnit, PathUnit, RowUnit

Schema: TypeAlias = Mapping[str, Mapping[str, Kind | None]]
"""For each table its columns with their kinds; None is a type that no question can use."""

HOLDS: Final[Mapping[Kind, frozenset[Kind]]] = {
    "integer": frozenset({"integer", "real", "text", "boolean"}),
    "real": frozenset({"integer", "real", "text"}),
    "boolean": frozenset({"boolean", "integer", "real", "text"}),
    "date": frozenset({"date", "timestamp", "text"}),
    "timestamp": frozenset({"timestamp", "date", "text"}),
    "text": frozenset({"text", "integer", "real", "boolean", "date", "timestamp"}),
}
"""Which kinds of a source can be read as the kind a policy states."""


def check(policy: Policy, schema: Schema) -> None:
    """Refuse the policy if it does not fit the schema, naming every problem."""
    found = list(problems(policy, schema))
    if found:
        raise PolicyError("\n".join(found))


def problems(policy: Policy, schema: Schema) -> Iterator[str]:
    """Every way in which the policy does not fit the schema, one sentence each."""
    for name, table in policy.tables.items():
        columns = schema.get(name)
        if columns is None:
            yield f"tables.{name}: the source of this table is not there."
            continue
        yield from _unit_problems(policy, table, schema)
        for key, column in table.columns.items():
            where = f"tables.{name}.columns.{key}"
            actual = _lookup(columns, key)
            if actual is None:
                yield f"{where}: {missing(key, name, columns)}"
            elif columns[actual] is None:
                yield f"{where}: the source's type cannot be used. Leave this column out, or make it a plain one there."
            elif columns[actual] not in HOLDS[column.kind]:
                yield (
                    f"{where}.type: {column.kind!r} cannot be read from a {columns[actual]} column. "
                    f"It can from: {', '.join(sorted(HOLDS[column.kind]))}."
                )


def missing(column: str, table: str, columns: Iterable[str]) -> str:
    """The sentence for a column that is not there."""
    known = list(columns)
    return f"column {column!r} is not in table {table!r}. Columns: {', '.join(known)}.{did_you_mean(column, known)}"


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """A pointer to the nearest known name, or nothing."""
    by_fold = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(found.casefold(), by_fold, n=1)
    return f" Did you mean {by_fold[near[0]]!r}?" if near else ""


def _unit_problems(policy: Policy, table: Table, schema: Schema) -> Iterator[str]:
    unit = table.unit
    where = f"tables.{table.name}.unit"
    if isinstance(unit, ColumnUnit) and _lookup(schema[table.name], unit.column) is None:
        yield f"{where}: {missing(unit.column, table.name, schema[table.name])}"
    if isinstance(unit, PathUnit):
        if _lookup(schema[table.name], unit.key) is None:
            yield f"{where}: {missing(unit.key, table.name, schema[table.name])}"
        theirs = schema.get(unit.table, {})
        if _lookup(theirs, unit.their_key) is None:
            yield f"{where}: {missing(unit.their_key, unit.table, theirs)}"
        if isinstance(policy.unit_of(table.name).unit, RowUnit):
            yield (
                f'{where}: the path ends in table {policy.unit_of(table.name).table!r}, whose unit is "row". '
                "Name that table's key column as its unit instead."
            )


def _lookup(columns: Mapping[str, Kind | None], name: str) -> str | None:
    folded = name.casefold()
    return next((column for column in columns if column.casefold() == folded), None)
