"""Sources: the tables a policy names, as relations the engine can read, and their columns' names and types.

Promise: nothing here looks at a value. A CSV file is read as text throughout, because types that are guessed from
values would tell neighbours apart; the policy says what the text means. A file's fingerprint is made of what the
file system knows about it (name, size, time of change, inode), so noticing a change costs microseconds.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import glob
import hashlib
import json
import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.errors import EngineError, PolicyError
from tacit.policy.columns import Kind
from tacit.policy.policy import Policy, Source, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE_INTEGERS: Final = ("UBIGINT", "HUGEINT", "UHUGEINT")
_CSV: Final = "all_varchar = true, header = true, delim = ',', quote = '\"', escape = '\"', null_padding = true"


@dataclass(frozen=True, slots=True)
class Relation:
    """A source that a connection can read: its SQL, and the type of each of its columns."""

    sql: str
    types: Mapping[str, str]

    def type_of(self, name: str) -> str | None:
        """The type of a column, whatever the case of its name."""
        return self.types.get(self.name_of(name))

    def name_of(self, name: str) -> str:
        """The column's name as the source spells it, if it has it; other engines than DuckDB see case."""
        if name in self.types:
            return name
        return next((column for column in self.types if column.casefold() == name.casefold()), name)


def kind_of(engine_type: str) -> Kind | None:
    """What the policy calls this type of the engine; None for types that no question can use."""
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


def open_relation(connection: DuckDBPyConnection, table: str, source: Source, directory: str) -> Relation:
    """The source as a relation of this connection, which may be one that is about to be locked."""
    import duckdb

    try:
        sql = _relation(connection, source, directory)
        rows = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
    except duckdb.Error:
        raise EngineError(
            f"The source of table {table!r} cannot be read: {source.path}. "
            f"It must exist, be a {source.format} source, and not be written to at the moment."
        ) from None
    return Relation(sql, {str(row[0]): str(row[1]) for row in rows})


def distinct_names(table: str, names: Iterable[str]) -> list[str]:
    """The names of a source's columns, as they are, if nothing could take one for another.

    SQL sees no case, and people see neither spaces at the ends nor how an accent is composed. Where two columns could
    both be meant by the unit's name, one of them would be protected silently, and perhaps the wrong one.
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


def resolved(path: str, directory: str) -> str:
    """A path of the policy, relative to the policy's own folder."""
    return os.path.join(directory, os.path.expanduser(path))


def _relation(connection: DuckDBPyConnection, source: Source, directory: str) -> str:
    path = resolved(source.path, directory)
    if source.format == "frame":
        return quoting.identifier(frame_name(source.path))
    if source.format == "csv":
        return f"read_csv({quoting.text(path)}, {_CSV})"
    if source.format == "parquet":
        return f"read_parquet({quoting.text(path)})"
    alias = "tacit_source_" + hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:16]
    if not Path(path).is_file():
        raise EngineError(f"There is no DuckDB file at {source.path}.")
    connection.execute(f"ATTACH IF NOT EXISTS {quoting.text(path)} AS {alias} (READ_ONLY)")
    inside = str(source.table).split(".")
    return quoting.identifier(alias, *(inside if len(inside) > 1 else ["main", *inside]))


def frame_name(name: str) -> str:
    """The name under which a frame in memory is registered."""
    return f"tacit_frame_{name}"


def _stats(table: Table, directory: str) -> list[list[Any]]:
    if table.source.format == "frame":
        return []
    path = resolved(table.source.path, directory)
    names = [path, path + ".wal"] if table.source.format == "duckdb" else sorted(glob.glob(path, recursive=True))
    found = []
    for name in names:
        try:
            stats = os.stat(name)
        except FileNotFoundError:
            continue
        found.append([os.path.abspath(name), stats.st_size, stats.st_mtime_ns, stats.st_ino])
    return found
