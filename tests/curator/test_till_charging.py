"""Charged before it is read: nothing but the answer or one fixed error leaves, and nothing is drawn twice.

What failed used to be answered on the old receipt when it was asked again. That was a second draw for one price, and
noise chose who got it; now the failure is what is stored.
"""

from __future__ import annotations

from typing import Any

import pytest

from tacit.curator import Curator
from tacit.engines.exact import Exact
from tacit.engines.process import FAILED
from tacit.errors import EngineError
from tacit.ledger import Receipt
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
    assert [entry.kind for entry in shared.ledger()[entries:]] == ["charged", "failed"]
    watched.outcome, runs = Exact([()], {"m0": [10]}), watched.runs
    with pytest.raises(EngineError) as again:
        shared.ask(sql, epsilon="0.3")
    assert str(again.value) == FAILED
    assert (shared.spent(), watched.runs) == (after, runs)
    shared.resume()


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
    other = shared.ask(COUNT + " WHERE age < 35", epsilon="0.001")

    def run(query: Any) -> Exact:
        (*_, charged) = shared.ledger()  # another host, whose turn is not seen here
        receipt = Receipt.of(charged, "", repeated=True)
        shared._ledger.store_answer(receipt, other.to_bytes())
        return Exact([()], {"m0": [10]})

    watched.run = run  # type: ignore[method-assign]
    # two draws with noise of this size are equal with probability below 1e-3, and then nothing is shown
    assert shared.ask(sql, epsilon="0.001").columns == other.columns


def test_an_answer_that_comes_after_a_stored_failure_is_dropped(shared: Curator, watched: Watched) -> None:
    sql = COUNT + " WHERE age < 36"

    def run(query: Any) -> Exact:
        (*_, charged) = shared.ledger()  # the owner settled it, because it seemed to be cut off
        shared._ledger.store_failure(charged.key or "")
        return Exact([()], {"m0": [10]})

    watched.run = run  # type: ignore[method-assign]
    before = len(shared.ledger())
    with pytest.raises(EngineError, match="stays charged"):
        shared.ask(sql, epsilon=1)
    assert [entry.kind for entry in shared.ledger()[before:]] == ["charged", "failed"]
    shared.resume()
