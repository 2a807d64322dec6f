"""The ledger in PostgreSQL: the same table as in a file, charged to by several hosts at once.

No overspending, whatever the hosts do at the same time. A writing transaction takes one lock (advisory, named after the
table) as its first statement and holds it until its commit is visible to everyone: PostgreSQL makes a commit visible
before it frees the locks. It is READ COMMITTED, so the statement after the lock sees every commit so far, not the state
before the wait began. Writing transactions thus run one after another, which is stronger than serialisable and never
needs a retry. Safety does not depend on the lock alone: a sum is computed from entry n and stored in entry n + 1,
`sequence` is the primary key, and two that read the same n both insert n + 1; one of them fails. Reading transactions
are REPEATABLE READ; as commits come one by one, what they see is always a beginning of the chain.

An acknowledged charge is durable. Each transaction sets synchronous_commit to on for itself (or leaves remote_apply),
and refuses, before anything is read, where the server runs with fsync or full_page_writes off: there a commit may be
lost when the power fails, or a torn page loses what was flushed. With `on`, COMMIT returns after the log is flushed,
and received by the standbys that synchronous_standby_names lists. If that wait is cut short, PostgreSQL commits with a
warning; a commit with a warning, or one that answers ROLLBACK, counts as failed here. What a reader sees was flushed
before it became visible, unless another client committed with weaker settings or the server fell during the wait for a
standby. Before a head names an entry that another connection wrote, `sync` therefore commits a record of its own: the
log is flushed (and sent) in order.

Anyone who may connect to the database can take an advisory lock, and keep it. So a transaction waits for it only while
its holder may charge to this ledger. If a stranger holds it, the next number is taken, and after several strangers
none: then the primary key decides between two that charge at the same moment, and one of them is refused. Hosts of
older versions share the first number.

A lost connection. If it was lost before the COMMIT was sent, the transaction is rolled back. If it was lost after, the
outcome is unknown: it is not reported as a success, and is found (or not) when the ledger is opened again. The server
throws out a host that vanishes with the lock after `ABANDONED` seconds.

Append-only. Triggers refuse to change or remove entries. They bind a role that does not own the table; SELECT and
INSERT on it are all that a charge needs (docs/ledger.md has the statements). Against the owner and the superuser the
chain and the head protect.
"""

from __future__ import annotations

import select
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from tacit.errors import LedgerError
from tacit.ledger import postgres_layout as layout
from tacit.ledger.entry import Entry, Kind
from tacit.ledger.head import Place
from tacit.ledger.store import COLUMNS, Missing, Store, failed, row_of

ABANDONED = 15
"""Seconds after which the server ends a transaction whose host says nothing."""

_LOCK = 0x7AC17000
_LOCKS = 8
"""This many numbers are tried before a transaction goes on without a lock."""
_SLICE = 1.0
"""Seconds after which a waiting transaction checks who holds the lock."""
_PAGE = 1000
_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"


@dataclass(slots=True)
class _Known:
    """What a writing transaction has read or will append. No one else appends meanwhile, so it stays true.

    Every saved look is a saved round trip to the server under the lock. The new entries are sent together at the end;
    until then they are only here.
    """

    place: Place | None
    last: Entry | None = None
    charges: dict[str | None, Entry | None] = field(default_factory=dict)
    newest: dict[tuple[str, str | None], Entry | None] = field(default_factory=dict)
    fresh: list[tuple[Entry, bytes | None]] = field(default_factory=list)
    named: dict[tuple[str, str], Entry] = field(default_factory=dict)
    looked_for: set[str] = field(default_factory=set)
    """Keys whose entries are all in `named`."""

    def append(self, entry: Entry, payload: bytes | None) -> None:
        """Note a new last entry."""
        self.last = entry
        self.fresh.append((entry, payload))
        if entry.key is not None:
            self.named[str(entry.kind), entry.key] = entry
        self.newest |= {(str(entry.kind), whose): entry for whose in (None, entry.analyst) if entry.key is not None}
        if entry.kind == Kind.CHARGED:
            self.charges |= {None: entry, entry.analyst: entry}


