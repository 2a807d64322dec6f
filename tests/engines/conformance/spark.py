"""Spark under test: the same tables as Parquet files, read by one local session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from tacit.engines.engine import Engine, Pushed
from tacit.engines.exact import Exact
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.policy import Policy, Source
from tacit.policy.check import Schema
from tests.engines.conformance.arrow import arrow
from tests.engines.conformance.tables import Rows
from tests.engines.spark_session import MASTER


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


@contextmanager
def on_spark(
    session: Session, folder: Path, tables: Mapping[str, Rows], policy: Callable[[Callable[[str], Source]], Policy]
) -> Iterator[tuple[Engine, Policy]]:
    """Spark, over Parquet files."""
    for name, table in arrow(tables).items():
        pq.write_table(table, folder / f"{name}.parquet")
    stated = policy(lambda name: Source("spark", MASTER, str(folder / f"{name}.parquet")))
    with SparkEngine.register(stated, session=session) as engine:
        yield Remembering(engine), stated
