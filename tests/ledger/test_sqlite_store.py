"""A ledger in a file: what is about the file, its folder and SQLite."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import apsw
import pytest

from tacit.errors import LedgerError, ParameterError
from tacit.ledger import Ledger
from tacit.ledger.sqlite_store import SQLiteStore
from tacit.loss import Budget
from tacit.loss.filters import Spent
from tests.ledger.homes import opened
from tests.ledger.stores import in_a_file
from tests.ledger.tampering import TENTH

pytestmark = in_a_file


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return opened(folder, budget=Budget(1))


def test_a_ledger_shows_its_path_and_budget(ledger: Ledger) -> None:
    assert repr(ledger).endswith("/ledger', budget=Budget(epsilon=1))")


def test_only_the_owner_can_read_the_files(folder: Path, ledger: Ledger) -> None:
    ledger.charge("ana", "key", "q", TENTH)
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"ledger", "ledger-wal", "head"} <= set(modes)


def test_a_commit_is_flushed_in_full(store: str) -> None:
    """FULL is 2. NORMAL (1) would lose acknowledged charges with the power."""
    with tempfile.NamedTemporaryFile() as file:
        connection = SQLiteStore(Path(file.name), 1.0)
        assert connection._one("PRAGMA synchronous") == (2,)
        assert connection._one("PRAGMA journal_mode") == ("wal",)
        connection.close()


def test_what_is_flushed_again_is_written_again_elsewhere(folder: Path, ledger: Ledger) -> None:
    """After a flush that failed, the log may show what is on no disk: it must stand in the file itself."""
    ledger.charge("ana", "key", "q", TENTH)
    connection = SQLiteStore(folder / "ledger", 1.0)
    connection.sync()
    alone = folder / "without-its-log"
    alone.write_bytes((folder / "ledger").read_bytes())
    wanted = connection._one("SELECT count(*) FROM entries")
    connection.close()
    assert apsw.Connection(str(alone)).execute("SELECT count(*) FROM entries").fetchall() == [wanted]


def test_a_library_with_the_known_bug_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(LedgerError, match=r"3\.51\.3 or newer. Found 3\.51\.2"):
        opened(folder, budget=Budget(1))
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.3")
    opened(folder, budget=Budget(1)).close()


def test_a_locked_ledger_refuses_and_works_again_when_the_lock_is_gone(folder: Path) -> None:
    ledger = opened(folder, budget=Budget(1), patience=0.05)
    other = apsw.Connection(str(folder / "ledger"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked by another process"):
        ledger.charge("ana", "key", "q", TENTH)
    other.execute("ROLLBACK")
    other.close()
    assert not ledger.charge("ana", "key", "q", TENTH).repeated


def test_a_read_only_ledger_can_be_looked_at_but_not_charged(
    folder: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge("ana", "before", "q", TENTH)
    monkeypatch.setattr(apsw, "SQLITE_OPEN_READWRITE", apsw.SQLITE_OPEN_READONLY)
    with opened(folder) as frozen:
        assert frozen.spent() == Spent(Fraction(1, 10))
        with pytest.raises(LedgerError, match="attempt to write a readonly database"):
            frozen.charge("ana", "key", "q", TENTH)


def test_a_folder_that_is_not_there_is_a_refusal(folder: Path) -> None:
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger.open(folder / "none" / "ledger", head=folder / "head", budget=Budget(1))
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger.open(folder / "ledger", head=folder / "none" / "head", budget=Budget(1))


def test_the_head_is_not_the_ledger_itself(folder: Path) -> None:
    with pytest.raises(ParameterError, match="'head' parameter must be another file"):
        Ledger.open(folder / "ledger", head=folder / "." / "ledger", budget=Budget(1))


def test_a_link_and_a_relative_path_lead_to_the_same_ledger(
    folder: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "link").symlink_to(folder / "ledger")
    monkeypatch.chdir(folder)
    with Ledger.open("link", head="head") as same:
        monkeypatch.chdir("/")
        same.charge("ana", "key", "q", TENTH)
        assert ledger.spent() == Spent(Fraction(1, 10))


def test_the_triggers_refuse_to_change_remove_or_insert_out_of_order(folder: Path, ledger: Ledger) -> None:
    ledger.charge("ana", "key", "q", TENTH)
    other = apsw.Connection(str(folder / "ledger"))
    for statement, reason in [
        ("UPDATE entries SET analyst = 'bo'", "never changed"),
        ("DELETE FROM entries WHERE sequence = 2", "never removed"),
        ("REPLACE INTO entries SELECT * FROM entries WHERE sequence = 2", "follows the last one"),
        (
            "INSERT INTO entries SELECT 9, kind, \"when\", analyst, 'x', content, hash, 'h', NULL FROM entries",
            "follows",
        ),
        ("INSERT INTO entries VALUES (3, 'charged', '', 'a', 'x', '{}', 'not the hash', 'h', NULL)", "follows"),
    ]:
        with pytest.raises(apsw.ConstraintError, match=reason):
            other.execute(statement)
    other.close()
    assert ledger.verify().sound
