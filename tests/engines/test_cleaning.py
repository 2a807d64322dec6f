"""Cleaning against exact rationals, and the table of what counts as missing."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.engines import cleaning
from tacit.engines.duckdb.cleaning import WORDS
from tacit.engines.quoting import double, greatest_double_to, least_double_from
from tacit.policy import Column, Facts, anything, between, one_of
from tacit.policy.check import HOLDS
from tests.effort import tried

CONNECTION = duckdb.connect(config={"threads": 1})
CONNECTION.execute("SET TimeZone = 'UTC'")


def clean(column: Column, engine_type: str, values: list[Any]) -> list[Any]:
    """What the values become, in order."""
    CONNECTION.execute(f"CREATE OR REPLACE TEMP TABLE v (i INTEGER, raw {engine_type})")
    CONNECTION.executemany("INSERT INTO v VALUES (?, ?)", list(enumerate(values)))
    typed = cleaning.read(column, engine_type, "raw", WORDS)
    query = f"SELECT {cleaning.bound(column, 'typed', WORDS)} FROM (SELECT i, {typed} AS typed FROM v) ORDER BY i"
    return [value for (value,) in CONNECTION.execute(query).fetchall()]


def expected(column: Column, value: float) -> int | None:
    """The grid value in exact arithmetic."""
    if not math.isfinite(value):
        return None
    lower, upper, exact = Fraction(column.lower), Fraction(column.upper), Fraction(value)  # type: ignore[arg-type]
    if exact < lower:
        return None if column.outside == "drop" else math.floor(lower / column.step)
    if exact > upper:
        return None if column.outside == "drop" else math.ceil(upper / column.step)
    return math.floor(exact / column.step + Fraction(1, 2))


def around(column: Column, whole: int) -> list[float]:
    """Doubles at and next to a point half-way between two grid values."""
    middle = float((whole + Fraction(1, 2)) * column.step)
    return [math.nextafter(middle, -math.inf), middle, math.nextafter(middle, math.inf)]


def across(power: float) -> tuple[Column, list[float]]:
    """A range across a power of two far from zero, where doubles are half a step apart below and a step above."""
    column = between(Fraction(power - 1), Fraction(power + 1)).column("x", "real")
    return column, [power + eighths / 8 for eighths in range(-9, 10)]


# Ranges whose step would leave what a double can hold are refused by the policy: keep to those it takes.
def held(x: float) -> bool:
    return x == 0 or abs(x) > 1e-200


finite = st.floats(-1e200, 1e200).filter(held)
bounds = st.one_of(
    finite, st.floats(-1e3, 1e3).filter(held), st.integers(-5, 5).map(float), st.sampled_from([2.0**50, 2.0**50 + 1])
)


@settings(max_examples=tried(120), deadline=None)
@given(bounds, bounds, st.lists(st.floats(), max_size=20), st.sampled_from(["clamp", "drop"]), st.data())
def test_reals_are_clamped_and_rounded_as_exact_rationals(
    a: float, b: float, values: list[float], outside: Any, data: Any
) -> None:
    if a == b:
        return
    column = between(Fraction(min(a, b)), Fraction(max(a, b)), outside=outside).column("x", "real")
    assert column.grid_lower is not None
    assert column.grid_upper is not None
    whole = data.draw(st.integers(column.grid_lower, column.grid_upper))
    edges = [a, b, math.nextafter(a, math.inf), math.nextafter(a, -math.inf), math.nextafter(b, math.inf), 5e-324, -0.0]
    values = [*values, *edges, *around(column, whole), *around(column, 0), *around(column, -1), math.inf, -math.inf]
    found = clean(column, "DOUBLE", values)
    assert found == [expected(column, value) for value in values]
    assert all(value is None or column.grid_lower <= value <= column.grid_upper for value in found)


@pytest.mark.parametrize("power", [2.0**50, -(2.0**50)])
def test_halves_are_rounded_up_where_doubles_are_no_finer_than_a_half(power: float) -> None:
    column, values = across(power)
    assert column.step == Fraction(1, 4)
    assert clean(column, "DOUBLE", values) == [expected(column, value) for value in values]


def test_a_bound_between_two_doubles_divides_them_exactly() -> None:
    column = between("1/3", "2/3", outside="drop").column("x", "real")
    values = [1 / 3, math.nextafter(1 / 3, 1), 2 / 3, math.nextafter(2 / 3, 1)]
    assert [Fraction(1, 3) <= Fraction(value) <= Fraction(2, 3) for value in values] == [False, True, True, False]
    assert clean(column, "DOUBLE", values) == [expected(column, value) for value in values]


@given(st.fractions(), st.floats(allow_nan=False))
def test_a_bound_as_a_double_divides_the_doubles_as_the_exact_bound_does(exact: Fraction, value: float) -> None:
    if math.isfinite(value):
        assert (value >= least_double_from(exact)) == (Fraction(value) >= exact)
        assert (value <= greatest_double_to(exact)) == (Fraction(value) <= exact)


@pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, 2.0**-1000, 1e22, -1 / 3])
def test_a_double_reads_back_as_itself(value: float) -> None:
    ((found,),) = CONNECTION.execute(f"SELECT {double(value)}").fetchall()
    assert found == value


EARLY, LATE = datetime.date(2020, 1, 1), datetime.date(2020, 12, 31)
DAY = 86_400 * 10**6


@pytest.mark.parametrize(
    ("facts", "kind", "engine_type", "pairs"),
    [
        # The trap: least(greatest(NULL, 0), 10) is 0 in DuckDB, and NaN would become the upper bound.
        (between(0, 10), "real", "DOUBLE", [(None, None), ("NaN", None), ("Infinity", None), ("-Infinity", None)]),
        (between(0, 8), "real", "FLOAT", [("NaN", None), ("-Infinity", None), (1.5, 3 * 2**20), (99, 2**24)]),
        (between(0, 8), "real", "DECIMAL(9,3)", [(None, None), ("1.5", 3 * 2**20), ("-1", 0)]),
        (
            between(0, 8),
            "real",
            "VARCHAR",
            [("1.5", 3 * 2**20), ("nan", None), ("inf", None), ("abc", None), ("", None)],
        ),
        (between(0, 8), "real", "BIGINT", [(2**62, 2**24), (-(2**62), 0), (3, 3 * 2**21)]),
        (between(0, 10), "integer", "INTEGER", [(None, None), (-5, 0), (11, 10), (10, 10), (0, 0), (7, 7)]),
        (
            between(0, 10, outside="drop"),
            "integer",
            "INTEGER",
            [(None, None), (-1, None), (11, None), (10, 10), (0, 0)],
        ),
        (between(0, 10), "integer", "UBIGINT", [(2**64 - 1, 10), (0, 0)]),
        (between(0, 10), "integer", "HUGEINT", [(2**100, 10), (-(2**100), 0), (5, 5)]),
        (between(0, 10), "integer", "DOUBLE", [("NaN", None), (1e300, 10), (-1e300, 0), (2.5, 3), (2.4, 2), (-0.5, 0)]),
        (between(0, 10), "integer", "VARCHAR", [("7", 7), ("x", None), ("99999999999999999999", 10), (" 3 ", 3)]),
        (anything(), "integer", "HUGEINT", [(2**100, None), (2**63 - 1, 2**63 - 1), (None, None)]),
        (one_of(1, 3), "integer", "INTEGER", [(1, 1), (2, None), (3, 3), (None, None)]),
        (anything(), "boolean", "BOOLEAN", [(True, 1), (False, 0), (None, None)]),
        (anything(), "boolean", "INTEGER", [(1, 1), (0, 0), (2, None), (None, None)]),
        (anything(), "boolean", "DOUBLE", [(1, 1), ("NaN", None)]),
        (anything(), "boolean", "VARCHAR", [("true", 1), ("f", 0), ("maybe", None)]),
        (between(EARLY, LATE), "date", "DATE", [("2020-01-02", 18263), ("1999-01-01", 18262), ("infinity", None)]),
        (between(EARLY, LATE), "date", "VARCHAR", [("2020-01-02", 18263), ("2020-02-31", None), ("", None)]),
        (between(EARLY, LATE), "date", "TIMESTAMP", [("2020-01-02 23:59:59", 18263), ("-infinity", None)]),
        (anything(), "date", "DATE", [("1970-01-01", 0), ("10000-01-01", None), ("0001-01-01", -719162)]),
        (between(EARLY, LATE), "timestamp", "TIMESTAMP", [("2020-01-02 00:00:00.000001", 18263 * DAY + 1)]),
        (between(EARLY, LATE), "timestamp", "TIMESTAMP", [("infinity", None), ("2000-01-01", 18262 * DAY)]),
        (between(EARLY, LATE), "timestamp", "TIMESTAMPTZ", [("2020-01-02 01:00:00+01", 18263 * DAY)]),
        (
            between(EARLY, LATE),
            "timestamp",
            "VARCHAR",
            [("2020-01-02T01:00:00+01:00", 18263 * DAY), ("2020-01-02", 18263 * DAY), ("soon", None)],
        ),
        (anything(), "timestamp", "TIMESTAMP", [("9999-12-31 23:59:59", 253402300799 * 10**6), ("10000-01-01", None)]),
        (one_of("F", "M"), "text", "VARCHAR", [("F", "F"), ("f", None), ("", None), (None, None), ("O'x", None)]),
        (one_of("O'x"), "text", "VARCHAR", [("O'x", "O'x"), ("Ox", None)]),
        (anything(), "text", "VARCHAR", [("", ""), (None, None), ("é", "é")]),
        (anything(), "text", "INTEGER", [(3, "3"), (None, None)]),
    ],
)
def test_what_a_value_becomes(facts: Facts, kind: Any, engine_type: str, pairs: list[tuple[Any, Any]]) -> None:
    column = facts.column("x", kind)
    given_type = "TIMESTAMP WITH TIME ZONE" if engine_type == "TIMESTAMPTZ" else engine_type
    assert clean(column, given_type, [value for value, _ in pairs]) == [wanted for _, wanted in pairs]


def test_the_engine_can_read_exactly_what_the_policy_check_allows() -> None:
    assert {(kind, source) for kind, sources in HOLDS.items() for source in sources} == set(WORDS.readers)
