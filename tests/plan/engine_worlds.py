"""Worlds on PostgreSQL and on Spark: the engines themselves, over a working copy whose rows a test made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.engines import leases
from tacit.engines.engine import Engine
from tacit.engines.postgres import copy as postgres_copy
from tacit.engines.postgres.engine import PostgresEngine, Registered
from tacit.engines.process import Limits
from tacit.engines.spark.copy import Copy, folder_of
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.plan import Plan
from tacit.plan.plan import Query
from tacit.policy import Policy, Source
from tests.plan.worlds import COPY, Blocks, Cells, Rows, Store, Views, World, names_and_kinds, together
from tests.postgres_server import Server, running


def blocks(engine: Engine, policy: Policy, plan: Plan, worlds: Sequence[World]) -> list[Blocks]:
    """The exact results of a plan's queries in every world, each query asked once for all of them."""
    found = [_cells(engine, query, policy, worlds) for query in plan.counted]
    return [tuple(block[number] for block in found) for number in range(len(worlds))]


def _cells(engine: Engine, query: Query, policy: Policy, worlds: Sequence[World]) -> list[Cells]:
    asked = together(query, worlds, policy)
    cells: list[Cells] = [{} for _ in worlds]

    def read(keys: Sequence[tuple[Any, ...]], columns: Mapping[str, Any]) -> None:
        for row, (world, *key) in enumerate(keys):
            cells[world][tuple(key)] = tuple(int(columns[name][row]) for name in asked.measure_columns)

    engine.run(asked).open_for(read)
    return cells


class OnPostgres:
    """A schema that looks like a working copy, filled anew for every database."""

    def __init__(self, address: str) -> None:
        import psycopg

        self._address = address
        self._connection = psycopg.connect(address, autocommit=True)
        self._connection.execute(f"CREATE SCHEMA {COPY}")  # type: ignore[call-overload]
        self._policy: Policy | None = None
        # collations that know all letters are looked for by a registration, of which there is none here
        letters = self._connection.execute(
            "SELECT collname FROM pg_collation WHERE collname IN ('pg_c_utf8', 'C.utf8')"
        )
        names = [name for (name,) in letters.fetchall()]
        self._found = Registered({}, max(names), postgres_copy.Copy(COPY))
        self._engine: PostgresEngine | None = None

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._connection.close()

    def load(self, policy: Policy, rows: Mapping[str, Rows]) -> None:
        self._policy = policy
        with self._connection.transaction():
            for name, table in policy.tables.items():
                kinds = names_and_kinds(table)
                typed = {"TEXT": 'TEXT COLLATE "C"'}
                listed = ", ".join(f'"{column}" {typed.get(kind, kind)}' for column, kind in kinds.items())
                self._execute(f'CREATE TABLE IF NOT EXISTS {COPY}."{name}" ({listed})')
                self._execute(f'DELETE FROM {COPY}."{name}"')
                if rows[name]:
                    marks = ", ".join("(" + ", ".join("%s" for _ in kinds) + ")" for _ in rows[name])
                    values = [row[column] for row in rows[name] for column in kinds]
                    self._execute(f'INSERT INTO {COPY}."{name}" VALUES {marks}', values)
        if self._engine is None:
            self._engine = PostgresEngine(policy, self._address, self._found, Limits())

    def blocks(self, plan: Plan, worlds: Sequence[World]) -> list[Blocks]:
        assert self._engine is not None
        assert self._policy is not None
        return blocks(self._engine, self._policy, plan, worlds)

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        self._connection.execute(sql, values)  # type: ignore[call-overload]


class OnSpark:
    """Parquet files that look like a working copy, written anew for every database."""

    def __init__(self, session: Session, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self._engine: SparkEngine | None = None
        self._policy: Policy | None = None

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    def load(self, policy: Policy, rows: Mapping[str, Rows]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.close()  # which removes the folder of the copy before
        lease = leases.make(self._folder, "copy")
        path = lease.path
        kinds = {"TEXT": pa.string(), "BIGINT": pa.int64(), "INTEGER": pa.int32()}
        for number, (name, table) in enumerate(policy.tables.items()):
            schema = pa.schema([(column, kinds[kind]) for column, kind in names_and_kinds(table).items()])
            listed = [{column: row[column] for column in schema.names} for row in rows[name]]
            pq.write_table(pa.Table.from_pylist(listed, schema=schema), folder_of(path, number))
        # a source in a catalog is never stale
        sources = {name: replace(table, source=Source("spark", "local", name)) for name, table in policy.tables.items()}
        self._policy = replace(policy, tables=sources)
        self._engine = SparkEngine(self._policy, Copy(lease, {}, ""), self._session, None, owned=False, memory=lease)

    def blocks(self, plan: Plan, worlds: Sequence[World]) -> list[Blocks]:
        assert self._engine is not None
        assert self._policy is not None
        return blocks(self._engine, self._policy, plan, worlds)


@contextmanager
def on_duckdb() -> Iterator[Store]:
    """DuckDB in memory."""
    store = Views()
    try:
        yield store
    finally:
        store.close()


@contextmanager
def on_postgres(server: Server | None = None) -> Iterator[Store]:
    """A database of its own, on this server or on one of its own."""
    if server is None:
        with running() as own, on_postgres(own) as found:
            yield found
        return
    store = OnPostgres(server.database("worlds"))
    try:
        yield store
    finally:
        store.close()
        server.drop("worlds")


@contextmanager
def on_spark(session: Session, folder: Path) -> Iterator[Store]:
    """Files in a folder, on a Spark that others may share."""
    store = OnSpark(session, folder)
    try:
        yield store
    finally:
        store.close()


Opener = Callable[[], Any]
