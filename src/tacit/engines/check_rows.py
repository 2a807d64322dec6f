"""Where the rows are that `quality` counts: files and frames by DuckDB, tables of PostgreSQL, sources of Spark.

NOT FOR RELEASE, like all that `quality` says. Rows are read where they lie; nothing is written, nothing is kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tacit.engines import quoting
from tacit.engines.duckdb.registration import DuckDBFlavour
from tacit.engines.quality import Quality, Reader, table_quality
from tacit.engines.secret import Secret
from tacit.errors import EngineError
from tacit.policy.policy import Policy

_UNREAD: Final = "The tables could not be read through. They must be whole and at rest."
_WEEK: Final = 7 * 86_400.0
_MOST: Final = 1_000_000  # values of one_of that may occur


def quality(policy: Policy, frames: Mapping[str, Any] | None = None) -> Quality:
    """Read every row, and count."""
    formats = {table.source.format for table in policy.tables.values()}
    if "postgres" in formats:
        return _of_postgres(policy)
    return _of_spark(policy) if "spark" in formats else _of_files(policy, frames or {})


def _of_files(policy: Policy, frames: Mapping[str, Any]) -> Quality:
    import duckdb

    from tacit.engines.duckdb import working_copy

    try:
        with duckdb.connect() as connection, tempfile.TemporaryDirectory(prefix="tacit-") as workshop:
            connection.execute("SET TimeZone = 'UTC'")
            relations = working_copy.relations_of(connection, policy, frames)
            relations = working_copy.prepared(connection, policy, relations, Path(workshop))
            flavour = DuckDBFlavour(Secret.in_memory())
            return _all(policy, relations, Reader(_fetched(connection), flavour, quoting.double))
    except duckdb.Error:
        raise EngineError(_UNREAD) from None


def _of_postgres(policy: Policy) -> Quality:
    from tacit.engines.postgres.connection import address_of, connect, library
    from tacit.engines.postgres.copy import FRESH, PostgresFlavour
    from tacit.engines.postgres.sources import relations_of

    def double(value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE PRECISION)"

    try:
        with connect(address_of(policy)) as connection:
            relations = relations_of(connection, policy)
            with connection.transaction():  # all counts are of one moment
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                return _all(policy, relations, Reader(_fetched(connection), PostgresFlavour(FRESH), double))
    except library().Error:
        raise EngineError(_UNREAD) from None


def _of_spark(policy: Policy) -> Quality:
    from tacit.engines.spark import describing
    from tacit.engines.spark import quoting as spark_quoting
    from tacit.engines.spark.engine import Session
    from tacit.engines.spark.registration import SparkFlavour, in_backticks
    from tacit.engines.spark.sources import master_of

    session = Session(master_of(policy))

    def rows(sql: str) -> list[list[object]]:
        try:
            return list(session.worker.ask({"task": "look", "sql": in_backticks(sql), "most": _MOST}, _WEEK)["rows"])
        except EngineError:
            raise EngineError(_UNREAD) from None

    try:
        relations = {name: each.relation for name, each in describing.describe(policy, session.worker).items()}
        return _all(policy, relations, Reader(rows, SparkFlavour(Secret.in_memory()), spark_quoting.double))
    finally:
        session.close()


def _fetched(connection: Any) -> Callable[[str], Sequence[Sequence[Any]]]:
    return lambda sql: connection.execute(sql).fetchall()


def _all(policy: Policy, relations: Mapping[str, Any], reader: Reader) -> Quality:
    return Quality(tuple(table_quality(reader, policy, each, relations) for each in policy.tables.values()))
