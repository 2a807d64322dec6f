"""The working copy as a file: built apart, put in place at once, and built again when it no longer fits.

Promise: the file can be read by its owner only, at every moment (it is built inside a folder that only the owner can
enter), and it is complete or not there, also after Ctrl-C. It says of what it is a copy: a digest of the policy's
tables, and a fingerprint of the sources, taken before the first row was read and again after the last; a source that
changed in between is not registered. A copy "in memory" is a file on a memory file system, removed when it is closed.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tacit.engines import frames as frames_of
from tacit.engines import quoting, sources
from tacit.engines.interrupts import as_keyboard_interrupts, execute
from tacit.engines.registration import SCHEMA, statements
from tacit.engines.secret import Secret
from tacit.errors import EngineError, PolicyError
from tacit.policy.check import Schema, check
from tacit.policy.policy import Policy

VERSION: Final = 1
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # the private folder inside it is made by mkdtemp
Progress = Callable[[str, int, int], None]
"""Told the table that is next, the number of steps done, and of all steps."""


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
    if path.stem == SCHEMA:
        raise PolicyError(
            f"working_copy: a file called {path.name!r} would hide the schema inside it. Call it otherwise."
        )
    return path


@as_keyboard_interrupts()
def is_current(policy: Policy, path: Path) -> bool:
    """Whether the file is a finished copy of these tables as they are now."""
    import duckdb

    if not path.is_file() or any(table.source.format == "frame" for table in policy.tables.values()):
        return False
    if path.stat().st_mode & 0o077:
        raise EngineError(f"The working copy must be readable by its owner only: chmod 600 {path}, or remove it.")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            found = connection.execute("SELECT digest, fingerprint FROM tacit_about").fetchall()
    except duckdb.Error:
        return False
    return found == [(digest(policy), sources.fingerprint(policy))]


@as_keyboard_interrupts()
def build(
    policy: Policy,
    secret: Secret,
    path: Path,
    frames: Mapping[str, Any],
    *,
    memory: int,
    threads: int,
    progress: Progress | None = None,
) -> Schema:
    """Write the copy to `path`, in place of what was there. Returns the schema of the sources."""
    import duckdb

    try:
        workshop = Path(tempfile.mkdtemp(prefix=".tacit-", dir=path.parent))
    except OSError:
        raise EngineError(f"The folder of the working copy cannot be written to: {path.parent}") from None
    try:
        draft = workshop / "draft.duckdb"
        config: dict[str, Any] = {
            "memory_limit": f"{memory}B",
            "threads": threads,
            "temp_directory": str(workshop / "spill"),
        }
        with duckdb.connect(str(draft), config=config) as connection:
            schema = _fill(connection, policy, secret, frames, progress)
        draft.chmod(0o600)
        os.replace(draft, path)
        return schema
    except OSError:
        raise EngineError(f"The working copy cannot be put in place: {path}") from None
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


@as_keyboard_interrupts()
def describe(policy: Policy, frames: Mapping[str, Any]) -> Schema:
    """The names and kinds of the columns behind each table of the policy. Reads no row."""
    import duckdb

    with duckdb.connect() as connection:
        return _schema(relations_of(connection, policy, frames))


def _fill(
    connection: Any, policy: Policy, secret: Secret, frames: Mapping[str, Any], progress: Progress | None
) -> Schema:
    import duckdb

    before = sources.fingerprint(policy)
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements"):
        connection.execute(f"SET {setting} = false")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET TimeZone = 'UTC'")
    relations = relations_of(connection, policy, frames)
    schema = _schema(relations)
    check(policy, schema)
    steps = list(statements(policy, relations, secret))
    for number, step in enumerate(steps):
        if progress is not None:
            progress(step.table, number, len(steps))
        try:
            execute(connection, step.sql)
        except (duckdb.Error, MemoryError):
            raise EngineError(
                f"The working copy of table {step.table!r} could not be built. The source must be whole, "
                "not change meanwhile, and there must be room for the copy."
            ) from None
    if sources.fingerprint(policy) != before:
        raise EngineError("A source changed while it was being registered. Register it again when it is at rest.")
    about = ", ".join(quoting.text(value) for value in (digest(policy), before))
    connection.execute("CREATE TABLE tacit_about (digest VARCHAR, fingerprint VARCHAR)")
    connection.execute(f"INSERT INTO tacit_about VALUES ({about})")
    execute(connection, "CHECKPOINT")
    if progress is not None:
        progress(steps[-1].table, len(steps), len(steps))
    return schema


def relations_of(connection: Any, policy: Policy, frames: Mapping[str, Any]) -> dict[str, sources.Relation]:
    """The sources of all tables, as this connection reads them."""
    wanted = {table.source.path for table in policy.tables.values() if table.source.format == "frame"}
    missing = sorted(wanted - set(frames))
    if missing:
        raise PolicyError(f"The frame {missing[0]!r} was not handed over. Frames: {', '.join(frames) or 'none'}.")
    frames_of.register(connection, {name: frame for name, frame in frames.items() if name in wanted})
    return {
        name: sources.open_relation(connection, name, table.source, policy.directory)
        for name, table in policy.tables.items()
    }


def _schema(relations: Mapping[str, sources.Relation]) -> Schema:
    return {
        name: {column: sources.kind_of(engine_type) for column, engine_type in relation.types.items()}
        for name, relation in relations.items()
    }
