"""Discovering: which tables are in these files, and what are their columns called? For `tacit init`.

Promise: names and types only, and how a CSV file is written. Columns of CSV and JSON lines are all text: they state no
types, and the owner has to say what the text means. Rows are looked at for this alone (`detect`), by the owner alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from tacit.engines import detect
from tacit.engines.duckdb.interrupts import as_keyboard_interrupts
from tacit.engines.postgres import sources as postgres_sources
from tacit.engines.sources import files_of, kind_of, open_relation
from tacit.errors import EngineError
from tacit.policy.check import Schema
from tacit.policy.policy import Source
from tacit.policy.read import format_of


@as_keyboard_interrupts()
def discover(paths: Iterable[str]) -> tuple[dict[str, Source], Schema]:
    """The tables in these files, by name, and their columns. A DuckDB file may hold several, a database alone all."""
    import duckdb

    found: dict[str, Source] = {}
    for path in (paths := list(paths)):
        if format_of(path) == "postgres":
            if len(paths) > 1:
                raise EngineError("All tables of a policy are in one PostgreSQL database: name it alone.")
            return postgres_sources.discover(path)
        if format_of(path) == "spark":
            if path != paths[0]:
                raise EngineError(f"The Spark session is named first: tacit init {path!r} visits.parquet")
            from tacit.engines.spark import engine as spark_engine

            return spark_engine.discover(path, paths[1:])
        for name, source in _tables(path):
            if name in found:
                raise EngineError(f"Two tables would both be called {name!r}: {found[name].path} and {path}.")
            found[name] = source
    with duckdb.connect() as connection:
        relations = {
            name: open_relation(connection, name, source, ".", named=_keys(source)) for name, source in found.items()
        }
    return found, {
        name: {column: kind_of(engine_type) for column, engine_type in relation.types.items()}
        for name, relation in relations.items()
    }


def _tables(path: str) -> list[tuple[str, Source]]:
    kind = format_of(path)
    if kind == "csv":
        files = files_of(Source("csv", path), ".")
        if not files:
            raise EngineError(f"The source cannot be read: {path}: there is no such file.")
        return [(_name(path), Source("csv", path, None, detect.csv_reading(files[0])))]
    if kind == "json":
        return [(_name(path), Source("json", path))]
    if kind == "parquet":
        return [(_name(path), Source("parquet", path))]
    if kind == "duckdb":
        return [(name, Source("duckdb", path, name)) for name in _inside(path)]
    endings = ".duckdb, .csv, .tsv, .jsonl, .ndjson, .parquet"
    raise EngineError(f"The kind of {path} is not known. Endings: {endings}; or postgres:$NAME.")


def _keys(source: Source) -> list[str]:
    return detect.json_keys(files_of(source, ".")) if source.format == "json" else []


def _inside(path: str) -> list[str]:
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as connection:
            rows = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"
            ).fetchall()
    except duckdb.Error:
        raise EngineError(f"The DuckDB file cannot be read: {path}. It must exist and not be in use.") from None
    return [str(name) for (name,) in rows]


def _name(path: str) -> str:
    stem = PurePath(path).name.split(".")[0]
    return re.sub(r"\W+", "_", stem).strip("_") or "table"
