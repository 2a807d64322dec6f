"""The policy: everything the owner promises, in one frozen value.

Promise: a `Policy` that exists holds together. Every table has a source, every private table a unit that its path
leads to and a bound on the rows of one unit, every name is unique whatever its case (SQL does not see case), and no
question may cost more than the dataset has. Nothing in it was computed from a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from tacit.errors import PolicyError
from tacit.loss.budget import Budget
from tacit.policy.columns import Column
from tacit.policy.reading import PLAIN, CsvReading
from tacit.policy.units import ColumnUnit, PathUnit, Resolved, RowUnit, Unit, resolve

T = TypeVar("T")
Format = Literal["duckdb", "csv", "json", "parquet", "postgres", "spark", "frame"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
Timing = Literal["open", "steps"]
TIMINGS: Final[tuple[Timing, ...]] = get_args(Timing)
DATABASES: Final[tuple[Format, ...]] = ("duckdb", "postgres", "spark")
"""Formats that hold tables of their own."""
CSV_ENDINGS: Final = (".csv", ".tsv")
LARGEST_ROWS_PER_UNIT: Final = 2**31 - 1
LARGEST_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows come from: files (CSV, JSON lines and Parquet may be globs), a database, a frame in memory.

    `path` is a file, the frame's name, or where a PostgreSQL database is: `postgresql://host/database`, or
    `postgres:$NAME` for the environment variable that holds the connection string, or the Spark session that reads it:
    `local[4]`, `spark://host:7077`, `sc://host:15002`. `table` is the table's name inside a DuckDB file or a database;
    for Spark it may be files too. `reading` says how CSV is read, by DuckDB or by Spark.

    >>> Source("csv", "visits.csv", reading=CsvReading(delimiter=";")).reading.delimiter
    ';'
    """

    format: Format
    path: str
    table: str | None = None
    reading: CsvReading = PLAIN

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise PolicyError(f"A source is one of {', '.join(FORMATS)}. Got {self.format!r} instead.")
        if not self.path:
            raise PolicyError("A source needs a path.")
        if (self.table is not None) != (self.format in DATABASES):
            raise PolicyError("A DuckDB, PostgreSQL or Spark source, and no other, names the table inside it.")
        if self.format == "postgres":
            _check_address(self.path)
        if self.reading != PLAIN and not self.is_csv:
            raise PolicyError(f"{', '.join(self.reading.stated())}: only a CSV file is read by this. Leave it out.")

    @property
    def is_csv(self) -> bool:
        """Whether it is CSV, read by DuckDB or by Spark."""
        inside = str(self.table).lower().removesuffix(".gz") if self.format == "spark" else ""
        return self.format == "csv" or inside.endswith(CSV_ENDINGS)


@dataclass(frozen=True, slots=True)
class Table:
    """One table: where it is, whose rows it holds, how many rows one unit may have, and its columns.

    `key` is a column that no two rows of a unit share: the working copy keeps one row of each. `fan_out` is for public
    tables: how many of its rows, at most, one row of a private table may meet in a join; None leaves it to the table.
    For a public table that was read, `meets` says how many of its rows agree in these columns, at most.

    >>> age = Column("age", "integer", 0, 110)
    >>> Table("visits", Source("csv", "visits.csv"), ColumnUnit("patient"), 3, {"age": age}).public
    False
    """

    name: str
    source: Source
    unit: Unit | None
    rows_per_unit: int
    columns: Mapping[str, Column]
    public: bool = False
    key: str | None = None
    fan_out: int | None = None
    meets: Mapping[tuple[str, ...], int] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        for problem in _table_problems(self):
            raise PolicyError(f"tables.{self.name}{problem}")

    def column(self, name: str) -> Column | None:
        """The column of this name, whatever its case."""
        return _find(self.columns, name)


