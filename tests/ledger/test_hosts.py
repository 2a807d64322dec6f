"""Several hosts, one database: each has a head of its own, and what one of them acknowledged is not forgotten."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import Ledger, verify
from tacit.ledger.head import HeadFile
from tacit.ledger.postgres_site import DatabaseSite
from tacit.ledger.sites import vault_at
from tacit.loss import Budget
from tacit.loss.filters import Spent
from tests.ledger.homes import ADDRESS, address, beside, opened
from tests.ledger.stores import in_postgres
from tests.ledger.tampering import TENTH, edit, run

pytestmark = in_postgres


def host(home: Path, name: str) -> Path:
    """A further host: its own folder, with the address and a copy of the first host's head."""
    (home / name).mkdir()
    for file in (ADDRESS, "head"):
        shutil.copy(home / file, home / name / file)
    return home / name


def sealed(folder: Path) -> int:
    return HeadFile(folder / "head", 1.0).read().sequence


def test_hosts_with_heads_of_their_own_spend_from_one_budget(home: Path) -> None:
    second = host(home, "second")
    with opened(home) as here, opened(second) as there:
        for number in range(7):
            (here, there)[number % 2].charge("ana", f"later {number}", "SELECT 1", TENTH)
        for ledger in (here, there):
            assert ledger.spent() == Spent(Fraction(1))
            with pytest.raises(BudgetExceeded):
                ledger.charge("ana", "one more", "SELECT 1", TENTH)
        assert here.charge("ana", "later 1", "SELECT 1", TENTH).repeated
    assert sealed(home) == sealed(second) == 15


def test_an_answer_stored_by_one_host_is_replayed_and_sealed_by_another(home: Path) -> None:
    second = host(home, "second")
    with opened(home) as here, opened(second) as there:
        here.store_answer(here.charge("ana", "later", "SELECT 1", TENTH), b"once")
        assert sealed(second) == 8
        assert there.answer("later") == b"once"
        assert sealed(second) == 10


def test_a_host_without_a_head_is_refused(home: Path) -> None:
    second = host(home, "second")
    (second / "head").unlink()
    for budget in (None, Budget(1)):
        with pytest.raises(LedgerError, match="begins with a copy of another host's head"):
            Ledger.open(address(second), head=second / "head", budget=budget)
    assert not (second / "head").exists()
    assert not verify(address(second), head=second / "head").sound


def test_a_database_put_back_from_a_backup_is_refused_by_every_host_that_knows_better(home: Path) -> None:
    """The second host was told of entry 9, the first used the ledger after it, the third did not."""
    second, third = host(home, "second"), host(home, "third")
    with opened(second) as there:
        there.charge("ana", "acknowledged", "SELECT 1", TENTH)
    with opened(home) as here:
        here.spent()
    edit(home, "DELETE FROM entries WHERE sequence > 8")
    for knows in (home, second):
        with pytest.raises(LedgerError, match=r"ends at entry 8; entry 9 was sealed\. It is an older copy"):
            opened(knows)
    with opened(third) as unaware:  # nobody told it: the limit of a head a host
        unaware.charge("ana", "another future", "SELECT 1", TENTH)
    for knows in (home, second):
        with pytest.raises(LedgerError, match="Entry 9 is not the one that was sealed"):
            opened(knows)


def test_a_database_put_back_under_an_open_ledger_is_noticed_at_the_next_charge(home: Path) -> None:
    with opened(home) as ledger:
        ledger.charge("ana", "acknowledged", "SELECT 1", TENTH)
        edit(home, "DELETE FROM entries WHERE sequence > 8")
        with pytest.raises(LedgerError, match="It is an older copy"):
            ledger.charge("ana", "later", "SELECT 1", TENTH)


def test_hosts_that_share_a_head_all_notice(home: Path) -> None:
    with opened(home) as here, Ledger.open(address(home), head=home / "head") as there:
        here.charge("ana", "acknowledged", "SELECT 1", TENTH)
        edit(home, "DELETE FROM entries WHERE sequence > 8")
        with pytest.raises(LedgerError, match="It is an older copy"):
            there.charge("ana", "later", "SELECT 1", TENTH)


def moved(home: Path, name: str, rows: str = "true") -> Path:
    """The ledger's rows, dumped and loaded elsewhere; with the first host's head."""
    new = beside(home, name)
    DatabaseSite(str(address(new)), 5.0).begin()
    old, fresh = (str(address(folder)).rpartition("%3D")[2] for folder in (home, new))
    run(home, f"INSERT INTO {fresh}.tacit_entries SELECT * FROM {old}.tacit_entries WHERE {rows} ORDER BY sequence")
    shutil.copy(home / "head", new / "head")
    return new


def test_a_copy_elsewhere_is_refused_until_every_host_adopts_it(home: Path) -> None:
    second = host(home, "second")
    new = moved(home, "new")
    with pytest.raises(LedgerError, match="This is a copy: the ledger lives at PostgreSQL"):
        opened(new)
    with Ledger.adopt(address(new), head=home / "head") as ledger:
        ledger.charge("ana", "later", "SELECT 1", TENTH)
    with pytest.raises(LedgerError, match="This is a copy"):
        Ledger.open(address(home), head=home / "head")
    with pytest.raises(LedgerError, match="This is a copy"):
        Ledger.open(address(new), head=second / "head")
    with Ledger.adopt(address(new), head=second / "head") as ledger:
        assert ledger.spent() == Spent(Fraction(4, 10))
        assert ledger.verify().sound


def test_a_copy_that_lacks_what_a_host_acknowledged_cannot_be_adopted_there(home: Path) -> None:
    second = host(home, "second")
    with opened(second) as there:
        there.charge("ana", "acknowledged", "SELECT 1", TENTH)
    new = moved(home, "new", "sequence < 9")
    Ledger.adopt(address(new), head=home / "head").close()
    with pytest.raises(LedgerError, match="is not the one that was sealed"):
        Ledger.adopt(address(new), head=second / "head")


def test_a_table_that_went_missing_is_not_begun_anew(home: Path) -> None:
    run(home, "DROP TABLE tacit_entries", "DROP FUNCTION tacit_entry_follows", "DROP FUNCTION tacit_entry_stays")
    for budget in (None, Budget(1)):
        with pytest.raises(LedgerError, match=r"is not at .*; its head says that it has 8 entries"):
            opened(home, budget=budget)
    DatabaseSite(str(address(home)), 5.0).begin()
    with pytest.raises(LedgerError, match="was put in the place of the ledger"):
        opened(home)


def test_an_emptied_table_is_noticed(home: Path) -> None:
    edit(home, "TRUNCATE tacit_entries")
    with pytest.raises(LedgerError, match="The ledger is empty; its head says that it has 8 entries"):
        opened(home)


def test_of_two_hosts_that_register_at_once_one_stands_and_the_other_is_refused(folder: Path) -> None:
    """The second began before the first had written anything: its head announces another ledger."""
    second = beside(folder, "second")
    (second / ADDRESS).write_text((folder / ADDRESS).read_text())
    DatabaseSite(str(address(folder)), 5.0).begin()
    vault = vault_at(address(second), second / "head", 5.0)
    with vault.head.locked():
        vault._announce(may_create=True)
    opened(folder, budget=Budget(1)).close()
    with pytest.raises(LedgerError, match="another one than that of its head"):
        Ledger.open(address(second), head=second / "head", budget=Budget(1))
    shutil.copy(folder / "head", second / "head")
    with Ledger.open(address(second), head=second / "head", budget=Budget(1)) as ledger:
        ledger.charge("ana", "key", "SELECT 1", TENTH)
