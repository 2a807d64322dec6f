"""The ledger in a file: one SQLite table.

Why the write-ahead log with synchronous=FULL. A commit is then one flush; the rollback journal with synchronous=EXTRA
takes four, and each is milliseconds. Readers do not hold up the writer. NORMAL would not flush at commit and lose
acknowledged charges with the power. A known bug could corrupt a file when the log was reset while another process
checkpointed. It was mended in SQLite 3.51.3, and the interpreter's own sqlite3 module may be older. So apsw is used,
which brings its own library, and its version is checked. The log needs shared memory, so the file must lie on a local
disk.

Never open the file outside SQLite in the same process, not even to copy it: closing it would drop SQLite's locks on it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from tacit.errors import LedgerError
from tacit.ledger import disk
from tacit.ledger.entry import Entry, Kind
from tacit.ledger.head import Place
from tacit.ledger.store import Missing, Store, failed, locked

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


class FileSite:
    """A file that is, or will be, a ledger."""

    shared = False

    def __init__(self, path: str | os.PathLike[str], patience: float) -> None:
        self.path = Path(os.path.realpath(path))  # SQLite puts its log next to the real file, not next to a link to it
        self.name = str(self.path)
        self._patience = patience

    def is_begun(self) -> bool:
        """Whether there is a file with something in it."""
        return self.path.exists() and self.path.stat().st_size > 0

    def begin(self) -> Place:
        """An empty file, recorded durably in its folder."""
        os.close(disk.open_file(self.path, os.O_RDWR | os.O_CREAT))
        disk.sync_folder(self.path.parent)
        return Place.of(self.path)

    def connect(self) -> SQLiteStore:
        """A connection to an existing file (it may be empty)."""
        if not self.path.exists():
            raise Missing
        return SQLiteStore(self.path, self._patience)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """A failure of the disk or of SQLite, inside, becomes the house's refusal."""
        try:
            yield
        except apsw.BusyError:
            raise locked(self.name) from None
        except apsw.Error as failure:
            raise failed(self.name, str(failure)) from None
        except UnicodeDecodeError:
            raise failed(self.name, "it holds text that is not text") from None
        except OSError as failure:
            raise failed(self.name, failure.strerror or str(failure)) from None


class SQLiteStore(Store):
    """A connection to the file."""

    table = "entries"

    def __init__(self, path: Path, patience: float) -> None:
        """Open an existing file (it may be empty)."""
        if _library_version() < OLDEST_LIBRARY:
            raise LedgerError(
                f"The ledger needs SQLite 3.51.3 or newer. Found {apsw.sqlite_lib_version()}. Upgrade apsw."
            )
        self.name = str(path)
        self._path = path
        self._writes = False
        self._last: Entry | None = None  # no one else writes while we write, so the last entry stays the last
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
            raise LedgerError(f"The ledger {self.name} cannot keep a write-ahead log here. Put it on a local disk.")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA fullfsync = ON")
        self._connection.execute("PRAGMA cell_size_check = ON")

    def is_alive(self) -> bool:
        """Always true: a file does not hang up."""
        return True

    def close(self) -> None:
        """Close the file, even when its disk has failed."""
        with suppress(apsw.Error):
            self._connection.close(True)

    def place(self) -> Place:
        """The real path and the inode."""
        try:
            return Place.of(self._path)
        except FileNotFoundError:
            raise Missing from None

    # -- transactions ----------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything inside becomes durable together, or not at all; the file is locked for other writers."""
        try:
            with self._transaction("BEGIN IMMEDIATE"):
                self._writes = True
                yield
        finally:
            self._writes, self._last = False, None

    def reading(self) -> AbstractContextManager[None]:
        """Everything inside sees the file at one moment."""
        return self._transaction("BEGIN")

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
        """Copy the log into the file and flush that, as far as readers are not in the way; then the log and its folder.

        Flushing again is not enough after a flush that failed: the system may have dropped the pages and still show
        them. So what can be read is written again, elsewhere, and flushed there.
        """
        self._one("PRAGMA wal_checkpoint(PASSIVE)")
        log = self._path.with_name(self._path.name + "-wal")  # never the file itself, see above
        if log.exists():
            disk.sync_file(log)
        disk.sync_folder(self._path.parent)

    def append(self, entry: Entry, payload: bytes | None = None) -> None:
        """Add the next entry; inside `writing`."""
        super().append(entry, payload)
        self._last = entry if self._writes else None

    def at(self, sequence: int) -> Entry | None:
        """The entry of this number."""
        last = self._last
        return last if last is not None and last.sequence == sequence else super().at(sequence)

    def last(self) -> Entry | None:
        """The newest entry."""
        if not self._writes:
            return super().last()
        if self._last is None:
            self._last = super().last()
        return self._last

    def find(self, kind: Kind, key: str) -> Entry | None:
        """The only entry of this kind with this key; mostly the last one, when an answer looks for its charge."""
        last = self._last
        if last is not None and last.kind == kind and last.key == key:
            return last
        return super().find(kind, key)

    def find_one(self, kinds: Sequence[Kind], key: str) -> Entry | None:
        """The entry with this key that is of one of these kinds: one look instead of one for each."""
        places = ", ".join("?" * len(kinds))
        return self._entry(f"WHERE kind IN ({places}) AND key = ?", *map(str, kinds), key)

    def expect(self, keys: Collection[str]) -> None:
        """Looks are cheap here, so nothing is fetched beforehand."""

    # -- the file as a file ------------------------------------------------------------------------

    def is_empty(self) -> bool:
        """Whether nothing was ever laid out here."""
        return self._one("SELECT count(*) FROM sqlite_schema") == (0,)

    def create(self) -> None:
        """Lay out an empty file."""
        for statement in SCHEMA:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def faults(self) -> Iterator[str]:
        """Not ours, laid out differently, or damaged pages."""
        if self._one("PRAGMA application_id") != (APPLICATION,):
            yield "The file is not a ledger."
            return
        if self._one("PRAGMA user_version") != (FORMAT,):
            yield f"The file has another format than {FORMAT}, which this version reads."
            return
        layout = {text for (text,) in self._rows("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
        if layout != set(SCHEMA):
            yield "The ledger's tables or triggers were changed."
            return
        for (line,) in self._rows("PRAGMA integrity_check(5)"):
            if line != "ok":
                yield f"The file is damaged: {line}"

    def _do(self, statement: str, values: tuple[object, ...] = ()) -> None:
        self._connection.execute(statement, values)

    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        return self._connection.execute(statement, values).fetchone()

    def _rows(self, statement: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        return self._connection.execute(statement, values)


def _library_version() -> int:
    major, minor, patch = (int(part) for part in apsw.sqlite_lib_version().split("."))
    return 1_000_000 * major + 1_000 * minor + patch
