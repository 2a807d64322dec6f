"""Registration: the SQL that bounds contributions once, so that every later question is a plain query.

Promise: for each private table T the copy `tacit_copy.T` holds `tacit_unit` (never NULL), `tacit_rank` (1, 2, ... in
each unit, at most `rows_per_unit`), and the policy's columns on their grids; public tables have the columns alone.
What the copy holds of a unit depends on that unit's rows and the secret only. So with one more unit, the copy has that
unit's rows in addition and is otherwise the same: that is the whole sensitivity argument of `rank <= r`.

A row's rank follows from a keyed hash of what the row *is*: its unit and its cleaned columns, never its position, which
would shift with other people's rows. Rows of a unit that are the same in every column are told apart by a counter, so
that a row that occurs nine times is nine times as likely to be kept as one that occurs once; which of the nine is
called the first does not matter, since they are the same. If two different rows of one unit collide in the hash, their
order is arbitrary, which still affects this unit alone.

The argument is the same on every engine, so its SQL is written here once; a `Flavour` has the parts that each engine
words in its own way. It is defined with the engine's tables in the `registration` of its own folder, PostgreSQL's in
`postgres.copy`.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from tacit.engines import cleaning, quoting
from tacit.engines.cleaning import Words
from tacit.engines.sources import Relation, fits_64_bits
from tacit.errors import PolicyError
from tacit.policy.columns import Column
from tacit.policy.policy import Policy, Table
from tacit.policy.reading import CsvReading
from tacit.policy.units import ColumnUnit, PathUnit, RowUnit

ROW: Final = "tacit_row"
"""The alias of a source's row where it is read."""


class Flavour(Protocol):
    """What each engine words in its own way. Every expression is total: it has a value, or NULL, on every row."""

    @property
    def words(self) -> Words:
        """How columns are read and bounded."""
        ...

    def digest(self, values: str) -> str:
        """A hash of a row's values."""
        ...

    def order(self, table: str) -> str:
        """What ranks a table's rows: a hash of `tacit_digest` and `tacit_twin` under the secret."""
        ...

    def number(self) -> str:
        """A whole number for every row of a query, each once."""
        ...


def copy_of(policy: Policy, name: str, relations: Mapping[str, Relation], flavour: Flavour, *, dense: bool) -> str:
    """The SELECT that is the copy of one table. Where `dense`, `tacit_units` gives each unit's key a number."""
    table = policy.tables[name]
    if table.public:
        if not table.columns:
            raise PolicyError(f"tables.{table.name}.columns: a public table needs at least one column.")
        rows = bounded_rows(table, typed_rows(table, relations[name], "NULL", "", flavour), flavour, dense=False)
        return f"SELECT {names_of(table)} FROM ({rows}) AS tacit_rows"
    return _private(policy, table, relations, flavour, dense)


def units_are_whole(policy: Policy, relations: Mapping[str, Relation]) -> bool:
    """Whether every unit's key is a 64-bit integer."""
    roots = _roots(policy)
    return all(fits_64_bits(_type(policy.tables[name], relations[name], column)) for name, column in roots.items())


def _private(policy: Policy, table: Table, relations: Mapping[str, Relation], flavour: Flavour, dense: bool) -> str:
    columns = names_of(table, lead=", ")
    relation = relations[table.name]
    if isinstance(table.unit, RowUnit):
        rows = bounded_rows(table, typed_rows(table, relation, "1", "", flavour), flavour, dense=False)
        return (
            f"SELECT {flavour.number()} AS tacit_unit, CAST(1 AS INTEGER) AS tacit_rank{columns} "
            f"FROM ({rows}) AS tacit_rows"
        )
    unit, joins = whose(policy, table, relations, flavour)
    rows = bounded_rows(table, typed_rows(table, relation, unit, joins, flavour), flavour, dense)
    return _ranked(table, rows, flavour)


def whose(policy: Policy, table: Table, relations: Mapping[str, Relation], flavour: Flavour) -> tuple[str, str]:
    """The unit of a row, NULL where it leads to several, and the joins that this needs."""
    least, greatest, joins = _unit(policy, table.name, relations, flavour, units_are_whole(policy, relations))
    return (least if least == greatest else f"CASE WHEN {least} = {greatest} THEN {least} END"), joins


