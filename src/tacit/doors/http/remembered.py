"""Replies that were sent before, kept ready: a stored answer asked for in the same words is sent as the same bytes.

Promise: a reply is sent from here only if it is what the ledger has stored under the same question, price, asker and
state of the data. A reply is kept only once the house itself has said that it is a stored one, and only for the same
person, the same words, the same form and the same dataset; it is forgotten when the data change. So nothing new is
decided here, and nothing is charged: a stored answer never is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from tacit.doors.http.datasets import Seat

Written = tuple[bytes, str]
"""The bytes of a reply, and their media type."""
_MOST: Final = 4_096
_LONGEST_BODY: Final = 8 * 1024
_LONGEST_REPLY: Final = 32 * 1024


class Remembered:
    """The last few thousand replies with a stored answer."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str, bytes], tuple[tuple[str, ...], Written]] = OrderedDict()
        self._lock = threading.Lock()

    def reply(self, seat: Seat, body: bytes, form: str, made: Callable[[], tuple[Written, bool]]) -> Written:
        """The reply kept for the same request, if the data are as they were; otherwise a new one.

        `made` gives the reply, and whether it is one that the ledger had stored before.
        """
        key, state = (seat.dataset.name, seat.pays_as, form, body), seat.curator.state()
        with self._lock:
            found = self._kept.get(key)
        if found is not None and found[0] == state:
            return found[1]
        written, is_stored = made()
        if is_stored and len(body) <= _LONGEST_BODY and len(written[0]) <= _LONGEST_REPLY:
            with self._lock:
                self._kept[key] = (state, written)
                self._kept.move_to_end(key)
                while len(self._kept) > _MOST:
                    self._kept.popitem(last=False)
        return written
