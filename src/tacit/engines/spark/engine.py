"""The Spark engine: registers a policy's tables into a bounded copy in Parquet, and runs pushed-down queries on it.

Promise: that of `engine`. `register` reads rows and may refuse in words, because only the owner registers. `run` is
called after the charge, and either returns an `Exact` or raises one fixed `EngineError`, the same for every cause.
Spark lives in a process of its own, whose output goes nowhere. A query beyond its time is cancelled and the process
ended; the next question starts another. pyspark is needed in that process only, and is not imported here.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tacit.engines import leases
from tacit.engines.dialects import Place, text
from tacit.engines.duckdb.working_copy import Progress
from tacit.engines.engine import STALE, Pushed, Run
from tacit.engines.exact import Exact
from tacit.engines.leases import Lease
from tacit.engines.process import Limits, Program, Worker, exact_of
from tacit.engines.secret import Secret
from tacit.engines.spark import copy as working_copy
from tacit.engines.spark import describing, sources
from tacit.engines.spark.copy import Copy
from tacit.engines.spark.registration import columns_of
from tacit.engines.spark.steps import in_steps
from tacit.errors import EngineError
from tacit.policy.check import Schema
from tacit.policy.policy import Policy, Source
from tacit.policy.read import format_of

LIMITS: Final = Limits(start_seconds=300.0)
_GRACE: Final = 15.0  # seconds in which a cancelled query may still report that it failed
_ENVIRONMENT: Final = (
    *("HOME", "USER", "LOGNAME", "JAVA_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "SPARK_CONNECT_AUTHENTICATE_TOKEN"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_USER_NAME", "KRB5CCNAME", "KRB5_CONFIG"),
)


class Session:
    """A Spark session in a process of its own. Several engines may share one; its folder of scratch goes with it."""

    def __init__(self, master: str, limits: Limits = LIMITS, module: str = "tacit.engines.spark.worker") -> None:
        _check_tools(master)
        self.limits = limits
        root = Path(tempfile.gettempdir())
        leases.sweep(root, working_copy.PREFIX)  # killed sessions left spilled rows there
        lease = leases.make(root, working_copy.PREFIX)
        home = str(lease.path)
        setup = {"master": master, "home": home}
        program = Program(module, home, setup, _ENVIRONMENT)
        self.worker = Worker(home, replace(limits, seconds=limits.seconds + _GRACE), program)
        self._end = weakref.finalize(self, _end, self.worker, lease, os.getpid())
        try:
            self.worker.start()
        except EngineError:
            self.close()
            raise EngineError(
                f"Spark could not be started at {master!r}. The address must be right, the server reachable and of "
                "the same version as pyspark here, and Java 17 or newer installed where Spark runs."
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process and remove its scratch."""
        self._end()


