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

The argument is the same on every engine, so its SQL is written here once; a `Flavour` says what an engine words in its
own way.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from tacit.engines import cleaning, quoting
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation, fits_64_bits
from tacit.errors import PolicyError
from tacit.policy.columns import LONGEST_TEXT, Column
from tacit.policy.policy import Policy, Table
from tacit.policy.reading import CsvReading
from tacit.policy.units import ColumnUnit, PathUnit, RowUnit

SCHEMA: Final = "tacit_copy"
ROWS: Final = "tacit_rows"
"""In DuckDB: where the rows of private tables are, of which the copy shows those that are somebody's."""
RANK: Final = "tacit_rank"
_END: Final = "tacit_end"
ROW: Final = "tacit_row"
"""How a source's row is called where it is read."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One step of the registration, and the table it is for."""

    table: str
    sql: str


class Flavour(Protocol):
    """What an engine words in its own way. Every expression is total: it has a value, or NULL, on every row."""

    def read(self, column: Column, engine_type: str, expression: str) -> str:
        """The source's value in the plain type that `bound` expects for this column."""
        ...

    def bound(self, column: Column, value: str) -> str:
        """The grid value, or text, of what `read` gave."""
        ...

    def key(self, engine_type: str, expression: str, whole: bool) -> str:
        """A unit or join key in a form that is equal when the keys are: 64-bit integers, or canonical text."""
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


@dataclass(frozen=True, slots=True)
class DuckDBFlavour:
    """DuckDB's words."""

    secret: Secret

    def read(self, column: Column, engine_type: str, expression: str) -> str:
        """Casts that give NULL where they cannot."""
        return cleaning.read(column, engine_type, expression)

    def bound(self, column: Column, value: str) -> str:
        """Clamped or dropped, and rounded."""
        return cleaning.bound(column, value)

    def key(self, engine_type: str, expression: str, whole: bool) -> str:
        """Whole numbers as they are; others as text."""
        return cleaning.key(engine_type, expression, whole)

    def digest(self, values: str) -> str:
        """64 bits."""
        return f"hash({values})"

    def order(self, table: str) -> str:
        """64 bits of an MD5."""
        key = quoting.text(self.secret.key_for(f"rank of {table}"))
        return f"md5_number_lower({key} || tacit_digest || ':' || tacit_twin)"

    def number(self) -> str:
        """1, 2, 3, ..."""
        return "row_number() OVER ()"


def statements(policy: Policy, relations: Mapping[str, Relation], secret: Secret) -> Iterator[Statement]:
    """Every step, in order, that fills an empty DuckDB database with the working copy."""
    first = next(iter(policy.tables))
    yield Statement(first, f"CREATE SCHEMA {SCHEMA}")
    flavour = DuckDBFlavour(secret)
    dense = not units_are_whole(policy, relations)
    if dense:
        yield Statement(first, _dense_units(policy, relations, flavour))
    yield Statement(first, f"CREATE SCHEMA {ROWS}")
    for name, table in policy.tables.items():
        body = copy_of(policy, name, relations, flavour, dense=dense)
        there = quoting.identifier(SCHEMA, name)
        if table.public:
            yield Statement(name, f"CREATE TABLE {there} AS {body}")
            continue
        rows = quoting.identifier(ROWS, name)
        # In all blocks but the last the mark is one constant, so an engine sees without looking that nobody's rows are
        # not there; a condition on ranks would read a whole column more.
        columns = f"tacit_unit, {RANK}{names_of(table, lead=', ')}"
        yield Statement(name, f"CREATE TABLE {rows} AS SELECT *, CAST(0 AS TINYINT) AS {_END} FROM ({body}) AS tacit_t")
        yield Statement(name, f"INSERT INTO {rows} ({columns}, {_END}) {_ends(table)}")
        yield Statement(name, f"CREATE VIEW {there} AS SELECT {columns} FROM {rows} WHERE {_END} = 0")


