"""Desks on PostgreSQL and on Spark, and what may go wrong there after the charge (see `failures`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tacit
from tacit.curator import Curator
from tacit.engines.postgres import session as postgres_session
from tacit.engines.spark.engine import LIMITS, SparkEngine
from tacit.policy import ColumnUnit, Policy, Source, Table
from tests.curator.failures import CAUSES, OF_ANY_ENGINE, Cause, Desk, before_each_query, desk, people, replaced
from tests.postgres_server import Server, running

Opened = tuple[Desk, Mapping[str, Cause]]


def stated(source: Source, folder: Path) -> Policy:
    """The policy of `failures.opened`, over another source: with bounds, which can be bought on DuckDB alone."""
    columns = (
        tacit.between(0, 99).column("age", "integer"),
        tacit.one_of("F", "M").column("sex", "text"),
        tacit.between(0, 500).column("pay", "real"),
        tacit.between(0, 49).column("rent", "integer"),
    )
    table = Table("people", source, ColumnUnit("who"), 1, {column.name: column for column in columns})
    budget = tacit.Budget(100_000, "0.5")
    ledger = str(folder / "spent.ledger")
    return Policy("people", {"people": table}, budget, largest_epsilon=budget.epsilon, ledger=ledger)


@contextmanager
def on_duckdb(folder: Path) -> Iterator[Opened]:
    with desk(folder) as at:
        yield at, CAUSES


@contextmanager
def on_spark(folder: Path) -> Iterator[Opened]:
    """A session of the desk's own, which is killed for earnest."""
    people().to_parquet(folder / "people.parquet")
    source = Source("spark", "local[1]", str(folder / "people.parquet"))
    # patient: how fast the machine starts another Spark says nothing about the code
    limits = replace(LIMITS, start_seconds=900.0, seconds=600.0, threads=1, memory=2**30)
    with (
        patch.object(SparkEngine, "register", partial(SparkEngine.register, limits=limits)),
        desk(folder, lambda there: Curator(stated(source, there))) as at,
    ):
        yield at, CAUSES


@contextmanager
def on_postgres(folder: Path) -> Iterator[Opened]:
    """A server of the desk's own, which is stopped for earnest."""
    import psycopg

    with running() as server:
        address = server.database("people")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE people (who int, age int, sex text, pay double precision, rent int)")
            with connection.cursor() as cursor:
                rows = people().astype(object).itertuples(index=False, name=None)
                cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s)", list(rows))
        source = Source("postgres", address, "people")
        with desk(folder, lambda there: Curator(stated(source, there))) as at:
            yield at, {**_of_postgres(server, psycopg), **OF_ANY_ENGINE}


def _of_postgres(server: Server, psycopg: Any) -> dict[str, Cause]:
    ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tacit'"

    @contextmanager
    def stopped(at: Desk) -> Iterator[None]:
        with before_each_query(at, server.stop):  # a killed one forgets what it counted: then sources look changed
            yield
        server.start()

    def raising(error: Exception) -> Cause:
        def raised(*given: Any) -> Any:
            raise error

        return lambda at: replaced(postgres_session, "_rows", raised)

    def returning(names: list[str], rows: list[tuple[Any, ...]]) -> Cause:
        return lambda at: replaced(postgres_session, "_rows", lambda *given: postgres_session.Fetched(names, rows))

    return {
        "the connection is killed": lambda at: before_each_query(at, lambda: _done(server.sql(ours))),
        "the server is stopped": stopped,
        "the server runs out of memory": raising(psycopg.errors.OutOfMemory("row 42")),
        "the server's disk is full": raising(psycopg.errors.DiskFull("row 42")),
        "the time is up": raising(psycopg.errors.QueryCanceled("row 42")),
        "the server's reply is nonsense": returning(["many"], [("row 42", None)]),
        "the server's reply is no text": raising(UnicodeDecodeError("utf-8", b"row 42", 0, 1, "row 42")),
    }


def _done(said: str) -> None:
    assert said == "t", "there was no connection to kill"


ENGINES: Mapping[str, Callable[[Path], AbstractContextManager[Opened]]] = {
    "duckdb": on_duckdb,
    "postgres": on_postgres,
    "spark": on_spark,
}
