"""Registration: the SQL that bounds contributions once, so that every later question is a plain query.

Promise: for each private table T the copy `tacit_copy.T` holds `tacit_unit` (never NULL), `tacit_rank` (1, 2, ... in
each unit, at most `rows_per_unit`), and the policy's columns on their grids; public tables have the columns alone.
What the copy holds of a unit depends on that unit's rows and the secret only. So with one unit more, the copy has
that unit's rows more and is otherwise the same: that is the whole sensitivity argument of `rank <= r`.

A row's rank follows from a keyed hash of what the row *is*: its unit and its cleaned columns, never its position, which
would shift with other people's rows. Rows of a unit that are the same in every column are told apart by a counter, so
that a row that occurs nine times is nine times as likely to be kept as one that occurs once; which of the nine is
called the first does not matter, since they are the same. Should two different rows of one unit collide in the hash,
their order is arbitrary, which still touches this unit alone.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tacit.engines import cleaning, quoting
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation, fits_64_bits, kind_of
from tacit.errors import PolicyError
from tacit.policy.policy import Policy, Table
from tacit.policy.units import ColumnUnit, PathUnit, RowUnit

SCHEMA: Final = "tacit_copy"
_ROW: Final = "tacit_row"


@dataclass(frozen=True, slots=True)
class Statement:
    """One step of the registration, and the table it is for."""

    table: str
    sql: str


def statements(policy: Policy, relations: Mapping[str, Relation], secret: Secret) -> Iterator[Statement]:
    """Every step, in order, that fills an empty database with the working copy."""
    first = next(iter(policy.tables))
    yield Statement(first, f"CREATE SCHEMA {SCHEMA}")
    plain = _units_are_whole(policy, relations)
    if not plain:
        yield Statement(first, _dense_units(policy, relations))
    for name, table in policy.tables.items():
        if table.public:
            body = _public(table, relations[name])
        else:
            body = _private(policy, table, relations, plain, secret.key_for(f"rank of {name}"))
        yield Statement(name, f"CREATE TABLE {quoting.identifier(SCHEMA, name)} AS {body}")


def _public(table: Table, relation: Relation) -> str:
    if not table.columns:
        raise PolicyError(f"tables.{table.name}.columns: a public table needs at least one column.")
    return f"SELECT {_names(table)} FROM ({_bounded(table, _typed(table, relation, 'NULL'), plain=True)})"


def _private(policy: Policy, table: Table, relations: Mapping[str, Relation], plain: bool, key: str) -> str:
    columns = _names(table, lead=", ")
    relation = relations[table.name]
    if isinstance(table.unit, RowUnit):
        rows = _bounded(table, _typed(table, relation, "1"), plain=True)
        return f"SELECT row_number() OVER () AS tacit_unit, CAST(1 AS INTEGER) AS tacit_rank{columns} FROM ({rows})"
    unit, joins = _unit(policy, table.name, relations, plain)
    rows = _bounded(table, _typed(table, relation, unit, joins), plain)
    content = f"hash(tacit_key{columns})"
    twins = (
        f"SELECT tacit_unit, tacit_digest{columns}, row_number() OVER alike - rank() OVER alike AS tacit_twin "
        f"FROM (SELECT tacit_unit, {content} AS tacit_digest{columns} FROM ({rows})) "
        f"WINDOW alike AS (PARTITION BY tacit_unit ORDER BY tacit_digest)"
    )
    keyed = f"md5_number_lower({quoting.text(key)} || tacit_digest || ':' || tacit_twin)"
    ranked = (
        f"SELECT tacit_unit{columns}, "
        f"CAST(row_number() OVER (PARTITION BY tacit_unit ORDER BY {keyed}) AS INTEGER) AS tacit_rank FROM ({twins})"
    )
    return f"SELECT tacit_unit, tacit_rank{columns} FROM ({ranked}) WHERE tacit_rank <= {table.rows_per_unit:d}"


def _typed(table: Table, relation: Relation, unit: str, joins: str = "") -> str:
    parts = [f"{unit} AS tacit_key"]
    for name, column in table.columns.items():
        value = cleaning.read(column, _type(table, relation, name), quoting.identifier(_ROW, name))
        parts.append(f"{value} AS {quoting.identifier(name)}")
    return f"SELECT {', '.join(parts)} FROM {relation.sql} AS {_ROW}{joins}"


def _bounded(table: Table, typed: str, plain: bool) -> str:
    parts = ["tacit_key", "tacit_key AS tacit_unit" if plain else "tacit_units.id AS tacit_unit"]
    parts += [
        f"{cleaning.bound(column, quoting.identifier(name))} AS {quoting.identifier(name)}"
        for name, column in table.columns.items()
    ]
    joins = "" if plain else " JOIN tacit_units ON tacit_units.key = tacit_key"
    kept = [f"{quoting.identifier(name)} IS NOT NULL" for name, column in table.columns.items() if not column.nullable]
    if not table.public:
        kept.append("tacit_key IS NOT NULL")
    where = f" WHERE {' AND '.join(kept)}" if kept else ""
    return f"SELECT * FROM (SELECT {', '.join(parts)} FROM ({typed}){joins}){where}"


def _unit(
    policy: Policy, name: str, relations: Mapping[str, Relation], plain: bool, row: str = _ROW
) -> tuple[str, str]:
    """The expression that names a row's unit, and the joins it needs."""
    table = policy.tables[name]
    unit = table.unit
    if isinstance(unit, ColumnUnit):
        return _key(_type(table, relations[name], unit.column), quoting.identifier(row, unit.column), plain), ""
    if not isinstance(unit, PathUnit) or isinstance(policy.unit_of(name).unit, RowUnit):
        raise PolicyError(
            f'tables.{name}.unit: a path must lead to a unit that is a column, not to unit = "row". '
            "Name the key column of that table as its unit."
        )
    step = quoting.identifier(f"tacit_step_{name}")
    ours = _type(table, relations[name], unit.key)
    their_table = policy.tables[unit.table]
    theirs = _type(their_table, relations[unit.table], unit.their_key)
    whole = fits_64_bits(ours) and fits_64_bits(theirs)
    their_row = f"tacit_row_{unit.table}"
    owner, joins = _unit(policy, unit.table, relations, plain, their_row)
    met = _key(theirs, quoting.identifier(their_row, unit.their_key), whole)
    # A key that leads to several units would let one unit change another's rows: such rows are left out.
    owners = (
        f"SELECT key, min(owner) AS owner FROM (SELECT {met} AS key, {owner} AS owner "
        f"FROM {relations[unit.table].sql} AS {quoting.identifier(their_row)}{joins}) "
        "WHERE key IS NOT NULL AND owner IS NOT NULL GROUP BY key HAVING min(owner) = max(owner)"
    )
    mine = _key(ours, quoting.identifier(row, unit.key), whole)
    return f"{step}.owner", f" JOIN ({owners}) AS {step} ON {step}.key = {mine}"


