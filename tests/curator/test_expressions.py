"""Ibis expressions are asked by the SQL that Ibis writes: what is answered is what DuckDB itself would answer."""

from __future__ import annotations

import datetime
import json
import math
import random
import sys
import types
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tacit.curator import Curator
from tacit.errors import QuestionError
from tacit.loss import Budget
from tacit.policy import ColumnUnit, Policy, Source, Table, anything, between, date_between, one_of
from tests.curator.ibis_expressions import TEXTS, expressions

WRITTEN: dict[str, str] = json.loads(TEXTS.read_text())
REFUSED = {
    "rows": "shows a single row's value",
    "histogram": "Over cannot stand",  # Ibis looks at the largest value of all rows first
    "sample": "SAMPLE is not understood",
    "argmax": "First is not understood",
    "string agg": "GroupConcat is not understood",
    "collect": "ArrayAgg is not understood",
    "cumulative": "Over cannot stand",
    "regex": "RegexpLike is not understood",
}
CHOSEN = ("median", "quantile", "min and max", "mode", "topk")
"""Answers that are chosen among values rather than computed; they have tests of their own."""
ANSWERED = sorted(set(WRITTEN) - set(REFUSED) - set(CHOSEN))


def visits() -> pa.Table:
    """Four visits of each of a hundred patients; charges have no half, which SQL's casts round to the even side."""
    draw = random.Random(5)
    first = datetime.datetime(2023, 1, 1)
    return pa.Table.from_pylist(
        [
            {
                "patient": row // 4,
                "sex": draw.choice(["F", "M", None]),
                "age": draw.choice([None, *range(111)]),
                "charge": draw.choice([None, *(number + 0.25 for number in range(1000))]),
                "day": first.date() + datetime.timedelta(days=draw.randrange(730)),
                "seen": first + datetime.timedelta(hours=draw.randrange(17000)),
                "ward": draw.choice(["A", "AB", "B"]),
                "member": draw.random() < 0.3,
            }
            for row in range(400)
        ]
    )


def wards() -> pa.Table:
    return pa.Table.from_pylist([{"ward": "A", "kind": "acute"}, {"ward": "B", "kind": "long"}])


@pytest.fixture(scope="module")
def clinic() -> Iterator[Curator]:
    """A curator with so much to spend that there is no noise to speak of."""
    facts: dict[str, tuple[Any, Any]] = {
        "sex": ("text", one_of("F", "M")),
        "age": ("integer", between(0, 110)),
        "charge": ("real", between(0, 1024)),
        "day": ("date", date_between("2023-01-01", "2024-12-31")),
        "seen": ("timestamp", between("2023-01-01T00:00:00", "2024-12-31T00:00:00")),
        "ward": ("text", one_of("A", "AB", "B")),
        "member": ("boolean", anything()),
    }
    columns = {name: stated.column(name, kind) for name, (kind, stated) in facts.items()}
    kinds = one_of("acute", "long").column("kind", "text")
    policy = Policy(
        "clinic",
        {
            "visits": Table("visits", Source("frame", "visits"), ColumnUnit("patient"), 4, columns),
            "wards": Table(
                "wards", Source("frame", "wards"), None, 1, {"ward": columns["ward"], "kind": kinds}, public=True
            ),
        },
        Budget(10**12, "1/2"),
        largest_epsilon=Fraction(10**9),
    )
    with Curator(policy, frames={"visits": visits(), "wards": wards()}) as curator:
        yield curator


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.register("visits", visits())
    connection.register("wards", wards())
    return connection


def moment(value: datetime.date) -> datetime.datetime:
    """A date as its midnight; times are UTC."""
    return datetime.datetime.fromisoformat(value.isoformat()).replace(tzinfo=None)


def alike(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, datetime.date) and isinstance(theirs, datetime.date):
        return moment(ours) == moment(theirs)
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-5)
    return bool(ours == theirs)


