"""Files that change under an open ledger, and files that their owner moves."""

from __future__ import annotations

import os
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.ledger import Ledger, verify
from tacit.loss.filters import Spent
from tests.ledger.stores import in_a_file
from tests.ledger.tampering import TENTH, edit, opened

# -- while it is open --------------------------------------------------------------------------------------


@in_a_file
def test_a_file_swapped_under_an_open_ledger_is_noticed_at_the_next_charge(home: Path) -> None:
    with opened(home) as ledger:
        shutil.copy(home / "ledger", home / "copy")
        os.replace(home / "copy", home / "ledger")
        with pytest.raises(LedgerError, match="was put in the place"):
            ledger.charge("ana", "later", "SELECT 1", TENTH)


def test_a_head_that_vanishes_under_an_open_ledger_is_noticed_at_the_next_charge(home: Path) -> None:
    with opened(home) as ledger:
        (home / "head").unlink()
        with pytest.raises(LedgerError, match="could not be read"):
            ledger.charge("ana", "later", "SELECT 1", TENTH)


def test_rows_edited_under_an_open_ledger_are_not_believed(home: Path) -> None:
    with opened(home) as ledger:
        edit(home, "UPDATE entries SET content = replace(content, '3/10', '0') WHERE sequence = 7")
        with pytest.raises(LedgerError, match=r"Entry 7 .* was edited"):
            ledger.charge("ana", "later", "SELECT 1", TENTH)
        with pytest.raises(LedgerError, match="was edited"):
            ledger.spent()


def test_an_answer_edited_under_an_open_ledger_is_not_replayed(home: Path) -> None:
    with opened(home) as ledger:
        edit(home, "UPDATE entries SET payload = x'00' WHERE sequence = 4")
        with pytest.raises(LedgerError, match="answer stored at entry 4 was edited"):
            ledger.answer("0")


# -- moving on purpose ---------------------------------------------------------------------------------------


@in_a_file
def test_an_owner_can_move_the_file_and_the_old_place_is_then_refused(home: Path) -> None:
    old = opened(home)
    shutil.copy(home / "ledger", home / "moved")
    with Ledger.adopt(home / "moved", head=home / "head") as ledger:
        assert ledger.entries()[-1].details == {"from": str(home / "ledger"), "to": str(home / "moved")}
        ledger.charge("ana", "later", "SELECT 1", TENTH)
        assert ledger.spent() == Spent(Fraction(4, 10))
        with pytest.raises(LedgerError, match="This is a copy"):
            old.charge("ana", "elsewhere", "SELECT 1", TENTH)
    old.close()
    with pytest.raises(LedgerError, match="This is a copy"):
        opened(home)
    assert not verify(home / "ledger", head=home / "head").sound
    with Ledger.open(home / "moved", head=home / "head") as ledger:
        assert ledger.verify().sound


@in_a_file
def test_a_file_that_is_not_complete_cannot_be_adopted(home: Path) -> None:
    shutil.copy(home / "ledger", home / "older")
    with opened(home) as ledger:
        ledger.charge("ana", "later", "SELECT 1", TENTH)
    with pytest.raises(LedgerError, match="older copy"):
        Ledger.adopt(home / "older", head=home / "head")
    opened(home).close()
