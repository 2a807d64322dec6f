"""A curator over the clinic on each engine that this machine has."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow as pa

from tacit.curator import Curator
from tacit.policy import Source
from tests.coverage.tables import policy, tables
from tests.engines.conformance.arrow import arrow
from tests.engines.spark_session import MASTER
from tests.engines.spark_session import MISSING as NO_SPARK
from tests.postgres_server import BINARIES, running


def frames() -> dict[str, pa.Table]:
    """The tables in memory."""
    return arrow(tables())


@contextmanager
def on_duckdb() -> Iterator[Curator]:
    """DuckDB, over tables in memory."""
    with Curator(policy(lambda name: Source("frame", name)), frames=frames()) as curator:
        yield curator


@contextmanager
def on_postgres() -> Iterator[Curator]:
    """PostgreSQL, in a server of its own."""
    with running() as server, over_postgres(server.database("coverage")) as curator:
        yield curator


@contextmanager
def over_postgres(address: str) -> Iterator[Curator]:
    """PostgreSQL, in a database that is there."""
    from tests.engines.conformance.engines import load

    load(address, tables())
    with Curator(policy(lambda name: Source("postgres", address, name))) as curator:
        yield curator


@contextmanager
def on_spark() -> Iterator[Curator]:
    """Spark in this machine, over Parquet files."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        for name, table in frames().items():
            pq.write_table(table, Path(folder) / f"{name}.parquet")
        stated = policy(lambda name: Source("spark", MASTER, str(Path(folder) / f"{name}.parquet")))
        with Curator(stated) as curator:
            yield curator


def available() -> Mapping[str, Callable[[], AbstractContextManager[Curator]]]:
    """The engines that can run here, by the names that the page calls them."""
    found: dict[str, Callable[[], AbstractContextManager[Curator]]] = {"DuckDB": on_duckdb}
    if BINARIES is not None:
        found["PostgreSQL"] = on_postgres
    if NO_SPARK is None:
        found["Spark"] = on_spark
    return found
