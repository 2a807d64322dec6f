"""Room on Python's stack of calls for a text that nests as deep as the limits allow.

The parser takes some forty calls for one level of nesting, so a hundred levels do not fit into the thousand calls that
Python allows by default. What runs `with room()` may go deeper, by a fixed amount that the limits on the text never
exceed.

Where the parser is compiled, its calls are not counted: they use the thread's own stack, and a stack that is too small
ends the process. A hundred levels of brackets take less than 384 KiB there, and no text nests deeper than it has words.
So a text of a hundred words is parsed in the present thread, and a longer one by a thread that has 8 KiB for every word
of it, twice what a level takes. That is address space, of which a text that does not nest uses hardly any.

The limit belongs to the whole process, so the first thread that needs room raises it, and the last one to leave
restores it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final, TypeVar

Made = TypeVar("Made")

CALLS: Final = 8_000
"""How many calls deeper than usual: a hundred levels of up to eighty calls."""
FEW_WORDS: Final = 100
_EACH_WORD: Final = 8 * 1024
_turn: Final = threading.Lock()


class _Room:
    """How many threads are inside, and the limit before them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """The limit is raised while any thread is inside."""
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


def roomy(words: int, parse: Callable[[], Made]) -> Made:
    """What `parse` returns, or raises, for a text of this many words, with room for one level of nesting for each."""
    if words <= FEW_WORDS:
        return parse()
    made: Future[Made] = Future()
    beside = threading.Thread(target=_settle, args=(made, parse), name="tacit-parser", daemon=True)
    with _turn:  # the size applies to whichever thread starts next
        before = threading.stack_size(words * _EACH_WORD)
        try:
            beside.start()
        finally:
            threading.stack_size(before)
    return made.result()


def _settle(made: Future[Made], parse: Callable[[], Made]) -> None:
    try:
        made.set_result(parse())
    except BaseException as problem:  # noqa: BLE001  # raised in the waiting thread
        made.set_exception(problem)
