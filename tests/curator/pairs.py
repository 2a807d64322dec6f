"""Curators over two neighbours, and the ways to bring the neighbours' tables into every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import pyarrow.parquet as pq

from tacit.curator import Curator
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.policy import Policy, Source
from tests.engines.conformance.arrow import arrow
from tests.engines.conformance.tables import Rows
from tests.engines.spark_session import MASTER

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


@contextmanager
def of_frames(promise: Promise, sides: Sides) -> Iterator[Pair]:
    """Tables in memory."""
    stated = promise(lambda name: Source("frame", name))
    with Curator(stated, frames=arrow(sides[0])) as one, Curator(stated, frames=arrow(sides[1])) as other:
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
        for name, table in arrow(tables).items():
            pq.write_table(table, place / f"{name}.parquet")
        return promise(lambda name: Source("spark", MASTER, str(place / f"{name}.parquet")))

    whole, without = stated("with", sides[0]), stated("without", sides[1])
    with (
        patch("tacit.curator.held.open_engine", register),
        Curator(whole) as one,
        Curator(without) as other,
    ):
        yield Pair(one, other)
