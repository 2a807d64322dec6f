"""Exact results of the pushed-down query on neighbours never differ by more than the plan says.

Random tables, policies and questions; every unit of a table is taken away in turn, so one case gives several pairs.
`TACIT_CASES` sets how many random cases are tried (each with up to six pairs); other engines, which take longer, get a
part of them. `soak.py` runs as many as one has time for.
"""

from __future__ import annotations

import datetime
import os
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tacit.errors import QuestionError
from tacit.plan import make_plan
from tacit.policy import Column, Policy, Table
from tacit.question import read
from tacit.question.functions import CURVES
from tests.plan.changes import check_neighbours
from tests.plan.copies import clinic, public, table
from tests.plan.worlds import Store

CASES = int(os.environ.get("TACIT_CASES", "16"))
PHASES = tuple(phase for phase in Phase if phase != Phase.shrink or os.environ.get("TACIT_SHRINK") != "off")
WORDS = ("a", "b", "", "Ä", "long word")


@st.composite
def columns(draw: st.DrawFn) -> list[Column]:
    """A column of every kind, with drawn bounds."""
    low = draw(st.sampled_from([-(2**40), -1000, -3, -1, 0, 1, 7]))
    width = draw(st.sampled_from([0, 1, 2, 9, 250, 2**41]))
    real_low = draw(st.sampled_from([Fraction(-5, 2), Fraction(0), Fraction(10**6)]))
    real_width = draw(st.sampled_from([Fraction(1, 1000), Fraction(3), Fraction(10**9)]))
    nullable = draw(st.booleans())
    known = draw(st.sampled_from([None, ("a", "b"), ("a",)]))
    first = draw(st.sampled_from([datetime.date(1, 1, 1), datetime.date(1969, 12, 30), datetime.date(2023, 5, 17)]))
    last = first + datetime.timedelta(days=draw(st.sampled_from([0, 3, 45, 800])))
    utc = datetime.UTC
    return [
        Column("i", "integer", low, low + width, nullable=nullable),
        Column("j", "integer", -2, 2, nullable=draw(st.booleans())),
        Column("x", "real", real_low, real_low + real_width, nullable=nullable),
        Column("t", "text", values=known, nullable=draw(st.booleans())),
        Column("b", "boolean", nullable=draw(st.booleans())),
        Column("d", "date", first, last, nullable=nullable),
        Column(
            "s",
            "timestamp",
            datetime.datetime(first.year, first.month, first.day, tzinfo=utc),
            datetime.datetime(last.year, last.month, last.day, 23, 59, 59, 999999, tzinfo=utc),
            nullable=draw(st.booleans()),
        ),
        Column("u", "integer", nullable=nullable),
    ]


