"""Where the ledgers of these tests live: in memory, so that flushes cost nothing. Real disks are for the soak."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.ledger import Ledger
from tacit.loss import Budget
from tests.ledger.faults import fast_folder
from tests.ledger.tampering import TENTH


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder on a fast disk."""
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        yield Path(name)


@pytest.fixture
def home(folder: Path) -> Path:
    """A closed ledger: registered, charged, answered, and so on, eight entries in all."""
    with Ledger.open(folder / "ledger", head=folder / "head", budget=Budget(1), analysts={"ana": Budget(1)}) as ledger:
        for number in range(3):
            receipt = ledger.charge("ana", f"{number}", "SELECT 1", TENTH)
            ledger.store_answer(receipt, b"the answer")
        assert len(ledger.entries()) == 8
    return folder
