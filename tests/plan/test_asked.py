"""The price in the text and the price beside it: one of them, or both the same."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tacit.curator import Planner
from tacit.errors import ParameterError, QuestionError
from tacit.plan import make_plan
from tacit.question import canonical, read
from tests.plan.copies import VISITS, clinic

COUNT = "SELECT count(*) FROM visits"
PLANNER = Planner(clinic())


def test_the_text_says_what_the_arguments_say() -> None:
    beside = PLANNER.plan(COUNT, "0.1", delta="1e-6", rows_per_unit=2)
    inside = PLANNER.plan(f"{COUNT} WITH PRIVACY (epsilon = 0.1, delta = 1e-6, rows_per_unit = 2)")
    assert (inside.epsilon, inside.delta, inside.rows_per_unit) == (Fraction(1, 10), Fraction(1, 10**6), 2)
    assert inside == beside
    assert canonical(inside.question) == canonical(beside.question)
    assert inside.question.privacy is None


def test_the_groups_of_one_unit_are_bounded_in_either_form() -> None:
    text = "sex, count(*) FROM visits GROUP BY sex"
    beside = PLANNER.plan(f"SELECT {text}", 1, groups_per_unit=1)
    assert PLANNER.plan(f"SELECT {text} WITH PRIVACY (epsilon = 1, groups_per_unit = 1)") == beside
    options = "OPTIONS(epsilon = 1, max_groups_contributed = 1)"
    assert PLANNER.plan(f"SELECT WITH DIFFERENTIAL_PRIVACY {options} {text}") == beside
    assert beside != PLANNER.plan(f"SELECT {text}", 1)


def test_a_float_is_the_decimal_that_was_written_on_either_way_to_a_plan() -> None:
    plan = make_plan(read(COUNT), clinic(), epsilon=0.1, delta=1e-6)
    assert (plan.epsilon, plan.delta) == (Fraction(1, 10), Fraction(1, 10**6))
    assert plan == PLANNER.plan(COUNT, 0.1, delta=1e-6)


def test_saying_the_same_twice_is_saying_it_once() -> None:
    text = f"{COUNT} WITH PRIVACY (epsilon = 0.1, delta = 1e-6, rows_per_unit = 2)"
    assert PLANNER.plan(text, 0.1, delta=1e-6, rows_per_unit=2) == PLANNER.plan(text)


@pytest.mark.parametrize(
    ("clause", "beside", "words"),
    [
        ("epsilon = 0.5", {"epsilon": 0.3}, "itself says epsilon = 0.5, and 0.3 was given"),
        ("delta = 1e-6", {"delta": 0}, "itself says delta = 1e-06, and 0 was given"),
        ("rows_per_unit = 2", {"rows_per_unit": 1}, "itself says rows_per_unit = 2, and 1 was given"),
        ("epsilon = 0.5", {"rho": 1, "delta": "1e-6"}, "one of the two"),
        ("epsilon = 0.5", {"within": 10}, "left out where within"),
        ("groups_per_unit = 2", {"groups_per_unit": 3}, "itself says groups_per_unit = 2, and 3 was given"),
        ("groups_per_unit = 2", {}, "has no GROUP BY"),
        ("epsilon = 101", {}, "largest"),
        ("rows_per_unit = 1000", {}, "from 1 to"),
    ],
)
def test_two_different_prices_are_refused(clause: str, beside: dict[str, Any], words: str) -> None:
    with pytest.raises((ParameterError, QuestionError), match=words):
        PLANNER.plan(f"{COUNT} WITH PRIVACY ({clause})", **beside)


def test_within_finds_the_epsilon_for_the_rows_that_the_text_allows() -> None:
    one = PLANNER.plan(f"{COUNT} WITH PRIVACY (rows_per_unit = 1)", within=10)
    assert one == PLANNER.plan(COUNT, within=10, rows_per_unit=1)
    assert one.rows_per_unit == 1


def test_the_unit_in_the_text_must_be_the_policys() -> None:
    unit = VISITS.unit.column  # type: ignore[union-attr]
    head = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, privacy_unit_column = {}) count(*) FROM {}"
    assert PLANNER.plan(head.format(unit.upper(), "visits")) == PLANNER.plan(COUNT, 1)
    with pytest.raises(QuestionError, match=f"is '{unit}', by its policy, and not 'age'"):
        PLANNER.plan(head.format("age", "visits"))
    with pytest.raises(QuestionError, match="protects single rows"):
        PLANNER.plan(head.format("id", "readings"))


@pytest.mark.parametrize(
    "output", ["count(*) > 3", "rank() OVER (ORDER BY count(*))", "CASE WHEN count(*) > 3 THEN 'a' ELSE 'b' END"]
)
def test_a_goal_for_what_has_no_interval_is_refused_and_beside_others_it_is_for_these(output: str) -> None:
    with pytest.raises(QuestionError, match="How far 'a' may be off is not known before"):
        PLANNER.plan(f"SELECT {output} AS a FROM visits", within=5, rows=100)
    both = PLANNER.plan(f"SELECT {output} AS a, count(*) AS n FROM visits", within=5, rows=100)
    (error,) = both.errors_at(100)
    assert error.within_95 <= 5
