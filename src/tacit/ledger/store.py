"""The ledger's file: one SQLite table that only grows.

Promise: what was committed stays, in order, through a crash or a loss of power; entries are never changed or removed
(triggers refuse it, and the hash chain shows it if somebody goes round them); one transaction at a time over all
processes; nothing is read from a file whose schema is not exactly this one.

Why the write-ahead log with synchronous=FULL. A commit is then one flush; the rollback journal with synchronous=EXTRA
takes four, and each is milliseconds. Readers do not hold up the writer. NORMAL would not flush at commit and lose
acknowledged charges with the power. A known bug could corrupt a file when the log was reset while another process
checkpointed; it was mended in SQLite 3.51.3, and the interpreter's own sqlite3 module may be older: hence apsw, which
brings its library along, and a check of its version. The log needs shared memory, so the file must lie on a local disk.

Never open the file beside SQLite in the same process, not even to copy it: closing it would drop SQLite's locks on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from tacit.errors import LedgerError
from tacit.ledger import disk
from tacit.ledger.entry import Entry, Kind

APPLICATION = 0x7AC17000
FORMAT = 1
OLDEST_LIBRARY = 3_051_003
SCHEMA = (
    """CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    "when" TEXT NOT NULL,
    analyst TEXT,
    key TEXT,
    content TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    payload BLOB
) STRICT""",
    "CREATE UNIQUE INDEX one_of_each_kind_per_key ON entries (kind, key) WHERE key IS NOT NULL",
    "CREATE INDEX charges_of_analyst ON entries (analyst, kind, sequence) WHERE analyst IS NOT NULL",
    """CREATE TRIGGER entries_follow_each_other BEFORE INSERT ON entries
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entries)
  OR (NEW.sequence > 1 AND NEW.previous IS NOT (SELECT hash FROM entries WHERE sequence = NEW.sequence - 1))
BEGIN SELECT raise(ABORT, 'an entry follows the last one'); END""",
    """CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT raise(ABORT, 'an entry is never changed'); END""",
    """CREATE TRIGGER entries_are_never_removed BEFORE DELETE ON entries
