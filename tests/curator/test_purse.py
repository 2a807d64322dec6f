"""Budgets of the dataset and of each analyst: what is spent, what is left, who may ask."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.curator import protect
from tacit.engines.exact import Exact
from tacit.errors import BudgetExceeded, ParameterError, PolicyError
from tacit.loss.filters import NOTHING
from tacit.policy import between
from tests.curator.tables import COUNT, Watched, curated, people


def test_a_question_beyond_the_budget_is_refused_and_nothing_is_charged_or_run() -> None:
    with curated(budget=tacit.Budget(1), default_epsilon="0.1") as curator:
        curator.ask(COUNT, epsilon="0.6")
        double = Watched(RuntimeError())
        curator._till.engine = double  # type: ignore[assignment]
        entries = len(curator.ledger())
        with pytest.raises(BudgetExceeded) as caught:
            curator.ask(COUNT + " WHERE age > 1", epsilon="0.5")
        assert (caught.value.asked, caught.value.remaining) == (Fraction(1, 2), Fraction(2, 5))
        assert (double.runs, len(curator.ledger())) == (0, entries)
        assert (curator.spent().loss, curator.remaining().loss) == (Fraction(3, 5), Fraction(2, 5))
        assert curator.budget().share == Fraction(3, 5)
        assert str(curator.budget()) == (
            "The dataset: 1 answer so far is worth epsilon 0.6, of epsilon 1; "
            "another one like the last (epsilon 0.6) does not fit, a cheaper one may."
        )
        with pytest.raises(ParameterError, match="largest"):
            curator.ask(COUNT, epsilon=2)


def test_ten_questions_of_a_tenth_are_the_whole_budget_of_one() -> None:
    with curated(budget=tacit.Budget(1)) as curator:
        curator._till.engine = Watched(Exact([()], {"m0": [10]}))  # type: ignore[assignment]
        for age in range(10):
            curator.ask(f"{COUNT} WHERE age = {age}", epsilon=0.1)
        assert curator.budget().share == 1
        with pytest.raises(BudgetExceeded):
            curator.ask(COUNT, epsilon="1e-9")


def test_each_analyst_has_a_budget_and_the_dataset_has_one_for_all() -> None:
    analysts = {"ana": tacit.Budget(1), "bob": tacit.Budget(2)}
    with curated(budget=tacit.Budget(2), analysts=analysts) as curator:
        curator._till.engine = Watched(Exact([()], {"m0": [10]}))  # type: ignore[assignment]
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


def test_a_fresh_ledger_has_spent_nothing() -> None:
    with curated(budget=tacit.Budget(3, "1e-6")) as curator:
        assert curator.spent() == NOTHING
        assert curator.budget().share == 0
        curator.ask(COUNT, epsilon=1)
        assert curator.budget().share == Fraction(1, 3)  # addition leaves more than the Renyi rule does
        for spent, left in zip(curator.spent().each, curator.remaining().each, strict=True):
            assert spent is not None
            assert left is not None
            assert spent.loss / (spent.loss + left.loss) >= Fraction(1, 3)
