"""Where the ledgers of these tests live: in memory, so that flushes cost nothing. Real disks are for the soak."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger.faults import fast_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder on a fast disk."""
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        yield Path(name)
