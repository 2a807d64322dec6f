"""Every function keeps the invariants of `values` on every row: no error, within bounds, of known values, NULL as said.

Random policies and rows, often at the bounds; and the curves beside Python's own.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.errors import QuestionError
from tacit.plan.values.clock import add_months
from tacit.plan.values.float_functions import curved, width_bucket
from tacit.plan.values.intervals import Interval
from tacit.plan.values.scope import Place, Scope, quoted, table_columns
from tacit.plan.values.translate import value_of
from tacit.plan.values.value import Number, Text, Truth, constant
from tacit.policy import Column, Table
from tacit.question import read, tree
from tacit.question.functions import CURVES
from tests.plan.copies import table
from tests.plan.test_neighbours import CONDITIONS, KEYS, NUMBERS, columns, values

CASES = int(os.environ.get("TACIT_CASES", "16"))
EXPRESSIONS = st.one_of(NUMBERS, KEYS, CONDITIONS).filter(lambda text: "o." not in text)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    found = duckdb.connect(":memory:", config={"threads": 1})
    yield found
    found.close()


def scope_of(each: Table) -> Scope:
    """The table p alone."""
    return Scope({"p": Place("p", "p", quoted("p"), table_columns(each, "p"), 1)})


def resolved(text: str) -> tree.Scalar:
    """The expression with every name in p."""
    asked = read(f"SELECT count(*) FROM p GROUP BY {text}").keys[0].expression
    return tree.rewrite(asked, lambda node: tree.Name("p", node.column) if isinstance(node, tree.Name) else None)


def check_rows(connection: duckdb.DuckDBPyConnection, each: Table, text: str) -> bool:
    """The expression's value on every row of p; false where it is refused."""
    try:
        value = value_of(resolved(text), scope_of(each))
    except QuestionError:
        return False
    sql = value.sql.sql(dialect="duckdb")
    for found, kind in connection.execute(f"SELECT x, typeof(x) FROM (SELECT {sql} AS x FROM p)").fetchall():
        check(value, found, kind, f"{text}: {sql}")
    return True


AT_ENDS = (
    *(f"d + INTERVAL {n} MONTH" for n in (1, 7, 24)),
    *(f"s - INTERVAL {n} {unit}" for n in (1, 5) for unit in ("MONTH", "YEAR", "WEEK", "HOUR")),
    *(f"date_diff('{unit}', DATE '2000-02-29', d)" for unit in ("day", "month", "quarter", "year", "hour")),
    *(f"date_diff('{unit}', s, DATE '2024-02-29')" for unit in ("day", "month", "minute", "second")),
    *(f"date_trunc('{unit}', s)" for unit in ("hour", "minute", "second")),
    *(f"strftime({name}, '{form}')" for name in "ds" for form in ("%Y-%m", "%d.%m.", "%j", "%Y %H")),
    *(f"{name}(i)" for name in (*CURVES, "trunc") if name != "exp"),
    *(f"{name}(x)" for name in (*CURVES, "trunc")),
    "exp(least(i, 20))",
    "width_bucket(i, 0, 10, 7)",
    "width_bucket(x, 0.1, 2.9, 3)",
    "last_day(d)",
    "last_day(s)",
    "week(d)",
    "second(s)",
    "epoch(s)",
    "dayname(d)",
    "monthname(s)",
    "t || j",
    "concat(t, b, j)",
    "CAST(d AS VARCHAR)",
    "right(t, 1)",
    "ltrim(t, 'a')",
    "replace(t, 'a', 'bb')",
    "strpos(t, 'b')",
)
SPANS = (
    (datetime.date(2024, 1, 31), datetime.date(2024, 1, 31)),
    (datetime.date(2023, 11, 30), datetime.date(2024, 3, 1)),
    (datetime.date(1969, 12, 31), datetime.date(1970, 1, 1)),
    (datetime.date(1900, 2, 28), datetime.date(2100, 3, 1)),
)


