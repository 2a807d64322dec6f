"""The ledger's table, wherever it lives: one table that only grows.

Promise of every kind of store: what was committed stays, in order, through a crash or a loss of power; entries are
never changed or removed (triggers refuse it, and the hash chain shows it if someone gets round them); one writing
transaction at a time over all processes and hosts, which sees everything that was committed before it began; nothing
is read from a table whose layout is not exactly the expected one.

How entries are looked up is the same everywhere and stands here. How a transaction is made, when it is durable, and
how the layout is checked stands with each kind: `sqlite_store`, `postgres_store`.

Statements name a kind directly where a partial index may serve: with a question mark in its place, SQLite would plan
the statement anew each time, to see whether this value allows the index.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tacit.errors import LedgerError
from tacit.ledger.entry import OUTCOMES, Entry, Kind
from tacit.ledger.head import Place

COLUMNS = 'sequence, kind, "when", analyst, key, content, previous, hash'
CONSEQUENCE = "Nothing was released; what was being charged may stay spent."


class Site(Protocol):
    """Where a ledger is or will be kept, before there is a connection to it."""

    name: str
    """Its name in refusals. It never holds a password."""

    shared: bool
    """Whether other hosts may charge to it, of which this host cannot tell whether they still work."""

    def is_begun(self) -> bool:
        """Whether anything was recorded there."""

    def begin(self) -> Place:
        """Make an empty ledger, durably, unless there is one; returns where it lies."""

    def connect(self) -> Store:
        """A connection. `Missing` if there is nothing to connect to."""

    def failures(self) -> AbstractContextManager[None]:
        """A failure of the disk, the network or the database, inside, becomes the house's refusal."""


class Missing(Exception):
    """There is no table, or no file, at a site."""