def values(column: Column) -> st.SearchStrategy[Any]:
    """Grid values a working copy may hold; often at a bound."""
    some: st.SearchStrategy[Any]
    if column.kind == "text":
        some = st.sampled_from(WORDS if column.values is None else column.values)
    elif column.grid_lower is None or column.grid_upper is None:
        some = st.sampled_from([-(2**63), 2**63 - 1, 0, 1, -1, 42, 10**18])
    else:
        low, high = column.grid_lower, column.grid_upper
        some = st.one_of(st.sampled_from([low, high, (low + high) // 2]), st.integers(low, high))
    return st.none() | some if column.nullable else some


@st.composite
def policies(draw: st.DrawFn) -> tuple[Policy, Table, list[dict[str, Any]], list[dict[str, Any]]]:
    """A policy, its private table, and rows for it and for the public table."""
    rows_per_unit = draw(st.integers(1, 4))
    private = table("p", draw(columns()), unit="who", rows=rows_per_unit)
    other = public("o", [Column("t", "text"), Column("v", "integer", -9, 9), Column("w", "text", values=("n", "s"))])
    rows = []
    for unit in range(draw(st.integers(1, 5))):
        for rank in range(draw(st.integers(1, rows_per_unit))):
            content = {name: draw(values(column)) for name, column in private.columns.items()}
            rows.append({"tacit_unit": unit, "tacit_rank": rank + 1, **content})
    # a public table that keeps no promise: values out of bounds, and keys that come again
    outside = st.fixed_dictionaries(
        {"t": st.sampled_from([*WORDS, None]), "v": st.sampled_from([-9, 0, 9, 99, None]), "w": st.sampled_from("nsz")}
    )
    return clinic(private, other), private, rows, draw(st.lists(outside, max_size=5))


NUMBERS = st.recursive(
    st.sampled_from(
        [
            "i",
            "j",
            "x",
            "o.v",
            "u",
            "2",
            "-3",
            "0.1",
            "length(p.t)",
            "year(d)",
            "month(s)",
            "hour(s)",
            "(d - DATE '2020-02-29')",
            "week(d)",
            "second(s)",
            "strpos(p.t, 'o')",
            "date_diff('month', d, s)",
            "date_diff('hour', s, d)",
            "date_diff('year', DATE '2020-02-29', d)",
            "(epoch(s) - 1600000000)",
            "(last_day(d) - d)",
            "(d + INTERVAL 1 MONTH - d)",
            "length(p.t || i)",
        ]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda parts: "({} {} {})".format(*parts)),
        st.tuples(inner, inner).map(lambda parts: "({} // {})".format(*parts)),
        st.tuples(st.sampled_from(["floor", "ceil", "abs", "sign", "round", "-"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
        inner.map(lambda one: f"round({one}, 1)"),
        st.tuples(st.sampled_from([*CURVES, "trunc"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        inner.map(lambda one: f"exp(least({one}, 3))"),
        inner.map(lambda one: f"width_bucket({one}, -1, 2.5, 4)"),
        inner.map(lambda one: f"power({one}, 2)"),
        st.tuples(inner, inner).map(lambda p: f"coalesce({p[0]}, {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"least({p[0]}, {p[1]}, 10)"),
        st.tuples(inner, inner).map(lambda p: f"greatest({p[0]}, {p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"CASE WHEN {p[0]} > {p[1]} THEN {p[2]} ELSE {p[0]} END"),
        st.tuples(inner, inner).map(lambda p: f"nullif({p[0]}, {p[1]})"),
    ),
    max_leaves=5,
)
CONDITIONS = st.recursive(
    st.one_of(
        st.tuples(NUMBERS, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), NUMBERS).map(" ".join),
        st.sampled_from(
            [
                "b",
                "b IS NULL",
                "p.t = 'a'",
                "p.t LIKE '%o%'",
                "p.t IN ('a', '')",
                "j IN (0, 1.5, 2)",
                "d > '2023-05-18'",
                "x BETWEEN 0 AND 1",
                "s < TIMESTAMP '2023-05-18 12:00:00'",
                "i % 2 = 0",
                "1 / (j - 1) > 0",
                "p.t NOT LIKE 'a%'",
                "i IS DISTINCT FROM j",
                "d + INTERVAL 10 DAY > '2023-05-18'",
                "s - INTERVAL 1 MONTH < TIMESTAMP '2023-05-18 12:00:00'",
                "s + INTERVAL 90 MINUTE > d",
                "trim(p.t) || j = 'a1'",
                "replace(p.t, 'o', '00') = 'l00ng w00rd'",
                "sqrt(x) > 1",
            ]
        ),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda p: "({} {} {})".format(*p)),
        inner.map(lambda one: f"NOT ({one})"),
    ),
    max_leaves=3,
)
AGGREGATES = st.one_of(
    st.sampled_from(["count(*)", "count(DISTINCT who)", "count(i)", "count(p.t)", "sum(b)", "avg(j)"]),
    CONDITIONS.map(lambda condition: f"count(DISTINCT who) FILTER (WHERE {condition})"),
    st.tuples(st.sampled_from(["sum", "avg", "count", "variance", "stddev_pop"]), NUMBERS).map(
        lambda p: f"{p[0]}({p[1]})"
    ),
    st.tuples(NUMBERS, CONDITIONS).map(lambda p: f"sum({p[0]}) FILTER (WHERE {p[1]})"),
)
KEYS = st.sampled_from(
    [
        "p.t",
        "b",
        "j",
        "d",
        "floor(i / 10) * 10",
        "date_trunc('month', d)",
        "date_trunc('week', s)",
        "year(d)",
        "dayofweek(d)",
        "o.w",
        "u",
        "upper(p.t)",
        "floor(x)",
        "CASE WHEN j > 0 THEN 'up' ELSE 'down' END",
        "substring(p.t, 1, 1)",
        "i > 0",
        "minute(s)",
        "strftime(d, '%Y-%m')",
        "strftime(s, '%H:%M')",
        "d + INTERVAL 1 MONTH",
        "last_day(s)",
        "date_trunc('hour', s)",
        "dayname(d)",
        "p.t || '-' || j",
        "concat(p.t, b)",
        "right(p.t, 2)",
        "width_bucket(x, 0, 3, 3)",
        "floor(ln(i))",
        "trunc(x)",
    ]
)


@st.composite
def questions(draw: st.DrawFn) -> str:
    """A question about p, joined with o or not."""
    outputs = ", ".join(draw(st.lists(AGGREGATES, min_size=1, max_size=3)))
    where = draw(st.none() | CONDITIONS)
    keys = draw(st.lists(KEYS, max_size=2, unique=True))
    joined = draw(st.sampled_from(["", " JOIN o ON p.t = o.t", " LEFT JOIN o ON p.t = o.t"]))
    if not joined and "o." in f"{outputs} {where} {keys}":
        joined = " LEFT JOIN o ON o.t = p.t AND p.j = o.v"
    text = f"SELECT {outputs} FROM p{draw(st.sampled_from(['', '(tacit_rows_per_unit => 1)']))}{joined}"
    text += f" WHERE {where}" if where else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def compare(
    store: Store, made: tuple[Policy, Table, list[dict[str, Any]], list[dict[str, Any]]], asked: list[str]
) -> int:
    """Ask the questions with every unit taken away in turn; how many pairs of neighbours were compared."""
    policy, private, rows, public_rows = made
    store.load(policy, {private.name: rows, "o": public_rows})
    pairs = 0
    for text in asked:
        try:
            plan = make_plan(read(text), policy, epsilon=1, delta="1/1000000")
        except QuestionError:
            continue
        note(text)
        note(plan.query.text())
        pairs += check_neighbours(store, plan, sorted({row["tacit_unit"] for row in rows}))
    return pairs


CASE = (policies(), st.lists(questions(), min_size=3, max_size=3))


@settings(max_examples=CASES, phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(*CASE)
def test_neighbours_never_differ_by_more_than_the_planned_sensitivity(
    views: Store, made: Any, asked: list[str]
) -> None:
    compare(views, made, asked)


@settings(max_examples=max(1, CASES // 8), phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(*CASE)
def test_neighbours_on_postgresql_never_differ_by_more(postgres_worlds: Store, made: Any, asked: list[str]) -> None:
    compare(postgres_worlds, made, asked)


@pytest.mark.spark
@settings(max_examples=max(1, CASES // 10), phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(*CASE)
def test_neighbours_on_spark_never_differ_by_more(spark_worlds: Store, made: Any, asked: list[str]) -> None:
    compare(spark_worlds, made, asked)
