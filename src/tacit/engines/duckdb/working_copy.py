"""The working copy as a file: built elsewhere, moved into place, and built again when it no longer fits.

Promise: the file can be read by its owner only, at every moment (it is built inside a folder that only the owner can
enter), and it is complete or not there, also after Ctrl-C. It records what it is a copy of: a digest of the policy's
tables, and a fingerprint of the sources, taken before the first row was read and again after the last; a source that
changed in between is not registered. A copy "in memory" is a file on a memory file system, removed when it is closed.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tacit.engines import leases, quoting, sources
from tacit.engines.duckdb import frames as frames_of
from tacit.engines.duckdb import keys
from tacit.engines.duckdb.interrupts import as_keyboard_interrupts, execute
from tacit.engines.duckdb.registration import ROWS, statements
from tacit.engines.secret import Secret
from tacit.errors import EngineError, PolicyError
from tacit.plan.sources.scope import COPY
from tacit.policy.check import Schema, check
from tacit.policy.policy import Policy

VERSION: Final = 4
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # the private folder inside it is made by mkdtemp
Progress = Callable[[str, int, int], None]
"""Called with the next table, the number of steps done, and the number of all steps."""


def mark(policy: Policy) -> str:
    """By what an engine knows its copy: the digest, and for frames, which have no identity, the registration too."""
    in_frames = any(table.source.format == "frame" for table in policy.tables.values())
    return digest(policy) + (f" {secrets.token_hex(16)}" if in_frames else "")


def digest(policy: Policy) -> str:
    """What the copy depends on in the policy: its tables, not its budgets."""
    tables = {
        name: {
            "source": asdict(table.source),
            "unit": [type(table.unit).__name__, asdict(table.unit) if table.unit is not None else None],
            "rows_per_unit": table.rows_per_unit,
            "columns": [asdict(column) for column in table.columns.values()],
            "public": table.public,
            "key": table.key,
        }
        for name, table in policy.tables.items()
    }
    content = json.dumps({"version": VERSION, "tables": tables}, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def path_of(policy: Policy) -> Path:
    """Where the copy of this policy lies; a fresh private folder for a copy in memory."""
    if policy.working_copy is None:
        root = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        return Path(tempfile.mkdtemp(prefix="tacit-", dir=root)) / "copy.duckdb"
    path = Path(sources.resolved(policy.working_copy, policy.directory))
    if path.stem in (COPY, ROWS):
        raise PolicyError(
            f"working_copy: a file called {path.name!r} would hide the schema inside it. Call it otherwise."
        )
    return path


@as_keyboard_interrupts()
def is_current(policy: Policy, path: Path) -> bool:
    """Whether the file is a finished copy of these tables as they are now."""
    if not path.is_file() or any(table.source.format == "frame" for table in policy.tables.values()):
        return False
    if path.stat().st_mode & 0o077:
        raise EngineError(f"The working copy must be readable by its owner only: chmod 600 {path}, or remove it.")
    return _about(path) == (digest(policy), sources.fingerprint(policy))


@as_keyboard_interrupts()
def is_of(mark: str, path: Path) -> bool:
    """Whether the file is a finished copy under these very bounds, from any moment."""
    found = _about(path)
    return found is not None and found[0] == mark


def _about(path: Path) -> tuple[str, str] | None:
    """What a finished copy records: the digest of its tables, and the fingerprint of the sources."""
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            found = connection.execute("SELECT digest, fingerprint FROM tacit_about").fetchall()
    except duckdb.Error:
        return None
    return found[0] if len(found) == 1 else None


@as_keyboard_interrupts()
def build(
    policy: Policy,
    secret: Secret,
    path: Path,
    frames: Mapping[str, Any],
    *,
    mark: str,
    memory: int,
    threads: int,
    progress: Progress | None = None,
) -> Schema:
    """Write the copy to `path`, in place of what was there. Returns the schema of the sources."""
    import duckdb

    leases.sweep(path.parent, ".tacit-")  # killed registrations left rows there, in the clear
    try:
        lease = leases.make(path.parent, ".tacit-")
    except OSError:
        raise EngineError(f"The folder of the working copy cannot be written to: {path.parent}") from None
    workshop = lease.path
    try:
        draft = workshop / "draft.duckdb"
        config: dict[str, Any] = {
            "memory_limit": f"{memory}B",
            "threads": threads,
            "temp_directory": str(workshop / "spill"),
        }
        with duckdb.connect(str(draft), config=config) as connection:
            schema = _fill(connection, policy, secret, frames, workshop, mark, progress)
        draft.chmod(0o600)
        os.replace(draft, path)
        return schema
    except OSError:
        raise EngineError(f"The working copy cannot be put in place: {path}") from None
    finally:
        lease.remove()


@as_keyboard_interrupts()
def describe(policy: Policy, frames: Mapping[str, Any]) -> Schema:
    """The names and kinds of the columns behind each table of the policy. Reads no row."""
    import duckdb

    with duckdb.connect() as connection:
        relations = relations_of(connection, policy, frames)
        check(policy, schema := _schema(relations))
        keys.check_types(policy, relations)
        return schema


def _fill(
    connection: Any,
    policy: Policy,
    secret: Secret,
    frames: Mapping[str, Any],
    workshop: Path,
    mark: str,
    progress: Progress | None,
) -> Schema:
    import duckdb

    sources.wait_for_the_clock(policy)
    before = sources.fingerprint(policy)
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements"):
        connection.execute(f"SET {setting} = false")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET TimeZone = 'UTC'")
    relations = relations_of(connection, policy, frames)
    schema = _schema(relations)
    check(policy, schema)  # before any row is looked at
    relations = prepared(connection, policy, relations, workshop)
    _check_keys(connection, policy, relations, frames)
    steps = list(statements(policy, relations, secret))
    for number, step in enumerate(steps):
        if progress is not None:
            progress(step.table, number, len(steps))
        try:
            execute(connection, step.sql)
        except (duckdb.Error, MemoryError):
            _name_the_column(connection, policy, relations)
            raise EngineError(
                f"The working copy of table {step.table!r} could not be built. The source must be whole, "
                "not change meanwhile, and there must be room for the copy."
            ) from None
    if sources.fingerprint(policy) != before:
        raise EngineError("A source changed while it was being registered. Register it again when it is at rest.")
    about = ", ".join(quoting.text(value) for value in (mark, before))
    connection.execute("CREATE TABLE tacit_about (digest VARCHAR, fingerprint VARCHAR)")
    connection.execute(f"INSERT INTO tacit_about VALUES ({about})")
    execute(connection, "CHECKPOINT")
    if progress is not None:
        progress(steps[-1].table, len(steps), len(steps))
    return schema


def relations_of(connection: Any, policy: Policy, frames: Mapping[str, Any]) -> dict[str, sources.Relation]:
    """Every table's source. No row is read; rows of CSV and JSON lines can be read once they are prepared."""
    wanted = {table.source.path for table in policy.tables.values() if table.source.format == "frame"}
    missing = sorted(wanted - set(frames))
    if missing:
        raise PolicyError(f"The frame {missing[0]!r} was not handed over. Frames: {', '.join(frames) or 'none'}.")
    return {
        name: frames_of.open_frame(connection, table.source.path, frames[table.source.path])
        if table.source.format == "frame"
        else _opened(connection, policy, name, None)
        for name, table in policy.tables.items()
    }


