"""The vault: a ledger's file and its head together, opened, checked and sealed in the right order.

Promise: `connect` gives a connection only to a file that passes the whole check against its head. A registration that
was cut short anywhere is taken up where it stopped, and nothing can be charged before it is complete: the head comes
first, announcing sequence 0, so that a file without a head is never taken for a new one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger import check, disk
from tacit.ledger.check import Report, examine
from tacit.ledger.entry import BEFORE_ALL, Entry, Kind
from tacit.ledger.head import Head, HeadFile, Place
from tacit.ledger.store import Store, failures
from tacit.parameters import refuse


class Vault:
    """Where one ledger is kept."""

    def __init__(self, path: str | os.PathLike[str], head: str | os.PathLike[str], patience: float) -> None:
        self.path = Path(os.path.realpath(path))  # SQLite puts its log beside the real file, not beside a link to it
        self.head = HeadFile(Path(os.path.realpath(head)), patience)
        if self.head.path == self.path:
            raise refuse("head", "another file than the ledger itself", os.fspath(head))
        self._patience = patience

    def connect(self) -> Store:
        """A connection to the checked file. Entries that were committed but never sealed are sealed now."""
        with failures(self.path):
            head, place = self._found()  # the head first: it may lag behind the file, never the other way round
            store = Store(self.path, self._patience)
            try:
                _demand(self.path, examine(store, head, place))
                last = store.last()
                if last is None:
                    raise LedgerError(f"The ledger {self.path} was never registered. Open it with a budget.")
                self.seal(store, last, flushed=False)
            except BaseException:
                store.close()
                raise
            return store

    def report(self) -> Report:
        """The check alone, for a file that may be damaged."""
        try:
            with failures(self.path):
                head, place = self._found()
                store = Store(self.path, self._patience)
        except LedgerError as failure:
            return Report(0, 0, (str(failure),))
        try:
            return examine(store, head, place)
        finally:
            store.close()

    def check(self, store: Store) -> None:
        """Refuse, inside a transaction, if the file is no longer the sealed one: swapped, cut or sealed elsewhere."""
        head, place = self._found()
        for finding in (*check.wrong_place(head, place), *_wrong_history(store, head)):
            raise LedgerError(f"The ledger {self.path} cannot be used. {finding}")

    def seal(self, store: Store, entry: Entry, *, flushed: bool) -> None:
        """Put the head at `entry`, unless it is further. What may not be on disk yet is flushed before."""
        if not flushed and self.head.read().sequence < entry.sequence:
            store.sync()
        self.head.advance(entry.sequence, entry.hash)

    def register(self, first_entries: Callable[[str], list[Entry]] | None) -> None:
        """Make the ledger if there is none. `first_entries` gives what a new one of that identity begins with."""
        with failures(self.path), self.head.locked():
            if not self.head.exists():
                self._announce(may_create=first_entries is not None)
            head, place = self._found()
            if head.sequence > 0 or first_entries is None:
                return
            for finding in check.wrong_place(head, place):
                raise LedgerError(f"The ledger {self.path} cannot be used. {finding}")
            store = Store(self.path, self._patience)
            try:
                with store.writing():
                    if store.is_empty():
                        store.create()
                        for entry in first_entries(head.ledger):
                            store.append(entry)
            finally:
                store.close()

    def adopt(self) -> None:
        """Accept the file's new place, if the file is complete, and record that it moved."""
        with failures(self.path), self.head.locked():
            head, place = self._found()
            store = Store(self.path, self._patience)
            try:
                _demand(self.path, examine(store, head, head.place))
                with store.writing():
                    for finding in _wrong_history(store, head):
                        raise LedgerError(finding)
                    moved = Entry.after(store.last(), Kind.MOVED, {"from": head.file, "to": place.file})
                    store.append(moved)
                sealed = replace(head, sequence=moved.sequence, hash=moved.hash, file=place.file, inode=place.inode)
                self.head.write(sealed)
            finally:
                store.close()

    def _announce(self, may_create: bool) -> None:
        if self.path.exists() and self.path.stat().st_size > 0:
            raise LedgerError(
                f"The ledger {self.path} has no head at {self.head.path}. Without it nobody can tell whether the "
                "ledger is complete. Put the head back where it was; a copy without its head cannot be used."
            )
        if not may_create:
            raise LedgerError(f"There is no ledger at {self.path}. Open it with a budget to register one.")
        os.close(disk.open_file(self.path, os.O_RDWR | os.O_CREAT))
        disk.sync_folder(self.path.parent)
        place = Place.of(self.path)
        self.head.create(Head(secrets.token_hex(16), 0, BEFORE_ALL, place.file, place.inode))

    def _found(self) -> tuple[Head, Place]:
        head = self.head.read()
        try:
            return head, Place.of(self.path)
        except FileNotFoundError:
            raise LedgerError(
                f"The ledger is not at {self.path}; its head says that it has {head.sequence} entries and lives at "
                f"{head.file}. Put it back: what was spent must not be forgotten."
            ) from None


def _wrong_history(store: Store, head: Head) -> Iterator[str]:
    return check.wrong_history(head, store.at(1), store.at(head.sequence), store.last())


def _demand(path: Path, report: Report) -> None:
    if not report.sound:
        raise LedgerError(f"The ledger {path} cannot be used. {' '.join(report.findings[:3])}")
