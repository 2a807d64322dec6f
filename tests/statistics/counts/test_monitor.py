"""A monitor: paid once, asks counts only, tells far ones right, and forgets what it refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.answer.release import guarded
from tacit.errors import BudgetExceeded, EngineError, ParameterError, QuestionError, TacitError
from tacit.loss import compose
from tacit.statistics.counts.monitor import Monitor
from tests import draws
from tests.statistics.counting import HUGE, clinic

COLUMNS = {"age": tacit.between(0, 110), "ward": tacit.one_of("A", "B")}


def frame(units: int = 60, rows: int = 1) -> pd.DataFrame:
    who = np.repeat(np.arange(units), rows)
    return pd.DataFrame({"who": who, "age": np.arange(len(who)) % 100, "ward": ["A", "B"] * (len(who) // 2)})


@draws.once
def hospital() -> tacit.Curator:
    return clinic(frame(), 1, COLUMNS)


def arrays(rows: int = 60) -> dict[str, Any]:
    found = frame(rows)
    return {
        "data": {"age": found.age.to_numpy(), "ward": found.ward.to_numpy()},
        "bounds": {"age": (0, 110)},
        "values": {"ward": ["A", "B"]},
    }


def test_counts_from_the_threshold_on_say_yes_and_those_below_say_no() -> None:
    """At epsilon 10,000 all noise is zero but for exp(-2000)."""
    watch = Monitor(hospital(), threshold=20, epsilon=HUGE, fires=3)
    assert [watch.ask(f"SELECT count(*) FROM data WHERE age >= {age}") for age in (50, 41, 40, 39)] == [
        False,
        False,
        True,
        True,
    ]
    assert watch.ask("SELECT count(DISTINCT who) AS n FROM data WHERE ward = 'A'")
    assert watch.asked == 5
    assert watch.left == 0
    with pytest.raises(BudgetExceeded, match="said yes 3"):
        watch.ask("SELECT count(*) FROM data")


@pytest.mark.parametrize("kind", ["arrays", "rows", "table"])
def test_conditions_count_the_rows_that_meet_all_of_them(kind: str) -> None:
    facts = {
        "arrays": arrays(),
        "rows": {"data": hospital().rows("SELECT age, ward FROM data")},
        "table": {"data": hospital(), "columns": ["data.age", "data.ward"]},
    }[kind]
    ages, wards = frame().age.to_numpy(), frame().ward.to_numpy()
    for question, truth in (
        ({"age": (10, 19)}, np.sum((ages >= 10) & (ages <= 19))),
        ({"age": (10, 19), "ward": "B"}, np.sum((ages >= 10) & (ages <= 19) & (wards == "B"))),
        ({"age": [3, 5, 5, 99]}, 2),
        ({"ward": ["A", "B"]}, 60),
        ({}, 60),
    ):
        assert Monitor(**facts, threshold=int(truth), epsilon=HUGE).ask(question)
        assert not Monitor(**facts, threshold=int(truth) + 1, epsilon=HUGE).ask(question)


def test_it_is_paid_once_when_it_is_opened_however_much_is_asked() -> None:
    hall = clinic(frame(), 1, COLUMNS, epsilon=3, delta=0)
    watch = Monitor(hall, threshold=1000, epsilon=1, fires=2)
    entries = hall.ledger()
    spent = hall.spent()
    assert not any(watch.ask(f"SELECT count(*) FROM data WHERE age > {age}") for age in range(30))
    assert hall.spent() == spent
    assert len(hall.ledger()) == len(entries)
    assert compose([watch.event]).epsilon(delta=0) == pytest.approx(1)
    Monitor(hall, threshold=1000, epsilon=1, fires=2)  # the same again is another one, and paid for
    assert hall.spent() != spent
    with pytest.raises(BudgetExceeded):
        Monitor(hall, threshold=1000, epsilon="1.5")
    with pytest.raises(ParameterError, match="largest"):
        Monitor(hall, threshold=1000, epsilon=4)


def test_what_is_not_one_count_is_refused_and_changes_nothing() -> None:
    watch = Monitor(hospital(), threshold=20, epsilon=HUGE, fires=1)
    spent = hospital().spent()
    for question in (
        "SELECT sum(age) FROM data",
        "SELECT avg(age) FROM data",
        "SELECT max(age) FROM data",
        "SELECT ward, count(*) FROM data GROUP BY ward",
        "SELECT count(*), count(DISTINCT who) FROM data",
        "SELECT sum(3) FROM data",
        "SELECT sum(CASE WHEN age > 3 THEN -1 ELSE 0 END) FROM data",
        "SELECT 2 * count(*) FROM data",
        "SELECT count(*) + 1 FROM data",
        "SELECT count(*) FROM data HAVING count(*) > 3",
        "SELECT count(*) FROM data WHERE age > (SELECT avg(age) FROM data)",
        "SELECT agee FROM data",
        "SELECT count(*) FROM nowhere",
        "not sql",
    ):
        with pytest.raises(TacitError):
            watch.ask(question)
    assert (watch.asked, watch.left) == (0, 1)
    assert hospital().spent() == spent
    assert watch.ask("SELECT count(*) FROM data")


def test_a_question_that_one_unit_moves_too_far_is_refused() -> None:
    ward = clinic(frame(30, rows=3), 3, COLUMNS)
    one = Monitor(ward, threshold=20, epsilon=HUGE)
    with pytest.raises(QuestionError, match="by 3, and the monitor is for at most 1"):
        one.ask("SELECT count(*) FROM data")
    assert one.ask("SELECT count(DISTINCT who) FROM data")
    three = Monitor(ward, threshold=90, epsilon=HUGE, sensitivity=3)
    assert three.ask("SELECT count(*) FROM data")
    assert three._session.sensitivity == 3
    assert Monitor(ward, "data.age", threshold=90, epsilon=HUGE)._session.sensitivity == 3
    assert Monitor(ward, "data.age", threshold=90, epsilon=HUGE, rows_per_unit=1)._session.sensitivity == 1


def test_a_unit_that_comes_moves_every_count_up_and_by_at_most_the_sensitivity() -> None:
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(12), 3)
    whole = pd.DataFrame({"who": who, "age": rng.integers(0, 100, 36), "ward": rng.choice(["A", "B"], 36)})
    worlds = [clinic(each, 3, COLUMNS) for each in (whole, whole[whole.who != 0].reset_index(drop=True))]
    watches = [Monitor(each, threshold=5, epsilon=HUGE, sensitivity=3) for each in worlds]
    rows = [Monitor(each, ["data.age", "data.ward"], threshold=5, epsilon=HUGE) for each in worlds]
    moved = []
    for question in (
        "SELECT count(*) FROM data",
        "SELECT count(*) FROM data WHERE ward = 'A' OR age < 50",
        "SELECT count(DISTINCT who) FROM data WHERE age > 20",
        "SELECT count(*) FROM (SELECT who, count(*) AS n FROM data WHERE age > 30 GROUP BY who) AS v WHERE n < 3",
        "SELECT count(*) FROM data AS d WHERE NOT EXISTS (SELECT 1 FROM data AS e WHERE e.who = d.who AND e.age > 90)",
    ):
        with_unit, without = (watch._counts.planned(question)() for watch in watches)
        moved.append(with_unit - without)
    for conditions in ({}, {"ward": "A"}, {"age": (0, 50)}):
        with_unit, without = (watch._counts.planned(conditions)() for watch in rows)
        moved.append(with_unit - without)
    assert min(moved) >= 0
    assert max(moved) == 3


def test_it_can_be_neither_copied_nor_pickled() -> None:
    watch = Monitor(**arrays(), threshold=20, epsilon=1)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TacitError, match="neither copied nor pickled"):
            act(watch)
    assert "threshold=20" in repr(watch)
    assert watch.error("0.95", questions=1000) > watch.error("0.95")


def test_what_fails_inside_says_nothing_and_leaves_the_session_as_it_was() -> None:
    watch = Monitor(**arrays(), threshold=20, epsilon=1)

    class Broken:
        def planned(self, question: Any) -> Any:
            def count() -> int:
                raise ValueError("row 17 is secret")

            return count

        def guarded(self, compute: Any) -> bytes:
            return guarded(compute)

    watch._counts = Broken()  # type: ignore[assignment]
    with pytest.raises(EngineError) as raised:
        watch.ask({})
    assert "secret" not in str(raised.value)
    assert (watch.asked, watch.left) == (0, 1)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"threshold": 1.5, "epsilon": 1}, "threshold"),
        ({"threshold": 5, "epsilon": 0}, "epsilon"),
        ({"threshold": 5, "epsilon": 1, "fires": 0}, "fires"),
        ({"threshold": 5, "epsilon": 1, "sensitivity": 2}, "sensitivity"),
        ({"threshold": 5, "epsilon": 1, "analyst": "ana"}, "analyst"),
        ({"threshold": 5, "epsilon": 1, "rows_per_unit": 2}, "1 for arrays"),
    ],
)
def test_public_mistakes_are_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Monitor(**arrays(), **more)


@pytest.mark.parametrize(
    "question",
    ["SELECT 1", {"agee": 1}, {"ward": "C"}, {"age": (1, 2, 3)}, {"age": (5, 4)}, {"age": (5, None)}, {"age": 1000}],
)
def test_conditions_that_are_none_are_refused(question: Any) -> None:
    watch = Monitor(**arrays(), threshold=20, epsilon=1)
    with pytest.raises(TacitError):
        watch.ask(question)
    assert watch.asked == 0


def test_sql_takes_no_facts_about_columns() -> None:
    with pytest.raises(ParameterError, match="policy states"):
        Monitor(hospital(), threshold=5, epsilon=1, bounds=(0, 1))
