"""One text for all ways to ask the same thing."""

from __future__ import annotations

import pytest

from tacit.plan import make_plan
from tacit.question import canonical, read
from tests.plan.copies import clinic

BASE = "SELECT sex, count(*) FROM visits WHERE age > 3 AND ward IN ('a', 'b') GROUP BY sex"


def said(sql: str) -> str:
    """The canonical text of a question whose names are resolved."""
    return canonical(make_plan(read(sql), clinic(), epsilon=1, delta="1/10").question)


@pytest.mark.parametrize(
    "same",
    [
        "select SEX,\n  COUNT(*)\nfrom VISITS where AGE > 3 and Ward in ('a','b') group by Sex -- comment",
        "SELECT sex, count(*) FROM visits WHERE ward IN ('b', 'a') AND age > 3 GROUP BY sex",
        "SELECT sex, count(*) AS n FROM visits WHERE (age > 3) AND (ward IN ('a', 'b', 'a')) GROUP BY 1",
        "SELECT sex, count(1) FROM visits AS v WHERE age > 3.0 AND ward IN ('a', 'b') GROUP BY sex",
    ],
)
def test_spelling_does_not_matter(same: str) -> None:
    assert said(same) == said(BASE)


@pytest.mark.parametrize(
    "other",
    [
        "SELECT sex, count(*) FROM visits WHERE age >= 3 AND ward IN ('a', 'b') GROUP BY sex",
        "SELECT sex, count(*) FROM visits WHERE age > 3 OR ward IN ('a', 'b') GROUP BY sex",
        "SELECT sex, count(*) FROM visits WHERE age > 3 AND ward IN ('A', 'b') GROUP BY sex",
        "SELECT sex, count(*) FROM visits WHERE age > 3 AND ward IN ('a') GROUP BY sex",
        "SELECT sex, count(*) FROM visits WHERE age > 4 AND ward IN ('a', 'b') GROUP BY sex",
        "SELECT sex, count(age) FROM visits WHERE age > 3 AND ward IN ('a', 'b') GROUP BY sex",
        "SELECT count(*), sex FROM visits WHERE age > 3 AND ward IN ('a', 'b') GROUP BY sex",
        "SELECT sex, count(*) FROM visits(tacit_rows_per_unit => 1) WHERE age > 3 AND ward IN ('a', 'b') GROUP BY sex",
        "SELECT sex, count(*) FROM visits WHERE age > 3 AND ward IN ('a', 'b') GROUP BY sex LIMIT 1",
        "SELECT sex, count(*) FROM visits WHERE age > 3 AND ward IN ('a', 'b') GROUP BY sex HAVING count(*) > 1",
    ],
)
def test_meaning_matters(other: str) -> None:
    assert said(other) != said(BASE)


def test_between_is_its_two_comparisons_in_any_order() -> None:
    one = said("SELECT count(*) FROM visits WHERE age BETWEEN 1 AND 2 AND score = 3")
    assert one == said("SELECT count(*) FROM visits WHERE score = 3 AND age <= 2 AND age >= 1")


def test_aliases_inside_do_not_matter() -> None:
    one = said("WITH t AS (SELECT age, score FROM visits a WHERE a.age > 3) SELECT sum(x.score) FROM t x")
    assert one == said("SELECT sum(score) FROM (SELECT v.age, v.score FROM visits AS v WHERE v.age > 3)")


def test_deep_conditions_have_short_texts() -> None:
    condition = "x = 1"
    for level in range(20):
        condition = f"({condition}) {'AND' if level % 2 else 'OR'} y = {level}"
    assert len(canonical(read(f"SELECT count(*) FROM t WHERE {condition}"))) < 5_000