@dataclass(frozen=True, slots=True)
class Policy:
    """The owner's promise. `working_copy` and `ledger` are paths; None keeps them in memory.

    The ledger may also be in a PostgreSQL database: `postgresql://host/database`, or `postgres:$NAME` as for a source.
    `directory` is the folder that relative paths are relative to.

    >>> age = Column("age", "integer", 0, 110)
    >>> visits = Table("visits", Source("csv", "visits.csv"), ColumnUnit("patient"), 3, {"age": age})
    >>> Policy("clinic", {"visits": visits}, Budget(1)).largest_epsilon
    Fraction(1, 1)
    """

    name: str
    tables: Mapping[str, Table]
    budget: Budget
    analysts: Mapping[str, Budget] = field(default_factory=dict)
    default_epsilon: Fraction = Fraction(1, 10)
    largest_epsilon: Fraction = Fraction(1)
    working_copy: str | None = None
    ledger: str | None = None
    directory: str = "."
    timing: Timing = "open"
    """When answers leave: as soon as they are there ("open"), or at public points in time ("steps")."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))
        object.__setattr__(self, "analysts", MappingProxyType(dict(self.analysts)))
        if self.ledger is not None and self.ledger.startswith(("postgres:", "postgresql:")):
            _check_address(self.ledger)
        for problem in _policy_problems(self):
            raise PolicyError(problem)

    def table(self, name: str) -> Table | None:
        """The table of this name, whatever its case."""
        return _find(self.tables, name)

    def unit_of(self, table: str) -> Resolved:
        """Where the units of this private table come from."""
        return resolve(table, {name: each.unit for name, each in self.tables.items()})


def _find(things: Mapping[str, T], name: str) -> T | None:
    if name in things:
        return things[name]
    folded = name.casefold()
    return next((thing for key, thing in things.items() if key.casefold() == folded), None)


def _table_problems(table: Table) -> Iterator[str]:
    yield from _name_problems("", (table.name,))
    yield from _name_problems(".columns", table.columns)
    for key, column in table.columns.items():
        if key != column.name:
            yield f".columns: the column {column.name!r} is listed under another name, {key!r}."
    if table.public and table.unit is not None:
        yield ".unit: a public table has no unit. Leave out 'unit', or 'public'."
    if not table.public and table.unit is None:
        yield '.unit: a private table needs a unit: a column, "row", or a path through another table.'
    whole = isinstance(table.rows_per_unit, int) and not isinstance(table.rows_per_unit, bool)
    if not whole or not 1 <= table.rows_per_unit <= LARGEST_ROWS_PER_UNIT:
        yield f".rows_per_unit: a whole number of at least 1 is wanted. Got {table.rows_per_unit!r} instead."
    elif isinstance(table.unit, RowUnit) and table.rows_per_unit != 1:
        yield f'.rows_per_unit: with unit = "row" it is 1. Got {table.rows_per_unit!r} instead.'
    yield from _key_problems(table)
    yield from _auto_problems(table)


def _auto_problems(table: Table) -> Iterator[str]:
    """Cells stand for numbers in DuckDB's working copies; other engines, and public tables, have no use for them."""
    for name, column in table.columns.items():
        if not column.auto:
            continue
        if table.source.format in ("postgres", "spark"):
            yield (
                f'.columns.{name}: between = "auto" works on files and frames for now, and not on '
                f"{table.source.format}. State bounds."
            )
        if table.public:
            yield f".columns.{name}: a public table can be looked at. State the bounds of its columns."
        if table.key is not None and table.key.casefold() == name.casefold():
            yield f'.key: {name!r} has the bounds "auto", and a key needs its values. State bounds, or none.'


def _key_problems(table: Table) -> Iterator[str]:
    if table.key is not None:
        if table.public:
            yield ".key: a public table has no key; joins keep the first of the rows that agree, or fan_out of them."
        elif table.column(table.key) is None or table.key not in table.columns:
            yield f".key: {table.key!r} is none of the columns stated: {', '.join(table.columns) or 'none'}."
    if table.fan_out is None:
        return
    whole = isinstance(table.fan_out, int) and not isinstance(table.fan_out, bool)
    if not whole or not 1 <= table.fan_out <= LARGEST_ROWS_PER_UNIT:
        yield f".fan_out: a whole number of at least 1 is wanted. Got {table.fan_out!r} instead."
    elif table.fan_out != 1 and not table.public:
        yield ".fan_out: this is for public tables. For a private one, rows_per_unit and key say it."


