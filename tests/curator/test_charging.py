"""Charged before it is read: nothing but the answer or one fixed error leaves, and nothing is drawn twice."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.answer import Answer
from tacit.curator import Curator
from tacit.engines.exact import Exact
from tacit.engines.process import FAILED
from tacit.errors import EngineError
from tests.curator.tables import COUNT, Watched

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
