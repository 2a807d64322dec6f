"""Sources: the tables a policy names, as relations the engine can read, and their columns' names and types.

Promise: what a row says depends on that row and on the policy. CSV and JSON lines are text throughout, read by the
policy's own words (`csv_files`, `json_files`); Parquet files of one table have the same columns, and folders called
`key=value` mean nothing. Columns whose names could be mistaken for each other are refused. Names and types are found
without looking at a row; rows are looked at only where a folder is given to prepare files in. A file's fingerprint is
made of what the file system knows about it, so noticing a change costs microseconds, and it covers every file read.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import csv_files, json_files, quoting
from tacit.errors import EngineError, PolicyError
from tacit.policy.columns import Kind
from tacit.policy.policy import Policy, Source, Table
from tacit.policy.units import ColumnUnit, PathUnit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE_INTEGERS: Final = ("UBIGINT", "HUGEINT", "UHUGEINT")
LARGEST_WHOLE: Final[Mapping[str, int]] = {"DOUBLE": 2**53, "FLOAT": 2**24}
"""From here on one floating point number stands for several whole numbers."""
_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
    "parquet": (".parquet", ".pq"),
}
"""The endings of the files in a folder that are read."""
_AS_WRITTEN: Final = "hive_partitioning = false, union_by_name = false, filename = false, file_row_number = false"
_TICK: Final = 0.02
"""Seconds within which two changes of a file may carry the same time."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A source that a connection can read: its SQL, and the type of each of its columns.

    Texts are compared by their characters in `sql`; in `own`, where that is given, as the source itself compares them.
    """

    sql: str
    types: Mapping[str, str]
    own: str | None = None

    def type_of(self, name: str) -> str | None:
        """The type of a column, whatever the case of its name."""
        return self.types.get(self.name_of(name))

    def name_of(self, name: str) -> str:
        """The column's name as the source spells it, if it has the column; engines other than DuckDB see case."""
        if name in self.types:
            return name
        return next((column for column in self.types if column.casefold() == name.casefold()), name)


def kind_of(engine_type: str) -> Kind | None:
    """The policy's name of this type of the engine; None for types that no question can use."""
    name = engine_type.upper()
    if name in _INTEGERS or name in _WIDE_INTEGERS:
        return "integer"
    if name in ("FLOAT", "DOUBLE") or name.startswith("DECIMAL"):
        return "real"
    if name in ("VARCHAR", "UUID") or name.startswith("ENUM"):
        return "text"
    if name == "DATE":
        return "date"
    if name.startswith("TIMESTAMP"):
        return "timestamp"
    return "boolean" if name == "BOOLEAN" else None


def fits_64_bits(engine_type: str) -> bool:
    """Whether every value of this type is a 64-bit signed integer."""
    return engine_type.upper() in _INTEGERS


def open_relation(
    connection: DuckDBPyConnection,
    table: str,
    source: Source,
    directory: str,
    *,
    named: Iterable[str] = (),
    units: Iterable[str] = (),
    folder: Path | None = None,
) -> Relation:
    """The source as a relation of this connection, which may be one that is about to be locked.

    `named` are the columns that the policy speaks of and `units` those that lead to units: JSON lines have no others.
    Without a `folder` to prepare files in, no row is read, and the relation of CSV or JSON lines has names alone.
    """
    import duckdb

    try:
        if source.format == "duckdb":
            return _uncollated(connection, _described(connection, table, _inside(connection, source, directory)))
        files = files_of(source, directory)
        if not files:
            raise EngineError(f"{source.path}: there is no such {source.format} file.")
        if source.format == "csv":
            names = distinct_names(table, csv_files.header(files, source.reading))
            prepared = csv_files.prepare(files, source.reading, len(names), folder) if folder is not None else None
            sql = "" if prepared is None else csv_files.relation(prepared, names, source.reading)
            return Relation(sql, dict.fromkeys(names, "VARCHAR"))
        if source.format == "json":
            names = distinct_names(table, named)
            sql = "" if folder is None else _json(connection, files, names, list(units), folder)
            return Relation(sql, dict.fromkeys(names, "VARCHAR"))
        return _parquet(connection, table, files)
    except duckdb.Error:
        raise EngineError(
            f"The source of table {table!r} cannot be read: {source.path}. "
            f"It must exist, be a {source.format} source, and not be written to at the moment."
        ) from None
    except EngineError as bad:
        raise EngineError(f"The source of table {table!r} cannot be read: {bad}") from None


