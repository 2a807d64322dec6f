"""One reading and one plan for one answer; and a walk that is handed on is worth no more than its text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tacit.curator import Curator, Planner
from tacit.curator.walk import Walk
from tacit.errors import QuestionError
from tacit.plan.asked import Asked
from tacit.policy import Policy
from tests.curator import test_public_keys
from tests.curator.tables import curated
from tests.walks import ONCE, counted

BY_SEX = "SELECT sex, count(*) AS n, avg(age) AS a FROM people GROUP BY sex"
BOTH = "SELECT count(*) AS n FROM people UNION ALL SELECT sum(age) FROM people"


@pytest.mark.parametrize("price", [{"epsilon": "0.31"}, {"epsilon": "0.31", "delta": "1e-6"}, {"within": "20%"}])
def test_a_question_is_read_once_and_planned_once_for_its_answer(
    shared: Curator, monkeypatch: pytest.MonkeyPatch, price: dict[str, Any]
) -> None:
    counts = counted(monkeypatch)
    shared.ask(BY_SEX, rows=500, **price)
    assert counts == ONCE


def test_why_prepares_once_for_each_number_of_rows(shared: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counted(monkeypatch)
    told = shared.why(BY_SEX, "0.3")
    assert "rows_per_unit=1" in told
    assert "twice the epsilon" in told
    assert "delta=" in told
    assert counts == {"read": 1, "prepared": 2, "finished": 4}  # as asked, and three changes


def test_a_walk_that_is_handed_on_is_not_read_and_not_planned_again(
    shared: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, asked = counted(monkeypatch), Asked.of("0.32", rows=500)
    walk = Planner(shared.policy).walk(BY_SEX)
    plan = walk.plan(asked)
    estimated = shared.estimate(walk, asked)
    answer = shared.ask(walk, asked)
    assert counts == ONCE
    assert estimated.plan is plan
    assert answer.receipt["event"] == plan.event.to_json()
    assert shared.ask(BY_SEX, "0.32").repeated  # the same question under the same key


def test_another_price_is_planned_with_what_was_prepared(shared: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, walk = counted(monkeypatch), shared.walk(BY_SEX)
    for price in ("0.1", "0.2", "0.1"):
        assert walk.plan(Asked.of(price)) == shared.plan(BY_SEX, price)
    assert counts == {"read": 1 + 3, "prepared": 1 + 3, "finished": 2 + 3}


@pytest.mark.parametrize(
    "levers",
    [
        {"epsilon": 1},
        {"epsilon": 1, "delta": "1e-6"},
        {"rho": "0.1", "delta": "1e-6"},
        {"epsilon": 1, "rows_per_unit": 1},
        {"epsilon": 1, "groups_per_unit": 1},
        {"epsilon": 1, "weights": {"n": 3}},
        {"within": 400, "rows": 100},
        {"epsilon": 2},
    ],
)
def test_prices_of_any_kind_do_not_disturb_each_other(shared: Curator, levers: dict[str, Any]) -> None:
    walk = shared.walk(BY_SEX)
    for other in ({"epsilon": "0.5"}, {"rho": 1, "delta": "1e-5"}, {"epsilon": 3, "delta": "1e-9", "rows_per_unit": 2}):
        walk.plan(Asked.of(**other))  # type: ignore[arg-type]
    assert walk.plan(Asked.of(**levers)) == shared.plan(BY_SEX, **levers)


def test_a_plan_of_another_policy_is_planned_anew_and_charged_as_the_curators_own(shared: Curator) -> None:
    """Somebody who plans with narrow bounds and few rows of a unit cannot have that plan answered."""
    with curated(rows_per_unit=1) as other:
        walk = other.walk(BY_SEX)
        cheap = walk.plan(Asked.of("0.33"))
        answer = shared.ask(walk, "0.33")
    own = shared.plan(BY_SEX, "0.33")
    assert cheap != own
    assert answer.receipt["rows_per_unit"] == "3"
    assert answer.receipt["event"] == own.event.to_json()


def test_of_two_equal_policies_the_plans_of_the_other_are_not_taken() -> None:
    """What is known of public tables is not compared, and a plan depends on it."""
    sql = "SELECT w.ward, count(*) AS n FROM visits v JOIN wards w ON v.code = w.code GROUP BY w.ward"
    with (
        test_public_keys.curator(["eye", "heart"]) as clinic,
        test_public_keys.curator(["heart", "eye"]) as other,
    ):
        assert clinic.policy == other.policy
        walk = clinic.walk(sql)
        assert walk.under(clinic.policy) is walk
        elsewhere = walk.under(other.policy)
        assert elsewhere is not walk
        assert elsewhere.plan(Asked.of(1)) is not walk.plan(Asked.of(1))


def test_a_policy_without_public_tables_is_the_one_that_a_curator_was_opened_with(shared: Curator) -> None:
    assert shared.policy is shared._stated


def test_who_asks_and_a_guess_of_rows_make_no_other_plan(shared: Curator) -> None:
    walk = shared.walk(BY_SEX)
    plan = walk.plan(Asked.of("0.5"))
    assert walk.plan(Asked.of("1/2", rows=10, analyst="ana")) is plan
    assert walk.plan(Asked.of("0.5", delta="1e-6")) is not plan


def test_a_union_has_a_plan_for_all_and_none_for_one(shared: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, walk = counted(monkeypatch), shared.walk(BOTH)
    answer = shared.ask(walk, "0.4")
    assert (answer.united, shared.ask(BY_SEX, "0.4").united) == (True, False)
    assert counts["read"] == 2
    assert walk.plan(Asked.of("0.4")).epsilon == Fraction(2, 5)
    for refused in (walk.why, walk.plan_of_one):
        with pytest.raises(QuestionError, match="one question is needed"):
            refused(Asked.of("0.4"))


def test_a_walk_is_made_of_a_text_and_a_policy_alone(shared: Curator) -> None:
    """Nobody hands it a tree or a plan."""
    policy: Policy = shared.policy
    assert Walk(BY_SEX, policy).text == Walk(Walk(BY_SEX, policy), policy).text == BY_SEX
    for made_up in (shared.plan(BY_SEX, 1), shared.plan(BY_SEX, 1).question, None, 7):
        with pytest.raises(QuestionError):
            shared.ask(made_up, 1)
