"""Whatever is done to the file behind the ledger's back is noticed when it is opened."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from tacit.errors import LedgerError
from tacit.ledger import Ledger, verify
from tacit.ledger.entry import Entry, Kind
from tacit.ledger.head import HeadFile
from tacit.loss import Budget
from tacit.loss.events import Pure
from tests.ledger.homes import address, beside
from tests.ledger.homes import opened as homes_opened
from tests.ledger.stores import in_a_file
from tests.ledger.tampering import COLUMNS, TENTH, edit, entry_at, insert, opened, run


def refused(folder: Path, words: str) -> None:
    """The ledger cannot be opened, whether or not a budget is named, and `verify` says why."""
    report = verify(address(folder), head=folder / "head")
    assert not report.sound
    with pytest.raises(LedgerError, match=words):
        opened(folder)
    with pytest.raises(LedgerError, match=words):
        Ledger.open(address(folder), head=folder / "head", budget=Budget(1))
    assert any(re.search(words, finding) for finding in report.findings)


def test_the_editor_of_these_tests_leaves_no_trace_of_its_own(home: Path) -> None:
    edit(home)
    opened(home).close()


# -- older, shorter, elsewhere -----------------------------------------------------------------------------


@in_a_file
def test_an_older_copy_put_back_is_noticed(home: Path) -> None:
    older = (home / "ledger").read_bytes()
    with opened(home) as ledger:
        ledger.charge("ana", "later", "SELECT 1", TENTH)
    (home / "ledger").write_bytes(older)  # in place: the same name and the same inode
    refused(home, "ends at entry 8; entry 9 was sealed. It is an older copy")


@in_a_file
def test_an_older_copy_renamed_over_the_file_is_noticed_too(home: Path) -> None:
    shutil.copy(home / "ledger", home / "backup")
    os.replace(home / "backup", home / "ledger")
    refused(home, "was put in the place of the ledger")


@in_a_file
def test_an_older_copy_is_noticed_while_its_newer_log_lies_beside_it(home: Path) -> None:
    older = (home / "ledger").read_bytes()
    ledger = opened(home)
    for number in range(40):
        ledger.charge("ana", f"later {number}", "SELECT 1" * 100, Pure("1/100"))
    log = (home / "ledger-wal").read_bytes()
    ledger.close()
    (home / "ledger").write_bytes(older)
    (home / "ledger-wal").write_bytes(log[: len(log) // 2])
    assert not verify(address(home), head=home / "head").sound
    with pytest.raises(LedgerError, match="cannot be used"):
        opened(home)


@in_a_file
def test_a_log_that_was_taken_away_is_noticed(home: Path) -> None:
    ledger = opened(home)
    ledger.charge("ana", "later", "SELECT 1", TENTH)
    assert (home / "ledger-wal").stat().st_size > 0
    main_file_alone = (home / "ledger").read_bytes()
    ledger.close()
    (home / "ledger").write_bytes(main_file_alone)
    refused(home, "ends at entry 8; entry 9 was sealed")


@in_a_file
def test_a_copy_at_another_place_is_noticed_with_the_head_it_belongs_to(home: Path) -> None:
    shutil.copy(home / "ledger", home / "clone")
    with pytest.raises(LedgerError, match="This is a copy"):
        Ledger.open(home / "clone", head=home / "head")


@in_a_file
def test_a_copy_with_a_copied_head_is_noticed(home: Path) -> None:
    for name in ("ledger", "head"):
        shutil.copy(home / name, home / f"clone of {name}")
    with pytest.raises(LedgerError, match="This is a copy"):
        Ledger.open(home / "clone of ledger", head=home / "clone of head")


@in_a_file
def test_a_copy_without_a_head_is_noticed(home: Path) -> None:
    shutil.copy(home / "ledger", home / "clone")
    for budget in (None, Budget(1)):
        with pytest.raises(LedgerError, match="has no head"):
            Ledger.open(home / "clone", head=home / "new head", budget=budget)
    assert not (home / "new head").exists()


@in_a_file
def test_a_ledger_that_went_missing_is_not_begun_anew(home: Path) -> None:
    (home / "ledger").unlink()
    refused(home, "is not at .*; its head says that it has 8 entries")
    (home / "ledger").touch()
    refused(home, "was put in the place")


@in_a_file
def test_a_file_emptied_in_place_is_noticed(home: Path) -> None:
    os.truncate(home / "ledger", 0)
    refused(home, "The ledger is empty; its head says that it has 8 entries")


def test_a_ledger_whose_head_went_missing_is_not_used(home: Path) -> None:
    (home / "head").unlink()
    refused_words = "has no head|could not be read"
    with pytest.raises(LedgerError, match=refused_words):
        opened(home)
    with pytest.raises(LedgerError, match=refused_words):
        Ledger.open(address(home), head=home / "head", budget=Budget(1))
    assert not verify(address(home), head=home / "head").sound


def test_the_head_of_another_ledger_does_not_fit(home: Path) -> None:
    with homes_opened(beside(home, "other"), budget=Budget(1)) as other:
        for number in range(7):
            other.charge("ana", f"{number}", "SELECT 1", TENTH)
    head = HeadFile(home / "head", 1.0)
    foreign = HeadFile(home / "other" / "head", 1.0).read()
    with head.locked():
        head.write(replace(foreign, file=head.read().file, inode=head.read().inode))
    refused(home, "another one than that of its head")


@in_a_file
def test_another_history_of_the_same_ledger_is_noticed(home: Path) -> None:
    older = (home / "ledger").read_bytes()
    with opened(home) as ledger:
        ledger.charge("ana", "one future", "SELECT 1", TENTH)
    sealed = (home / "head").read_bytes()
    (home / "ledger").write_bytes(older)
    head = HeadFile(home / "head", 1.0)
    with opened_at_eight(home, head) as ledger:
        ledger.charge("ana", "another future", "SELECT 1", TENTH)
    (home / "head").write_bytes(sealed)
    refused(home, "Entry 9 is not the one that was sealed")


def opened_at_eight(folder: Path, head: HeadFile) -> Ledger:
    """The ledger as if the head had never seen entry 9."""
    connection = apsw.Connection(str(folder / "ledger"))
    (hash_,) = connection.execute("SELECT hash FROM entries WHERE sequence = 8").fetchone()
    connection.close()
    with head.locked():
        head.write(replace(head.read(), sequence=8, hash=hash_))
    return opened(folder)


# -- rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sequence", range(1, 9))
@pytest.mark.parametrize(
    "change",
    [
        "kind = 'moved'",
        "\"when\" = 'yesterday'",
        "analyst = 'bo'",
        "key = 'another'",
        "content = replace(content, '1', '2')",
        "content = content || ' '",
        "previous = '0'",
        "hash = '0'",
    ],
)
def test_an_edited_row_is_noticed(home: Path, sequence: int, change: str) -> None:
    edit(home, f"UPDATE entries SET {change} WHERE sequence = {sequence}")
    report = verify(address(home), head=home / "head")
    assert any(f"ntry {sequence} " in finding for finding in report.findings)
    with pytest.raises(LedgerError, match="cannot be used"):
        opened(home)


def test_an_edited_or_missing_or_added_answer_is_noticed(home: Path) -> None:
    edit(home, "UPDATE entries SET payload = x'00' WHERE sequence = 4")
    refused(home, "answer stored at entry 4 was edited")
    edit(home, "UPDATE entries SET payload = NULL WHERE sequence = 4")
    refused(home, "answer stored at entry 4 was edited")
    edit(
        home,
        f"UPDATE entries SET payload = x'{b'the answer'.hex()}' WHERE sequence = 4",
        "UPDATE entries SET payload = x'00' WHERE sequence = 3",
    )
    refused(home, "Entry 3 holds an answer that was not recorded")


@pytest.mark.parametrize(("rows", "words"), [("4", "Entry 4 is missing"), ("4, 5", "Entries 4 to 5 are missing")])
def test_a_removed_row_is_noticed(home: Path, rows: str, words: str) -> None:
    edit(home, f"DELETE FROM entries WHERE sequence IN ({rows})")
    refused(home, words)


def test_a_removed_row_is_noticed_when_the_rest_is_numbered_anew(home: Path) -> None:
    edit(
        home, "DELETE FROM entries WHERE sequence = 4", "UPDATE entries SET sequence = sequence - 1 WHERE sequence > 4"
    )
    refused(home, "Entry 4 was edited")


@pytest.mark.parametrize("kept", [0, 1, 5, 7])
def test_a_cut_tail_is_noticed(home: Path, kept: int) -> None:
    edit(home, f"DELETE FROM entries WHERE sequence > {kept}")
    assert not verify(address(home), head=home / "head").sound
    with pytest.raises(LedgerError, match=r"cannot be used|ends at entry|another one than that"):
        opened(home)


def test_reordered_rows_are_noticed(home: Path) -> None:
    edit(
        home,
        "UPDATE entries SET sequence = 100 WHERE sequence = 3",
        "UPDATE entries SET sequence = 3 WHERE sequence = 5",
        "UPDATE entries SET sequence = 5 WHERE sequence = 100",
    )
    refused(home, "Entry 3 was edited")


def rewritten(folder: Path, change: Callable[[Entry], Entry]) -> None:
    """Edit entries and compute all hashes anew, as somebody who knows this program could."""
    entries = [Entry(*row) for row in run(folder, f"SELECT {COLUMNS} FROM entries ORDER BY sequence")]
    previous, statements = "0" * 64, []
    for entry in entries:
        changed = replace(change(entry), previous=previous)
        previous = changed.true_hash()
        content = changed.content.replace("'", "''")
        statements.append(
            f"UPDATE entries SET content = '{content}', previous = '{changed.previous}', hash = '{previous}' "
            f"WHERE sequence = {entry.sequence}"
        )
    edit(folder, *statements)


def test_rewriting_the_whole_chain_does_not_help(home: Path) -> None:
    rewritten(home, lambda entry: entry)
    opened(home).close()
    rewritten(home, lambda entry: replace(entry, content=entry.content.replace("SELECT 1", "SELECT 2")))
    refused(home, "Entry 8 is not the one that was sealed")


@pytest.mark.parametrize("sequence", range(1, 8))
def test_an_edited_row_with_a_new_hash_does_not_fit_the_next(home: Path, sequence: int) -> None:
    with opened(home) as ledger:
        entry = ledger.entries()[sequence - 1]
    forged = replace(entry, when="2000-01-01T00:00:00.000000+00:00")
    edit(
        home,
        f"UPDATE entries SET \"when\" = '{forged.when}', hash = '{forged.true_hash()}' WHERE sequence = {sequence}",
    )
    refused(home, f"Entry {sequence + 1} does not follow the one before it")


def test_a_forged_tail_cannot_wind_the_sum_back(home: Path) -> None:
    content = entry_at(home, 3).details
    content["spent"]["dataset"]["loss"] = "0"
    insert(home, Entry.after(entry_at(home, 8), Kind.CHARGED, content, "ana", "forged"))
    refused(home, "The sum at entry 9 does not follow")


def test_a_forged_tail_that_cannot_be_read_is_refused(home: Path) -> None:
    insert(home, Entry.after(entry_at(home, 8), Kind.CHARGED, {"cost": 7}, "ana", "forged"))
    refused(home, "Entry 9 cannot be read")


# -- the file as a file ------------------------------------------------------------------------------------


@in_a_file
@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_are_never_changed",
        "CREATE TRIGGER another AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
        "DROP INDEX one_of_each_kind_per_key",
        "CREATE TABLE another (x)",
        "ALTER TABLE entries ADD COLUMN another TEXT",
    ],
)
def test_a_changed_layout_is_noticed(home: Path, statement: str) -> None:
    connection = apsw.Connection(str(home / "ledger"))
    connection.execute(statement)
    connection.close()
    refused(home, "tables or triggers were changed")


@in_a_file
@pytest.mark.parametrize(
    ("pragma", "words"), [("application_id = 1", "is not a ledger"), ("user_version = 2", "another format")]
)
def test_a_file_of_another_kind_is_noticed(home: Path, pragma: str, words: str) -> None:
    connection = apsw.Connection(str(home / "ledger"))
    connection.execute(f"PRAGMA {pragma}")
    connection.close()
    refused(home, words)


@in_a_file
def test_an_index_that_hides_an_entry_is_noticed(home: Path) -> None:
    """The rows are whole, but a search for key 0 would find nothing, and the question be drawn again."""
    whole = (home / "ledger").read_bytes()
    assert whole.count(b"charged0") == 1
    (home / "ledger").write_bytes(whole.replace(b"charged0", b"charged9"))
    refused(home, "The file is damaged: row 3 missing from index")


@in_a_file
def test_a_file_that_is_no_database_is_refused(home: Path) -> None:
    (home / "ledger").write_bytes(b"not a database" * 1000)
    refused(home, "file is not a database")


@in_a_file
def test_every_changed_byte_is_either_harmless_or_noticed(home: Path) -> None:
    """One byte in every 61 is flipped. Where the ledger still opens, it must hold exactly what it held."""
    whole = (home / "ledger").read_bytes()
    with opened(home) as ledger:
        entries, spent = ledger.entries(), ledger.spent()
    noticed = 0
    for position in range(0, len(whole), 61):
        (home / "ledger").write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            with opened(home) as ledger:
                assert (ledger.entries(), ledger.spent()) == (entries, spent)
                assert ledger.answer("1") == b"the answer"
        except LedgerError:
            noticed += 1
        (home / "ledger").write_bytes(whole)
        for rest in ("ledger-wal", "ledger-shm"):
            (home / rest).unlink(missing_ok=True)
    assert noticed > 50