def named_columns(policy: Policy, table: str) -> tuple[list[str], list[str]]:
    """The columns of a table that the policy speaks of, and those of them that lead to units."""
    stated = policy.tables[table]
    keys = []
    if isinstance(stated.unit, ColumnUnit):
        keys.append(stated.unit.column)
    if isinstance(stated.unit, PathUnit):
        keys.append(stated.unit.key)
    for other in policy.tables.values():
        if isinstance(other.unit, PathUnit) and other.unit.table == table:
            keys.append(other.unit.their_key)
    spelt = {name.casefold(): name for name in reversed([*stated.columns, *keys])}
    return list(spelt.values()), sorted({spelt[key.casefold()] for key in keys})


def distinct_names(table: str, names: Iterable[str]) -> list[str]:
    """The names of a source's columns, unchanged; refused where one could be mistaken for another.

    SQL ignores case, and people see neither spaces at the ends nor how an accent is composed. If two columns could be
    meant by the unit's name, one of them would be protected silently, and perhaps the wrong one.
    """
    seen: dict[str, str] = {}
    for name in (names := list(names)):
        plain = unicodedata.normalize("NFKC", name).strip().lstrip("\ufeff").casefold()
        if plain in seen:
            raise PolicyError(
                f"tables.{table}.source: it has two columns that could be taken for one another, {seen[plain]!r} and "
                f"{name!r}. Which of them a policy means cannot be told: rename one of them in the source."
            )
        seen[plain] = name
    return names


def fingerprint(policy: Policy) -> str:
    """A digest that changes when a file behind the policy's tables does."""
    seen = {name: _stats(table, policy.directory) for name, table in policy.tables.items()}
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def wait_for_the_clock(policy: Policy) -> None:
    """Wait until a change of any source would carry a later time than it has now: a moment, if a file is very new."""
    times = [each[3] for table in policy.tables.values() for each in _stats(table, policy.directory)]
    age = time.time() - max(times, default=0) / 1e9
    if 0 <= age < _TICK:
        time.sleep(_TICK - age)


def files_of(source: Source, directory: str) -> list[str]:
    """Every file that is read: the one named, those that fit the pattern, and in folders those with a known ending."""
    path = resolved(source.path, directory)
    found = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
    files = {os.path.abspath(each) for start in found for each in _files_in(start, source)}
    return sorted(files)


def resolved(path: str, directory: str) -> str:
    """A path of the policy, relative to the policy's own folder."""
    return os.path.join(directory, os.path.expanduser(path))


def frame_name(name: str) -> str:
    """The name under which a frame in memory is registered."""
    return f"tacit_frame_{name}"


def _files_in(start: str, source: Source) -> Iterator[str]:
    if not os.path.isdir(start):
        yield start
        return
    for folder, folders, names in os.walk(start, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            if name.lower().endswith(_ENDINGS[source.format]) and not name.startswith((".", "_")):
                yield os.path.join(folder, name)


def _inside(connection: DuckDBPyConnection, source: Source, directory: str) -> str:
    """A table of a DuckDB file."""
    path = resolved(source.path, directory)
    alias = "tacit_source_" + hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:16]
    if not Path(path).is_file():
        raise EngineError(f"{source.path}: there is no such DuckDB file.")
    connection.execute(f"ATTACH IF NOT EXISTS {quoting.text(path)} AS {alias} (READ_ONLY)")
    inside = str(source.table).split(".")
    return quoting.identifier(alias, *(inside if len(inside) > 1 else ["main", *inside]))


