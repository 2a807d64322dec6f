"""Spark's working copy: a folder of builds in Parquet, of which one is current; made again when it no longer fits.

Promise: the folder can be entered by its owner only, at every moment. Each build is a folder of its own inside it, and
every process that reads or writes it has a lease on it (`leases`): a build that is not current is removed when its last
reader is gone, one whose builder was killed at the next opening. `about.json` names the current build, and says what it
is a copy of: a digest of the policy's tables, the fingerprint of the sources, taken before the first row was read and
again after the last, and the files it is made of. It is replaced at once, so a build is complete or not current, also
after Ctrl-C. A folder that is not a working copy is never touched. The copy lies where this process and every process
of Spark's can reach it under the same name.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tacit.engines import leases
from tacit.engines.duckdb.working_copy import Progress, digest
from tacit.engines.leases import Lease
from tacit.engines.process import Worker
from tacit.engines.secret import Secret
from tacit.engines.sources import resolved
from tacit.engines.spark import describing, registration, sources
from tacit.errors import EngineError, PolicyError
from tacit.policy.check import Schema, check
from tacit.policy.policy import Policy

PREFIX: Final = "tacit-spark-"
"""Prefix of our folders in shared directories."""
VERSION: Final = 2
_ABOUT: Final = "about.json"
_BUILD: Final = "build-"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # the private folder inside it is made by mkdtemp
_WEEK: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Copy:
    """One build that this process reads: its folder, what the sources looked like, and when it was last asked for.

    `refreshed` changes when the owner asks for the sources to be registered anew, whatever their fingerprint says.
    """

    lease: Lease
    schema: Schema
    refreshed: str

    @property
    def path(self) -> Path:
        """Where the tables lie."""
        return self.lease.path


@contextmanager
def place_of(policy: Policy) -> Iterator[tuple[Path, Lease | None]]:
    """Where the copy of this policy lies, for one process at a time; a fresh private folder for a copy in memory."""
    path = kept_at(policy)
    if path is not None:
        with ExitStack() as stack:
            try:
                stack.enter_context(leases.alone(path.with_name(path.name + ".lock")))
            except OSError:
                raise EngineError(f"The folder of the working copy cannot be written to: {path.parent}") from None
            yield path, None
        return
    if not sources.master_of(policy).startswith("local"):
        raise PolicyError("working_copy: Spark on other machines needs a folder that all of them share.")
    root = memory()
    leases.sweep(root, PREFIX)
    lease = leases.make(root, PREFIX)
    try:
        yield lease.path / "copy", lease
    except BaseException:
        lease.remove()
        raise


def kept_at(policy: Policy) -> Path | None:
    """Where the copy is kept; None for one in memory."""
    if policy.working_copy is None:
        return None
    return Path(resolved(policy.working_copy, policy.directory)).absolute()


def memory() -> Path:
    """Where copies in memory lie."""
    return _MEMORY if os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


def folder_of(path: Path, number: int) -> str:
    """Where in a build the table of this number lies."""
    return str(path / f"{number}.parquet")


def current(policy: Policy, path: Path) -> Copy | None:
    """The current build, if it is a whole copy of the sources as they are now."""
    about = _about(path)
    if about is None:
        return None
    if path.stat().st_mode & 0o077:
        raise EngineError(f"The working copy must be readable by its owner only: chmod 700 {path}, or remove it.")
    seen = sources.fingerprint(policy)
    fits = [VERSION, digest(policy), seen] == [about.get(key) for key in ("version", "digest", "fingerprint")]
    if seen is None or not fits:
        return None
    lease = leases.share(path / str(about["build"]))
    if lease is None:
        return None
    if _files(lease.path) != about["files"]:
        lease.close()
        return None
    return Copy(lease, about["schema"], str(about["refreshed"]))


def refreshed(path: Path) -> str:
    """When the copy was last asked for anew; "gone" for a copy that is gone."""
    return str((_about(path) or {}).get("refreshed", "gone"))


def build(
    policy: Policy, secret: Secret, path: Path, worker: Worker, progress: Progress | None = None, *, anew: bool = False
) -> Copy:
    """Make a build and make it current. The one before is removed when its last reader is gone."""
    about = _about(path)
    if path.exists() and about is None:
        raise PolicyError(
            f"working_copy: {path} is there and is no working copy. Name a folder that does not exist yet."
        )
    before = (about or {}).get("refreshed", secrets.token_hex(8))
    try:
        if about is None:
            _begin(path)
        _sweep(path)
        lease = leases.make(path, _BUILD)
    except OSError:
        raise EngineError(f"The folder of the working copy cannot be written to: {path.parent}") from None
    try:
        made = _fill(policy, secret, lease.path, worker, progress)
        made["refreshed"] = secrets.token_hex(8) if anew else before
        made["build"] = lease.path.name
        _put(path, made)
    except OSError:
        lease.remove()
        raise EngineError(f"The working copy cannot be put in place: {path}") from None
    except BaseException:
        lease.remove()
        raise
    _sweep(path)
    return Copy(lease, made["schema"], made["refreshed"])


def _fill(policy: Policy, secret: Secret, draft: Path, worker: Worker, progress: Progress | None) -> dict[str, Any]:
    before = sources.fingerprint(policy)
    found = describing.describe(policy, worker)
    schema = describing.schema_of(found)
    check(policy, schema)
    describing.check_values(policy, found, worker)
    numbers = {name: number for number, name in enumerate(policy.tables)}
    relations = {name: each.relation for name, each in found.items()}
    steps = list(registration.steps(policy, relations, secret))
    passing = draft / "units.parquet"
    for done, step in enumerate(steps):
        if progress is not None:
            progress(step.table, done, len(steps))
        folder = str(passing) if step.passing else folder_of(draft, numbers[step.table])
        view = "tacit_units" if step.passing else ""
        try:
            worker.ask({"task": "write", "sql": step.sql, "folder": folder, "view": view}, _WEEK)
        except EngineError:
            raise EngineError(
                f"The working copy of table {step.table!r} could not be built. The source must be whole, readable by "
                "you, not change meanwhile, and there must be room for the copy."
            ) from None
    shutil.rmtree(passing, ignore_errors=True)
    if sources.fingerprint(policy) != before:
        raise EngineError("A source changed while it was being registered. Register it again when it is at rest.")
    if progress is not None:
        progress(steps[-1].table, len(steps), len(steps))
    return {
        "version": VERSION,
        "digest": digest(policy),
        "fingerprint": before,
        "schema": schema,
        "files": _files(draft),
    }


def _files(build: Path) -> dict[str, int]:
    """The files of a build and their sizes: a missing file would be noticed only after the charge."""
    found = {}
    for folder, _, names in os.walk(build):
        for name in names:
            if name.endswith(".parquet"):
                path = os.path.join(folder, name)
                found[os.path.relpath(path, build)] = os.stat(path).st_size
    return found


def _begin(path: Path) -> None:
    """An empty working copy, so that the remains of a killed builder are known to be ours."""
    draft = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=path.parent))
    try:
        _put(draft, {"version": VERSION, "refreshed": secrets.token_hex(8), "build": None, "schema": None})
        os.rename(draft, path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _put(path: Path, about: Mapping[str, Any]) -> None:
    draft = path / f".{_ABOUT}"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(about, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path / _ABOUT)


def _sweep(path: Path) -> None:
    """Remove the builds that are neither current nor read, and what copies of the first version left."""
    about = _about(path) or {}
    for entry in list(os.scandir(path)):
        if entry.name.startswith(_BUILD) and entry.name != about.get("build"):
            leases.remove_if_nobodys(Path(entry.path))
        elif re.fullmatch(r"\d+\.parquet", entry.name) and about.get("version") == VERSION:
            shutil.rmtree(entry.path, ignore_errors=True)


def _about(path: Path) -> dict[str, Any] | None:
    try:
        about = json.loads((path / _ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and "schema" in about else None
