"""What tests of engines share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.engines.spark.engine import Session
from tests.engines.spark_session import MISSING, running


@pytest.fixture(scope="session")
def spark() -> Iterator[Session]:
    """A Spark session, started when the first test asks for one."""
    if MISSING is not None:
        pytest.skip(MISSING)
    with running() as session:
        yield session
