"""The vault: a ledger's table and its head together, opened, checked and sealed in the right order.

Promise: `connect` gives a connection only to a ledger that passes the whole check against its head. A registration that
was cut short anywhere goes on where it stopped, and nothing can be charged before it is complete: the head comes first,
announcing sequence 0, so that a ledger without a head is never taken for a new one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger import check
from tacit.ledger.check import Report, examine
from tacit.ledger.entry import BEFORE_ALL, Entry, Kind
from tacit.ledger.head import Head, HeadFile, Place
from tacit.ledger.store import Missing, Site, Store


class Vault:
    """Where one ledger is kept."""

    def __init__(self, site: Site, head: HeadFile) -> None:
        self.head = head
        self._site = site

    @property
    def name(self) -> str:
        """The ledger's name in refusals."""
        return self._site.name

    @property
    def shared(self) -> bool:
        """Whether other hosts may charge to it."""
        return self._site.shared

    def failures(self) -> AbstractContextManager[None]:
        """A failure of the disk, the network or the database, inside, becomes the house's refusal."""
        return self._site.failures()

    def connect(self) -> Store:
        """A connection to the checked ledger. Entries that were committed but never sealed are sealed now."""
        with self.failures():
            head, store = self._opened()
            try:
                self._demand(self._examined(store, head))
                last = store.last()
                if last is None:
                    raise LedgerError(f"The ledger {self.name} was never registered. Open it with a budget.")
                self.seal(store, last, flushed=False)
            except BaseException:
                store.close()
                raise
            return store

    def report(self) -> Report:
        """The check alone, for a ledger that may be damaged."""
        try:
            with self.failures():
                head, store = self._opened()
                with closing(store):
                    return self._examined(store, head)
        except LedgerError as failure:
            return Report(0, 0, (str(failure),))

    def check(self, store: Store) -> None:
        """Refuse, inside a transaction, if the ledger is no longer the sealed one: swapped, cut or sealed elsewhere."""
        head = self.head.read()
        for finding in (*check.wrong_place(head, self._place(store, head)), *_wrong_history(store, head)):
            raise self._unusable(finding)

    def seal(self, store: Store, entry: Entry, *, flushed: bool) -> None:
        """Put the head at `entry`, unless it is further. Entries that may not be on disk yet are flushed before."""
        if not flushed and self.head.read().sequence < entry.sequence:
            store.sync()
        self.head.advance(entry.sequence, entry.hash)

    def register(self, first_entries: Callable[[str], list[Entry]] | None) -> None:
        """Make the ledger if there is none. `first_entries` gives what a new one of that identity begins with."""
        with self.failures(), self.head.locked():
            if not self.head.exists():
                self._announce(may_create=first_entries is not None)
            if first_entries is None or self.head.read().sequence > 0:
                return
            head, store = self._opened()
            with closing(store):
                for finding in check.wrong_place(head, self._place(store, head)):
                    raise self._unusable(finding)
                with store.writing():
                    if store.is_empty():
                        store.create()
                        for entry in first_entries(head.ledger):
                            store.append(entry)

    def adopt(self) -> None:
        """Accept the ledger's new place, if it is complete, and record that it moved."""
        with self.failures(), self.head.locked():
            head, store = self._opened()
            with closing(store):
                self._demand(examine(self._site, store, head, head.place))
                place = self._place(store, head)
                with store.writing():
                    for finding in _wrong_history(store, head):
                        raise LedgerError(finding)
                    moved = Entry.after(store.last(), Kind.MOVED, {"from": head.file, "to": place.file})
                    store.append(moved)
                self.head.write(
                    replace(head, sequence=moved.sequence, hash=moved.hash, file=place.file, inode=place.inode)
                )

    def vouch(self) -> None:
        """Make a new head for a ledger that lost its own, on the owner's word, and record that word.

        The chain, the sums and the stored answers must hold. Whether entries are missing at the end can no longer be
        checked: the owner vouches that none are.
        """
        with self.failures(), self.head.locked():
            if self.head.exists():
                raise LedgerError(f"The head of the ledger is where it belongs, {self.head.path}: nothing was lost.")
            if not self._site.is_begun():
                raise LedgerError(f"There is no ledger at {self.name}. Open it with a budget to register one.")
            with closing(self._site.connect()) as store:
                first, last, place = store.at(1), store.last(), store.place()
                identity = "" if first is None else str(first.details.get("ledger", ""))
                sealed = (0, BEFORE_ALL) if last is None else (last.sequence, last.hash)
                self._demand(examine(self._site, store, Head(identity, *sealed, place.file, place.inode), place))
                with store.writing():
                    vouched = Entry.after(store.last(), Kind.VOUCHED, {"entries": sealed[0], "at": place.file})
                    store.append(vouched)
                self.head.create(Head(identity, vouched.sequence, vouched.hash, place.file, place.inode))

    def _announce(self, may_create: bool) -> None:
        if self._site.is_begun():
            raise LedgerError(
                f"The ledger {self.name} has no head at {self.head.path}. Without it nobody can tell whether the "
                f"ledger is complete. {self._moved()}Otherwise put the head back where it was; a copy without its head "
                "cannot be used. If it is lost for good, the owner can vouch that no entry is missing: tacit ledger "
                "adopt POLICY --head-lost. A further host that charges to a ledger in a database begins with a copy of "
                "another host's head."
            )
        if not may_create:
            raise LedgerError(f"There is no ledger at {self.name}. Open it with a budget to register one.")
        place = self._site.begin()
        self.head.create(Head(secrets.token_hex(16), 0, BEFORE_ALL, place.file, place.inode))

    def _moved(self) -> str:
        """Advice for a ledger's file that was moved. A moved file keeps its inode, which the head knows."""
        path = Path(self.name)
        if self.shared or not path.exists():
            return ""
        inode = path.stat().st_ino
        for other in islice(sorted(self.head.path.parent.glob("*.head")), 1000):
            with suppress(LedgerError):
                before = HeadFile(other, 0).read()
                if before.inode == inode and not Path(before.file).exists():
                    return (
                        f"It lay at {before.file} before, and the head of that place is {other}. If you moved it and "
                        f"no copy is in use: tacit ledger adopt POLICY --moved-from {before.file}. "
                    )
        return "If you moved its folder and no copy is in use: tacit ledger adopt POLICY --moved-from OLD/PATH. "

    def _opened(self) -> tuple[Head, Store]:
        """The head, then a connection: the head may lag behind the table, never the other way round."""
        head = self.head.read()
        try:
            return head, self._site.connect()
        except Missing:
            raise self._gone(head) from None

    def _place(self, store: Store, head: Head) -> Place:
        try:
            return store.place()
        except Missing:
            raise self._gone(head) from None

    def _gone(self, head: Head) -> LedgerError:
        return LedgerError(
            f"The ledger is not at {self.name}; its head says that it has {head.sequence} entries and lives at "
            f"{head.file}. Put it back: what was spent must not be forgotten."
        )

    def _examined(self, store: Store, head: Head) -> Report:
        return examine(self._site, store, head, self._place(store, head))

    def _demand(self, report: Report) -> None:
        if not report.sound:
            raise self._unusable(" ".join(report.findings[:3]))

    def _unusable(self, finding: str) -> LedgerError:
        return LedgerError(f"The ledger {self.name} cannot be used. {finding}")


def _wrong_history(store: Store, head: Head) -> Iterator[str]:
    last = store.last()  # first, because mostly the sealed entry is the last one and need not be looked up again
    return check.wrong_history(head, store.at(1), store.at(head.sequence), last)
