"""Curators over two neighbours, and the ways to bring the neighbours' tables into every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

from tacit.curator import Curator
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.policy import Column, Policy, Source, Table, Unit
from tests.engines import spark_session
from tests.engines.conformance.engines import frames
from tests.engines.conformance.tables import Rows
from tests.engines.spark_session import MASTER
from tests.postgres_server import Server

Tables: TypeAlias = dict[str, list[dict[str, Any]]]
Sides: TypeAlias = tuple[Mapping[str, Rows], Mapping[str, Rows]]
Promise: TypeAlias = Callable[..., Policy]
"""Makes the policy: of the source of each table by its name, and of the `working_copy` where there is a choice."""


@dataclass(frozen=True)
class Pair:
    """Two curators over neighbours."""

    one: Curator
    other: Curator

    @property
    def in_memory(self) -> bool:
        """Whether these are tables in memory, on DuckDB."""
        return all(table.source.format == "frame" for table in self.one.policy.tables.values())

    def __iter__(self) -> Iterator[Curator]:
        return iter((self.one, self.other))


def sides_of(types: Mapping[str, dict[str, str]], first: Tables, second: Tables) -> Sides:
    """Both neighbours, with the types that all their columns have."""
    one, other = ({name: Rows(types[name], rows) for name, rows in tables.items()} for tables in (first, second))
    return one, other


def tables_of(
    source: Callable[[str], Source],
    units: Mapping[str, tuple[Unit | None, int]],
    columns: Mapping[str, Sequence[Column]],
    **more: Mapping[str, Any],
) -> dict[str, Table]:
    """What a policy says of the tables: those without a unit are public; `more` has further facts about some."""
    found = {}
    for name, listed in columns.items():
        unit, rows = units[name]
        known = {column.name: column for column in listed}
        found[name] = Table(name, source(name), unit, rows, known, public=unit is None, **more.get(name, {}))
    return found


@contextmanager
def of_frames(promise: Promise, sides: Sides) -> Iterator[Pair]:
    """Tables in memory."""
    stated = promise(lambda name: Source("frame", name))
    with Curator(stated, frames=frames(sides[0])) as one, Curator(stated, frames=frames(sides[1])) as other:
        yield Pair(one, other)


@contextmanager
def of_databases(promise: Promise, addresses: tuple[str, str], working_copy: str | None) -> Iterator[Pair]:
    """Tables that PostgreSQL has already, in two databases."""

    def stated(address: str) -> Policy:
        return promise(lambda name: Source("postgres", address, name), working_copy)

    with Curator(stated(addresses[0])) as one, Curator(stated(addresses[1])) as other:
        yield Pair(one, other)


@contextmanager
def of_parquet(promise: Promise, sides: Sides, session: Session, folder: Path) -> Iterator[Pair]:
    """Parquet files, read by one session of Spark."""

    def register(policy: Policy, frames: Any, progress: Any) -> SparkEngine:
        return SparkEngine.register(policy, session=session, progress=progress)

    def stated(side: str, tables: Mapping[str, Rows]) -> Policy:
        place = folder / side
        place.mkdir()
        for name, table in frames(tables).items():
            pq.write_table(table, place / f"{name}.parquet")
        return promise(lambda name: Source("spark", MASTER, str(place / f"{name}.parquet")))

    whole, without = stated("with", sides[0]), stated("without", sides[1])
    with (
        patch("tacit.curator.held.open_engine", register),
        Curator(whole) as one,
        Curator(without) as other,
    ):
        yield Pair(one, other)


@dataclass(frozen=True)
class Ways:
    """How the neighbours' tables come into each engine; folders and databases are called after `name`."""

    name: str
    on_duckdb: Callable[[], AbstractContextManager[Pair]]
    on_spark: Callable[[Session, Path], AbstractContextManager[Pair]]
    on_postgres: Callable[[tuple[str, str], str | None], AbstractContextManager[Pair]]

    @contextmanager
    def opened(self, engine: str, request: pytest.FixtureRequest) -> Iterator[Pair]:
        """The pair on "duckdb", "spark", "postgres" or "postgres without a copy"; skipped where Spark is not there."""
        if engine == "duckdb":
            with self.on_duckdb() as pair:
                yield pair
        elif engine == "spark":
            if spark_session.MISSING:
                pytest.skip(spark_session.MISSING)
            folder: Path = request.getfixturevalue("tmp_path_factory").mktemp(self.name)
            with spark_session.running() as session, self.on_spark(session, folder) as pair:
                yield pair
        else:
            server: Server = request.getfixturevalue("postgres")
            copy = "query" if engine == "postgres without a copy" else None
            names = [f"{self.name}_{side}_{'query' if copy else 'copy'}" for side in ("with", "without")]
            one, other = (server.database(name) for name in names)
            with self.on_postgres((one, other), copy) as pair:
                yield pair
            for name in names:
                server.drop(name)
