"""A curator over the clinic on each engine that this machine has."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tacit.curator import Curator
from tests.coverage.tables import policy, tables
from tests.engines.conformance.engines import in_memory, in_parquet, in_postgres
from tests.engines.spark_session import MISSING as NO_SPARK
from tests.postgres_server import BINARIES, running


@contextmanager
def on_duckdb() -> Iterator[Curator]:
    """DuckDB, over tables in memory."""
    placed = in_memory(tables())
    with Curator(policy(placed.source), frames=placed.frames) as curator:
        yield curator


@contextmanager
def on_postgres() -> Iterator[Curator]:
    """PostgreSQL, in a server of its own."""
    with running() as server, over_postgres(server.database("coverage")) as curator:
        yield curator


@contextmanager
def over_postgres(address: str) -> Iterator[Curator]:
    """PostgreSQL, in a database that is there."""
    with Curator(policy(in_postgres(address, tables()).source)) as curator:
        yield curator


@contextmanager
def on_spark() -> Iterator[Curator]:
    """Spark in this machine, over Parquet files."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Curator(policy(in_parquet(Path(folder), tables()).source)) as curator,
    ):
        yield curator


def available() -> Mapping[str, Callable[[], AbstractContextManager[Curator]]]:
    """The engines that can run here, by the names that the page calls them."""
    found: dict[str, Callable[[], AbstractContextManager[Curator]]] = {"DuckDB": on_duckdb}
    if BINARIES is not None:
        found["PostgreSQL"] = on_postgres
    if NO_SPARK is None:
        found["Spark"] = on_spark
    return found
