"""Leases: folders of private rows that do not outlive the process that made them, even if it was killed.

Promise: a folder made here belongs to its owner alone and holds a file that the owner keeps locked. The lock is the
kernel's and ends with the process, however it ends. So a folder whose lock is free has no owner any more, and `sweep`
removes it. A folder whose lock is taken is never touched, nor one that has no such file, belongs to another user or is
a link. Several processes may share a lease: the folder stays as long as one of them lives.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LOCK: Final = ".lease"


class Lease:
    """A folder in use. Closing the lease gives it up; removing it is another step."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._owner = os.getpid()

    def close(self) -> None:
        """Give the folder up."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def remove(self) -> None:
        """Remove the folder, and give it up. A forked child leaves it to its parent."""
        if self._descriptor is not None and self._owner == os.getpid():
            shutil.rmtree(self.path, ignore_errors=True)
        self.close()


def make(parent: Path, prefix: str) -> Lease:
    """A fresh folder of ours alone in `parent`, which must be there."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lease = _take(path, os.O_CREAT, fcntl.LOCK_SH)
        if lease is not None:
            return lease


def share(path: Path) -> Lease | None:
    """A lease on an existing folder; None if it is gone, or about to be."""
    return _take(path, 0, fcntl.LOCK_SH)


def sweep(parent: Path, prefix: str) -> None:
    """Remove the folders in `parent` whose makers are gone. What cannot be looked at is left alone."""
    try:
        found = [entry.path for entry in os.scandir(parent) if entry.name.startswith(prefix)]
    except OSError:
        return
    for path in found:
        remove_if_nobodys(Path(path))


def remove_if_nobodys(path: Path) -> None:
    """Remove one folder, if no one has a lease on it."""
    try:
        state = path.lstat()
    except OSError:
        return
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid():
        return
    lease = _take(path, 0, fcntl.LOCK_EX)
    if lease is not None:
        lease.remove()
    elif not (path / LOCK).exists():
        with suppress(OSError):  # its maker was killed, or is about to lease it, and makes another
            path.rmdir()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process at a time, among those that name this file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _take(path: Path, create: int, lock: int) -> Lease | None:
    """The lease, unless another's lock forbids it or the folder was removed meanwhile."""
    try:
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | create, 0o600)
    except OSError:
        if create and path.is_dir():
            raise
        return None
    try:
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
        # A sweep may have held the lock just before: then the locked file is no longer in the folder.
        if os.path.samestat(os.fstat(descriptor), os.lstat(path / LOCK)):
            return Lease(path, descriptor)
    except OSError:
        pass
    os.close(descriptor)
    return None
