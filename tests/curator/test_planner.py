"""The free half of the walk: plans, estimates and reasons cost nothing, read nothing, and refuse what is absurd."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import pytest

from tacit.answer import Answer
from tacit.curator import Curator, Planner
from tacit.errors import ParameterError
from tests.curator.tables import COUNT, Watched


def test_planning_costs_nothing_and_runs_nothing(shared: Curator, watched: Watched) -> None:
    before, entries = shared.spent(), len(shared.ledger())
    sql = "SELECT sex, count(*), avg(age) FROM people GROUP BY sex"
    assert "+/-" in str(shared.estimate(sql, 1, rows=100))
    assert "of the whole budget" in str(shared.estimate(sql, 1))
    assert "in a cell of 1,000 rows" in str(shared.estimate(sql, 1))
    assert "1. " in shared.explain(sql, 1)
    assert "SELECT" in shared.explain(sql, 1)
    assert "rows_per_unit=1" in shared.why(sql, 1)
    assert shared.plan(sql, within=30, rows=1000).epsilon is not None
    assert watched.runs == 0
    assert (shared.spent(), len(shared.ledger())) == (before, entries)


def test_a_planner_estimates_without_data_or_ledger(shared: Curator) -> None:
    sql = "SELECT avg(age) FROM people"
    assert str(Planner(shared.policy).estimate(sql, 1, rows=50)) == str(shared.estimate(sql, 1, rows=50))


def test_an_estimate_is_the_error_that_the_answer_has(shared: Curator) -> None:
    sql = "SELECT count(*) AS n, sum(pay) AS s FROM people"
    answer = shared.ask(sql, epsilon=2)
    expected = {each.name: each.deviation for each in shared.estimate(sql, 2).errors}
    assert expected == {name: answer.deviations[place][0] for place, name in enumerate(answer.names)}  # type: ignore[index]


def test_within_finds_an_epsilon_whose_error_is_within(shared: Curator) -> None:
    plan = shared.plan(COUNT, within=50)
    assert plan.errors[0].within_95 <= 50
    assert plan.epsilon is not None
    assert shared.plan(COUNT, plan.epsilon * Fraction(9, 10)).errors[0].within_95 > 50
    for other in ({"epsilon": 1}, {"rho": 1}, {"weights": {"count": 1}}):
        with pytest.raises(ParameterError, match="within"):
            shared.plan(COUNT, within=50, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["epsilon", "rho", "delta"])
@pytest.mark.parametrize("value", ["1e999999999", "1e-999999999", "0." + "1" * 200, "nan", "inf", "x", "-1", None])
def test_absurd_parameters_are_refused_before_the_charge(shared: Curator, name: str, value: Any) -> None:
    before = shared.spent()
    if value is None:
        value = math.nan
    with pytest.raises(ParameterError, match=name):
        shared.ask(COUNT, **{"epsilon" if name != "rho" else "delta": "0.1", name: value})
    assert shared.spent() == before


def test_a_question_nested_to_the_limit_is_answered_from_deep_inside_a_program(shared: Curator) -> None:
    """The calls that a program has made by then leave no room for a hundred levels under Python's own limit."""
    sql = "SELECT sum(" + "abs(" * 94 + "age" + ")" * 94 + ") AS s FROM people"

    def inside(calls: int) -> Answer:
        return inside(calls - 1) if calls else shared.ask(sql, epsilon=50)

    limit = sys.getrecursionlimit()
    answer = inside(limit - 400)
    assert abs(answer["s"][0] - shared.ask("SELECT sum(age) AS s FROM people", epsilon=50)["s"][0]) < 1000
    assert "abs" in shared.explain(sql, 1).lower()
    assert sys.getrecursionlimit() == limit
