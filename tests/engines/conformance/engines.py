"""The engines under test, each as a context that opens it over the same tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.engines.engine import Engine
from tacit.engines.postgres.engine import PostgresEngine
from tacit.engines.secret import Secret
from tacit.policy import Policy, Source
from tests.engines.conformance.tables import Rows

Opened = tuple[Engine, Policy]
POSTGRES_TYPES = {"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT"}


@contextmanager
def on_duckdb(
    tables: Mapping[str, Rows], policy: Callable[[Callable[[str], Source]], Policy], secret: Secret | None = None
) -> Iterator[Opened]:
    """DuckDB, over tables in memory."""
    from tests.engines.conformance.arrow import arrow

    stated = policy(lambda name: Source("frame", name))
    with DuckDBEngine.register(stated, secret, frames=arrow(tables)) as engine:
        yield engine, stated


@contextmanager
def on_postgres(
    address: str,
    tables: Mapping[str, Rows],
    policy: Callable[[Callable[[str], Source]], Policy],
    secret: Secret | None = None,
) -> Iterator[Opened]:
    """PostgreSQL, over tables of a database."""
    load(address, tables)
    stated = policy(lambda name: Source("postgres", address, name))
    with PostgresEngine.register(stated, secret) as engine:
        yield engine, stated


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
    return sorted(rows, key=lambda row: [(value is None, str(type(value)), value) for value in row])


__all__ = ["Opened", "content", "listed", "load", "on_duckdb", "on_postgres"]
