"""Turns: of several who ask the same at once, one works and the others wait for the result.

Promise: while one thread holds the turn of a key, no other thread or process on this host gets it; the kernel frees the
turn of a process that died. So a holder of a key's turn who finds a charge without an answer knows that its asker was
cut off.

How: an "open file description" lock on one byte of a file next to the head. The byte's place is a hash of the key, so
the file stays empty and two keys that share a byte merely wait for each other. Each turn has a descriptor of its own;
such a lock belongs to it, not to the process, and excludes other threads too. A forked child closes the descriptors
that it inherited, so that it does not keep its parent's turns.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tacit.errors import LedgerError
from tacit.ledger import disk

_PLACES: Final = 1 << 62
_SHORTEST, _LONGEST = 0.0005, 0.05
_held: Final[set[int]] = set()


class Turns:
    """The turns of one ledger on this host."""

    def __init__(self, path: Path, patience: float) -> None:
        self._path = path
        self._patience = patience

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Wait for the turn of this key, and hold it."""
        deadline, pause = time.monotonic() + self._patience, _SHORTEST
        with self._open() as descriptor:
            while not _taken(descriptor, key):
                if time.monotonic() > deadline:
                    raise LedgerError(
                        f"Another asker has been asking the same for {self._patience:g} seconds. Ask again later: "
                        "what comes of it is stored, and nothing was charged."
                    )
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST)
            yield

    @contextmanager
    def of_free(self, key: str) -> Iterator[bool]:
        """Take the key's turn if it is free; yields whether it was taken."""
        with self._open() as descriptor:
            yield _taken(descriptor, key)

    @contextmanager
    def _open(self) -> Iterator[int]:
        try:
            descriptor = disk.open_file(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as failure:
            raise LedgerError(
                f"The turns of the ledger, {self._path}, could not be opened: {failure.strerror or failure}."
            ) from None
        _held.add(descriptor)
        try:
            yield descriptor
        finally:
            if descriptor in _held:  # otherwise this is a forked child, in which it is already closed
                _held.discard(descriptor)
                os.close(descriptor)


def _taken(descriptor: int, key: str) -> bool:
    place = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % _PLACES
    wanted = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except OSError as busy:
        if busy.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise LedgerError(f"No turn could be taken: {busy.strerror or busy}. Keep heads on a local disk.") from None
    return True


def _let_go() -> None:
    while _held:
        with suppress(OSError):
            os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)