def _policy_problems(policy: Policy) -> Iterator[str]:
    if policy.timing not in TIMINGS:
        yield f"timing: one of {', '.join(TIMINGS)} is wanted. Got {policy.timing!r} instead."
    if not policy.tables:
        yield "tables: a policy needs at least one table."
    yield from _name_problems("tables", policy.tables)
    for key, table in policy.tables.items():
        if key != table.name:
            yield f"tables: the table {table.name!r} is listed under another name, {key!r}."
    yield from _engine_problems(policy)
    units = {name: table.unit for name, table in policy.tables.items()}
    for name, table in policy.tables.items():
        if table.unit is not None:
            try:
                end = resolve(name, units)
            except PolicyError as bad:
                yield f"tables.{name}.unit: {bad}"
            else:
                yield from _path_problems(name, table, end)
    if not 0 < policy.default_epsilon <= policy.largest_epsilon:
        yield (
            "questions.default_epsilon: a number above 0 and at most largest_epsilon "
            f"({policy.largest_epsilon}) is wanted. Got {policy.default_epsilon} instead."
        )
    if policy.budget.epsilon <= 0:
        yield "budget.epsilon: a number above 0 is wanted. Got 0 instead."
    if policy.largest_epsilon > policy.budget.epsilon:
        yield (
            f"questions.largest_epsilon: at most the dataset's epsilon ({policy.budget.epsilon}) is wanted. "
            f"Got {policy.largest_epsilon} instead."
        )


def _engine_problems(policy: Policy) -> Iterator[str]:
    """All tables live on one engine: one PostgreSQL database, or anything that DuckDB reads."""
    sources = {name: table.source for name, table in policy.tables.items()}
    places = {source.path if source.format == "postgres" else None for source in sources.values()}
    if len(places) > 1:
        inside = next(name for name, source in sources.items() if source.format == "postgres")
        yield (
            f"tables.{inside}.source: when one table is in a PostgreSQL database, all tables of the policy are in the "
            "same one, under the same source. Load the others into it, or write two policies."
        )


def _check_address(address: str) -> None:
    """Refuse a password in a connection string: policy files are passed around."""
    if address.startswith("postgres:$"):
        if not address.removeprefix("postgres:$").isidentifier():
            raise PolicyError(f"After 'postgres:$' the name of an environment variable is wanted. Got {address!r}.")
        return
    parts = urlsplit(address)
    if parts.scheme not in ("postgresql", "postgres") or not address.startswith(f"{parts.scheme}://"):
        raise PolicyError('A PostgreSQL address is "postgresql://host/database", or "postgres:$NAME" for a variable.')
    if parts.password is not None or "password" in parts.query.lower():
        raise PolicyError(
            'A password must not stand in a policy. Keep the connection string in a variable ("postgres:$NAME"), '
            "or the password in ~/.pgpass."
        )


def _path_problems(name: str, table: Table, end: Resolved) -> Iterator[str]:
    """A path may only lead to private tables; a row unit at its end has one row there, and many here."""
    if isinstance(table.unit, PathUnit) and not table.unit.key:
        yield f"tables.{name}.unit: a path needs the column of this table that it starts from."
    if isinstance(end.unit, ColumnUnit) and not end.unit.column:
        yield f"tables.{end.table}.unit: a unit needs the name of its column."


def _name_problems(where: str, names: Iterable[str]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name in names:
        if not name or len(name) > LARGEST_NAME or not name.isprintable() or '"' in name:
            yield f"{where}: {name!r} is not a usable name (printable, 1 to {LARGEST_NAME} characters, no quotes)."
        elif name.casefold() in seen:
            yield f"{where}: {name!r} and {seen[name.casefold()]!r} differ only in case, which SQL does not see."
        elif name.casefold().startswith("tacit_"):
            yield f"{where}: {name!r}: names that begin with 'tacit_' are kept for the working copy."
        seen[name.casefold()] = name
