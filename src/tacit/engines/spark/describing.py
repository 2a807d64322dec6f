"""Describing Spark's sources: their columns and types, and every refusal that is possible before a question is asked.

Promise: `describe` reads no row (of CSV, the first line of a file). It refuses in words, by names and types alone:
columns that could be mistaken for each other, keys that Spark compares otherwise than by their text, formats in which
one row decides how others are read, views that take rows by number or by chance. `check_values` looks at rows, for the
owner who registers them, and refuses what cannot be read or told apart.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `spark.quoting`

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tacit.engines import quoting as names_quoting
from tacit.engines.process import Worker
from tacit.engines.sources import Relation, distinct_names, kind_of
from tacit.engines.spark import csv as spark_csv
from tacit.engines.spark import keys as spark_keys
from tacit.engines.spark import quoting, sources
from tacit.engines.spark.cleaning import engine_type
from tacit.engines.spark.registration import in_backticks
from tacit.errors import EngineError, PolicyError
from tacit.policy.check import Schema
from tacit.policy.policy import Policy, Source

_WEEK: Final = 7 * 86_400.0
_LINES: Final = 100_000  # blocks of files that a survey may report
_REASONS: Final[Mapping[str, str]] = {
    "PATH_NOT_FOUND": "there is no such file or folder.",
    "TABLE_OR_VIEW_NOT_FOUND": "there is no such table or view, or you may not see it.",
    "SCHEMA_NOT_FOUND": "there is no such schema.",
    "UNABLE_TO_INFER_SCHEMA": "there are no files in it.",
    "CANNOT_MERGE_SCHEMAS": "its files do not agree on the type of a column. Write them anew with one type.",
    "FOLDER_REPEATS_COLUMN": "folders such as 'column=value' name a column that the files have as well. Rename one.",
    "BY_CHANCE": "it is a view that takes rows by chance or by number (rand, TABLESAMPLE, LIMIT): then what is seen of "
    "one person depends on others. Leave that out of the view.",
    "COLUMN_ALREADY_EXISTS": "it has two columns whose names differ in case only, or not at all. Which is meant "
    "cannot be told: rename one of them in the source.",
}


@dataclass(frozen=True, slots=True)
class Described:
    """A source that the session can read, with Spark's own names of its types. For CSV, its first line too."""

    relation: Relation
    types: Mapping[str, str]
    source: Source
    view: str
    line: str | None = None


def describe(policy: Policy, worker: Worker) -> dict[str, Described]:
    """Each source as a relation of the worker's session."""
    found = {
        name: look_at(name, table.source, policy.directory, worker, f"tacit_source_{number}")
        for number, (name, table) in enumerate(policy.tables.items())
    }
    spark_keys.check(policy, {name: each.types for name, each in found.items()})
    _refuse_collations(policy, found)
    return found


def look_at(table: str, source: Source, directory: str, worker: Worker, view: str) -> Described:
    """One source as a relation of the worker's session."""
    kind, place = sources.place_of(source, directory)
    try:
        reply = worker.ask({"task": "describe", "view": view, "kind": kind, "place": place}, _WEEK)
    except EngineError:
        raise _cannot(table, source, "") from None
    if reply.get("problem") is not None:
        raise _cannot(table, source, str(reply["problem"]))
    if kind == "csv":
        return _csv(table, source, worker, view)
    columns = [(str(name), str(found)) for name, found in reply["columns"]]
    distinct_names(table, [name for name, _ in columns])
    types = dict(columns)
    return Described(Relation(view, {name: engine_type(found) for name, found in types.items()}), types, source, view)


def schema_of(found: Mapping[str, Described]) -> Schema:
    """Names and kinds of the sources' columns."""
    return {
        name: {column: kind_of(held) for column, held in each.relation.types.items()} for name, each in found.items()
    }


def check_values(policy: Policy, found: Mapping[str, Described], worker: Worker) -> None:
    """Refuse lines of CSV that cannot be read, and units that a float cannot tell apart."""
    for name, each in found.items():
        if each.line is not None:
            spark_csv.check(name, each.source)
            columns = list(each.types)
            sql = spark_csv.survey(each.view, each.source.reading, columns, each.line)
            labels = ("file", "block", "lines", "first", *spark_csv.PROBLEMS)
            blocks = [dict(zip(labels, row, strict=True)) for row in _rows(name, worker, sql, _LINES)]
            spark_csv.refuse_problems(name, blocks)
    for each_float in spark_keys.floats(policy, {name: each.types for name, each in found.items()}):
        key = each_float.key
        relation = found[key.table].relation
        number = f"abs(CAST({names_quoting.identifier(relation.name_of(key.column))} AS DOUBLE))"
        far = f"{number} >= {quoting.double(float(each_float.limit))} AND {number} < {quoting.double(float('inf'))}"
        if _rows(key.table, worker, in_backticks(f"SELECT 1 AS far FROM {relation.sql} WHERE {far}"), 1):
            raise each_float.refusal()


def _csv(table: str, source: Source, worker: Worker, view: str) -> Described:
    spark_csv.check(table, source)
    lines = _rows(table, worker, spark_csv.first_line(view, source.reading), 1)
    if not lines:
        raise _cannot(table, source, "", "it has no line that names the columns.")
    line = str(lines[0][0])
    names = distinct_names(table, spark_csv.names_of(table, line, source.reading))
    rows = spark_csv.rows(view, source.reading, names, line)
    return Described(
        Relation(rows, dict.fromkeys(names, "VARCHAR")), dict.fromkeys(names, "string"), source, view, line
    )


def _rows(table: str, worker: Worker, sql: str, most: int) -> list[list[object]]:
    try:
        return list(worker.ask({"task": "look", "sql": sql, "most": most}, _WEEK)["rows"])
    except EngineError:
        raise EngineError(
            f"The source of table {table!r} cannot be read. It must be whole, readable by you and not change meanwhile."
        ) from None


def _refuse_collations(policy: Policy, found: Mapping[str, Described]) -> None:
    """A column that Spark groups by a collation would be grouped by bytes here, so it is refused."""
    for name, table in policy.tables.items():
        for column in table.columns:
            held = found[name].types.get(found[name].relation.name_of(column), "")
            if held.lower().startswith("string collate"):
                raise PolicyError(
                    f"tables.{name}.columns.{column}: the source holds a {held}, in which Spark takes texts for equal "
                    f"that are written differently. Make it a plain STRING there, such as lower({column})."
                )


def _cannot(table: str, source: Source, problem: str, reason: str = "") -> EngineError:
    if problem.startswith("UNREADABLE_FORMAT "):
        reason = (
            f"it is stored as {problem.removeprefix('UNREADABLE_FORMAT ')}, of which one row can change how others are "
            "read. Make it a table of Parquet, ORC, Delta or Iceberg."
        )
    reason = reason or _REASONS.get(problem.split(".")[0], f"Spark says {problem}." if problem else "")
    hint = f"The Spark session {source.path} must find it, as a table of its catalog, Parquet or CSV."
    return EngineError(f"The source of table {table!r} cannot be read: {source.table}. {reason or hint}")