def _uncollated(connection: DuckDBPyConnection, relation: Relation) -> Relation:
    """The relation, with texts that are equal only if their characters are.

    A collation is carried into every copy. Types do not show collations, so if the database has any, all texts lose
    theirs.
    """
    spoken = connection.execute(
        "SELECT 1 FROM (SELECT database_name, sql FROM duckdb_tables() UNION ALL "
        "SELECT database_name, sql FROM duckdb_views() WHERE NOT internal) AS tacit_spoken "
        "WHERE starts_with(database_name, 'tacit_source_') AND contains(lower(sql), 'collate') LIMIT 1"
    ).fetchone()
    texts = [quoting.identifier(name) for name, kind in relation.types.items() if kind == "VARCHAR"]
    if spoken is None or not texts:
        return relation
    plain = ", ".join(f"decode(encode({name})) AS {name}" for name in texts)
    return Relation(f"(SELECT * REPLACE ({plain}) FROM {relation.sql})", relation.types, relation.sql)


def _json(
    connection: DuckDBPyConnection, files: Sequence[str], names: Sequence[str], units: Sequence[str], folder: Path
) -> str:
    prepared = json_files.prepare(files, folder)
    json_files.check(connection, files, prepared, names, units)
    return json_files.relation(prepared, names)


def _parquet(connection: DuckDBPyConnection, table: str, files: Sequence[str]) -> Relation:
    first: Relation | None = None
    for file in files:
        sql = f"read_parquet([{quoting.text(csv_files.literally(file))}], {_AS_WRITTEN})"
        # Read from the file itself: the engine would rename the second of two equal columns.
        distinct_names(table, _parquet_names(connection, file))
        found = _described(connection, table, sql)
        if first is None:
            first = found
        elif found.types != first.types:
            odd = next(name for name in [*first.types, *found.types] if first.types.get(name) != found.types.get(name))
            ours, theirs = first.types.get(odd, "not there"), found.types.get(odd, "not there")
            raise EngineError(
                f"All Parquet files of a table have the same columns. Column {odd!r} is {ours} in {files[0]} "
                f"and {theirs} in {file}. Write them alike, or name fewer files."
            )
    listed = ", ".join(quoting.text(csv_files.literally(file)) for file in files)
    return Relation(f"read_parquet([{listed}], {_AS_WRITTEN})", first.types if first is not None else {})


def _parquet_names(connection: DuckDBPyConnection, file: str) -> list[str]:
    """The names of the outermost columns, as the file has them."""
    path = quoting.text(csv_files.literally(file))
    rows = connection.execute(f"SELECT name, num_children FROM parquet_schema([{path}])").fetchall()
    names, open_children = [], [1]  # the root has its own row
    for name, children in rows:
        if len(open_children) == 2:
            names.append(str(name))
        open_children[-1] -= 1
        open_children.append(int(children or 0))
        while len(open_children) > 1 and open_children[-1] == 0:
            open_children.pop()
    return names


def _described(connection: DuckDBPyConnection, table: str, sql: str) -> Relation:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
    distinct_names(table, (str(row[0]) for row in rows))
    return Relation(sql, {str(row[0]): str(row[1]) for row in rows})


def _stats(table: Table, directory: str) -> list[list[Any]]:
    if table.source.format == "frame":
        return []
    path = resolved(table.source.path, directory)
    database = [os.path.abspath(path), os.path.abspath(path + ".wal")]
    names = database if table.source.format == "duckdb" else files_of(table.source, directory)
    found = []
    for name in names:
        try:
            stats = os.stat(name)
        except FileNotFoundError:
            continue
        # The time of change cannot be set back, as that of the last writing can.
        found.append([name, stats.st_size, stats.st_mtime_ns, stats.st_ctime_ns, stats.st_ino])
    return found
