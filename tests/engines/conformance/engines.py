"""The engines under test: rows written in Python are put where an engine reads them, and the engine is opened there.

`in_memory`, `in_postgres` and `in_parquet` put the rows somewhere and say where (`Placed`); `on_duckdb`, `on_postgres`
and `on_spark` open an engine by itself over them. A curator takes the same: `Curator(policy(placed.source),
frames=placed.frames)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.engines.engine import Engine, Pushed
from tacit.engines.exact import Exact
from tacit.engines.postgres.engine import PostgresEngine
from tacit.engines.secret import Secret
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.policy import Policy, Source
from tacit.policy.check import Schema
from tests.engines.conformance.tables import Rows
from tests.engines.spark_session import MASTER

Opened: TypeAlias = tuple[Engine, Policy]
Stated: TypeAlias = Callable[[Callable[[str], Source]], Policy]
"""A policy, once it is said where each table lies."""

KINDS = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "BOOLEAN": pa.bool_(),
}
"""DuckDB's names of types, in which tests write them, and what Arrow calls them."""
POSTGRES_TYPES = {"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT"}


@dataclass(frozen=True)
class Placed:
    """Where tables lie; `frames` are those that lie in memory."""

    source: Callable[[str], Source]
    frames: Mapping[str, pa.Table] | None = None


def in_memory(tables: Mapping[str, Rows]) -> Placed:
    """As tables in memory, for DuckDB."""
    return Placed(lambda name: Source("frame", name), frames(tables))


def in_postgres(address: str, tables: Mapping[str, Rows]) -> Placed:
    """As tables of a database."""
    load(address, tables)
    return Placed(lambda name: Source("postgres", address, name))


def in_parquet(folder: Path, tables: Mapping[str, Rows]) -> Placed:
    """As Parquet files, for Spark."""
    for name, table in frames(tables).items():
        pq.write_table(table, folder / f"{name}.parquet")
    return Placed(lambda name: Source("spark", MASTER, str(folder / f"{name}.parquet")))


def frames(tables: Mapping[str, Rows]) -> dict[str, pa.Table]:
    """The tables in memory."""
    return {
        name: pa.Table.from_pylist(list(each.rows), schema=pa.schema([(c, KINDS[k]) for c, k in each.types.items()]))
        for name, each in tables.items()
    }


def load(address: str, tables: Mapping[str, Rows]) -> None:
    """Make the tables in a database, in place of those that are there."""
    import psycopg  # not everywhere that other engines are tested

    with psycopg.connect(address, autocommit=True) as connection:
        for name, each in tables.items():
            columns = ", ".join(f'"{column}" {POSTGRES_TYPES.get(kind, kind)}' for column, kind in each.types.items())
            connection.execute(f'DROP TABLE IF EXISTS public."{name}"')  # type: ignore[call-overload]
            connection.execute(f'CREATE TABLE public."{name}" ({columns})')  # type: ignore[call-overload]
            marks = ", ".join("%s" for _ in each.types)
            with connection.cursor() as cursor:
                rows = [[row[column] for column in each.types] for row in each.rows]
                cursor.executemany(f'INSERT INTO public."{name}" VALUES ({marks})', rows)  # type: ignore[call-overload]


@contextmanager
def on_duckdb(tables: Mapping[str, Rows], policy: Stated, secret: Secret | None = None) -> Iterator[Opened]:
    """DuckDB, over tables in memory."""
    placed = in_memory(tables)
    stated = policy(placed.source)
    with DuckDBEngine.register(stated, secret, frames=placed.frames) as engine:
        yield engine, stated


@contextmanager
def on_postgres(
    address: str, tables: Mapping[str, Rows], policy: Stated, secret: Secret | None = None
) -> Iterator[Opened]:
    """PostgreSQL, over tables of a database."""
    stated = policy(in_postgres(address, tables).source)
    with PostgresEngine.register(stated, secret) as engine:
        yield engine, stated


@contextmanager
def on_spark(session: Session, folder: Path, tables: Mapping[str, Rows], policy: Stated) -> Iterator[Opened]:
    """Spark, over Parquet files."""
    stated = policy(in_parquet(folder, tables).source)
    with SparkEngine.register(stated, session=session) as engine:
        yield Remembering(engine), stated


class Remembering:
    """An engine that runs the same query once: several tests look at each answer, and Spark takes its time."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine
        self._known: dict[str, Exact] = {}

    def schema(self) -> Schema:
        return self._engine.schema()

    def fingerprint(self) -> str:
        return self._engine.fingerprint()

    def is_stale(self) -> bool:
        return self._engine.is_stale()

    def run(self, query: Pushed) -> Exact:
        text = f"{query.ast.sql()} {list(query.key_columns)} {list(query.measure_columns)}"
        if text not in self._known:
            self._known[text] = self._engine.run(query)
        return self._known[text]

    def close(self) -> None:
        self._engine.close()


def content(engine: Engine, query: Any) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Cell -> measures, opened for the test."""
    names = list(query.measure_columns)
    return engine.run(query).open_for(
        lambda keys, columns: {key: tuple(int(columns[name][row]) for name in names) for row, key in enumerate(keys)}
    )


def listed(engine: Engine, query: Any) -> list[tuple[Any, ...]]:
    """Every row that came back, keys first, in an order of its own: engines return rows in any."""
    names = list(query.measure_columns)
    rows = engine.run(query).open_for(
        lambda keys, columns: [(*key, *(int(columns[name][row]) for name in names)) for row, key in enumerate(keys)]
    )
    assert {type(value) for row in rows for value in row} <= {int, str, type(None)}
    return sorted(rows, key=lambda row: [(value is None, str(type(value)), value) for value in row])