def _ranked(table: Table, rows: str, flavour: Flavour) -> str:
    """The first `rows_per_unit` of each unit's rows, in the secret order."""
    ranked = with_ranks(table, rows, flavour)
    return f"SELECT * FROM ({ranked}) AS tacit_ranked WHERE tacit_rank <= {table.rows_per_unit:d}"


def with_ranks(table: Table, rows: str, flavour: Flavour) -> str:
    """Every row, with its place among its unit's rows in the secret order."""
    columns = names_of(table, lead=", ")
    twins = (
        f"SELECT tacit_unit, tacit_digest{columns}, row_number() OVER alike - rank() OVER alike AS tacit_twin "
        f"FROM (SELECT tacit_unit, {flavour.digest(f'tacit_key{columns}')} AS tacit_digest{columns} "
        f"FROM ({rows}) AS tacit_rows) AS tacit_digested "
        f"WINDOW alike AS (PARTITION BY tacit_unit ORDER BY tacit_digest)"
    )
    order = flavour.order(table.name)
    if table.key is not None:
        twins, order = _one_of_each_key(table, columns, twins, order), "tacit_keyed"
    rank = f"CAST(row_number() OVER (PARTITION BY tacit_unit ORDER BY {order}) AS INTEGER) AS tacit_rank"
    return f"SELECT tacit_unit, {rank}{columns} FROM ({twins}) AS tacit_twins"


def unit_and_columns(
    policy: Policy, table: Table, relations: Mapping[str, Relation], flavour: Flavour
) -> tuple[str, str, list[tuple[str, str]]]:
    """The unit of a source's row and the joins it needs; and each column, both as it is and as it is read."""
    relation = relations[table.name]
    unit, joins = "1", ""
    if not table.public and not isinstance(table.unit, RowUnit):
        unit, joins = whose(policy, table, relations, flavour)
    columns = [
        (quoting.identifier(ROW, relation.name_of(name)), _as_read(table, relation, column, flavour))
        for name, column in table.columns.items()
    ]
    return unit, joins, columns


def _one_of_each_key(table: Table, columns: str, rows: str, order: str) -> str:
    """The first row, by the keyed hash, of a unit's rows that share the table's key. Rows without a key all stay."""
    key = quoting.identifier(str(table.key))
    first = f"row_number() OVER (PARTITION BY tacit_unit, {key} ORDER BY {order}) AS tacit_first"
    return (
        f"SELECT tacit_unit, tacit_keyed{columns} FROM (SELECT tacit_unit, {order} AS tacit_keyed, {first}{columns} "
        f"FROM ({rows}) AS tacit_twins) AS tacit_keys WHERE tacit_first = 1 OR {key} IS NULL"
    )


def typed_rows(table: Table, relation: Relation, unit: str, joins: str, flavour: Flavour) -> str:
    parts = [f"{unit} AS tacit_key"]
    for name, column in table.columns.items():
        parts.append(f"{_as_read(table, relation, column, flavour)} AS {quoting.identifier(name)}")
    return f"SELECT {', '.join(parts)} FROM {relation.sql} AS {ROW}{joins}"


def _as_read(table: Table, relation: Relation, column: Column, flavour: Flavour) -> str:
    """A column of the source in the plain type that `bound` expects."""
    found = quoting.identifier(ROW, relation.name_of(column.name))
    if column.kind in ("integer", "real"):
        found = plain_number(table.source.reading, found)
    return cleaning.read(column, _type(table, relation, column.name), found, flavour.words)


def plain_number(reading: CsvReading, text: str) -> str:
    """A number written as the policy says, in SQL's form. A text with a point where none may be is not a number."""
    if reading.plain_numbers:
        return text
    found = text if reading.thousands == "" else f"replace({text}, {quoting.text(reading.thousands)}, '')"
    if reading.decimal == ".":
        return found
    commas = f"replace({found}, ',', '.')"
    return commas if reading.thousands == "." else f"CASE WHEN {text} LIKE '%.%' THEN NULL ELSE {commas} END"


