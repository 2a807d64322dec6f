"""The system calls by which the head is written, in one place so that tests can make each of them fail.

Promise: `write` has handed over every byte or raised; after `sync` the bytes of the file survive a loss of power.
"""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE = 0o600
"""Owner only: others must not see what was asked."""


def open_file(path: Path, flags: int) -> int:
    """A descriptor that is not inherited by programs we start."""
    return os.open(path, flags | os.O_CLOEXEC, PRIVATE)


def pwrite(descriptor: int, data: bytes, offset: int) -> int:
    """One system call; it may write less than it was given."""
    return os.pwrite(descriptor, data, offset)


def write(descriptor: int, data: bytes, offset: int) -> None:
    """All of `data` at `offset`."""
    done = 0
    while done < len(data):
        wrote = pwrite(descriptor, data[done:], offset + done)
        if wrote == 0:
            raise OSError("nothing was written")
        done += wrote


def sync(descriptor: int) -> None:
    """Flush to disk: the bytes, and what is needed to find them."""
    os.fdatasync(descriptor)


def rename(source: Path, target: Path) -> None:
    """Put `source` in the place of `target`, in one step."""
    os.replace(source, target)


def sync_file(path: Path) -> None:
    """Flush to disk, for a file that another program wrote."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Flush to disk: which files are in the folder, and under which names."""
    descriptor = open_file(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
