"""The head: the ledger's identity and its last sealed entry, kept apart from the ledger's file.

A hash chain shows that a file is *a* history, not that it is *the* history: an older copy is as consistent as the
newest. The head says which entry the file must at least reach. It lies elsewhere (another folder, disk or machine), so
that restoring the file from a copy does not restore the head with it.

Promise and order of writes. A charge is (1) committed to the file, durable; (2) written to the head, durable; only then
(3) acknowledged. Hence always

    acknowledged entries  <=  head  <=  entries of the file.

The head may lag behind the file, by entries that were not acknowledged, after a crash between (1) and (2); then the
file extends the head and the head catches up. It can never lead an honest file: a file that ends before its head is an
older copy or was cut. A file whose entry at the head's sequence has another hash has another history. A file at another
place than the head says (path or inode) is a copy.

Several hosts, one database. Each host keeps a head of its own, on its own disk; "file" above then means the database.
The order of writes is the same on each, so for every host

    entries acknowledged on this host, or read before an acknowledgement  <=  its head  <=  entries of the database.

Hence a database that forgot an acknowledged charge (put back from a backup, or a standby that lagged when it took over)
is refused by the host that acknowledged the charge, and by every host that has used the ledger since: the chain it
holds does not reach, or does not contain, what their heads sealed. A host that had not used the ledger since cannot
know, and may go on from the older state; the others then refuse for good, because there are two histories. Where that
window is too wide the hosts share one head, in a folder that all of them see.

A host joins by a copy of the head of one that takes part, so even its first look is checked against what was sealed.

The head is two slots of a file, written in turn, each with a checksum. A write that is torn by a crash spoils the slot
being written; the other still holds the head before, which may lag but is true. One flush of bytes already allocated
costs a third of replacing a file (four milliseconds against sixteen on the disk this was measured on).

The head is not a signature: anyone who can write both file and head can forge both.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger import disk
from tacit.ledger.entry import canonical

SLOT = 8192
_READ_ATTEMPTS = 50
_PAUSE = 0.001


@dataclass(frozen=True, slots=True)
class Place:
    """Where the ledger lies: a file and its inode, or a database and the table's number in it.

    A copy has another number even under the same name.
    """

    file: str
    inode: int

    @classmethod
    def of(cls, path: Path) -> Place:
        """The place of an existing file."""
        return cls(os.path.realpath(path), path.stat().st_ino)


@dataclass(frozen=True, slots=True)
class Head:
    """The ledger of this identity has at least `sequence` entries, that one has this hash, and it lies at this place.

    Sequence 0 announces a registration: nothing has been spent, and the file may still be empty.
    """

    ledger: str
    sequence: int
    hash: str
    file: str
    inode: int

    @property
    def place(self) -> Place:
        """Where the file must lie."""
        return Place(self.file, self.inode)


class HeadFile:
    """A head on disk. Readers need no lock; writers take turns, and the head never goes back."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path
        self._lock = path.with_name(path.name + ".lock")
        self._patience = patience

    def exists(self) -> bool:
        """Whether there is a head, readable or not."""
        return self.path.exists()

    def read(self) -> Head:
        """The head."""
        return self._newest()[1]

    def _newest(self) -> tuple[int, Head]:
        """The head and its turn. Both slots can look torn only while others write, so a few looks are enough."""
        for _ in range(_READ_ATTEMPTS):
            try:
                descriptor = disk.open_file(self.path, os.O_RDONLY)
                try:
                    found = _newest(_content(descriptor))
                finally:
                    os.close(descriptor)
            except OSError as failure:
                raise LedgerError(
                    f"The head of the ledger, {self.path}, could not be read: {failure.strerror or failure}. Without "
                    "it nobody can tell whether the ledger is complete. Put the head back where it was."
                ) from None
            if found is not None:
                return found
            time.sleep(_PAUSE)
        raise LedgerError(f"The head of the ledger, {self.path}, is damaged: neither of its two slots can be read.")

    def create(self, head: Head) -> None:
        """The first head. Call it with the lock held, and only where there is none."""
        self._lock.write_bytes(b"")  # no note about an earlier head may stay
        fresh = self.path.with_name(self.path.name + ".new")
        descriptor = disk.open_file(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            disk.write(descriptor, _slot(0, head) + bytes(SLOT), 0)
            disk.sync(descriptor)
        finally:
            os.close(descriptor)
        disk.rename(fresh, self.path)
        disk.sync_folder(self.path.parent)

    def advance(self, sequence: int, hash_: str) -> None:
        """Seal the entries up to this one; durable when it returns.

        If a longer chain is already sealed, its writer's flush served us too. A note in the lock file says that the
        flush ended: a writer that was killed before that leaves a head that can be read but may not be on the disk.
        """
        with self.locked() as lock:
            turn, head = self._newest()
            if head.sequence < sequence:
                self._write(turn + 1, replace(head, sequence=sequence, hash=hash_))
            elif _noted(lock) < sequence:
                # again, in the other slot: after a flush that failed, readable bytes may never reach the disk
                self._write(turn + 1, head)
            else:
                return
            os.pwrite(lock, b"%020d" % max(head.sequence, sequence), 0)

    def write(self, head: Head) -> None:
        """Put `head` in the slot that does not hold the present one. Call it with the lock held."""
        self._write(self._newest()[0] + 1, head)

    def _write(self, turn: int, head: Head) -> None:
        descriptor = disk.open_file(self.path, os.O_WRONLY)
        try:
            disk.write(descriptor, _slot(turn, head), turn % 2 * SLOT)
            disk.sync(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """One writer at a time, over all processes; the kernel frees the lock of a killed one. Gives the lock file."""
        descriptor = disk.open_file(self._lock, os.O_RDWR | os.O_CREAT)
        try:
            deadline = time.monotonic() + self._patience
            while not _try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise LedgerError(
                        f"The head of the ledger, {self.path}, was locked for {self._patience:g} seconds."
                    )
                time.sleep(_PAUSE)
            yield descriptor
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _noted(lock: int) -> int:
    """The sequence up to which a flush of the head has ended; 0 if none was noted."""
    note = os.pread(lock, 20, 0)
    return int(note) if note.isdigit() else 0


def _slot(turn: int, head: Head) -> bytes:
    body = canonical({"turn": turn, **{name: getattr(head, name) for name in Head.__slots__}})
    line = f"{hashlib.sha256(body.encode('ascii')).hexdigest()} {body}\n".encode("ascii")
    if len(line) > SLOT:
        raise LedgerError(f"The path of the ledger is too long for its head: {head.file[:80]}...")
    return line.ljust(SLOT, b" ")


def _newest(content: bytes) -> tuple[int, Head] | None:
    """The turn and the head of the newest slot that is whole."""
    slots = [_parsed(content[start : start + SLOT].partition(b"\n")[0]) for start in (0, SLOT)]
    return max((slot for slot in slots if slot is not None), key=lambda slot: slot[0], default=None)


def _content(descriptor: int) -> bytes:
    """Both slots."""
    return os.pread(descriptor, 2 * SLOT, 0)


@lru_cache(maxsize=64)  # read several times between two writes
def _parsed(line: bytes) -> tuple[int, Head] | None:
    checksum, _, body = line.partition(b" ")
    if hashlib.sha256(body).hexdigest().encode("ascii") != checksum:
        return None
    fields = json.loads(body)
    return fields.pop("turn"), Head(**fields)
