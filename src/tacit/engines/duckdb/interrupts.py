"""Ctrl-C while the engine works in this process: it interrupts as everywhere else in Python.

While a statement runs in Python's main thread, the engine receives the signal instead of Python: it notices it between
two pieces of work, waits for its other threads to finish theirs, which may take as long as the whole statement, and
then reports its own error, which code that waits for KeyboardInterrupt would not catch. So long statements run in a
second thread. The main thread stays free to be interrupted, and then stops all of the engine's threads. For short
statements, the engine's own report is turned into a KeyboardInterrupt.
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
                connection.interrupt()  # repeatedly: an interrupt before the statement has begun is forgotten
            raise


def _has_ended(running: Future[Any]) -> bool:
    try:
        return bool(wait([running], _PATIENCE).done)
    except KeyboardInterrupt:  # a second one while the first is being handled
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
