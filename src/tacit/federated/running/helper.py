"""A helper: one of the servers that reports are split between, with everything that it must not forget on disk.

    helper = Helper(collection, place, key, folder, ledger)
    helper.take(nonce, public, part)          # a client's part, for this helper alone
    helper.shares(after)                      # [(nonce, check share)] in the order they came: for the other helpers
    helper.accept(nonce, shares)              # counted, or refused; a second time it changes nothing
    helper.release()                          # the noisy sum, charged first, the same for ever

Promise. A part is on the disk before its check share leaves, and a count is on the disk before the helper says so: a
helper that is killed goes on where it was. So no part is ever checked under two nonces, which would open more of a
report than one check does, and no report is counted twice. The release is that of `Server`: charged, drawn once,
stored.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tacit.federated.prio.collection import Collection
from tacit.federated.refusals import Refused
from tacit.federated.running.record import Record
from tacit.ledger import Ledger

_PART: Final = b"P"
_COUNTED: Final = b"A"


class Helper:
    """One of the servers of a collection. Safe to use from several threads."""

    def __init__(self, collection: Collection, place: int, key: bytes, folder: Path, ledger: Ledger) -> None:
        self.collection, self.place = collection, place
        self._server = collection.server(place, key, ledger)
        self._order: list[tuple[bytes, bytes]] = []
        self._counted: set[bytes] = set()
        self._mutex = threading.RLock()
        self._record = Record(folder / f"record-{place}", f"{collection.id} {place}".encode())
        try:
            if not self._server.is_released:
                for kind, content in self._record.entries:
                    self._again(kind, [bytes.fromhex(each) for each in json.loads(content)])
        except BaseException:
            self._record.close()
            raise

    @property
    def accepted(self) -> int:
        """How many reports are counted."""
        return len(self._counted)

    def take(self, nonce: bytes, public: bytes, part: bytes) -> None:
        """Check a client's part. The same one again changes nothing."""
        with self._mutex:
            if nonce in self._counted:
                return
            known = any(nonce == each for each, _ in self._order)
            share = self._server.check(nonce, public, part)
            if not known:
                self._keep(_PART, [nonce, public, part])
                self._order.append((nonce, share))

    def shares(self, after: int) -> list[tuple[bytes, bytes]]:
        """The check shares from this place in the order on."""
        with self._mutex:
            return self._order[max(after, 0) :]

    def accept(self, nonce: bytes, shares: Sequence[bytes]) -> None:
        """Count a report whose check shares, of all helpers in their order, say that it is valid."""
        with self._mutex:
            if nonce not in self._counted:
                self._server.accept(nonce, shares)
                self._keep(_COUNTED, [nonce, *shares])
                self._counted.add(nonce)

    def release(self) -> bytes:
        """This helper's noisy sum."""
        with self._mutex:
            return self._server.release()

    def close(self) -> None:
        """Close the record."""
        self._record.close()

    def _keep(self, kind: bytes, parts: Sequence[bytes]) -> None:
        self._record.add(kind, json.dumps([each.hex() for each in parts]).encode())
        self._record.flush()

    def _again(self, kind: bytes, parts: list[bytes]) -> None:
        if kind == _PART:
            nonce, public, part = parts
            self._order.append((nonce, self._server.check(nonce, public, part)))
        elif kind == _COUNTED:
            self._server.accept(parts[0], parts[1:])
            self._counted.add(parts[0])
        else:
            raise Refused("The helper's record has an entry of an unknown kind.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
