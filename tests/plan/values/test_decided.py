"""Conditions that the policy decides by itself are told before anything is spent, and on the answer."""

from __future__ import annotations

import datetime
import itertools

import pandas as pd
import pytest

import tacit
from tacit.plan import make_plan
from tacit.plan.values.decided import _like
from tacit.policy import Column
from tacit.question import read
from tests.memory import fresh
from tests.plan.copies import clinic, table

FIRST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
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
            Column("born", "date", datetime.date(1900, 1, 1), datetime.date(2020, 12, 31), nullable=False),
            Column("seen", "timestamp", FIRST, FIRST + datetime.timedelta(days=365, hours=12), nullable=False),
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
        ("born > DATE '2030-01-01'", ["born lies between 1900-01-01 and 2020-12-31", "2030-01-01 holds on no row"]),
        ("born >= '1900-01-01'", ["born >= 1900-01-01 holds on every row"]),
        ("born BETWEEN DATE '1800-01-01' AND DATE '1850-01-01'", ["born <= 1850-01-01 holds on no row"]),
        ("seen < TIMESTAMP '2019-01-01 10:00:00'", ["seen lies between 2020-01-01", "holds on no row"]),
        ("seen > DATE '2021-01-01'", ["holds on no row"]),
        ("workclass LIKE 'private'", ["no value of workclass", "LIKE 'private'", "holds on no row"]),
        ("workclass LIKE 'private%'", ["holds on no row"]),
        ("workclass ILIKE '%-%' OR workclass LIKE '_'", ["LIKE '_', so it holds on no row"]),
        ("workclass NOT LIKE '%'", ["every value of workclass"]),
        ("CASE WHEN age > 500 THEN 1 ELSE 0 END = 1", ["age > 500 holds on no row"]),
        ("CASE workclass WHEN 'private' THEN 1 ELSE 0 END = 1", ["'private' is not among"]),
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
        "workclass ILIKE 'private'",
        "workclass LIKE 'P%'",
        "workclass LIKE 'Never\\-worked'",
        "free LIKE 'anything'",
        "born > DATE '2019-01-01'",
        "seen > DATE '2020-12-31'",
    ],
)
def test_nothing_is_said_where_rows_decide(where: str) -> None:
    assert notes(where) == ()


def test_conditions_inside_aggregates_are_looked_at_too() -> None:
    plan = make_plan(read("SELECT count(*) FILTER (WHERE age > 500) FROM adult"), POLICY, epsilon=1)
    assert "age > 500 holds on no row" in " ".join(plan.notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT workclass, count(*) FROM adult GROUP BY workclass HAVING workclass = 'private'", "Did you mean"),
        (
            "SELECT workclass, count(*) FROM adult GROUP BY workclass HAVING count(*) FILTER (WHERE age > 500) > 3",
            "> 500",
        ),
        ("SELECT sum(CASE WHEN workclass = 'private' THEN 1 ELSE 0 END) FROM adult", "Did you mean"),
        ("SELECT age > 500 AS old, count(*) FROM adult GROUP BY age > 500", "age > 500 holds on no row"),
        (
            "SELECT CASE WHEN age > 500 THEN 'old' ELSE 'not' END AS w, count(*) FROM adult GROUP BY 1",
            "holds on no row",
        ),
        (
            "SELECT count(*) FROM adult a JOIN adult b ON a.patient = b.patient AND b.age > 500",
            "age > 500 holds on no row",
        ),
    ],
)
def test_keys_outputs_joins_and_having_are_looked_at_too(text: str, words: str) -> None:
    assert words in " ".join(make_plan(read(text), POLICY, epsilon=1).notes)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT workclass, count(*) AS n FROM adult GROUP BY workclass HAVING n > 500",
        "SELECT workclass, count(*) AS age FROM adult GROUP BY workclass HAVING count(*) > 500",
        "SELECT CASE WHEN count(*) > 500 THEN 1 ELSE 0 END AS many FROM adult",
    ],
)
def test_conditions_on_noisy_numbers_are_no_rows_conditions(text: str) -> None:
    assert not any("holds on" in note for note in make_plan(read(text), POLICY, epsilon=1).notes)


def test_a_pattern_fits_the_values_that_it_fits_in_the_engine() -> None:
    """Every short pattern of a few characters, against DuckDB's own LIKE."""
    values = ["", "a", "A", "ab", "a%", "a_", "a\\", "ba", "a\nb"]
    patterns = ["".join(each) for size in range(4) for each in itertools.product("aB%_", repeat=size)]
    patterns += ["a\\%", "a\\_", "\\a", "%\\%", "a\\\\"]
    with fresh() as connection:
        for pattern in patterns:
            for word, ignoring in (("LIKE", False), ("ILIKE", True)):
                sql = f"SELECT list(v {word} ? ESCAPE '\\') FROM (SELECT unnest(?) AS v)"
                (told,) = connection.execute(sql, [pattern, values]).fetchone()  # type: ignore[misc]
                assert [bool(_like(pattern, ignoring).fullmatch(value)) for value in values] == told, pattern


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
