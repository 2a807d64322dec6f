"""Spark's working copy: a folder of Parquet, written apart, put in place at once, made again when it no longer fits.

Promise: the folder can be entered by its owner only, at every moment, and is complete or not there, also after Ctrl-C.
`about.json` inside says of what it is a copy: a digest of the policy's tables and the fingerprint of the sources, taken
before the first row was read and again after the last. A folder that is no working copy is never replaced. The folder
lies where this process and every process of Spark's can reach it under the same name.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tacit.engines import spark_registration as registration
from tacit.engines import spark_sources as sources
from tacit.engines.process import Worker
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation, kind_of, resolved
from tacit.engines.spark_cleaning import engine_type
from tacit.engines.working_copy import Progress, digest
from tacit.errors import EngineError, PolicyError
from tacit.policy.check import Schema, check
from tacit.policy.policy import Policy

_ABOUT: Final = "about.json"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # the private folder inside it is made by mkdtemp
_WEEK: Final = 7 * 86_400.0


def path_of(policy: Policy) -> Path:
    """Where the copy of this policy lies; a fresh private folder for a copy in memory."""
    if policy.working_copy is not None:
        return Path(resolved(policy.working_copy, policy.directory)).absolute()
    if not sources.master_of(policy).startswith("local"):
        raise PolicyError("working_copy: Spark on other machines needs a folder that all of them share.")
    root = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="tacit-", dir=root)) / "copy"


def folder_of(path: Path, number: int) -> str:
    """Where in the copy the table of this number lies."""
    return str(path / f"{number}.parquet")


def current_schema(policy: Policy, path: Path) -> Schema | None:
    """The schema of the sources, if the folder is a finished copy of them as they are now."""
    about = _about(path)
    if about is None:
        return None
    if path.stat().st_mode & 0o077:
        raise EngineError(f"The working copy must be readable by its owner only: chmod 700 {path}, or remove it.")
    seen = sources.fingerprint(policy)
    if seen is None or [about.get("digest"), about.get("fingerprint")] != [digest(policy), seen]:
        return None
    schema: Schema = about["schema"]
    return schema


def describe(policy: Policy, worker: Worker) -> dict[str, Relation]:
    """Each source as a relation of the worker's session. Reads no row."""
    views = {name: f"tacit_source_{number}" for number, name in enumerate(policy.tables)}
    relations = {}
    for name, table in policy.tables.items():
        place = sources.place_of(table.source, policy.directory)
        try:
            reply = worker.ask({"task": "describe", "sources": {views[name]: list(place)}}, _WEEK)
        except EngineError:
            raise EngineError(
                f"The source of table {name!r} cannot be read: {table.source.table}. "
                f"The Spark session {table.source.path} must find it, as a table of its catalog, Parquet or CSV."
            ) from None
        relations[name] = Relation(
            views[name], {column: engine_type(spark_type) for column, spark_type in reply["columns"][views[name]]}
        )
    return relations


def schema_of(relations: Mapping[str, Relation]) -> Schema:
    """Names and kinds of the sources' columns."""
    return {
        name: {column: kind_of(found) for column, found in relation.types.items()}
        for name, relation in relations.items()
    }


def build(policy: Policy, secret: Secret, path: Path, worker: Worker, progress: Progress | None = None) -> Schema:
    """Write the copy to `path`, in place of an older one. Returns the schema of the sources."""
    if path.exists() and _about(path) is None:
        raise PolicyError(
            f"working_copy: {path} is there and is no working copy. Name a folder that does not exist yet."
        )
    try:
        workshop = Path(tempfile.mkdtemp(prefix=".tacit-", dir=path.parent))
    except OSError:
        raise EngineError(f"The folder of the working copy cannot be written to: {path.parent}") from None
    try:
        draft = workshop / "copy"
        draft.mkdir(0o700)
        schema = _fill(policy, secret, draft, worker, progress)
        if path.exists():
            os.rename(path, workshop / "old")
        os.rename(draft, path)
        return schema
    except OSError:
        raise EngineError(f"The working copy cannot be put in place: {path}") from None
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _fill(policy: Policy, secret: Secret, draft: Path, worker: Worker, progress: Progress | None) -> Schema:
    before = sources.fingerprint(policy)
    relations = describe(policy, worker)
    schema = schema_of(relations)
    check(policy, schema)
    numbers = {name: number for number, name in enumerate(policy.tables)}
    steps = list(registration.steps(policy, relations, secret))
    for done, step in enumerate(steps):
        if progress is not None:
            progress(step.table, done, len(steps))
        folder = str(draft.parent / "units.parquet") if step.passing else folder_of(draft, numbers[step.table])
        view = "tacit_units" if step.passing else ""
        try:
            worker.ask({"task": "write", "sql": step.sql, "folder": folder, "view": view}, _WEEK)
        except EngineError:
            raise EngineError(
                f"The working copy of table {step.table!r} could not be built. The source must be whole, "
                "not change meanwhile, and there must be room for the copy."
            ) from None
    if sources.fingerprint(policy) != before:
        raise EngineError("A source changed while it was being registered. Register it again when it is at rest.")
    about = {"digest": digest(policy), "fingerprint": before, "schema": schema}
    with open(draft / _ABOUT, "x", encoding="utf-8") as file:
        json.dump(about, file)
        file.flush()
        os.fsync(file.fileno())
    if progress is not None:
        progress(steps[-1].table, len(steps), len(steps))
    return schema


def _about(path: Path) -> dict[str, Any] | None:
    try:
        about = json.loads((path / _ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and "schema" in about else None