@pytest.mark.parametrize("span", SPANS, ids=str)
@pytest.mark.parametrize("nullable", [False, True])
def test_values_at_the_ends_of_their_columns_are_within_bounds(
    connection: duckdb.DuckDBPyConnection, span: tuple[datetime.date, datetime.date], nullable: bool
) -> None:
    first, last = (datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC) for day in span)
    each = table(
        "p",
        [
            Column("i", "integer", -5, 1000, nullable=nullable),
            Column("j", "integer", -2, 2, nullable=nullable),
            Column("x", "real", Fraction(-1), Fraction(3), nullable=nullable),
            Column("t", "text", values=("a", "ab", ""), nullable=nullable),
            Column("b", "boolean", nullable=nullable),
            Column("d", "date", *span, nullable=nullable),
            Column("s", "timestamp", first, last + datetime.timedelta(hours=23, minutes=59), nullable=nullable),
        ],
        unit="who",
        rows=1,
    )
    listed = {name: ends(column) for name, column in each.columns.items()}
    most = max(map(len, listed.values()))
    fill(connection, each, [{name: found[row % len(found)] for name, found in listed.items()} for row in range(most)])
    for text in AT_ENDS:
        assert check_rows(connection, each, text), text


def ends(column: Column) -> list[Any]:
    """Both ends, what lies beside them, and zero; NULL where there can be one."""
    missing = [None] if column.nullable else []
    if column.kind == "text":
        return [*(column.values or ()), *missing]
    low, high = column.grid_lower, column.grid_upper
    assert low is not None
    assert high is not None
    some = {min(max(point, low), high) for point in (low, low + 1, -1, 0, 1, (low + high) // 2, high - 1, high)}
    return [*sorted(some), *missing]


def fill(connection: duckdb.DuckDBPyConnection, each: Table, rows: list[dict[str, Any]]) -> None:
    """The table p, of grid values."""
    kinds = {name: "VARCHAR" if column.kind == "text" else "BIGINT" for name, column in each.columns.items()}
    connection.execute(f"CREATE OR REPLACE TABLE p ({', '.join(f'{n} {k}' for n, k in kinds.items())})")
    marks = ", ".join("?" for _ in kinds)
    connection.executemany(f"INSERT INTO p VALUES ({marks})", [[row[name] for name in kinds] for row in rows])


def check(value: Any, found: Any, kind: str, text: str) -> None:
    """One row's value against its description."""
    if found is None:
        assert value.nullable, text
    elif isinstance(value, Number):
        assert kind == ("HUGEINT" if value.wide else "BIGINT"), text
        assert value.bounds.low <= found <= value.bounds.high, text
        assert value.points is None or found in value.points, text
    elif isinstance(value, Text):
        assert kind == "VARCHAR", text
        assert value.values is None or found in value.values, text
        assert value.constant is None or found == value.constant, text
    else:
        assert isinstance(value, Truth), text
        assert kind == "BOOLEAN", text


TRUE = {"sqrt": math.sqrt, "ln": math.log, "log10": math.log10, "log2": math.log2, "exp": math.exp}
"""Python's own curves, which raise a ValueError outside their domain."""


def true_value(function: str, exact: Fraction) -> float | None:
    try:
        return TRUE[function](exact)
    except ValueError:
        return None


@pytest.mark.parametrize("function", CURVES)
@pytest.mark.parametrize("step", ["1", "1/1024", "1/10"])
def test_a_curve_is_the_curve_to_the_grid(function: str, step: str) -> None:
    grid = Fraction(step)
    for place in (-300, -7, 0, 1, 5, 30, 1_000_000):
        number = constant(place, grid)
        exact = place * grid
        if function == "exp" and exact > 34:
            with pytest.raises(QuestionError, match="up to 34"):
                curved(function, CURVES[function], number)
            continue
        found = curved(function, CURVES[function], number)
        (raw,) = duckdb.execute(f"SELECT {found.sql.sql(dialect='duckdb')}").fetchall()[0]
        true = true_value(function, exact)
        if true is None:
            assert raw is None
            assert found.nullable
        else:
            assert abs(float(raw * found.step) - true) <= float(found.step) * 0.51 + 1e-12 * abs(true)
            assert found.step <= Fraction(1, 2**16) or abs(true) > 2**20


def test_a_bucket_is_counted_from_its_lower_edge() -> None:
    for place in range(-30, 60):
        found = width_bucket(constant(place), constant(-10), constant(20), constant(4))
        (raw,) = duckdb.execute(f"SELECT {found.sql.sql(dialect='duckdb')}").fetchall()[0]
        edges = (-10, -2.5, 5, 12.5, 20)
        assert raw == sum(place >= edge for edge in edges)
        assert found.bounds.contains(raw)


def test_months_are_added_as_the_engine_adds_them() -> None:
    for first in (
        datetime.date(1, 2, 1),
        datetime.date(1900, 1, 1),
        datetime.date(2023, 11, 1),
        datetime.date(2024, 1, 1),
    ):
        for days in (0, 27, 28, 29, 30, 59, 366):
            date = first + datetime.timedelta(days=days)
            for months in (-13, -1, 1, 2, 11, 12, 48):
                if date.year * 12 + date.month - 1 + months < 12:
                    with pytest.raises(ValueError, match="no such year"):
                        add_months(date, months)
                    continue
                text = f"SELECT CAST(DATE '{date.isoformat()}' + INTERVAL ({months}) MONTH AS DATE)"
                assert (add_months(date, months),) == duckdb.execute(text).fetchall()[0]


def test_bounds_of_a_bucket_follow_those_of_the_number() -> None:
    number = Number(constant(0).sql, Interval(0, 9))
    assert width_bucket(number, constant(0), constant(100), constant(10)).bounds == Interval(1, 1)
    assert width_bucket(number, constant(5), constant(8), constant(3)).bounds == Interval(0, 4)


@pytest.mark.parametrize("text", ["length(t)", "strpos(t, 'z')", "length(t || t)", "length(replace(t, 'y', 'yyy'))"])
def test_a_text_of_any_length_weighs_no_more_than_a_thousand(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    each = table("p", [Column("t", "text")], unit="who", rows=1)
    value = value_of(resolved(text), scope_of(each))
    assert isinstance(value, Number)
    assert value.bounds == Interval(0, 1000)
    connection.execute("CREATE OR REPLACE TABLE p AS SELECT repeat('y', 1500) || 'z' AS t")
    assert connection.execute(f"SELECT {value.sql.sql(dialect='duckdb')} FROM p").fetchone() == (1000,)


def test_a_long_text_is_cut_before_it_grows(connection: duckdb.DuckDBPyConnection) -> None:
    each = table("p", [Column("t", "text")], unit="who", rows=1)
    connection.execute("CREATE OR REPLACE TABLE p AS SELECT repeat('y', 1500) AS t")
    for text, length in (("t || '-' || t", 2001), ("replace(t, 'y', 'yyy')", 3000)):
        value = value_of(resolved(text), scope_of(each))
        assert connection.execute(f"SELECT length({value.sql.sql(dialect='duckdb')}) FROM p").fetchone() == (length,)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Table, list[dict[str, Any]], list[str]]:
    each = table("p", draw(columns()), unit="who", rows=1)
    rows = [{name: draw(values(column)) for name, column in each.columns.items()} for _ in range(4)]
    return each, rows, draw(st.lists(EXPRESSIONS, min_size=6, max_size=6))


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(cases())
def test_a_value_is_what_the_plan_says_of_it(
    connection: duckdb.DuckDBPyConnection, made: tuple[Table, list[dict[str, Any]], list[str]]
) -> None:
    each, rows, texts = made
    fill(connection, each, rows)
    for text in texts:
        check_rows(connection, each, text)
