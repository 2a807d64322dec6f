"""The engine: where the rows of a policy live, whatever its name. All tables of one policy live on one engine.

Promise: what follows holds for every engine. Opening one reads rows and may refuse in words, because only the owner
opens it. `is_stale` and `fingerprint` are asked before the charge. `run` is called after it, and either returns an
`Exact` or raises one fixed `EngineError`, the same for every cause; so does the result of `moment`, in which several
queries see the same rows. The plan is the same for all engines; where an engine's SQL differs, `dialects` translates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, TypeAlias

from sqlglot import exp

from tacit.engines.duckdb.working_copy import Progress
from tacit.engines.exact import Exact
from tacit.policy.check import Schema
from tacit.policy.policy import Policy

STALE: Final = "A source changed since it was registered. Open the policy again to register it anew."


class Pushed(Protocol):
    """What an engine needs of a plan's query: its tree, and which of its columns are keys and which measures."""

    @property
    def ast(self) -> exp.Expr:
        """The query over the working copy."""
        ...

    @property
    def key_columns(self) -> Sequence[str]:
        """Names of the columns that hold group keys."""
        ...

    @property
    def measure_columns(self) -> Sequence[str]:
        """Names of the columns that hold whole numbers."""
        ...

    @property
    def few(self) -> bool:
        """Whether public facts say that the result has few rows."""
        ...


Run: TypeAlias = Callable[[Pushed], Exact]


class Engine(Protocol):
    """The tables of one policy, ready to be asked."""

    def schema(self) -> Schema:
        """Names and kinds of the columns of each table's source."""
        ...

    def fingerprint(self) -> str:
        """A digest that changes when a source does. Nothing in it was computed from a row."""
        ...

    def is_stale(self) -> bool:
        """Whether a source changed since this engine was made. Call this before the charge."""
        ...

    def expect(self, query: Pushed) -> None:
        """A query that may be run soon: its text may be read now, but no row or statistic of a table. Never refuses.

        Call this before the charge.
        """
        ...

    def run(self, query: Pushed) -> Exact:
        """The exact result of a query that has been paid for."""
        ...

    def moment(self) -> AbstractContextManager[Run]:
        """Runs queries that all see the rows of one moment."""
        ...

    def widen(self, workers: int) -> None:
        """Be ready to run this many queries at once, where the engine can."""
        ...

    def close(self) -> None:
        """Close everything."""
        ...


def open_engine(
    policy: Policy,
    *,
    frames: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    anew: bool = False,
) -> Engine:
    """The engine on which this policy's tables live, over a current working copy; or over one that is made `anew`."""
    if _on(policy, "postgres"):
        from tacit.engines.postgres.engine import PostgresEngine

        return PostgresEngine.register(policy, progress=progress, anew=anew)
    if _on(policy, "spark"):
        from tacit.engines.spark.engine import SparkEngine

        return SparkEngine.register(policy, progress=progress, anew=anew)
    from tacit.engines.duckdb.engine import DuckDBEngine

    return DuckDBEngine.register(policy, frames=frames, progress=progress, anew=anew)


def describe(policy: Policy) -> Schema:
    """The names and kinds of the columns behind each table of the policy. Reads no row."""
    if _on(policy, "postgres"):
        from tacit.engines.postgres import sources as postgres_sources

        return postgres_sources.describe(policy)
    if _on(policy, "spark"):
        from tacit.engines.spark import engine as spark_engine

        return spark_engine.describe(policy)
    from tacit.engines.duckdb import working_copy

    return working_copy.describe(policy, {})


def _on(policy: Policy, kind: str) -> bool:
    return any(table.source.format == kind for table in policy.tables.values())
