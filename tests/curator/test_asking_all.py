"""Several questions at one price: the same answers, in one scan, agreeing with each other, paid once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import tacit
from tacit import Budget, between, one_of
from tacit.curator.asking_all import plan_together
from tacit.errors import BudgetExceeded, QuestionError
from tacit.loss import compose
from tacit.question import read
from tests.curator.towns import ROWS, charges, opened
from tests.plan.copies import clinic


@pytest.fixture
def curator() -> Iterator[tacit.Curator]:
    with opened(10**6) as found:
        yield found


QUESTIONS = [
    "SELECT count(*) AS n FROM data",
    "SELECT town, count(*) AS n, sum(pay) AS s FROM data GROUP BY town ORDER BY n DESC",
    "SELECT sex, avg(pay) AS m FROM data GROUP BY sex",
    "SELECT count(*) AS n FROM data WHERE town = 'Ayr'",
    "SELECT count(*) AS n, sum(pay) AS s FROM data WHERE town = 'Caen'",
    "SELECT count(DISTINCT who) AS units FROM data",
    "SELECT town, count(*) AS n FROM data GROUP BY town HAVING count(*) > 150",
    "SELECT count(*) AS n FROM data WHERE pay > 25",
]


def rows(answer: tacit.Answer) -> list[tuple[Any, ...]]:
    return list(zip(*answer.columns, strict=True))


def test_every_answer_is_that_of_its_own_question(curator: tacit.Curator) -> None:
    found = curator.ask_all(QUESTIONS, 10**5)
    by_town = ROWS.groupby("town").pay
    assert rows(found[0])[0][0] == pytest.approx(400, abs=0.1)
    towns = rows(found[1])
    assert towns[0][0] == "Ayr"
    assert {town: (n, s) for town, n, s in towns} == {
        town: pytest.approx((count, total), rel=1e-3)
        for town, count, total in zip(by_town.count().index, by_town.count(), by_town.sum(), strict=True)
    }
    for sex, mean in rows(found[2]):
        assert mean == pytest.approx(ROWS[ROWS.sex == sex].pay.mean(), rel=1e-3)
    assert rows(found[3])[0][0] == pytest.approx(200, abs=0.1)
    assert rows(found[4])[0] == pytest.approx((100, ROWS[ROWS.town == "Caen"].pay.sum()), rel=1e-3)
    assert rows(found[5]) == [(200,)]
    assert [town for town, _ in rows(found[6])] == ["Ayr"]
    assert rows(found[7])[0][0] == pytest.approx((ROWS.pay > 25).sum(), abs=0.1)
    assert [answer.names for answer in found[:2]] == [("n",), ("town", "n", "s")]


def test_noisy_parts_add_up_to_noisy_totals(curator: tacit.Curator) -> None:
    total, towns, ayr = (rows(each) for each in curator.ask_all([QUESTIONS[0], QUESTIONS[1], QUESTIONS[3]], "0.5"))
    assert sum(n for _, n, _ in towns) == pytest.approx(total[0][0])
    assert next(n for town, n, _ in towns if town == "Ayr") == pytest.approx(ayr[0][0])


def test_all_of_it_is_one_charge_and_asked_again_it_is_free(curator: tacit.Curator) -> None:
    first = curator.ask_all(QUESTIONS, 1)
    assert charges(curator) == 1
    again = curator.ask_all(QUESTIONS, 1)
    assert first == again
    assert all(each.repeated for each in again)
    assert charges(curator) == 1


def test_the_cost_is_what_was_asked_and_never_more() -> None:
    for delta in (Fraction(0), Fraction(1, 10**6)):
        asked = [
            read("SELECT count(*) FROM visits"),
            read("SELECT sex, count(*), avg(age) FROM visits GROUP BY sex"),
            read("SELECT ward, count(*) FROM visits GROUP BY ward")
            if delta
            else read("SELECT sum(charge) FROM visits WHERE sex = 'F'"),
            read("SELECT sum(charge) FROM visits WHERE sex = 'M'"),
        ]
        together = plan_together(asked, clinic(), Fraction(1), delta)
        assert compose([together.event]).epsilon(float(delta)) <= 1 + 1e-9


def test_questions_about_different_rows_share_epsilon_and_delta_by_their_number() -> None:
    asked = [read(f"SELECT count(*), sum(score) FROM visits WHERE age > {age}") for age in (30, 30, 50)]
    for delta in (Fraction(0), Fraction(1, 10**6)):
        together = plan_together(asked, clinic(), Fraction(1), delta)
        assert [plan.epsilon for _, plan in together.plans] == [Fraction(2, 3), Fraction(1, 3)]
        assert [plan.delta for _, plan in together.plans] == [delta * 2 / 3, delta / 3]
        assert compose([together.event]).epsilon(float(delta)) <= 1 + 1e-9
        each = [compose([plan.event]).epsilon(0) for _, plan in together.plans]  # Laplace noise: these add up
        assert compose([together.event]).epsilon(0) == pytest.approx(sum(each), rel=1e-9)


def test_disjoint_parts_cost_what_one_would() -> None:
    """The two share one release of a vector in which a row moves one number: noise as for one question at epsilon 1."""
    parts = [read(f"SELECT sum(age) FROM visits WHERE sex = '{sex}'") for sex in "FM"]
    together = plan_together(parts, clinic(), Fraction(1), Fraction(0))
    assert len(together.plans) == 1
    _, plan = together.plans[0]
    assert [each.l1 for each in plan.measures] == [3 * 110]
    assert plan.measures[0].mechanism.event.scale == 330  # type: ignore[union-attr]


def test_a_value_that_is_no_known_key_is_asked_by_itself(curator: tacit.Curator) -> None:
    texts = ["SELECT count(*) AS n FROM data WHERE free = 'word 1'", "SELECT count(*) AS n FROM data WHERE free = 'x'"]
    found = curator.ask_all(texts, 10**5)
    assert [rows(each)[0][0] for each in found] == [133, 0]


def test_nothing_is_spent_where_one_question_is_refused(curator: tacit.Curator) -> None:
    with pytest.raises(QuestionError, match="no_such"):
        curator.ask_all(["SELECT count(*) FROM data", "SELECT sum(no_such) FROM data"], 1)
    with pytest.raises(QuestionError, match="at least one"):
        curator.ask_all([], 1)
    assert charges(curator) == 0


def test_the_policys_largest_epsilon_is_for_all_of_them_together() -> None:
    asked = [read(f"SELECT count(*) FROM visits WHERE age > {number}") for number in range(4)]
    plan_together(asked, clinic(), Fraction(100), Fraction(0))  # the largest that this policy allows
    with pytest.raises(tacit.TacitError, match="at most epsilon 100"):
        plan_together(asked, clinic(), Fraction(101), Fraction(0))
    with pytest.raises(tacit.TacitError, match="delta"):
        plan_together(asked, clinic(), Fraction(1), Fraction(3, 2))


def test_a_budget_that_does_not_do_for_all_does_for_none() -> None:
    columns = {"town": one_of("Ayr", "Bern", "Caen"), "pay": between(0, 50)}
    with tacit.protect(ROWS, unit="who", rows_per_unit=2, columns=columns, budget=Budget(1)) as small:
        small.ask("SELECT count(*) FROM data", "0.5")
        with pytest.raises(BudgetExceeded):
            small.ask_all(["SELECT count(*) FROM data WHERE pay > 1", "SELECT sum(pay) FROM data"], "0.75")
        assert charges(small) == 1


def test_notes_of_questions_that_are_asked_together_speak_of_their_own_columns_by_their_own_names(
    curator: tacit.Curator,
) -> None:
    """They named columns that nobody had asked for (tacit_together_6), and LIMIT went without a word."""
    texts = [
        "SELECT town, count(*) AS n FROM data GROUP BY town ORDER BY n DESC LIMIT 1",
        "SELECT town, count(*) AS m FROM data GROUP BY town",
        "SELECT town, greatest(count(*), avg(pay)) AS g, count(*) > 5 AS many FROM data GROUP BY town",
    ]
    first, second, third = curator.ask_all(texts, 1)
    assert [note.partition(":")[0] for note in first.notes] == ["Noisy values decide which rows are shown"]
    assert second.notes == ()
    assert [note.partition(":")[0] for note in third.notes] == [
        "Noise decides which value is shown as g",
        "Noisy numbers decide many",
    ]


def test_a_stored_answer_speaks_of_columns_as_this_asker_named_them(curator: tacit.Curator) -> None:
    for name in ("one", "other"):
        answer = curator.ask(f"SELECT greatest(count(*), avg(pay)) AS {name} FROM data", 1)
        (together,) = curator.ask_all([f"SELECT least(count(*), avg(pay)) AS {name} FROM data"], 1)
        for each in (answer, together):
            assert each.notes[0].startswith(f"Noise decides which value is shown as {name}:")
    assert answer.repeated
    assert together.repeated
