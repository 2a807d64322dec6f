"""Policies that exist hold together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import PolicyError
from tacit.loss.budget import Budget
from tacit.policy import ColumnUnit, PathUnit, Policy, RowUnit, Source, Table, Unit, anything, between

SOURCE = Source("csv", "x.csv")


def table(name: str, unit: Unit | None, rows: int = 2, **rest: Any) -> Table:
    return Table(name, SOURCE, unit, rows, {"age": between(0, 9).column("age", "integer")}, **rest)


def policy(*tables: Table, **rest: Any) -> Policy:
    return Policy("p", {each.name: each for each in tables}, rest.pop("budget", Budget(3, 1e-6)), **rest)


def test_a_path_is_followed_to_the_table_that_holds_the_unit() -> None:
    clinic = policy(
        table("patients", ColumnUnit("patient_id")),
        table("visits", PathUnit("patient", "patients", "patient_id")),
        table("diagnoses", PathUnit("visit_id", "visits", "visit_id")),
    )
    end = clinic.unit_of("diagnoses")
    assert (end.table, end.unit) == ("patients", ColumnUnit("patient_id"))
    assert [step.table for step in end.path] == ["visits", "patients"]


def test_names_are_found_whatever_their_case() -> None:
    clinic = policy(table("Visits", ColumnUnit("u")))
    visits = clinic.table("vISITS")
    assert visits is not None
    assert visits.column("AGE") is visits.columns["age"]
    assert clinic.table("visit") is None


def test_a_policy_cannot_be_changed() -> None:
    clinic = policy(table("visits", ColumnUnit("u")))
    with pytest.raises(TypeError):
        clinic.tables["other"] = table("other", RowUnit(), 1)  # type: ignore[index]


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: policy(), "at least one table"),
        (lambda: policy(table("a", None)), "tables.a.unit"),
        (lambda: policy(table("a", ColumnUnit("u"), public=True)), "public table has no unit"),
        (lambda: policy(table("a", ColumnUnit("u"), 0)), "rows_per_unit"),
        (lambda: policy(table("a", ColumnUnit("u"), True)), "rows_per_unit"),
        (lambda: policy(table("a", RowUnit(), 2)), "rows_per_unit"),
        (lambda: policy(table("a", PathUnit("k", "b", "k"))), "no table"),
        (lambda: policy(table("a", PathUnit("k", "b", "k")), table("b", PathUnit("k", "a", "k"))), "circle"),
        (lambda: policy(table("a", PathUnit("k", "b", "k")), table("b", None, public=True)), "public table 'b'"),
        (lambda: policy(table("a", RowUnit(), 1), table("A", RowUnit(), 1)), "only in case"),
        (lambda: policy(table("tacit_x", RowUnit(), 1)), "kept for the working copy"),
        (lambda: policy(table('a"b', RowUnit(), 1)), "usable name"),
        (lambda: policy(table("a", RowUnit(), 1), largest_epsilon=Fraction(4)), "largest_epsilon"),
        (lambda: policy(table("a", RowUnit(), 1), default_epsilon=Fraction(2)), "default_epsilon"),
        (lambda: policy(table("a", RowUnit(), 1), default_epsilon=Fraction(0)), "default_epsilon"),
        (lambda: policy(table("a", RowUnit(), 1), budget=Budget(0)), "epsilon"),
        (lambda: Source("csv", "x.csv", "inside"), "DuckDB"),
        (lambda: Source("xls", "x.xls"), "duckdb, csv"),  # type: ignore[arg-type]
        (lambda: Table("a", SOURCE, RowUnit(), 1, {"b": anything().column("c", "text")}), "another name"),
    ],
)
def test_a_policy_that_does_not_hold_together_is_refused(make: Any, part: str) -> None:
    with pytest.raises(PolicyError, match=part):
        make()
