"""The DuckDB engine: registers a policy's tables into a bounded working copy, and runs pushed-down queries on it.

Promise: `register` reads rows and may refuse in words, because only the owner registers. `run` is called after the
charge, and either returns an `Exact` or raises one fixed `EngineError`, the same for every cause. Queries run in a
locked worker process over a read-only copy. A source that changed since it was registered is noticed: `is_stale` says
so before the charge, and `run` refuses.
"""

from __future__ import annotations

import os
import queue
import shutil
import weakref
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlglot import exp

from tacit.engines import sources
from tacit.engines.dialects import text
from tacit.engines.duckdb import working_copy
from tacit.engines.engine import STALE, Pushed, Run
from tacit.engines.exact import Exact
from tacit.engines.process import Limits, Program, Worker, exact_of
from tacit.engines.secret import Secret
from tacit.errors import EngineError
from tacit.policy.check import Schema
from tacit.policy.policy import Policy

_BUILD_MEMORY: Final = 3 * 2**30


class DuckDBEngine:
    """The tables of one policy, ready to be asked. Close it when done, or use it in a `with` statement."""

    def __init__(self, policy: Policy, path: Path, schema: Schema, limits: Limits, fingerprint: str, mark: str) -> None:
        self._policy = policy
        self._path = path
        self._schema = schema
        self._fingerprint = fingerprint
        # If the policy was changed and opened meanwhile, a worker that starts again finds another copy. A plan made for
        # these bounds must not read rows under other bounds, so the worker checks which copy it is.
        self._mark = mark
        program = Program(setup={"digest": mark})
        self._make = partial(Worker, str(path.absolute()), limits, program)  # workers run in another folder
        self._worker = self._make()
        self._workers = [self._worker]
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        self._free.put(self._worker)
        self._written: tuple[exp.Expr, str] | None = None
        self._seen = _identity(path)
        folder = path.parent if policy.working_copy is None else None
        self._end = weakref.finalize(self, _end, self._workers, folder, os.getpid())

    @classmethod
    def register(
        cls,
        policy: Policy,
        secret: Secret | None = None,
        *,
        frames: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        progress: working_copy.Progress | None = None,
        anew: bool = False,
    ) -> DuckDBEngine:
        """The engine over a current working copy, which is built when there is none, or `anew`."""
        limits = Limits() if limits is None else limits
        frames = {} if frames is None else frames
        # Taken first: a source that changes from here on is noticed, at the latest when a question is asked.
        fingerprint = sources.fingerprint(policy)
        path = working_copy.path_of(policy)
        mark = working_copy.mark(policy)
        try:
            if working_copy.is_current(policy, path) and not anew:
                schema = working_copy.describe(policy, frames)
            else:
                if secret is None:
                    in_file = policy.working_copy is not None
                    secret = Secret.in_file(path.with_name(path.name + ".secret")) if in_file else Secret.in_memory()
                room = {"memory": _BUILD_MEMORY, "threads": limits.threads}
                schema = working_copy.build(policy, secret, path, frames, mark=mark, **room, progress=progress)
            engine = cls(policy, path, schema, limits, fingerprint, mark)
        except BaseException:
            if policy.working_copy is None:
                shutil.rmtree(path.parent, ignore_errors=True)
            raise
        try:
            engine._worker.start()
        except BaseException:
            engine.close()
            raise
        return engine

    def schema(self) -> Schema:
        """Names and kinds of the columns of each table's source."""
        return self._schema

    def fingerprint(self) -> str:
        """A digest that changes when a source's file does."""
        return sources.fingerprint(self._policy)

    def is_stale(self) -> bool:
        """Whether a source's files changed since this engine was made, or a copy under other bounds took its place.

        Call this before the charge.
        """
        return self._has_changed() or self._is_replaced()

    def _has_changed(self) -> bool:
        return self.fingerprint() != self._fingerprint

    def _is_replaced(self) -> bool:
        if self._policy.working_copy is None:
            return False  # in a folder of its own
        found = _identity(self._path)
        if found != self._seen and working_copy.is_of(self._mark, self._path):
            self._seen = found  # made anew, under the same bounds
        return found != self._seen

    def expect(self, query: Pushed) -> None:
        """Let a free worker read the query's text. Whether that succeeds does not show here."""
        with suppress(queue.Empty):
            worker = self._free.get_nowait()
            try:
                worker.foretell({"soon": self._text(query)})
            finally:
                self._free.put(worker)

    def _text(self, query: Pushed) -> str:
        """The query in DuckDB's words; the last one that was written is kept, since it is run after it is expected."""
        written = self._written
        if written is None or written[0] is not query.ast:
            written = self._written = query.ast, text(query.ast, "duckdb")
        return written[1]

    def run(self, query: Pushed) -> Exact:
        """The exact result of a query that has been paid for."""
        if self._has_changed():
            raise EngineError(STALE)
        keys, measures = list(query.key_columns), list(query.measure_columns)
        request = {"sql": self._text(query), "keys": keys, "measures": measures, "few": query.few}
        worker = self._free.get()
        try:
            reply = worker.ask(request)
        finally:
            self._free.put(worker)
        return exact_of(reply, measures)

    def moment(self) -> AbstractContextManager[Run]:
        """Runs queries that all see the rows of one moment: those of the copy, which never changes."""
        return nullcontext(self.run)

    def widen(self, workers: int) -> None:
        """Have this many workers over the same copy, all started now, so that a slow query delays no other."""
        while len(self._workers) < workers:
            more = self._make()
            self._workers.append(more)
            more.start()
            self._free.put(more)

    def close(self) -> None:
        """End the workers; a copy in memory is removed."""
        self._end()

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _identity(path: Path) -> tuple[int, ...] | None:
    """The identity of the file at this path, which no other file in its place has; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _end(workers: list[Worker], folder: Path | None, owner: int) -> None:
    if os.getpid() != owner:
        return  # a forked child ends: the worker and the copy are still its parent's
    for worker in workers:
        worker.close()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
