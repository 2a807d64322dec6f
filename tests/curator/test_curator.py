"""A question's walk: charged before it is read, answered once, and nothing but the answer or one fixed error leaves."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.answer import Answer
from tacit.curator import Curator, Preview, open_policy, protect, release
from tacit.engines.duckdb_engine import STALE
from tacit.engines.exact import Exact
from tacit.engines.process import FAILED
from tacit.errors import BudgetExceeded, EngineError, ParameterError, PolicyError, QuestionError
from tacit.loss.filters import NOTHING
from tacit.noise import secure
from tacit.noise.bits import SeededBitsForTestsOnly
from tacit.policy import between
from tests.curator.tables import Watched, curated, people

RECEIPT: Any = SimpleNamespace(sequence=7)
COUNT = "SELECT count(*) FROM people"


@pytest.fixture(scope="module")
def shared() -> Iterator[Curator]:
    with curated() as curator:
        yield curator


@pytest.fixture
def watched(shared: Curator, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """An engine whose only row is a count of ten."""
    double = Watched(Exact([()], {"m0": [10]}))
    monkeypatch.setattr(shared, "_engine", double)
    return double


# -- asking again --------------------------------------------------------------------------------------------

SAME = [
    (
        "SELECT sex, count(*) AS n FROM people WHERE age > 20 AND pay < 500 GROUP BY sex",
        "select\tSEX,\n  COUNT( * )  howmany /* again */ from People where (pay<500) and AGE>20 group by Sex -- so",
    ),
    (
        "SELECT avg(age) FROM people WHERE sex IN ('F', 'M') OR age = 3",
        "SELECT AVG(p.age) AS mean FROM people AS p WHERE p.age = 3 OR p.sex IN ('M', 'F')",
    ),
    ("SELECT sum(pay) FROM people WHERE age BETWEEN 2 AND 5", "SELECT sum(pay) FROM people WHERE age<=5 AND age>=2"),
]


@pytest.mark.parametrize(("first", "again"), SAME)
def test_the_same_question_in_other_words_gets_the_stored_answer_for_free(
    shared: Curator, first: str, again: str
) -> None:
    answer = shared.ask(first, epsilon=1)
    spent, entries = shared.spent(), len(shared.ledger())
    repeated = shared.ask(again, epsilon=1)
    assert (answer.repeated, repeated.repeated) == (False, True)
    assert (repeated.columns, repeated.deviations, repeated.facts) == (answer.columns, answer.deviations, answer.facts)
    assert repeated.names == tuple(output.name for output in shared.plan(again, 1).outputs)
    assert (shared.spent(), len(shared.ledger())) == (spent, entries)
    assert "nothing charged" in str(repeated)


DIFFERENT: list[tuple[str, dict[str, Any]]] = [
    (COUNT, {"epsilon": "0.7"}),
    (COUNT, {"epsilon": "0.70001"}),
    (COUNT, {"epsilon": "0.7", "delta": "1e-4"}),
    (COUNT, {"epsilon": "0.7", "rows_per_unit": 2}),
    (COUNT + " WHERE age > 1", {"epsilon": "0.7"}),
    (COUNT + " WHERE age > 1 OR sex = 'F'", {"epsilon": "0.7"}),
    (COUNT + " WHERE age > 1 AND sex = 'F'", {"epsilon": "0.7"}),
    (COUNT + " WHERE sex = 'f'", {"epsilon": "0.7"}),
    ("SELECT count(*), sum(age) FROM people", {"epsilon": "0.7"}),
    ("SELECT count(*) AS a, sum(age) AS b FROM people", {"epsilon": "0.7", "weights": {"a": 2}}),
    ("SELECT count(*) AS a, sum(age) AS b FROM people", {"epsilon": "0.7", "weights": {"b": 2}}),
    ("SELECT sum(age), count(*) FROM people", {"epsilon": "0.7"}),
]


def test_what_shapes_the_answer_makes_another_question(shared: Curator) -> None:
    for sql, options in DIFFERENT:
        before = shared.spent()
        assert not shared.ask(sql, **options).repeated, (sql, options)
        assert shared.spent().loss > before.loss


def test_a_tenth_is_a_tenth_however_it_is_written(shared: Curator) -> None:
    sql = COUNT + " WHERE age = 77"
    shared.ask(sql, epsilon=0.1)
    for same in ("0.1", "1/10", Fraction(1, 10), np.float64(0.1)):
        assert shared.ask(sql, epsilon=same).repeated
    assert shared.plan(sql, 1, delta=1e-7).delta == Fraction(1, 10**7)
    assert shared.plan(sql, rho=0.1, delta=1e-7).measures[0].mechanism.event.sigma ** 2 * Fraction(1, 5) >= 9


def test_another_table_under_the_same_ledger_gets_no_stored_answer(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "heads"))
    options = {"ledger": str(tmp_path / "spent.ledger")}
    with curated(**options) as first:
        first.ask(COUNT, epsilon=1)
    with curated(people(9), **options) as second:
        assert not second.ask(COUNT, epsilon=1).repeated
        charges = [entry for entry in second.ledger() if entry.kind == "charged"]
        assert len(charges) == 2


POLICY = """
name = "clinic"
ledger = "spent.ledger"
[budget]
epsilon = 5
delta = 1e-6
[questions]
default_epsilon = 0.5
largest_epsilon = 2
[tables.people]
source = "people.csv"
unit = "pid"
rows_per_unit = 2
[tables.people.columns]
age = { type = "integer", between = [0, %d] }
"""


def test_a_policy_file_with_other_bounds_or_changed_rows_gets_no_stored_answer(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "heads"))
    policy, rows = tmp_path / "clinic.toml", tmp_path / "people.csv"
    rows.write_text("pid,age\n" + "".join(f"{row},{row % 50}\n" for row in range(100)))
    sql = "SELECT count(*) FROM people WHERE age >= 50"  # its noise is the same under other bounds, its truth is not
    policy.write_text(POLICY % 100)
    with open_policy(policy) as curator:
        first = curator.ask(sql)
        assert curator.ask(sql) == first
    with open_policy(policy) as curator:
        assert curator.ask(sql).repeated
        assert curator.ask(sql) == first
        os.utime(rows, (1, 1))
        before = curator.spent()
        with pytest.raises(EngineError, match="changed since") as caught:
            curator.ask(sql)
        assert str(caught.value) == STALE
        assert curator.spent() == before
    with open_policy(policy) as curator:
        assert not curator.ask(sql).repeated
    policy.write_text(POLICY % 50)
    with open_policy(policy) as curator:
        assert not curator.ask(sql).repeated


def test_the_same_question_asked_at_once_by_many_is_drawn_once(shared: Curator) -> None:
    before = len(shared.ledger())
    sql = "SELECT sex, count(*) FROM people WHERE age < 55 GROUP BY sex"
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: shared.ask(sql, epsilon=1), range(6)))
    assert all(answer == answers[0] for answer in answers)
    assert [entry.kind for entry in shared.ledger()[before:]] == ["charged", "answered"]


# -- charged before it is read -------------------------------------------------------------------------------

FAILURES = [
    EngineError(FAILED),
    EngineError("row 42 has age 17"),
    RuntimeError("row 42"),
    OSError("row 42"),
    MemoryError("row 42"),
    Exact([()], {"other": [42]}),
]


@pytest.mark.parametrize("place", range(len(FAILURES)))
def test_a_failing_engine_costs_the_budget_and_says_one_fixed_sentence(
    shared: Curator, watched: Watched, place: int
) -> None:
    sql = f"SELECT count(*) FROM people WHERE age < {place}"
    watched.outcome = FAILURES[place]
    before, entries = shared.spent(), len(shared.ledger())
    with pytest.raises(EngineError) as caught:
        shared.ask(sql, epsilon="0.3")
    assert str(caught.value) == FAILED
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert shared.spent().loss > before.loss
    after = shared.spent()
    assert [entry.kind for entry in shared.ledger()[entries:]] == ["charged"]
    watched.outcome = Exact([()], {"m0": [10]})
    answer = shared.ask(sql, epsilon="0.3")
    assert not answer.repeated
    assert shared.spent() == after
    assert answer.receipt["entry"] == str(shared.ledger()[entries].sequence)
    assert shared.ask(sql, epsilon="0.3") == answer


def test_the_charge_is_in_the_ledger_when_the_engine_starts(shared: Curator, watched: Watched) -> None:
    seen: list[list[str]] = []

    def run(query: Any) -> Exact:
        seen.append([str(entry.kind) for entry in shared.ledger()[before:]])
        return Exact([()], {"m0": [10]})

    before = len(shared.ledger())
    watched.run = run  # type: ignore[method-assign]
    shared.ask(COUNT + " WHERE age < 33", epsilon=1)
    assert seen == [["charged"]]
    assert [entry.kind for entry in shared.ledger()[before:]] == ["charged", "answered"]


def test_an_answer_that_another_stored_meanwhile_is_the_answer(shared: Curator, watched: Watched) -> None:
    sql = COUNT + " WHERE age < 34"
    meanwhile: list[Answer] = []

    def run(query: Any) -> Exact:
        watched.run = Watched(Exact([()], {"m0": [10]})).run  # type: ignore[method-assign]
        meanwhile.append(shared.ask(sql, epsilon="0.001"))
        return Exact([()], {"m0": [10]})

    watched.run = run  # type: ignore[method-assign]
    # two draws with noise of this size are equal with probability below 1e-3, and then nothing is shown
    assert shared.ask(sql, epsilon="0.001").columns == meanwhile[0].columns


def test_planning_costs_nothing_and_runs_nothing(shared: Curator, watched: Watched) -> None:
    before, entries = shared.spent(), len(shared.ledger())
    sql = "SELECT sex, count(*), avg(age) FROM people GROUP BY sex"
    assert "+/-" in str(shared.estimate(sql, 1, rows=100))
    assert "of the whole budget" in str(shared.estimate(sql, 1))
    assert "rows=1000" in str(shared.estimate(sql, 1))
    assert "1. " in shared.explain(sql, 1)
    assert "SELECT" in shared.explain(sql, 1)
    assert "rows_per_unit=1" in shared.why(sql, 1)
    assert shared.plan(sql, within=30, rows=1000).epsilon is not None
    assert watched.runs == 0
    assert (shared.spent(), len(shared.ledger())) == (before, entries)


def test_a_preview_estimates_without_data_or_ledger(shared: Curator) -> None:
    sql = "SELECT avg(age) FROM people"
    assert str(Preview(shared.policy).estimate(sql, 1, rows=50)) == str(shared.estimate(sql, 1, rows=50))


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


# -- budgets -------------------------------------------------------------------------------------------------


def test_a_question_beyond_the_budget_is_refused_and_nothing_is_charged_or_run() -> None:
    with curated(budget=tacit.Budget(1), default_epsilon="0.1") as curator:
        curator.ask(COUNT, epsilon="0.6")
        double = Watched(RuntimeError())
        curator._engine = double  # type: ignore[assignment]
        entries = len(curator.ledger())
        with pytest.raises(BudgetExceeded) as caught:
            curator.ask(COUNT + " WHERE age > 1", epsilon="0.5")
        assert (caught.value.asked, caught.value.remaining) == (Fraction(1, 2), Fraction(2, 5))
        assert (double.runs, len(curator.ledger())) == (0, entries)
        assert (curator.spent().loss, curator.remaining().loss) == (Fraction(3, 5), Fraction(2, 5))
        assert curator.budget().share == Fraction(3, 5)
        assert str(curator.budget()) == "The dataset: 60.0 % of epsilon 1, delta 0 is spent, 40.0 % is left."
        with pytest.raises(ParameterError, match="largest"):
            curator.ask(COUNT, epsilon=2)


def test_ten_questions_of_a_tenth_are_the_whole_budget_of_one() -> None:
    with curated(budget=tacit.Budget(1)) as curator:
        curator._engine = Watched(Exact([()], {"m0": [10]}))  # type: ignore[assignment]
        for age in range(10):
            curator.ask(f"{COUNT} WHERE age = {age}", epsilon=0.1)
        assert curator.budget().share == 1
        with pytest.raises(BudgetExceeded):
            curator.ask(COUNT, epsilon="1e-9")


def test_each_analyst_has_a_budget_and_the_dataset_has_one_for_all() -> None:
    analysts = {"ana": tacit.Budget(1), "bob": tacit.Budget(2)}
    with curated(budget=tacit.Budget(2), analysts=analysts) as curator:
        curator._engine = Watched(Exact([()], {"m0": [10]}))  # type: ignore[assignment]
        first = curator.ask(COUNT, epsilon="0.8", analyst="ana")
        with pytest.raises(BudgetExceeded) as caught:
            curator.ask(COUNT + " WHERE age = 1", epsilon="0.5", analyst="ana")
        assert caught.value.remaining == Fraction(1, 5)
        assert curator.ask(COUNT, epsilon="0.8", analyst="bob") == first
        assert curator.budget("bob").share == 0
        curator.ask(COUNT + " WHERE age = 2", epsilon="1.2", analyst="bob")
        assert (curator.budget("ana").share, curator.budget("bob").share) == (Fraction(4, 5), Fraction(3, 5))
        assert curator.budget().left == 0
        with pytest.raises(BudgetExceeded, match="dataset"):
            curator.ask(COUNT + " WHERE age = 3", epsilon="0.1", analyst="bob")


def test_a_stranger_gets_no_answer_not_even_a_stored_one() -> None:
    with curated(budget=tacit.Budget(2), analysts={"ana": tacit.Budget(1)}) as curator:
        curator.ask(COUNT, epsilon=1, analyst="ana")
        for stranger in ("eve", "owner", "", "ana\n"):
            with pytest.raises(ParameterError, match="analyst"):
                curator.ask(COUNT, epsilon=1, analyst=stranger)
        curator.analyst = "ana"
        assert {entry.analyst for entry in curator.ledger()} == {"ana"}
        with pytest.raises(ParameterError, match="ana"):
            curator.ledger("bob")


def test_a_curator_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(PolicyError):
        protect(people(3), unit="nobody", columns={"age": between(0, 9)}, budget=tacit.Budget(1))
    assert list(tmp_path.iterdir()) == []


# -- keys ----------------------------------------------------------------------------------------------------


def test_known_keys_are_all_shown_also_empty_ones(shared: Curator) -> None:
    answer = shared.ask("SELECT sex, age, count(*) FROM people WHERE age > 1000 GROUP BY sex, age", epsilon=1)
    assert len(answer) == 3 * 101
    assert list(zip(answer["sex"], answer["age"], strict=True))[:2] == [("F", 0), ("F", 1)]
    assert {type(value) for value in answer["count"]} == {int}


def test_keys_that_are_dates_times_truths_and_nothing_read_as_such(shared: Curator) -> None:
    months = shared.ask("SELECT date_trunc('month', day) AS m, count(*) FROM people GROUP BY m", epsilon=1)
    assert [str(value) for value in months["m"]] == [*(f"2024-{month:02}-01" for month in range(1, 13)), "None"]
    members = shared.ask("SELECT member, count(*) FROM people GROUP BY member", epsilon=1)
    assert members["member"] == (False, True, None)
    seen = shared.ask("SELECT seen, count(*) FROM people GROUP BY seen", epsilon=50, delta="0.1")
    assert seen.kinds == ("timestamp", "integer")
    assert {type(value).__name__ for value in seen["seen"]} == {"datetime", "NoneType"}
    assert seen["seen"][-1] is None
    for answer in (months, members, seen):
        assert type(answer).from_bytes(answer.to_bytes()) == answer


def test_unknown_keys_need_a_delta(shared: Curator) -> None:
    before = shared.spent()
    with pytest.raises(QuestionError, match="delta"):
        shared.ask("SELECT town, count(*) FROM people GROUP BY town", epsilon=1)
    assert shared.spent() == before


def test_unknown_keys_come_sorted_whatever_the_engine_returned(shared: Curator, monkeypatch: Any) -> None:
    plan = shared.plan("SELECT town, count(*) FROM people GROUP BY town LIMIT 3", 50, delta="0.1")
    names = ["Zürich", None, "Ayr", "", "Bern"]
    for order in (names, names[::-1], sorted(names, key=str)):
        many = Exact([(name,) for name in order], {"m0": [10**6] * 5, str(plan.query.unit_column): [10**6] * 5})
        assert release(plan, many, RECEIPT, "one", secure())["town"] == ("", "Ayr", "Bern")


def test_keys_with_few_units_are_not_shown_and_their_counts_not_looked_at(shared: Curator) -> None:
    plan = shared.plan("SELECT town, count(*) FROM people GROUP BY town", 1, delta="1e-9")
    units = str(plan.query.unit_column)
    exact = Exact([("rare",), ("common",), ("gone",)], {"m0": [10**6, 10**6, 10**6], units: [1, 10**5, 0]})
    answer = release(plan, exact, RECEIPT, "one", secure())
    assert answer["town"] == ("common",)  # fails with probability below 1e-9
    assert "keys chosen by a rule" in answer.card()


def test_rows_of_the_engine_that_are_no_public_cell_are_dropped(shared: Curator) -> None:
    plan = shared.plan("SELECT sex, count(*) FROM people GROUP BY sex", 50)
    exact = Exact([("X",), ("M",)], {"m0": [10**6, 500]})
    answer = release(plan, exact, RECEIPT, "one", secure())
    assert answer["sex"] == ("F", "M", None)
    assert [abs(value - truth) < 50 for value, truth in zip(answer["count"], (0, 500, 0), strict=True)] == [True] * 3


def test_seeded_bits_release_nothing(shared: Curator) -> None:
    plan = shared.plan(COUNT, 1)
    with pytest.raises(QuestionError, match="secure bits"):
        release(plan, Exact([()], {"m0": [1]}), RECEIPT, "one", SeededBitsForTestsOnly(1))


# -- numbers that would take all memory ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["epsilon", "rho", "delta"])
@pytest.mark.parametrize("value", ["1e999999999", "1e-999999999", "0." + "1" * 200, "nan", "inf", "x", "-1", None])
def test_absurd_parameters_are_refused_before_the_charge(shared: Curator, name: str, value: Any) -> None:
    before = shared.spent()
    if value is None:
        value = math.nan
    with pytest.raises(ParameterError, match=name):
        shared.ask(COUNT, **{"epsilon" if name != "rho" else "delta": "0.1", name: value})
    assert shared.spent() == before


def test_a_fresh_ledger_has_spent_nothing() -> None:
    with curated(budget=tacit.Budget(3, "1e-6")) as curator:
        assert curator.spent() == NOTHING
        assert curator.budget().share == 0
        curator.ask(COUNT, epsilon=1)
        spent, limit = curator.spent(), curator.spent() + curator.remaining()
        assert curator.budget().share == max(spent.loss / limit.loss, spent.delta / limit.delta)
