"""Room on Python's stack of calls for a text that nests as deep as the limits allow.

The parser takes some forty calls for one level of nesting, so a hundred levels do not fit into the thousand calls that
Python allows by default. What runs `with room()` may go deeper, by a fixed amount that the limits on the text never
exceed. Where the parser is compiled its calls are on the thread's own stack, and need no room here: the deepest texts
take less than 384 KiB there, of the megabytes that a thread has. Frames of Python functions live on the heap.

The limit belongs to the whole process, so the first who needs room raises it and the last one to leave puts it back.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

CALLS: Final = 8_000
"""How many calls deeper than usual: a hundred levels of up to eighty calls."""


class _Room:
    """How many are inside, and the limit that was there before them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Raised while anybody is inside."""
        with self._lock:
            if self._inside == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(self._before + CALLS)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    sys.setrecursionlimit(self._before)


room: Final = _Room()
