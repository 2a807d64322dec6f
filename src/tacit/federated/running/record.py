"""What a coordinator or a helper has heard and done, on disk, so that it goes on where it was after a crash.

    with Record(path, b"whose record this is") as record:
        for kind, content in record.entries: ...      # what was there when it was opened
        record.add(b"S", message); record.flush()     # on the disk when `flush` returns

Each entry is: kind 1 | length 4 | content | digest 8 (bytes); the digest is of all entries so far. Bytes after the last
whole entry were cut off while they were written. No one relied on them, since an entry is acted on only after `flush`,
and they are dropped at opening. One process at a time holds a record; the lock goes away with it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tacit.federated.refusals import Refused
from tacit.ledger import disk

_HEAD: Final = struct.Struct(">cI")
_DIGEST: Final = 8
_LONGEST: Final = 1 << 30


class Record:
    """A file of entries to which more are added."""

    def __init__(self, path: str | os.PathLike[str], owner: bytes) -> None:
        self.path = Path(path)
        self._state = hashlib.blake2b(owner, person=b"tacit record")
        self._descriptor = disk.open_file(self.path, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise Refused(f"Another process holds the record {self.path.name!r}. Wait for it, or end it.") from None
        try:
            self.entries, self._end = self._read()
            os.ftruncate(self._descriptor, self._end)
            disk.sync(self._descriptor)
            disk.sync_folder(self.path.parent)
        except BaseException:
            os.close(self._descriptor)
            raise
        self._waiting: list[bytes] = []

    def add(self, kind: bytes, content: bytes) -> None:
        """One more entry, on the disk after `flush`."""
        head = _HEAD.pack(kind, len(content))
        self._waiting.append(head + content + self._digest(head, content))

    def flush(self) -> None:
        """All entries are on the disk when it returns."""
        if self._waiting:
            data = b"".join(self._waiting)
            disk.write(self._descriptor, data, self._end)
            disk.sync(self._descriptor)
            self._end += len(data)
            self._waiting = []

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> tuple[tuple[tuple[bytes, bytes], ...], int]:
        found: list[tuple[bytes, bytes]] = []
        end, data = 0, self.path.read_bytes()
        while len(data) - end >= _HEAD.size + _DIGEST:
            kind, length = _HEAD.unpack_from(data, end)
            last = end + _HEAD.size + length
            if length > _LONGEST or last + _DIGEST > len(data):
                break
            content, before = data[end + _HEAD.size : last], self._state.copy()
            if self._digest(data[end : end + _HEAD.size], content) != data[last : last + _DIGEST]:
                self._state = before
                if not found:
                    raise Refused(f"The record {self.path.name!r} is of something else, or was changed.")
                break
            found.append((kind, content))
            end = last + _DIGEST
        return tuple(found), end

    def _digest(self, head: bytes, content: bytes) -> bytes:
        self._state.update(head)
        self._state.update(content)
        return self._state.copy().digest()[:_DIGEST]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