class SparkEngine:
    """The tables of one policy, ready to be asked. Close it when done, or use it in a `with` statement."""

    def __init__(
        self,
        policy: Policy,
        copy: Copy,
        session: Session,
        fingerprint: str | None,
        *,
        owned: bool,
        memory: Lease | None = None,
    ) -> None:
        self._policy = policy
        self._copy = copy
        self._session = session
        self._fingerprint = fingerprint
        # Where sources cannot be watched, answers hold for this registration and are not replayed to another.
        self._token = secrets.token_hex(8)
        self._views = {name: f"tacit_{self._token}_{number}" for number, name in enumerate(policy.tables)}
        self._folders = {
            self._views[name]: [sources.literally(working_copy.folder_of(copy.path, number)), columns_of(table)]
            for number, (name, table) in enumerate(policy.tables.items())
        }
        self._end = weakref.finalize(self, _close, session if owned else None, copy.lease, memory, os.getpid())

    @classmethod
    def register(
        cls,
        policy: Policy,
        *,
        secret: Secret | None = None,
        limits: Limits = LIMITS,
        progress: Progress | None = None,
        session: Session | None = None,
        anew: bool = False,
    ) -> SparkEngine:
        """An engine over a current working copy, which is built first where there is none, or `anew`."""
        owned = session is None
        session = session or Session(sources.master_of(policy), limits)
        try:
            # Taken first: a source that changes from here on is noticed, at the latest when a question is asked.
            fingerprint = sources.fingerprint(policy)
            with working_copy.place_of(policy) as (path, memory):
                copy = None if anew else working_copy.current(policy, path)
                if copy is None:
                    if secret is None:
                        secret = Secret.in_memory() if memory else Secret.in_file(path.with_name(path.name + ".secret"))
                    copy = working_copy.build(policy, secret, path, session.worker, progress, anew=anew)
                engine = cls(policy, copy, session, fingerprint, owned=owned, memory=memory)
            engine._see_that_it_can_be_read()
            return engine
        except BaseException:
            if owned:
                session.close()
            raise

    def _see_that_it_can_be_read(self) -> None:
        """Report now what would fail after every charge: Spark runs elsewhere, or as another user."""
        try:
            self._session.worker.ask({"task": "open", "views": self._folders})
        except EngineError:
            path = self._copy.path.parent
            self.close()
            raise EngineError(
                f"The Spark session cannot read the working copy at {path}. It must lie in a folder that this machine "
                "and all of Spark's see under the same name, and Spark must run as you."
            ) from None

    def schema(self) -> Schema:
        """Names and kinds of the columns of each table's source."""
        return self._copy.schema

    def fingerprint(self) -> str:
        """A digest that changes when a source's file does, or with each registration where files cannot be watched."""
        return sources.fingerprint(self._policy) or self._token

    def is_stale(self) -> bool:
        """Whether a source's files changed since this engine was made, or the owner had them registered anew.

        Call this before the charge.
        """
        if sources.fingerprint(self._policy) != self._fingerprint:
            return True
        kept = working_copy.kept_at(self._policy)
        return kept is not None and working_copy.refreshed(kept) != self._copy.refreshed

    def expect(self, query: Pushed) -> None:
        """Nothing is done before a query is paid for."""

    def run(self, query: Pushed) -> Exact:
        """The exact result of a query that has been paid for."""
        if self.is_stale():
            raise EngineError(STALE)
        return exact_of(self._session.worker.ask(self._request(query)), list(query.measure_columns))

    def _request(self, query: Pushed) -> dict[str, Any]:
        steps, place = in_steps(query.ast, f"tacit_{self._token}_step"), Place(views=self._views)
        return {
            "task": "run",
            "steps": [[name, text(each, "spark", place)] for name, each in steps.kept],
            "sql": text(steps.last, "spark", place),
            "views": self._folders,
            "seconds": self._session.limits.seconds,
            "keys": list(query.key_columns),
            "measures": list(query.measure_columns),
        }

    def moment(self) -> AbstractContextManager[Run]:
        """Runs queries that all see the rows of one moment: those of the copy, which never changes."""
        return nullcontext(self.run)

    def widen(self, workers: int) -> None:
        """Does nothing: one session answers one query at a time."""

    def close(self) -> None:
        """End the session, unless others share it; a copy in memory is removed."""
        self._end()

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def describe(policy: Policy) -> Schema:
    """The names and kinds of the columns behind each table of the policy. Reads no row."""
    session = Session(sources.master_of(policy))
    try:
        return describing.schema_of(describing.describe(policy, session.worker))
    finally:
        session.close()


def discover(master: str, places: Sequence[str]) -> tuple[dict[str, Source], Schema]:
    """Tables and files that this session reads, by name, and their columns; without any, its catalog's tables."""
    session = Session(master)
    try:
        inside = list(places) or [str(name) for name in session.worker.ask({"task": "tables"})["tables"]]
        if not inside:
            raise EngineError(
                f"The catalog of {master} has no tables. Name tables or files: tacit init {master!r} visits.parquet"
            )
        found: dict[str, Source] = {}
        for place in inside:
            name = _name(place)
            if name in found:
                raise EngineError(f"Two tables would both be called {name!r}: {found[name].table} and {place}.")
            found[name] = Source("spark", master, place)
        return found, describing.schema_of(
            {
                name: describing.look_at(name, source, ".", session.worker, f"tacit_source_{number}")
                for number, (name, source) in enumerate(found.items())
            }
        )
    finally:
        session.close()


def _name(place: str) -> str:
    """The name of a table or a file in a policy."""
    last = place.rstrip("/").rsplit("/", 1)[-1]
    stem = last.split(".")[0] if "/" in place or format_of(place) else last.replace(".", "_")
    return re.sub(r"\W+", "_", stem).strip("_") or "table"


def _check_tools(master: str) -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise EngineError("A policy on Spark needs pyspark: pip install 'tacit[spark]'.")
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    if not java and not master.startswith("sc://"):
        raise EngineError("Spark on this machine needs Java 17 or newer: install it, or set JAVA_HOME.")


def _end(worker: Worker, home: Lease, owner: int) -> None:
    if os.getpid() != owner:
        return  # a forked child ends: the worker is still its parent's
    worker.close()
    home.remove()


def _close(session: Session | None, copy: Lease, memory: Lease | None, owner: int) -> None:
    if os.getpid() != owner:
        return
    if session is not None:
        session.close()
    copy.close()
    if memory is not None:
        memory.remove()
