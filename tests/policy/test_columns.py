"""Columns: grids against exact rationals and Python's own calendar."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import PolicyError
from tacit.policy import Column, anything, between, date_between, one_of
from tacit.policy.columns import floor_log2

RATIONALS = st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**6)


def test_the_step_of_zero_to_one_hundred_is_two_to_the_minus_eighteen() -> None:
    # floor(log2(100)) = 6, and 6 - 24 = -18.
    assert between(0, 100).column("x", "real").step == Fraction(1, 2**18)


def test_far_from_zero_the_grid_is_no_finer_than_doubles() -> None:
    column = between(2**50, 2**50 + 1).column("x", "real")
    assert column.step == Fraction(1, 4)  # the spacing of doubles there
    assert column.grid_lower == 2**52
    assert column.grid_upper == 2**52 + 4


@given(RATIONALS, RATIONALS)
def test_a_real_range_stays_inside_its_grid_range_which_is_less_than_a_step_wider(a: Fraction, b: Fraction) -> None:
    if a == b:
        return
    lower, upper = min(a, b), max(a, b)
    column = between(lower, upper).column("x", "real")
    assert column.grid_lower is not None
    assert column.grid_upper is not None
    assert lower - column.step < column.grid_lower * column.step <= lower
    assert upper <= column.grid_upper * column.step < upper + column.step
    assert max(abs(column.grid_lower), abs(column.grid_upper)) <= 2**53
    assert column.grid_upper - column.grid_lower <= 2**25 + 1


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_floor_log2_is_exact(x: Fraction) -> None:
    power = floor_log2(x)
    assert Fraction(2) ** power <= x < Fraction(2) ** (power + 1)


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_halves_are_rounded_up(n: int) -> None:
    column = between(-100, 100).column("x", "real")
    step = column.step
    assert column.to_grid(n * step) == n
    assert column.to_grid((n + Fraction(1, 2)) * step) == n + 1
    assert column.to_grid((n + Fraction(1, 2)) * step - Fraction(1, 10**30)) == n
    assert column.from_grid(n) == n * step


def test_dates_are_days_and_times_microseconds_since_1970() -> None:
    day = date_between("2000-01-01", "2000-12-31").column("d", "date")
    assert (day.grid_lower, day.grid_upper) == (10957, 10957 + 365)
    assert day.from_grid(10957) == datetime.date(2000, 1, 1)
    time = between("1970-01-01T00:00:01", "1970-01-02T01:00:00+01:00").column("t", "timestamp")
    assert (time.grid_lower, time.grid_upper) == (10**6, 86_400 * 10**6)


def test_booleans_are_zero_and_one_and_values_give_the_range() -> None:
    boolean = anything().column("b", "boolean")
    assert (boolean.grid_lower, boolean.grid_upper, boolean.grid_values) == (0, 1, (0, 1))
    grades = one_of(3, 1, 7).column("g", "integer")
    assert (grades.grid_lower, grades.grid_upper, grades.grid_values) == (1, 7, (3, 1, 7))


def test_a_float_bound_is_the_decimal_that_was_written() -> None:
    assert between(0.1, 0.2).column("x", "real").lower == Fraction(1, 10)


@pytest.mark.parametrize(
    ("facts", "kind", "part"),
    [
        (between(5, 1), "integer", "lower bound"),
        (between(0, 0), "real", "wider than a point"),
        (anything(), "real", "needs a range"),
        (one_of(1.5), "real", "one_of"),
        (between("a", "b"), "text", "no range"),
        (between(0, 1), "boolean", "true or false"),
        (between(0, math.inf), "real", "finite"),
        (between(0, math.nan), "real", "finite"),
        (between(0.5, 2), "integer", "whole number"),
        (between(0, 2**63), "integer", "whole number"),
        (between(True, 2), "integer", "whole number"),
        (one_of(), "text", "at least one"),
        (one_of("a", "a"), "text", "repeat"),
        (one_of(1), "text", "Text is wanted"),
        (between("yesterday", "2020-01-01"), "date", "date such as"),
        (between(0, 1, outside="raise"), "integer", "clamp, drop"),  # type: ignore[arg-type]
        (between(0, 1), "float", "integer, real"),
    ],
)
def test_facts_that_do_not_hold_together_are_refused_with_the_column(facts: Any, kind: Any, part: str) -> None:
    with pytest.raises(PolicyError, match=part) as refusal:
        facts.column("x", kind)
    assert "'x'" in str(refusal.value)


def test_names_of_the_working_copy_are_kept() -> None:
    with pytest.raises(PolicyError, match="tacit_"):
        Column("Tacit_Rank", "integer")
