"""Disks that fail on purpose: a layer between SQLite and the file system, and one under the ledger's head.

Every call that would reach the disk is numbered, those of SQLite (through a VFS of ours) and those of the head (through
`tacit.ledger.disk`) in one sequence. At the chosen number the chosen thing happens.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from tacit.ledger import disk

WRITES = ("write", "pwrite")
KINDS = ("EIO once", "ENOSPC from then on", "short write", "kill", "torn write and kill")


class Faults:
    """Counts calls, and spoils the one it was told to. `heard` is told of what is written and flushed."""

    def __init__(self, kind: str = "", at: int = 0) -> None:
        self.kind = kind
        self.at = at
        self.calls = 0
        self.armed = False
        self.heard: Callable[..., None] | None = None

    def call(self, name: str, proceed: Callable[..., Any], *given: Any) -> Any:
        """One call to the disk: carried out, spoiled, or the last thing this process does."""
        if not self.armed:
            return proceed(*given)
        self.calls += 1
        reached = self.calls >= self.at > 0 if self.kind == "ENOSPC from then on" else self.calls == self.at
        if not reached:
            return proceed(*given)
        writes = name in WRITES
        if writes and self.kind in ("short write", "torn write and kill"):
            half = len(given[0]) // 2
            proceed(given[0][:half], given[1])
            if self.kind == "short write" and name == "pwrite":
                return half  # the system call's own way to say so; the caller must notice
        if self.kind in ("kill", "torn write and kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "ENOSPC from then on" and name in (
            "read",
            "size",
            "lock",
            "unlock",
            "access",
            "control",
            "close",
        ):
            return proceed(*given)  # a full disk can still be read
        code = errno.EIO if self.kind == "EIO once" else errno.ENOSPC
        if name in ("pwrite", "head sync", "rename", "head open", "folder sync"):
            raise OSError(code, os.strerror(code))
        raise apsw.IOError("injected") if code == errno.EIO else apsw.FullError("injected")


class _FaultyFile(apsw.VFSFile):
    def __init__(self, faults: Faults, name: Any, flags: list[int]) -> None:
        self._faults = faults
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._heard("write", data, offset)
        self._faults.call("write", super().xWrite, data, offset)

    def xRead(self, amount: int, offset: int) -> bytes:
        return self._faults.call("read", super().xRead, amount, offset)

    def xSync(self, flags: int) -> None:
        self._faults.call("sync", super().xSync, flags)
        self._heard("sync")

    def xTruncate(self, size: int) -> None:
        self._heard("truncate", size)
        self._faults.call("truncate", super().xTruncate, size)

    def xFileSize(self) -> int:
        return self._faults.call("size", super().xFileSize)

    def xLock(self, level: int) -> None:
        self._faults.call("lock", super().xLock, level)

    def xUnlock(self, level: int) -> None:
        self._faults.call("unlock", super().xUnlock, level)

    def _heard(self, *what: Any) -> None:
        if self._faults.heard is not None:
            self._faults.heard(self._name, *what)


class _FaultyVFS(apsw.VFS):
    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        super().__init__("faulty", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return self._faults.call("open", _FaultyFile, self._faults, name, flags)

    def xDelete(self, name: str, sync_folder: bool) -> None:
        self._faults.call("delete", super().xDelete, name, sync_folder)

    def xAccess(self, name: str, flags: int) -> bool:
        return self._faults.call("access", super().xAccess, name, flags)


@contextmanager
def installed(faults: Faults) -> Iterator[Faults]:
    """Connections that are opened inside, and the head, go through `faults`."""
    names = {"open_file": "head open", "sync": "head sync", "rename": "rename", "sync_folder": "folder sync"}
    real = {name: getattr(disk, name) for name in (*names, "pwrite")}

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        if faults.heard is not None:
            faults.heard(os.readlink(f"/proc/self/fd/{descriptor}"), "write", data, offset)
        return faults.call("pwrite", lambda part, at: real["pwrite"](descriptor, part, at), data, offset)

    def sync(descriptor: int) -> None:
        faults.call("head sync", real["sync"], descriptor)
        if faults.heard is not None:
            faults.heard(os.readlink(f"/proc/self/fd/{descriptor}"), "sync")

    def through(name: str) -> Callable[..., Any]:
        return lambda *given: faults.call(names[name], real[name], *given)

    vfs = _FaultyVFS(faults)
    for name in names:
        setattr(disk, name, through(name))
    disk.pwrite, disk.sync = pwrite, sync
    try:
        yield faults
    finally:
        for name, function in real.items():
            setattr(disk, name, function)
        vfs.unregister()


def fast_folder() -> str | None:
    """Memory, where there is some: a killed process loses nothing there either, and flushes cost nothing."""
    memory = Path("/dev/shm")
    return str(memory) if sys.platform == "linux" and os.access(memory, os.W_OK) else None