BEGIN SELECT raise(ABORT, 'an entry is never removed'); END""",
)
_COLUMNS = 'sequence, kind, "when", analyst, key, content, previous, hash'


class Store:
    """One connection. It belongs to one process and is used by one thread at a time; see `writer`."""

    def __init__(self, path: Path, patience: float) -> None:
        """Open an existing file (it may be empty)."""
        if _library_version() < OLDEST_LIBRARY:
            raise LedgerError(
                f"The ledger needs SQLite 3.51.3 or newer. Found {apsw.sqlite_lib_version()}. Upgrade apsw."
            )
        self.path = path
        self._connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            self._prepare(patience)
        except BaseException:
            self._connection.close(True)
            raise

    def _prepare(self, patience: float) -> None:
        self._connection.set_busy_timeout(round(1000 * patience))
        self._connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self._connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        if self._one("PRAGMA journal_mode = WAL") != ("wal",):
            raise LedgerError(f"The ledger {self.path} cannot keep a write-ahead log here. Put it on a local disk.")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA fullfsync = ON")
        self._connection.execute("PRAGMA cell_size_check = ON")

    def close(self) -> None:
        """Let go of the file, also when the disk has failed under it."""
        with suppress(apsw.Error):
            self._connection.close(True)

    # -- transactions ----------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything inside becomes durable together, or nothing does. Other writers wait."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything inside sees the same moment."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._connection.execute(begin)
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def sync(self) -> None:
        """Flush what can be read but may have been written by a process that was killed before its own flush."""
        log = self.path.with_name(self.path.name + "-wal")  # never the file itself, see above
        if log.exists():
            disk.sync_file(log)
        disk.sync_folder(self.path.parent)

    # -- writing -----------------------------------------------------------------------------------

    def create(self) -> None:
        """Lay out an empty file; inside `writing`."""
        for statement in SCHEMA:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def append(self, entry: Entry, payload: bytes | None = None) -> None:
        """Add the next entry; inside `writing`."""
        self._connection.execute(
            f"INSERT INTO entries ({_COLUMNS}, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (
                entry.sequence,
                str(entry.kind),
                entry.when,
                entry.analyst,
                entry.key,
                entry.content,
                entry.previous,
                entry.hash,
                payload,
            ),
        )

    # -- reading -----------------------------------------------------------------------------------

    def is_empty(self) -> bool:
        """Whether nothing was ever laid out here."""
        return self._one("SELECT count(*) FROM sqlite_schema") == (0,)

    def at(self, sequence: int) -> Entry | None:
        """The entry of this number."""
        return self._entry("WHERE sequence = ?", sequence)

    def last(self) -> Entry | None:
        """The newest entry."""
        return self._entry("ORDER BY sequence DESC LIMIT 1")

    def find(self, kind: Kind, key: str) -> Entry | None:
        """The only entry of this kind with this key."""
        return self._entry("WHERE kind = ? AND key = ?", str(kind), key)

    def any_of(self, kind: Kind) -> bool:
        """Whether there is an entry of this kind that has a key."""
        return self._one("SELECT 1 FROM entries WHERE kind = ? AND key IS NOT NULL LIMIT 1", str(kind)) is not None

    def last_charge(self, analyst: str | None = None) -> Entry | None:
        """The newest charge, of one analyst or of all."""
        whose, values = ("", ()) if analyst is None else ("analyst = ? AND ", (analyst,))
        return self._entry(f"WHERE {whose}kind = ? ORDER BY sequence DESC LIMIT 1", *values, str(Kind.CHARGED))

    def payload(self, sequence: int) -> bytes | None:
        """The stored answer at this entry."""
        found = self._one("SELECT payload FROM entries WHERE sequence = ?", sequence)
        return None if found is None else found[0]  # type: ignore[return-value]

    def entries(self, analyst: str | None = None) -> Iterator[Entry]:
        """All entries, or one analyst's, oldest first."""
        whose, values = ("", ()) if analyst is None else ("WHERE analyst = ?", (analyst,))
        for row in self._connection.execute(f"SELECT {_COLUMNS} FROM entries {whose} ORDER BY sequence", values):  # noqa: S608
            yield Entry(*row)

    def rows(self) -> Iterator[tuple[Entry, bytes | None]]:
        """All entries as they stand in the file, with what is stored beside them."""
        for *row, payload in self._connection.execute(f"SELECT {_COLUMNS}, payload FROM entries ORDER BY sequence"):  # noqa: S608
            yield Entry(*row), payload

    def faults(self) -> Iterator[str]:
        """What is wrong with the file as a file: not ours, laid out differently, or damaged pages."""
        if self._one("PRAGMA application_id") != (APPLICATION,):
            yield "The file is not a ledger."
            return
        if self._one("PRAGMA user_version") != (FORMAT,):
            yield f"The file has another format than {FORMAT}, which this version reads."
            return
        layout = {text for (text,) in self._connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
        if layout != set(SCHEMA):
            yield "The file's tables or triggers were changed."
            return
        for (line,) in self._connection.execute("PRAGMA integrity_check(5)"):
            if line != "ok":
                yield f"The file is damaged: {line}"

    def _entry(self, rest: str, *values: object) -> Entry | None:
        row = self._one(f"SELECT {_COLUMNS} FROM entries {rest}", *values)  # noqa: S608
        if row is None:
            return None
        entry = Entry(*row)  # type: ignore[arg-type]
        if entry.true_hash() != entry.hash:
            raise LedgerError(f"Entry {entry.sequence} of the ledger {self.path} was edited.")
        return entry

    def _one(self, statement: str, *values: object) -> tuple[object, ...] | None:
        row: tuple[object, ...] | None = self._connection.execute(statement, values).fetchone()
        return row


def _library_version() -> int:
    major, minor, patch = (int(part) for part in apsw.sqlite_lib_version().split("."))
    return 1_000_000 * major + 1_000 * minor + patch


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """A failure of the disk or of SQLite, inside, becomes the house's refusal."""
    try:
        yield
    except apsw.BusyError:
        raise LedgerError(f"The ledger {path} stayed locked by another process. Ask again later.") from None
    except apsw.Error as failure:
        raise LedgerError(f"The ledger {path} failed: {failure}. {_CONSEQUENCE}") from None
    except UnicodeDecodeError:
        raise LedgerError(f"The ledger {path} holds text that is not text: it is damaged. {_CONSEQUENCE}") from None
    except OSError as failure:
        raise LedgerError(f"The ledger {path} failed: {failure.strerror or failure}. {_CONSEQUENCE}") from None


_CONSEQUENCE = "Nothing was released; what was being charged may stay spent."
