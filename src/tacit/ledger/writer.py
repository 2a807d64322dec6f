"""One writer a process, and several charges in one commit.

Promise: a piece of work given to `submit` runs inside a transaction that no other thread or process can interleave,
and its result is returned only after the transaction is durable and sealed. Work that arrives while a commit is under
way waits and shares the next one: a flush costs the same for one entry as for a hundred.

How: the writer has no thread of its own. A caller takes the turn as soon as it is free and does all the waiting work,
its own and the others'; a caller that then gets the turn and finds its work done just leaves.

A refusal (the budget does not cover it) concerns one piece of work only. A failure of the disk or of the network
concerns the whole batch: no caller is told that it succeeded, the connection is dropped, and the next batch begins by
opening and checking anew.

Forks: connections must not cross them, so before a fork every open ledger finishes its batch and closes, and
parent and child open again when they next need it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, Protocol, TypeVar

from tacit.errors import LedgerError, TacitError
from tacit.ledger.entry import Entry
from tacit.ledger.store import Store

Result = TypeVar("Result")

_INTERRUPTED = "The charge was interrupted; it may stay spent. Nothing was released."


class Vault(Protocol):
    """Where the writer gets its connection, and what it must do before and after a transaction."""

    def connect(self) -> Store:
        """A connection to a ledger that was just checked in full."""

    def failures(self) -> AbstractContextManager[None]:
        """A failure of the disk, the network or the database, inside, becomes a LedgerError."""

    def check(self, store: Store) -> None:
        """Refuse, inside a transaction, if the ledger is no longer the sealed one."""

    def seal(self, store: Store, entry: Entry, *, flushed: bool) -> None:
        """Seal the entries up to this one: they can never be forgotten. `flushed`: they are known to be on disk."""


class _Job(Generic[Result]):
    """A piece of work and, later, its result."""

    def __init__(self, work: Callable[[Store], Result], key: str) -> None:
        self._work = work
        self.key = key
        self._result: Result | None = None
        self._refusal: TacitError | None = None
        self.done = False

    def run(self, store: Store) -> None:
        try:
            self._result = self._work(store)
        except TacitError as refusal:
            self._refusal = refusal

    def fail(self, message: str) -> None:
        self._refusal = LedgerError(message)

    def outcome(self) -> Result:
        if self._refusal is not None:
            raise self._refusal
        return self._result  # type: ignore[return-value]


class Writer:
    """The connection of this process, and the turn to use it."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._store: Store | None = None
        self._closed = False
        self._busy = False
        self._changed = threading.Condition()
        self._waiting: list[_Job[Any]] = []
        _open_writers.add(self)

    def submit(self, work: Callable[[Store], Result], key: str) -> Result:
        """Run `work` in a transaction; durable and sealed when this returns. It must refuse before it appends.

        `key` is the one under which the work will look for entries.
        """
        job = _Job(work, key)
        with self._changed:
            self._waiting.append(job)
        with self._turn(job) as first:
            if first:
                with self._changed:
                    batch, self._waiting = self._waiting, []
                self._commit(batch)
        return job.outcome()

    def read(self, look: Callable[[Store], Result]) -> Result:
        """Run `look` on one moment of the ledger."""
        with self._turn():
            store = self._connected()
            try:
                with self._vault.failures(), store.reading():
                    return look(store)
            except LedgerError:
                self._drop()
                raise

    def seal(self, entry: Entry) -> None:
        """Seal an entry that was read: its writer may have been killed before sealing it."""
        with self._turn():
            store = self._connected()
            try:
                with self._vault.failures():
                    self._vault.seal(store, entry, flushed=False)
            except LedgerError:
                self._drop()
                raise

    def close(self) -> None:
        """Close the ledger for good."""
        with self._turn():
            self._closed = True
            self._drop()

    @contextmanager
    def _turn(self, job: _Job[Any] | None = None) -> Iterator[bool]:
        """Wait for the connection, and release it; or, with a job, leave at once (False) when the job is done."""
        with self._changed:
            while self._busy and not (job and job.done):
                self._changed.wait()
            if job and job.done:
                ours = False
            else:
                ours = self._busy = True
        try:
            yield ours
        finally:
            if ours:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _commit(self, batch: list[_Job[Any]]) -> None:
        problem: str | None = _INTERRUPTED
        try:
            store = self._connected()
            with self._vault.failures():
                with store.writing():
                    self._vault.check(store)
                    before = store.last()
                    store.expect({job.key for job in batch})
                    for job in batch:
                        job.run(store)
                    last = store.last()
                if last is not None:  # a batch that appended nothing may still hand out receipts of others' entries
                    self._vault.seal(store, last, flushed=last != before)
            problem = None
        except LedgerError as failure:
            problem = str(failure)
        finally:  # even when interrupted: no caller may wait for ever, or be told of a charge that was not sealed
            if problem is not None:
                self._drop()
            for job in batch:
                if problem is not None:
                    job.fail(problem)
                job.done = True

    def _connected(self) -> Store:
        if self._closed:
            raise LedgerError("This ledger was closed. Open it again.")
        if self._store is not None and not self._store.is_alive():
            self._drop()  # it has done nothing yet, so asking another loses nothing
        if self._store is None:
            self._store = self._vault.connect()
        return self._store

    def _drop(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    # -- forks -------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Finish the batch under way and close; the turn, and the right to queue, are kept until the fork is over."""
        self._changed.acquire()
        while self._busy:
            self._changed.wait()
        self._drop()

    def after_fork_in_parent(self) -> None:
        """Go on after the fork."""
        self._changed.release()

    def after_fork_in_child(self) -> None:
        """Forget the other threads: they and what they wait for live in the parent."""
        self._changed = threading.Condition()
        self._waiting = []


_open_writers: weakref.WeakSet[Writer] = weakref.WeakSet()
_fork_turn = threading.Lock()
_forking: list[Writer] = []


def _before_fork() -> None:
    _fork_turn.acquire()
    _forking[:] = list(_open_writers)
    for writer in _forking:
        writer.before_fork()


def _after_fork_in_parent() -> None:
    for writer in _forking:
        writer.after_fork_in_parent()
    _forking.clear()
    _fork_turn.release()


def _after_fork_in_child() -> None:
    for writer in _forking:
        writer.after_fork_in_child()
    _forking.clear()
    _fork_turn.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
