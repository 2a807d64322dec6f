"""Every promise of the ledger is tested in a file and in PostgreSQL, unless it is about one of them.

Both lie in memory, so that flushes cost nothing. Real disks are for the soak.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.loss import Budget
from tests.ledger.faults import fast_folder
from tests.ledger.homes import opened, settle
from tests.ledger.tampering import TENTH
from tests.postgres_server import Server

DATABASE = "ledgers"


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    """The kind of store. `in_a_file` and `in_postgres` (in `stores`) choose one."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="session")
def database(postgres: Server) -> str:
    """The address of the database in which every ledger has a schema of its own."""
    return postgres.database(DATABASE)


@pytest.fixture
def folder(store: str, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder on a fast disk for a ledger that is not there yet."""
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        if store == "postgres":
            settle(Path(name), request.getfixturevalue("database"))
        yield Path(name)


@pytest.fixture
def home(folder: Path) -> Path:
    """A closed ledger: registered, charged, answered, and so on, eight entries in all."""
    with opened(folder, budget=Budget(1), analysts={"ana": Budget(1)}) as ledger:
        for number in range(3):
            receipt = ledger.charge("ana", f"{number}", "SELECT 1", TENTH)
            ledger.store_answer(receipt, b"the answer")
        assert len(ledger.entries()) == 8
    return folder
