"""Ctrl-C while the engine works in this process: the same interrupt that it is everywhere else in Python.

A statement that runs in Python's main thread takes the signal off Python's hands: the engine notices it between two
pieces of work, waits for its other threads to come to an end of theirs, which may take as long as the whole statement,
and then reports an error of its own that nobody who waits for KeyboardInterrupt would catch. So what may take long
runs in a thread beside the main one, which stays free to be interrupted and then stops all of the engine's threads;
and for the short rest the engine's own report is turned into what it means.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_INTERRUPTED: Final = "Query interrupted"
_PATIENCE: Final = 0.05


def execute(connection: DuckDBPyConnection, sql: str) -> None:
    """Run a statement that may take long. When this returns or raises, the statement has ended."""
    with ThreadPoolExecutor(1, thread_name_prefix="tacit-statement") as beside:
        running = beside.submit(connection.execute, sql)
        try:
            running.result()
        except KeyboardInterrupt:
            while not _has_ended(running):
                connection.interrupt()  # again and again: one that comes before the statement has begun is forgotten
            raise


def _has_ended(running: Future[Any]) -> bool:
    try:
        return bool(wait([running], _PATIENCE).done)
    except KeyboardInterrupt:  # an impatient second one, while the first is being seen to
        return False


@contextmanager
def as_keyboard_interrupts() -> Iterator[None]:
    """Turns the engine's own report of Ctrl-C, during a short statement, into KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as ended:
        if str(ended) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from None