class Store(ABC):
    """One connection. It belongs to one process and is used by one thread at a time; see `writer`."""

    name: str
    table: str

    # -- what each kind does its own way -------------------------------------------------------------

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """Everything inside becomes durable together, or nothing does. Other writers wait."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Everything inside sees the same moment."""

    @abstractmethod
    def is_alive(self) -> bool:
        """Whether nothing is known to be wrong with the connection, while it is not used."""

    @abstractmethod
    def close(self) -> None:
        """Close it, even when the disk or the network has failed."""

    @abstractmethod
    def place(self) -> Place:
        """Where the table lies now. `Missing` if it is gone."""

    @abstractmethod
    def sync(self) -> None:
        """Flush what can be read but may have been written by a process that was killed before its own flush."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether nothing was ever recorded here."""

    @abstractmethod
    def create(self) -> None:
        """Lay out an empty ledger, as far as `Site.begin` did not; inside `writing`."""

    @abstractmethod
    def faults(self) -> Iterator[str]:
        """What is wrong with the table as a table: not ours, laid out differently, or damaged; inside `reading`."""

    @abstractmethod
    def _do(self, statement: str, values: tuple[object, ...] = ()) -> None:
        """Carry out a statement. In statements, here and below, a question mark stands for a value."""

    @abstractmethod
    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row that a statement gives."""

    @abstractmethod
    def _rows(self, statement: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Every row that a statement gives, one after the other; inside a transaction."""

    # -- writing -----------------------------------------------------------------------------------

    @abstractmethod
    def expect(self, keys: Collection[str]) -> None:
        """Says that entries with these keys will be read; inside `writing`. Where looks are dear, all are fetched."""

    def append(self, entry: Entry, payload: bytes | None = None) -> None:
        """Add the next entry; inside `writing`."""
        self._do(self._insertion, row_of(entry, payload))

    @property
    def _insertion(self) -> str:
        return f"INSERT INTO {self.table} ({COLUMNS}, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608

    # -- reading -----------------------------------------------------------------------------------

    def at(self, sequence: int) -> Entry | None:
        """The entry of this number."""
        return self._entry("WHERE sequence = ?", sequence)

    def last(self) -> Entry | None:
        """The newest entry."""
        return self._entry("ORDER BY sequence DESC LIMIT 1")

    def find(self, kind: Kind, key: str) -> Entry | None:
        """The only entry of this kind with this key."""
        return self._entry("WHERE kind = ? AND key = ?", str(kind), key)

    def find_one(self, kinds: Sequence[Kind], key: str) -> Entry | None:
        """The entry with this key of one of these kinds, of which a key has only one."""
        return next((found for kind in kinds if (found := self.find(kind, key)) is not None), None)

    def any_of(self, kind: Kind) -> bool:
        """Whether there is an entry of this kind that has a key."""
        statement = f"SELECT 1 FROM {self.table} WHERE kind = ? AND key IS NOT NULL LIMIT 1"  # noqa: S608
        return self._one(statement, str(kind)) is not None

    def all_of(self, kind: Kind) -> Iterator[Entry]:
        """The entries of this kind that have a key, oldest first."""
        # ordered by an expression, so that the index by kind is used and not the whole table
        rest = "WHERE kind = ? AND key IS NOT NULL ORDER BY +sequence"
        rows = list(self._rows(f"SELECT {COLUMNS} FROM {self.table} {rest}", (str(kind),)))  # noqa: S608
        yield from map(self._checked, rows)

    def newest(self, kind: Kind, analyst: str | None = None) -> Entry | None:
        """The newest entry of a rare kind that has a key, of one analyst or of all."""
        if analyst is not None:
            return self._entry(f"WHERE analyst = ? AND kind = '{kind}' ORDER BY sequence DESC LIMIT 1", analyst)
        return self._entry(f"WHERE kind = '{kind}' AND key IS NOT NULL ORDER BY +sequence DESC LIMIT 1")

    def unanswered(self) -> Iterator[Entry]:
        """Charges that have neither an answer nor a failure."""
        kinds = ", ".join(f"'{kind}'" for kind in OUTCOMES)
        rest = f"""WHERE kind = '{Kind.CHARGED}' AND key IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM {self.table} AS later WHERE later.kind IN ({kinds}) AND later.key = charges.key
            AND later.key IS NOT NULL) ORDER BY sequence"""  # noqa: S608
        for row in self._rows(f"SELECT {COLUMNS} FROM {self.table} AS charges {rest}"):  # noqa: S608
            yield self._checked(row)

    def last_charge(self, analyst: str | None = None) -> Entry | None:
        """The newest charge, of one analyst or of all."""
        whose, values = ("", ()) if analyst is None else ("analyst = ? AND ", (analyst,))
        return self._entry(f"WHERE {whose}kind = '{Kind.CHARGED}' ORDER BY sequence DESC LIMIT 1", *values)

    def payload(self, sequence: int) -> bytes | None:
        """The stored answer at this entry."""
        found = self._one(f"SELECT payload FROM {self.table} WHERE sequence = ?", sequence)  # noqa: S608
        return None if found is None else found[0]

    def entries(self, analyst: str | None = None) -> Iterator[Entry]:
        """All entries, or one analyst's, oldest first."""
        whose, values = ("", ()) if analyst is None else ("WHERE analyst = ?", (analyst,))
        for row in self._rows(f"SELECT {COLUMNS} FROM {self.table} {whose} ORDER BY sequence", values):  # noqa: S608
            yield Entry(*row)

    def rows(self) -> Iterator[tuple[Entry, bytes | None]]:
        """All entries as the table has them, with their stored answers."""
        for *row, payload in self._rows(f"SELECT {COLUMNS}, payload FROM {self.table} ORDER BY sequence"):  # noqa: S608
            yield Entry(*row), payload

    def _entry(self, rest: str, *values: object) -> Entry | None:
        row = self._one(f"SELECT {COLUMNS} FROM {self.table} {rest}", *values)  # noqa: S608
        return None if row is None else self._checked(row)

    def _checked(self, row: tuple[Any, ...]) -> Entry:
        entry = Entry(*row)
        if entry.true_hash() != entry.hash:
            raise LedgerError(f"Entry {entry.sequence} of the ledger {self.name} was edited.")
        return entry


def row_of(entry: Entry, payload: bytes | None) -> tuple[object, ...]:
    """The values that are inserted for an entry."""
    fields = (entry.when, entry.analyst, entry.key, entry.content, entry.previous, entry.hash, payload)
    return (entry.sequence, str(entry.kind), *fields)


def locked(name: str) -> LedgerError:
    """Another writer held the lock for longer than we wait."""
    return LedgerError(f"The ledger {name} stayed locked by another process. Ask again later.")


def failed(name: str, words: str) -> LedgerError:
    """The disk, the network or the database did not do its part."""
    return LedgerError(f"The ledger {name} failed: {words}. {CONSEQUENCE}")
