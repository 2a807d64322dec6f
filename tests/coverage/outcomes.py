"""Asking the list: what came of each question, and whether an answer is what plain SQL says."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb

from tacit.curator import Curator
from tacit.errors import QuestionError
from tacit.question import read_asked, tree
from tests.coverage.questions import Asked
from tests.coverage.tables import tables
from tests.engines.conformance.engines import frames
from tests.engines.conformance.tables import Rows

TOLERANCE = 1e-3
"""The noise of ten million epsilon is far below; so is the grid of square roots and logarithms."""


def in_plain_duckdb(tables: Mapping[str, Rows]) -> duckdb.DuckDBPyConnection:
    """The tables for plain SQL."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    for name, table in frames(tables).items():
        connection.register(f"{name}_frame", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_frame")
    return connection


def plain() -> duckdb.DuckDBPyConnection:
    """The same tables for plain SQL. A diagnosis is the patient's whose visit it belongs to, as the policy says."""
    connection = in_plain_duckdb(tables())
    connection.execute("ALTER TABLE diagnoses ADD COLUMN patient_id BIGINT")
    connection.execute(
        "UPDATE diagnoses SET patient_id = v.patient_id FROM visits v WHERE v.visit_id = diagnoses.visit_id"
    )
    return connection


def asked(curator: Curator, question: Asked) -> list[tuple[Any, ...]] | str:
    """The rows of the answer, or why there is none."""
    try:
        answer = curator.ask(question.sql, question.price)
    except QuestionError as refused:
        return str(refused)
    return list(answer.rows())


def agrees(question: Asked, found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the rows of an answer are those of the plain query, in its order where it says one.

    An answer also lists known keys that no row has, so rows whose key the plain query does not know are passed over.
    """
    if " ORDER BY " in question.sql.rpartition(")")[2]:
        return len(found) == len(expected) and all(map(_alike, found, expected))
    left = list(found)
    for row in expected:
        place = next((place for place, other in enumerate(left) if _alike(other, row)), None)
        if place is None:
            return False
        del left[place]
    keys = keys_of(question)
    known = [tuple(row[place] for place in keys) for row in expected]
    return not left or not any(_alike(tuple(row[place] for place in keys), key) for row in left for key in known)


def keys_of(question: Asked) -> list[int]:
    """The places of the columns that are keys; none where there is no key, so that every row must be met."""
    asked = read_asked(question.sql)
    if isinstance(asked, tree.United):
        return []
    outputs = enumerate(asked.outputs)
    return [
        place
        for place, output in outputs
        if not any(isinstance(node, (tree.Aggregate, tree.Over)) for node in tree.walk(output.expression))
    ]


def wrong(
    curator: Curator, question: Asked, connection: duckdb.DuckDBPyConnection
) -> tuple[list[tuple[Any, ...]] | str, str | None]:
    """What came of a question, and what is wrong with it."""
    found = asked(curator, question)
    if isinstance(found, str):
        return found, None if question.refused else f"it is refused: {found}"
    if question.refused:
        return found, "it is answered"
    if question.plain:
        expected = connection.execute(question.plain).fetchall()
        if not agrees(question, found, expected):
            return found, f"it says {sorted(found, key=str)[:8]}, and plain SQL {sorted(expected, key=str)[:8]}"
    return found, None


def _alike(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(row) == len(other) and all(map(_close, row, other))


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is None and other is None
    if isinstance(other, dict):  # an answer also shows bins that no row has
        shown = {label: number for label, number in one.items() if round(number)}
        return shown.keys() == {label for label, number in other.items() if number} and all(
            _close(number, other[label]) for label, number in shown.items()
        )
    if isinstance(other, (list, tuple)):
        return _alike(tuple(one), tuple(other))
    if isinstance(other, (bool, int, float, Decimal)):
        return not isinstance(one, str) and math.isclose(float(one), float(other), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(other, datetime.datetime) and not isinstance(one, datetime.datetime):
        return bool(one == other.date())
    return bool(one == other)
