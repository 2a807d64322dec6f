"""Where a ledger in PostgreSQL is kept, before there is a connection: the address, and the failures of the network.

Promise: a password never leaves this file. Refusals name only the host and the database of the address.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tacit.ledger.head import Place
from tacit.ledger.postgres_store import PostgresStore
from tacit.ledger.store import Missing, failed, locked
from tacit.parameters import refuse

_SIGNS_OF_LIFE = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
    "application_name": "tacit ledger",
}
"""A server that is gone is noticed within half a minute, not when the operating system gives up."""


class DatabaseSite:
    """A database that has, or will have, a ledger: the table `tacit_entries` in the first schema of its search path."""

    shared = True

    def __init__(self, address: str, patience: float) -> None:
        try:
            given = conninfo_to_dict(address)
        except psycopg.Error:  # its words repeat the address with the password
            raise refuse("path", "an address that PostgreSQL can read", "postgresql://...") from None
        self._options = {name: value for name, value in _SIGNS_OF_LIFE.items() if name not in given}
        self._address = address
        self._patience = patience
        self._named = "search_path" in str(given.get("options", ""))
        host, port = given.get("host") or "", given.get("port") or ""
        self.name = f"postgresql://{host}{':' if port else ''}{port}/{given.get('dbname') or ''}"

    def is_begun(self) -> bool:
        """Whether there is a table with something in it."""
        with suppress(Missing), closing(self.connect()) as store:
            return not store.is_empty()
        return False

    def begin(self) -> Place:
        """An empty table, unless there is one."""
        with closing(self._session()) as session:
            with session.writing():
                try:
                    session.demand_ours(named=False)
                except Missing:
                    session.create_table()
            return session.place()

    def connect(self) -> PostgresStore:
        """A connection to a database with a ledger's table (it may be empty)."""
        session = self._session()
        try:
            session.lock = session.place().inode
            session.demand_ours(self._named)
        except BaseException:
            session.close()
            raise
        return session

    def _session(self) -> PostgresStore:
        # These keywords take effect whatever the address says.
        connection = psycopg.connect(self._address, autocommit=True, client_encoding="utf8", **self._options)  # type: ignore[arg-type]
        try:
            return PostgresStore(connection, self.name, self._patience)
        except BaseException:
            connection.close()
            raise

    @contextmanager
    def failures(self) -> Iterator[None]:
        """A failure of the network, the database or the head's disk, inside, becomes the house's refusal."""
        try:
            yield
        except psycopg.errors.LockNotAvailable:
            raise locked(self.name) from None
        except psycopg.Error as failure:  # never its detail: that may quote a row
            raise failed(self.name, failure.diag.message_primary or str(failure).partition("\n")[0]) from None
        except OSError as failure:
            raise failed(self.name, failure.strerror or str(failure)) from None
