"""A session for questions: connections that are read-only and have a time limit, one for each question at a time.

Promise: what is asked within one `moment` sees the rows of one moment, whatever others write meanwhile: ranks, counts
and rows of different moments would belong to no table at all. It returns rows or raises the one fixed `EngineError`,
whatever went wrong. A connection on which something went wrong is not used again.
"""

# ruff: noqa: S608  # the schema's name comes from the policy, through `quoting`

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.engines import quoting
from tacit.engines.postgres_connection import connect, library
from tacit.engines.postgres_copy import ABOUT, KEY, Copy
from tacit.engines.process import FAILED, Limits
from tacit.errors import EngineError

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
_KEPT = 4


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query returned: the names of its columns, and its rows."""

    names: list[str]
    rows: list[tuple[Any, ...]]


class Session:
    """Connections that are made when they are needed, kept for the next question, and made again when they broke."""

    def __init__(self, address: str, limits: Limits, role: str | None) -> None:
        self._address = address
        self._settings = {
            "default_transaction_read_only": "on",
            "statement_timeout": str(max(1, int(limits.seconds * 1000))),
            "work_mem": "128MB",
            **({} if role is None else {"role": role}),
        }
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._owner = os.getpid()
        self._inherited: list[object] = []

    @contextmanager
    def moment(self, copy: Copy | None, key: str | None) -> Iterator[Callable[[str], Rows]]:
        """Asks over this very copy; or, without a copy, under this key of the ranks, all about one moment's rows."""
        psycopg = library()
        connection = self._taken()
        try:
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                if copy is not None:
                    _hold(connection, copy)
                if key is not None:
                    connection.execute("SELECT set_config(%s, %s, true)", (KEY, key))
                yield partial(_rows, connection)
            self._give(connection)
            return
        except (psycopg.Error, UnicodeError, ValueError, MemoryError, OSError):
            connection.close()
        except BaseException:  # also the fixed error, which is raised again as it is
            connection.close()
            raise
        raise EngineError(FAILED)  # outside the handler: an exception keeps the one that was being handled

    def look(self, read: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What `read` finds in the catalogue. Asked before a charge, so it may say that there is no connection."""
        psycopg = library()
        for last in (False, True):
            connection = None
            try:
                connection = self._take()
                found = read(connection)
                self._give(connection)
                return found
            except psycopg.Error:
                if connection is not None:
                    connection.close()  # the server may have been started anew since the last question
                if last:
                    raise EngineError("The PostgreSQL database of the policy does not answer.") from None
            except BaseException:
                if connection is not None:
                    connection.close()
                raise
        raise AssertionError

    def close(self) -> None:
        """End the connections that nobody uses. A closed session opens again when asked."""
        with self._lock:
            self._forget_the_parents()
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _taken(self) -> psycopg.Connection[Any]:
        """As `_take`, after the charge: whatever is wrong has the one text."""
        try:
            return self._take()
        except (library().Error, EngineError, UnicodeError, ValueError, MemoryError, OSError):
            pass
        raise EngineError(FAILED)

    def _take(self) -> psycopg.Connection[Any]:
        with self._lock:
            self._forget_the_parents()
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        return connect(self._address, self._settings)

    def _give(self, connection: psycopg.Connection[Any]) -> None:
        with self._lock:
            if not connection.closed and self._owner == os.getpid() and len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def _forget_the_parents(self) -> None:
        if self._owner != os.getpid():
            # reached through a fork: the connections are the parent's, and closing them here would end the parent's
            self._inherited += self._idle
            self._idle, self._owner = [], os.getpid()


def _rows(connection: psycopg.Connection[Any], sql: str) -> Rows:
    psycopg = library()
    try:
        # With parameters, even none, the server takes exactly one statement.
        cursor = psycopg.RawCursor(connection).execute(sql, ())
        return Rows([column.name for column in cursor.description or ()], cursor.fetchall())
    except (psycopg.Error, UnicodeError, ValueError, MemoryError, OSError):
        pass  # the server's own words go no further, not even as the context of an error
    raise EngineError(FAILED)


def _hold(connection: psycopg.Connection[Any], copy: Copy) -> None:
    """Refuse if the copy is another one by now; otherwise it stays until the transaction ends."""
    rows = connection.execute(f"SELECT build FROM {quoting.identifier(copy.schema, ABOUT)}").fetchall()
    if rows != [(copy.build,)]:
        raise EngineError(FAILED)