def prepared(
    connection: Any, policy: Policy, relations: Mapping[str, sources.Relation], workshop: Path
) -> dict[str, sources.Relation]:
    """The same, with every line of the CSV files and JSON lines checked."""
    found = dict(relations)
    for place, (name, table) in enumerate(policy.tables.items()):
        if table.source.format in ("csv", "json"):
            folder = workshop / f"table-{place}"
            folder.mkdir(mode=0o700)
            found[name] = _opened(connection, policy, name, folder)
    return found


def _opened(connection: Any, policy: Policy, name: str, folder: Path | None) -> sources.Relation:
    named, units = sources.named_columns(policy, name)
    source = policy.tables[name].source
    return sources.open_relation(connection, name, source, policy.directory, named=named, units=units, folder=folder)


def _check_keys(
    connection: Any, policy: Policy, relations: Mapping[str, sources.Relation], frames: Mapping[str, Any]
) -> None:
    import duckdb

    for name, table in policy.tables.items():
        if table.source.format == "frame":
            frames_of.check_keys(name, frames[table.source.path], sources.named_columns(policy, name)[1])
    try:
        keys.check(connection, policy, relations)
    except duckdb.Error:
        _name_the_column(connection, policy, relations)
        raise EngineError("A column that names units could not be read. The source must be whole.") from None


def _name_the_column(connection: Any, policy: Policy, relations: Mapping[str, sources.Relation]) -> None:
    """Raise with the column that cannot be read, if a single one is the cause."""
    import duckdb

    for name, relation in relations.items():
        for column in sources.named_columns(policy, name)[0]:
            inside = quoting.identifier(relation.name_of(column))
            try:
                connection.execute(f"SELECT max(hash({inside})) FROM {relation.sql} AS tacit_rows").fetchall()
            except duckdb.Error:
                raise EngineError(
                    f"Column {column!r} of table {name!r} ({relation.type_of(column)}) holds a value that cannot be "
                    "read, for example a time outside the years that the engine knows, or text that is no UTF-8. Mend "
                    "it in the source, or leave the column out."
                ) from None


def _schema(relations: Mapping[str, sources.Relation]) -> Schema:
    return {
        name: {column: sources.kind_of(engine_type) for column, engine_type in relation.types.items()}
        for name, relation in relations.items()
    }
