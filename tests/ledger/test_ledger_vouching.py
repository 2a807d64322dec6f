"""A ledger whose head was lost: refused until the owner vouches for it, and that word stays in it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.ledger import Ledger, verify
from tacit.ledger.head import HeadFile
from tacit.loss import Budget
from tacit.loss.filters import Spent
from tests.ledger.homes import address, opened
from tests.ledger.tampering import TENTH


def vouched(folder: Path) -> Ledger:
    return Ledger.vouch(address(folder), head=folder / "head")


def test_a_vouched_ledger_goes_on_where_it_was_and_says_so_for_ever(folder: Path) -> None:
    with opened(folder, budget=Budget(1)) as ledger:
        ledger.charge("ana", "1", "q", TENTH)
    (folder / "head").unlink()
    with pytest.raises(LedgerError, match="--head-lost"):
        opened(folder, budget=Budget(1))
    with vouched(folder) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["registered", "charged", "vouched"]
        assert ledger.entries()[-1].details["entries"] == 2
        assert ledger.spent() == Spent(Fraction(1, 10))
        ledger.charge("ana", "2", "q", TENTH)
    assert verify(address(folder), head=folder / "head").sound
    with pytest.raises(LedgerError, match="nothing was lost"):
        vouched(folder)


def test_vouching_that_was_cut_short_can_be_done_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(folder, budget=Budget(1)).close()
    (folder / "head").unlink()

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(HeadFile, "create", cut)
        with pytest.raises(KeyboardInterrupt):
            vouched(folder)
    with pytest.raises(LedgerError, match="has no head"):
        opened(folder)
    with vouched(folder) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["registered", "vouched", "vouched"]


def test_there_is_nothing_to_vouch_for_where_there_is_no_ledger(folder: Path) -> None:
    with pytest.raises(LedgerError, match="There is no ledger"):
        vouched(folder)
    assert not (folder / "head").exists()
