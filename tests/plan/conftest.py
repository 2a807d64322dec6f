"""Working copies on every engine, for tests that take units away (`worlds`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines import spark_session
from tests.plan import engine_worlds
from tests.plan.worlds import Store
from tests.postgres_server import Server


@pytest.fixture(scope="module")
def views() -> Iterator[Store]:
    with engine_worlds.on_duckdb() as store:
        yield store


@pytest.fixture(scope="module")
def postgres_worlds(postgres: Server) -> Iterator[Store]:
    with engine_worlds.on_postgres(postgres) as store:
        yield store


@pytest.fixture(scope="module")
def spark_worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    if spark_session.MISSING:
        pytest.skip(spark_session.MISSING)
    folder = tmp_path_factory.mktemp("worlds")
    with spark_session.running() as session, engine_worlds.on_spark(session, folder) as store:
        yield store