def bounded_rows(table: Table, typed: str, flavour: Flavour, dense: bool, fence: str = "") -> str:
    parts = ["tacit_key", "tacit_units.id AS tacit_unit" if dense else "tacit_key AS tacit_unit"]
    for name, column in table.columns.items():
        bounded = cleaning.bound(column, quoting.identifier("tacit_typed", name), flavour.words)
        parts.append(f"{bounded} AS {quoting.identifier(name)}")
    joins = " JOIN tacit_units ON tacit_units.key = tacit_key" if dense else ""
    kept = [f"{quoting.identifier(name)} IS NOT NULL" for name, column in table.columns.items() if not column.nullable]
    if not table.public:
        kept.append("tacit_key IS NOT NULL")
    where = f" WHERE {' AND '.join(kept)}" if kept else ""
    inside = f"SELECT {', '.join(parts)} FROM ({typed}) AS tacit_typed{joins}{fence}"
    return f"SELECT * FROM ({inside}) AS tacit_bounded{where}"


def _unit(
    policy: Policy, name: str, relations: Mapping[str, Relation], flavour: Flavour, plain: bool, row: str = ROW
) -> tuple[str, str, str]:
    """The least and the greatest of the units that a row leads to, and the joins that this needs.

    A row that leads to several is a row of each of them: it would leave with any of them, so it counts as a row of
    none. That holds along the whole path, because a row that leads to it leads to all of them too.
    """
    table, relation = policy.tables[name], relations[name]
    unit = table.unit
    if isinstance(unit, ColumnUnit):
        column = quoting.identifier(row, relation.name_of(unit.column))
        own = cleaning.key(_type(table, relation, unit.column), column, plain, flavour.words)
        return own, own, ""
    if not isinstance(unit, PathUnit) or isinstance(policy.unit_of(name).unit, RowUnit):
        raise PolicyError(
            f'tables.{name}.unit: a path must lead to a unit that is a column, not to unit = "row". '
            "Name the key column of that table as its unit."
        )
    step = quoting.identifier(f"tacit_step_{name}")
    ours = _type(table, relation, unit.key)
    their_table, their_relation = policy.tables[unit.table], relations[unit.table]
    theirs = _type(their_table, their_relation, unit.their_key)
    whole = fits_64_bits(ours) and fits_64_bits(theirs)
    their_row = f"tacit_row_{unit.table}"
    least, greatest, joins = _unit(policy, unit.table, relations, flavour, plain, their_row)
    their_key = quoting.identifier(their_row, their_relation.name_of(unit.their_key))
    met = cleaning.key(theirs, their_key, whole, flavour.words)
    led = (
        f"SELECT {met} AS key, {least} AS first_owner, {greatest} AS last_owner "
        f"FROM {their_relation.sql} AS {quoting.identifier(their_row)}{joins}"
    )
    owners = (
        f"SELECT key, min(first_owner) AS first_owner, max(last_owner) AS last_owner FROM ({led}) AS tacit_owners "
        "WHERE key IS NOT NULL AND first_owner IS NOT NULL GROUP BY key"
    )
    mine = cleaning.key(ours, quoting.identifier(row, relation.name_of(unit.key)), whole, flavour.words)
    return f"{step}.first_owner", f"{step}.last_owner", f" JOIN ({owners}) AS {step} ON {step}.key = {mine}"


def _roots(policy: Policy) -> dict[str, str]:
    """The tables whose own column names the unit, with that column."""
    return {name: table.unit.column for name, table in policy.tables.items() if isinstance(table.unit, ColumnUnit)}


def units_of(policy: Policy, relations: Mapping[str, Relation], flavour: Flavour) -> str:
    """The SELECT of the key of every unit there is, each once."""
    keys = " UNION ALL ".join(
        f"SELECT {_root_key(policy.tables[name], relations[name], column, flavour)} AS key FROM {relations[name].sql}"
        for name, column in _roots(policy).items()
    )
    return f"SELECT DISTINCT key FROM ({keys}) AS tacit_keys WHERE key IS NOT NULL"


def _root_key(table: Table, relation: Relation, column: str, flavour: Flavour) -> str:
    name = quoting.identifier(relation.name_of(column))
    return cleaning.key(_type(table, relation, column), name, False, flavour.words)


def _type(table: Table, relation: Relation, column: str) -> str:
    found = relation.type_of(column)
    if found is None:
        raise PolicyError(
            f"tables.{table.name}: column {column!r} is not in the source. Columns: {', '.join(relation.types)}."
        )
    return found


def names_of(table: Table, lead: str = "") -> str:
    return lead + ", ".join(quoting.identifier(name) for name in table.columns) if table.columns else ""