def _key(engine_type: str, expression: str, whole: bool) -> str:
    """A unit or join key in a form that is equal when the keys are: 64-bit integers, or canonical text."""
    if whole:
        return f"CAST({expression} AS BIGINT)"
    if kind_of(engine_type) == "real":
        # Frames hold whole numbers as doubles once one is missing: 7.0 is the same unit as 7.
        number = f"TRY_CAST({expression} AS DOUBLE)"
        is_whole = f"{number} = floor({number}) AND abs({number}) < 9007199254740992"
        return (
            f"CASE WHEN NOT isfinite({number}) THEN NULL WHEN {is_whole} "
            f"THEN CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR) ELSE CAST({number} AS VARCHAR) END"
        )
    return f"CAST({expression} AS VARCHAR)"


def _roots(policy: Policy) -> dict[str, str]:
    """The tables whose own column names the unit, with that column."""
    return {name: table.unit.column for name, table in policy.tables.items() if isinstance(table.unit, ColumnUnit)}


def _units_are_whole(policy: Policy, relations: Mapping[str, Relation]) -> bool:
    roots = _roots(policy)
    return all(fits_64_bits(_type(policy.tables[name], relations[name], column)) for name, column in roots.items())


def _dense_units(policy: Policy, relations: Mapping[str, Relation]) -> str:
    keys = " UNION ALL ".join(
        f"SELECT {_key(_type(policy.tables[name], relations[name], column), quoting.identifier(column), False)} AS key "
        f"FROM {relations[name].sql}"
        for name, column in _roots(policy).items()
    )
    return (
        "CREATE TEMP TABLE tacit_units AS SELECT key, row_number() OVER (ORDER BY key) AS id "
        f"FROM (SELECT DISTINCT key FROM ({keys}) WHERE key IS NOT NULL)"
    )


def _type(table: Table, relation: Relation, column: str) -> str:
    found = relation.type_of(column)
    if found is None:
        raise PolicyError(
            f"tables.{table.name}: column {column!r} is not in the source. Columns: {', '.join(relation.types)}."
        )
    return found


def _names(table: Table, lead: str = "") -> str:
    return lead + ", ".join(quoting.identifier(name) for name in table.columns) if table.columns else ""