class PostgresStore(Store):
    """A connection to a database, with or without a ledger's table in it. `lock` is the number of the lock to take."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], name: str, patience: float) -> None:
        self.name = name
        self.lock = 0
        self._patience = patience
        self._connection = connection
        self._known: _Known | None = None
        self._warnings: list[str] = []
        connection.add_notice_handler(partial(_noticed, self._warnings))  # the handler must not keep this object alive
        weakref.finalize(self, connection.close)
        encoding, schema, self._schema = self._needed(
            "SELECT pg_catalog.current_setting('server_encoding'), pg_catalog.current_schema(), "
            "pg_catalog.quote_ident(pg_catalog.current_schema())"
        )
        if encoding != "UTF8":
            raise LedgerError(f"The ledger {name} needs a database with encoding UTF8. Found {encoding}.")
        if schema is None:
            raise LedgerError(f"The ledger {name} needs a schema. The connection's search path names none that exists.")
        self.table = f"{self._schema}.{layout.TABLE}"
        self._do("SET search_path = pg_catalog, pg_temp")
        self._guards = _guards(patience)
        durable = ", ".join(f"current_setting('{setting}')" for setting in _DURABLE)
        table, plain_schema = (psycopg.sql.quote(text, connection) for text in (self.table, schema))
        self._where = f"""SELECT to_regclass({table})::oid::bigint, system_identifier, current_database(),
            {plain_schema}, {durable} FROM pg_control_system()"""  # noqa: S608

    def is_alive(self) -> bool:
        """A server that was stopped, or threw us out, has sent a message; a healthy one sends nothing unasked."""
        return not self._connection.closed and not select.select([self._connection], [], [], 0)[0]

    def close(self) -> None:
        """Close the connection, even when the network has failed."""
        with suppress(psycopg.Error):
            self._connection.close()

    def place(self) -> Place:
        """Which server (by the number it was given when it was made), database and schema; and the table's number.

        They are the same on a standby that takes over, and different in a copy that was dumped and loaded.
        """
        place = self._known.place if self._known else _place(*self._needed(self._where))
        if place is None:
            raise Missing
        return place

    # -- transactions ----------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything inside becomes durable together, or not at all; other writers wait, on all hosts."""
        with self._transaction(self._begin_writing) as where:
            _demand_durability(self.name, *where)
            self._known = _Known(_place(*where))
            try:
                yield
                self._send()
            finally:
                self._known = None

    def _begin_writing(self) -> tuple[Any, ...]:
        signed = self.lock - (1 << 32) if self.lock >= 1 << 31 else self.lock
        deadline = time.monotonic() + self._patience
        for number in range(_LOCK, _LOCK + _LOCKS):
            take = f"SELECT pg_advisory_xact_lock({number}, {signed})"
            while True:
                left = max(0.001, deadline - time.monotonic())
                waited = f"{_WRITE}; {_guards(min(left, _SLICE))}; {take}; {self._guards}; {self._where}"
                try:
                    return self._begun(waited)
                except psycopg.errors.LockNotAvailable:
                    self._connection.execute("ROLLBACK")
                    if self._is_strangers(number):
                        break
                    if time.monotonic() >= deadline:
                        raise
        return self._begun(f"{_WRITE}; {self._guards}; {self._where}")

    def _is_strangers(self, number: int) -> bool:
        """Whether the lock is held by roles that may not charge here, as the server reports them."""
        return self._one(layout.HOLDERS, self.lock, number, self.lock) == (True,)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything inside sees the table at one moment."""
        with self._transaction(lambda: self._begun(_READ)):
            yield

    def sync(self) -> None:
        """Commit a record to the log. The log is flushed in order, so all that was read before is on disk then."""
        with self._transaction(lambda: self._begun(f"{_WRITE}; {self._guards}; {self._where}")) as where:
            _demand_durability(self.name, *where)
            self._needed("SELECT pg_logical_emit_message(true, 'tacit', 'flush')")

    @contextmanager
    def _transaction(self, begin: Callable[[], tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Gives what `begin` found."""
        try:
            yield begin()
            self._commit()
        except BaseException:
            with suppress(psycopg.Error):
                if self._connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                    self._connection.execute("ROLLBACK")
            raise

    def _begun(self, statements: str) -> tuple[Any, ...]:
        """The result of the last of these statements, which go to the server together."""
        return self._last_result(self._connection.execute(statements, prepare=False))

    def _last_result(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> tuple[Any, ...]:
        while cursor.nextset():
            pass
        return (cursor.fetchone() if cursor.description else None) or ()

    def _commit(self) -> None:
        self._warnings.clear()
        outcome = self._connection.execute("COMMIT").statusmessage
        if outcome != "COMMIT" or self._warnings:
            raise failed(self.name, "; ".join(self._warnings) or f"the commit ended with {outcome}")

    def _send(self) -> None:
        """The new entries, in one go; each is checked by the triggers and the primary key as it arrives."""
        if self._known and self._known.fresh:
            rows = [row_of(entry, payload) for entry, payload in self._known.fresh]
            with self._connection.cursor() as cursor:
                cursor.executemany(_written(self._insertion), rows)
            self._known.fresh.clear()

    # -- what is known inside a writing transaction ----------------------------------------------------

    def append(self, entry: Entry, payload: bytes | None = None) -> None:
        """Add the next entry; inside `writing`, whose end sends it."""
        if self._known is None:
            raise RuntimeError("an entry is appended inside `writing`")
        self._known.append(entry, payload)

    def expect(self, keys: Collection[str]) -> None:
        """Fetch all entries of these keys in one round trip."""
        if self._known and keys:
            rest = "WHERE kind = ANY(?) AND key = ANY(?) AND key IS NOT NULL"  # written as the index has it
            statement = f"SELECT {COLUMNS} FROM {self.table} {rest}"  # noqa: S608
            found = self._connection.execute(_written(statement), ([str(kind) for kind in Kind], list(keys)))
            for entry in map(self._checked, found):
                self._known.named[str(entry.kind), entry.key or ""] = entry
            self._known.looked_for.update(keys)

    def at(self, sequence: int) -> Entry | None:
        """The entry of this number."""
        last = self._known.last if self._known else None
        return last if last and last.sequence == sequence else super().at(sequence)

    def last(self) -> Entry | None:
        """The newest entry."""
        if self._known is None:
            return super().last()
        if self._known.last is None:
            self._known.last = super().last()
        return self._known.last

    def find(self, kind: Kind, key: str) -> Entry | None:
        """The only entry of this kind with this key."""
        known = self._known.named.get((str(kind), key)) if self._known else None
        if known is None and not (self._known and key in self._known.looked_for):
            known = super().find(kind, key)
        return known

    def any_of(self, kind: Kind) -> bool:
        """Whether there is an entry of this kind that has a key."""
        return any(kind == known for known, _ in (self._known.named if self._known else ())) or super().any_of(kind)

    def last_charge(self, analyst: str | None = None) -> Entry | None:
        """The newest charge, of one analyst or of all."""
        if self._known is None:
            return super().last_charge(analyst)
        if analyst not in self._known.charges:
            self._known.charges[analyst] = super().last_charge(analyst)
        return self._known.charges[analyst]

    def newest(self, kind: Kind, analyst: str | None = None) -> Entry | None:
        """The newest entry of a rare kind that has a key, of one analyst or of all."""
        if self._known is None:
            return super().newest(kind, analyst)
        wanted = (str(kind), analyst)
        if wanted not in self._known.newest:
            self._known.newest[wanted] = super().newest(kind, analyst)
        return self._known.newest[wanted]

    def all_of(self, kind: Kind) -> Iterator[Entry]:
        """The entries of this kind that have a key, oldest first."""
        yield from super().all_of(kind)
        fresh = [entry for entry, _ in (self._known.fresh if self._known else ())]
        yield from (entry for entry in fresh if entry.kind == kind and entry.key is not None)

    def payload(self, sequence: int) -> bytes | None:
        """The stored answer at this entry."""
        for entry, payload in self._known.fresh if self._known else ():
            if entry.sequence == sequence:
                return payload
        return super().payload(sequence)

    # -- the table as a table ------------------------------------------------------------------------

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return self._one(f"SELECT 1 FROM {self.table} LIMIT 1") is None  # noqa: S608

    def create(self) -> None:
        """Nothing is left to do: the table must exist before the head can hold its number."""

    def create_table(self) -> None:
        """Lay out an empty ledger; inside `writing`, which then has to be left.

        Default privileges may give others rights on whatever is created: they are taken away, and then checked again.
        """
        for statement in layout.laid_out(self._schema):
            self._do(statement)
        for left in (False, True):
            given = self._connection.execute(_written(layout.GIVEN), (self.table,)).fetchall()
            if given and left:
                raise LedgerError(
                    f"The ledger {self.name} was made, and others have rights on it that cannot be taken."
                )
            for (role,) in given:
                self._do(f"REVOKE ALL ON TABLE {self.table} FROM {role} CASCADE")

    def demand_ours(self, named: bool) -> None:
        """Refuse, before a row is read, a table that an attacker planted. `named`: the address names its schema.

        Reading a view runs its functions, and inserting into a table those of its triggers, with the rights of the one
        who charges. So the table must belong to us, to a superuser, to the database's owner or, where the address names
        the schema, to that schema's owner; and others may only read from it and insert into it.
        """
        number = self.place().inode
        found = self._connection.execute(_written(layout.PLANTED), (named, number)).fetchall()
        for (problem,) in found:
            raise LedgerError(
                f"The ledger {self.name} cannot be used. {problem} Somebody may have put it there. Have it removed or "
                "put right, or name another schema: ?options=-csearch_path%3Dclinic."
            )

    def faults(self) -> Iterator[str]:
        """Not ours, or laid out differently. Damaged pages are for the server to find: docs/ledger.md says how."""
        try:
            number = self.place().inode
        except Missing:
            yield "The table is gone."
            return
        (mark,) = self._needed("SELECT obj_description(?, 'pg_class')", number)
        found = {(str(what), str(text)) for what, text in self._rows(layout.DESCRIBE, (number,))}
        yield from layout.wrong_layout(self._schema, mark, found)

    # -- statements ------------------------------------------------------------------------------------

    def _do(self, statement: str, values: tuple[object, ...] = ()) -> None:
        self._connection.execute(_written(statement), values or None)

    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        return self._connection.execute(_written(statement), values or None).fetchone()

    def _needed(self, statement: str, *values: object) -> tuple[Any, ...]:
        found = self._one(statement, *values)
        if found is None:
            raise failed(self.name, "the database gave no answer")
        return found

    def _rows(self, statement: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor(name="tacit_rows") as cursor:  # page by page: a ledger may be longer than memory
            cursor.itersize = _PAGE
            yield from cursor.execute(_written(statement), values or None)


def _written(statement: str) -> str:
    """With psycopg's own sign for a value."""
    return statement.replace("?", "%s")


def _noticed(warnings: list[str], notice: psycopg.errors.Diagnostic) -> None:
    if notice.severity_nonlocalized == "WARNING":
        warnings.append(notice.message_primary or "a warning")


def _guards(patience: float) -> str:
    """The settings that each transaction makes for itself; it relies on no setting of the session."""
    return f"""SELECT set_config('lock_timeout', '{max(1, round(1000 * patience))}', true),
        set_config('idle_in_transaction_session_timeout', '{round(1000 * ABANDONED)}', true),
        set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                   WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"""


def _place(number: int | None, system: int, database: str, schema: str, *durable: str) -> Place | None:
    return None if number is None else Place(f"PostgreSQL {system}, database {database}, schema {schema}", number)


def _demand_durability(name: str, number: int | None, system: int, database: str, schema: str, *durable: str) -> None:
    for setting, value in zip(_DURABLE, durable, strict=True):
        if value not in ("on", "remote_apply"):
            raise LedgerError(
                f"The ledger {name} needs a server with {setting} = on. Found {value}. With it a charge that was "
                "acknowledged could be forgotten when the power fails. Set it in postgresql.conf."
            )
