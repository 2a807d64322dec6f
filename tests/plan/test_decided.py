"""Conditions that the policy decides by itself are told before anything is spent, and on the answer."""

from __future__ import annotations

import pandas as pd
import pytest

import tacit
from tacit.plan import make_plan
from tacit.policy import Column
from tacit.question import read
from tests.plan.copies import clinic, table

POLICY = clinic(
    table(
        "adult",
        [
            Column("workclass", "text", values=("Private", "Never-worked", "State-gov"), nullable=False),
            Column("age", "integer", 0, 110, nullable=False),
            Column("rate", "real", 0, 1),
            Column("level", "integer", values=(1, 2, 5)),
            Column("free", "text"),
            Column("gap", "integer", 3, 9),
        ],
    )
)


def notes(where: str) -> tuple[str, ...]:
    return make_plan(read(f"SELECT count(*) FROM adult WHERE {where}"), POLICY, epsilon=1).notes


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("workclass = 'private'", ["'private' is not among", "no row has it", "Did you mean 'Private'?"]),
        ("'Statgov' = workclass", ["no row has it", "Did you mean 'State-gov'?"]),
        ("workclass <> 'private'", ["every row that has a value differs"]),
        ("workclass IN ('Private', 'private')", ["'private' is not among"]),
        ("age > 500", ["age lies between 0 and 110", "age > 500 holds on no row"]),
        ("500 < age", ["age > 500 holds on no row"]),
        ("age >= 0", ["age >= 0 holds on every row that has a value"]),
        ("age < 0 OR age = 111", ["age < 0 holds on no row"]),
        ("rate > 1.5", ["rate lies between 0 and 1"]),
        ("level = 3", ["3 is not among the values of level"]),
        ("age BETWEEN 200 AND 300", ["age >= 200 holds on no row"]),
        ("age IS NULL", ["age has a value on every row"]),
        ("age = NULL", ["never true", "IS NULL"]),
        ("NOT (gap > 9)", ["gap > 9 holds on no row"]),
    ],
)
def test_what_the_policy_decides_is_told(where: str, words: list[str]) -> None:
    found = " ".join(notes(where))
    for each in words:
        assert each in found


@pytest.mark.parametrize(
    "where",
    [
        "workclass = 'Private'",
        "workclass IN ('Private', 'State-gov')",
        "age > 109",
        "age <= 109",
        "age = 110",
        "rate > 0.5",
        "level = 5",
        "free = 'anything'",
        "gap IS NULL",
        "gap > 3 AND gap < 9",
        "age > gap",
        "workclass LIKE 'private'",
    ],
)
def test_nothing_is_said_where_rows_decide(where: str) -> None:
    assert notes(where) == ()


def test_conditions_inside_aggregates_are_looked_at_too() -> None:
    plan = make_plan(read("SELECT count(*) FILTER (WHERE age > 500) FROM adult"), POLICY, epsilon=1)
    assert "age > 500 holds on no row" in " ".join(plan.notes)


def test_it_is_told_in_the_estimate_the_explanation_and_the_answer() -> None:
    frame = pd.DataFrame({"who": range(50), "sex": ["F", "M"] * 25})
    question = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
    with tacit.protect(
        frame, unit="who", columns={"sex": tacit.one_of("F", "M")}, budget=tacit.Budget(epsilon=3)
    ) as people:
        answer = people.ask(question, epsilon=1)
        for told in (
            str(people.estimate(question, 1)),
            people.explain(question, 1),
            " ".join(answer.notes),
            str(answer),
        ):
            assert "Did you mean 'F'?" in told
        assert abs(answer["n"][0]) < 40  # answered all the same