@pytest.mark.parametrize("name", ANSWERED)
def test_the_answer_is_what_duckdb_computes_from_the_same_text(
    clinic: Curator, database: duckdb.DuckDBPyConnection, name: str
) -> None:
    # The covariance has the most noise for its tolerance: a scale of 1.3e-5 and 9.1e-3 allowed, which is e**-700.
    answer = clinic.ask(WRITTEN[name], 10**8, delta="1e-6")
    ours = list(zip(*(answer[column] for column in answer.names), strict=True))
    truth = database.execute(WRITTEN[name]).fetchall()
    found = [[row for row in ours if len(row) == len(true) and all(map(alike, row, true))] for true in truth]
    assert truth
    assert all(len(rows) == 1 for rows in found), (ours[:5], truth[:5])
    # a cell that is public and empty is shown too: its counts are 0, and it has no means
    empty = [row for row in ours if row not in [row for rows in found for row in rows]]
    assert all(any(value in (0, None) for value in row) for row in empty)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_understood_is_refused_in_words(clinic: Curator, name: str) -> None:
    with pytest.raises(QuestionError, match=REFUSED[name]):
        clinic.plan(WRITTEN[name], 1, delta="1e-6")


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("make_date(2024, 2, 29)", "DATE '2024-02-29'"),
        ("starts_with(ward, 'A')", "ward LIKE 'A%'"),
        ("contains(ward, 'A')", "ward LIKE '%A%'"),
        ("suffix(ward, 'A')", "ward LIKE '%A'"),
        ("power(age, 2)", "age * age"),
        ("age ** 3", "age * age * age"),
        (
            "substring(ward, CASE WHEN (0 + 1) >= 1 THEN 0 + 1 ELSE 0 + 1 + length(ward) END, 2)",
            "substring(ward, 1, 2)",
        ),
    ],
)
def test_other_words_mean_the_same(clinic: Curator, written: str, plain: str) -> None:
    texts = [f"SELECT count(*) FROM visits WHERE {each} IS NOT NULL" for each in (written, plain)]
    assert clinic.plan(texts[0], 1) == clinic.plan(texts[1], 1)


@pytest.mark.parametrize(
    "expression",
    [
        "make_date(2023, 2, 29)",
        "make_date(age, 1, 1)",
        "make_date(2023.5, 1, 1)",
        "make_timestamp(2023, 1, 1, 0, 0, 60)",
        "make_timestamp(2023, 1, 1, 25, 0, 0)",
        "make_timestamp(2023, 1, 1, 0, 0, 0.00000001)",
        "make_timestamp(9999, 12, 31, 23, 59)",
        "starts_with(ward, 'A%')",
        "contains(ward, '_')",
        "contains(ward, sex)",
        "suffix(ward, '\\')",
        "suffix(ward)",
        "power(age, 0.5)",
        "power(age, -1)",
        "power(age, 5)",
        "power(2, age)",
        "substring(ward, age, 2)",
    ],
)
def test_forms_that_would_not_mean_the_same_are_refused(clinic: Curator, expression: str) -> None:
    with pytest.raises(QuestionError):
        clinic.plan(f"SELECT count(*) FROM visits WHERE {expression} IS NOT NULL", 1)


def test_star_without_a_column_lacks_it(clinic: Curator) -> None:
    inside = "SELECT avg({}) FROM (SELECT * EXCLUDE (ward, AGE) FROM visits) v"
    assert clinic.plan(inside.format("charge"), 1)
    with pytest.raises(QuestionError, match="'age' is not in"):
        clinic.plan(inside.format("age"), 1)
    with pytest.raises(QuestionError, match="'wart' is not among the columns"):
        clinic.plan("SELECT count(*) FROM (SELECT * EXCLUDE (wart) FROM visits) v", 1)


class Made:
    """An object that looks as if Ibis had made it."""


class Unwritable(Made):
    """One that Ibis cannot write as SQL."""


Made.__module__ = Unwritable.__module__ = "ibis.expr.types.relations"


def test_an_expression_is_asked_by_the_text_that_its_library_writes(
    clinic: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = types.ModuleType("ibis")

    class IbisError(Exception):
        pass

    def to_sql(expression: object, *, dialect: str) -> str:
        assert dialect == "duckdb"
        if isinstance(expression, Unwritable):
            raise IbisError("no such thing")
        return "SELECT count(*) FROM visits"

    library.to_sql = to_sql  # type: ignore[attr-defined]
    library.common = types.SimpleNamespace(exceptions=types.SimpleNamespace(IbisError=IbisError))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ibis", library)
    assert clinic.plan(Made(), 1) == clinic.plan("SELECT count(*) FROM visits", 1)
    assert clinic.explain(Made(), 1) == clinic.explain("SELECT count(*) FROM visits", 1)
    assert str(clinic.estimate(Made(), 1)) == str(clinic.estimate("SELECT count(*) FROM visits", 1))
    with pytest.raises(QuestionError, match="Ibis could not write this Unwritable as SQL: no such thing"):
        clinic.plan(Unwritable(), 1)
    with pytest.raises(QuestionError, match="is a text in SQL"):
        clinic.plan(object(), 1)


def test_the_real_library_writes_what_is_answered(clinic: Curator) -> None:
    pytest.importorskip("ibis")
    for name, each in expressions().items():
        if name in REFUSED:
            with pytest.raises(QuestionError):
                clinic.plan(each, 1, delta="1e-6")
        elif name not in CHOSEN:
            assert clinic.plan(each, 1, delta="1e-6")