def _ends(table: Table) -> str:
    """Rows that are nobody's, marked 1, with the least and the greatest of what each column can hold, and with NULL.

    An engine that keeps the least and the greatest value of every column plans by them: one person with a value that
    no other has would change how a question is answered for everybody. With these rows they are what the policy says.
    """
    least, greatest, missing = [str(-(2**63)), "0"], [str(2**63 - 1), "0"], ["0", "0"]
    for column in table.columns.values():
        low, high = _ends_of(column)
        least.append(low)
        greatest.append(high)
        missing.append("NULL" if column.nullable else low)
    return "VALUES " + ", ".join(f"({', '.join(row)}, 1)" for row in (least, greatest, missing))


def _ends_of(column: Column) -> tuple[str, str]:
    values = column.grid_values
    if column.kind == "text":
        if values is None:
            return "''", f"repeat('\U0010ffff', {LONGEST_TEXT})"
        texts = sorted(map(str, values))
        return quoting.text(texts[0]), quoting.text(texts[-1])
    if values is not None:
        numbers = [int(value) for value in values]
        return str(min(numbers)), str(max(numbers))
    low, high = column.grid_lower, column.grid_upper
    return str(-(2**63) if low is None else low), str(2**63 - 1 if high is None else high)


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
    """The unit of a source's row and the joins it needs; and each column as it is there, and as it is read."""
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
    """Of the rows of a unit that share the table's key, the first by the keyed hash. Rows without a key all stay."""
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
    return flavour.read(column, _type(table, relation, column.name), found)


def plain_number(reading: CsvReading, text: str) -> str:
    """A number written as the policy says, as SQL writes it. What has a point where none can be is no number."""
    if reading.plain_numbers:
        return text
    found = text if reading.thousands == "" else f"replace({text}, {quoting.text(reading.thousands)}, '')"
    if reading.decimal == ".":
        return found
    commas = f"replace({found}, ',', '.')"
    return commas if reading.thousands == "." else f"CASE WHEN {text} LIKE '%.%' THEN NULL ELSE {commas} END"


def bounded_rows(table: Table, typed: str, flavour: Flavour, dense: bool, fence: str = "") -> str:
    parts = ["tacit_key", "tacit_units.id AS tacit_unit" if dense else "tacit_key AS tacit_unit"]
    parts += [
        f"{flavour.bound(column, quoting.identifier('tacit_typed', name))} AS {quoting.identifier(name)}"
        for name, column in table.columns.items()
    ]
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

    A row that leads to several is a row of each of them: it leaves with any, so it can be no one's. It stays so along
    the whole path, because a row behind it leads to all of them too.
    """
    table, relation = policy.tables[name], relations[name]
    unit = table.unit
    if isinstance(unit, ColumnUnit):
        column = quoting.identifier(row, relation.name_of(unit.column))
        own = flavour.key(_type(table, relation, unit.column), column, plain)
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
    met = flavour.key(theirs, quoting.identifier(their_row, their_relation.name_of(unit.their_key)), whole)
    led = (
        f"SELECT {met} AS key, {least} AS first_owner, {greatest} AS last_owner "
        f"FROM {their_relation.sql} AS {quoting.identifier(their_row)}{joins}"
    )
    owners = (
        f"SELECT key, min(first_owner) AS first_owner, max(last_owner) AS last_owner FROM ({led}) AS tacit_owners "
        "WHERE key IS NOT NULL AND first_owner IS NOT NULL GROUP BY key"
    )
    mine = flavour.key(ours, quoting.identifier(row, relation.name_of(unit.key)), whole)
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


def _dense_units(policy: Policy, relations: Mapping[str, Relation], flavour: Flavour) -> str:
    return (
        "CREATE TEMP TABLE tacit_units AS SELECT key, row_number() OVER (ORDER BY key) AS id "
        f"FROM ({units_of(policy, relations, flavour)}) AS tacit_distinct"
    )


def _root_key(table: Table, relation: Relation, column: str, flavour: Flavour) -> str:
    return flavour.key(_type(table, relation, column), quoting.identifier(relation.name_of(column)), False)


def _type(table: Table, relation: Relation, column: str) -> str:
    found = relation.type_of(column)
    if found is None:
        raise PolicyError(
            f"tables.{table.name}: column {column!r} is not in the source. Columns: {', '.join(relation.types)}."
        )
    return found


def names_of(table: Table, lead: str = "") -> str:
    return lead + ", ".join(quoting.identifier(name) for name in table.columns) if table.columns else ""
