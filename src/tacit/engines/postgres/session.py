"""A session for questions: one connection, read-only and with a time limit, one question at a time.

Promise: `ask` returns rows or raises the one fixed `EngineError`, whatever went wrong. A connection on which something
went wrong is not used again. What is asked within one `moment` sees the rows of one moment, whatever others write
meanwhile: ranks, counts and rows of different moments would not fit together. Questions asked meanwhile wait.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.engines.postgres.connection import connect, library
from tacit.engines.process import FAILED, Limits
from tacit.errors import EngineError

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a query returned: the names of its columns, and its rows."""

    names: list[str]
    rows: list[tuple[Any, ...]]


class Session:
    """A connection that is made when it is needed, and again after it broke.

    `prepare` is done with every new connection, and `hold` is the first statement of every question.
    """

    def __init__(
        self,
        address: str,
        limits: Limits,
        role: str | None,
        *,
        prepare: Callable[[psycopg.Connection[Any]], None],
        hold: str,
    ) -> None:
        self._address = address
        self._prepare = prepare
        self._hold = hold
        self._settings = {
            "default_transaction_read_only": "on",
            "statement_timeout": str(max(1, int(limits.seconds * 1000))),
            "work_mem": "128MB",
            "hash_mem_multiplier": "4",
            "enable_nestloop": "off",  # it would read a whole table again for every row of one person
            "enable_mergejoin": "off",  # one person could decide how few rows are expected: allow one kind of join
            "idle_in_transaction_session_timeout": "0",  # a study may compute for long between two queries
            **({} if role is None else {"role": role}),
        }
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._within: psycopg.Connection[Any] | None = None
        self._owner = os.getpid()
        self._inherited: list[object] = []

    def ask(self, sql: str) -> Fetched:
        """The rows of one query."""
        psycopg = library()
        with self._lock:
            try:
                connection = self._open()
                with connection.transaction():
                    connection.execute(self._hold)
                    return _rows(connection, sql)
            except (psycopg.Error, EngineError, UnicodeError, ValueError, MemoryError, OSError):
                self._close()
            except BaseException:
                self._close()
                raise
        raise EngineError(FAILED)  # outside the handler: an exception keeps the one that was being handled

    @contextmanager
    def moment(self) -> Iterator[Callable[[str], Fetched]]:
        """Asks about the rows of one moment."""
        with self._lock:
            if self._within is not None and self._owner == os.getpid():
                yield partial(_rows_or_fixed, self._within)  # the same thread asks within its own moment
                return
            self._within = connection = self._begun()
            try:
                yield partial(_rows_or_fixed, connection)
            except BaseException:
                self._close()
                raise  # unchanged: an error on the connection already has the fixed text
            finally:
                self._within = None
            self._finished(connection)

    def _begun(self) -> psycopg.Connection[Any]:
        psycopg = library()
        try:
            connection = self._open()
            connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute(self._hold)
            return connection
        except (psycopg.Error, EngineError, UnicodeError, ValueError, MemoryError, OSError):
            self._close()
        except BaseException:
            self._close()
            raise
        raise EngineError(FAILED)

    def _finished(self, connection: psycopg.Connection[Any]) -> None:
        try:
            connection.execute("COMMIT")
        except library().Error:
            self._close()  # nothing was written and all rows were read: no answer is lost
        except BaseException:
            self._close()  # interrupted half-way
            raise

    def look(self, read: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What `read` finds in the catalogue. This is before a charge, so it may say that there is no connection."""
        psycopg = library()
        with self._lock:
            for last in (False, True):
                try:
                    return read(self._open())
                except psycopg.Error:
                    self._close()  # the server may have been restarted since the last question
                    if last:
                        raise EngineError("The PostgreSQL database of the policy does not answer.") from None
                except BaseException:
                    self._close()
                    raise
            raise AssertionError

    def close(self) -> None:
        """End the connection. A closed session opens again when asked."""
        with self._lock:
            self._close()

    def _open(self) -> psycopg.Connection[Any]:
        if self._owner != os.getpid():
            # reached through a fork: the connection is the parent's, and closing it here would end the parent's
            self._inherited.append(self._connection)
            self._connection, self._owner = None, os.getpid()
        if self._connection is None or self._connection.closed:
            connection = connect(self._address, self._settings)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _close(self) -> None:
        if self._connection is not None and self._owner == os.getpid():
            self._connection.close()
            self._connection = None


def _rows(connection: psycopg.Connection[Any], sql: str) -> Fetched:
    # With parameters, even with an empty list, the server takes exactly one statement.
    cursor = library().RawCursor(connection).execute(sql, ())
    return Fetched([column.name for column in cursor.description or ()], cursor.fetchall())


def _rows_or_fixed(connection: psycopg.Connection[Any], sql: str) -> Fetched:
    try:
        return _rows(connection, sql)
    except (library().Error, UnicodeError, ValueError, MemoryError, OSError):
        pass  # the server's own words go no further, not even as the context of an error
    raise EngineError(FAILED)
