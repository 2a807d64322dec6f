"""`best`: decided by public sizes; and what becomes of a synthesis that breaks after it was paid for."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from tacit import synthesis
from tacit.engines.process import FAILED
from tacit.errors import EngineError, ParameterError
from tacit.synthesis.best import MOST_COLUMNS, method_for
from tests.synthesis.test_released import clinic


def made(columns: int, rows: int = 20, **price: Any) -> synthesis.Synthetic:
    generator = np.random.default_rng(columns)
    data = {f"c{place}": generator.integers(0, 2, rows) for place in range(columns)}
    return synthesis.best(data, bounds=dict.fromkeys(data, (0, 1)), epsilon=1, **price)


def test_the_method_follows_from_the_number_of_columns_and_the_budget() -> None:
    assert made(1, delta="1e-6").method == "independent"
    assert made(3).method == "independent"  # no delta: a pure guarantee
    assert made(3, delta="1e-6").method == "aim"
    assert [method_for(count, has_delta=True) for count in (2, MOST_COLUMNS, MOST_COLUMNS + 1)] == [
        "aim",
        "aim",
        "residual",
    ]
    assert made(MOST_COLUMNS + 1, delta="1e-6").method == "residual"
    with pytest.raises(ParameterError, match="use mst"):
        made(MOST_COLUMNS + 1, delta="1e-6", constraints=["c0 = 0 OR c1 = 0"])


@pytest.mark.parametrize("rows", [0, 1, 500])
def test_the_number_of_rows_does_not_decide(rows: int) -> None:
    assert made(3, rows, delta="1e-6").method == "aim"


def test_the_release_is_the_methods_own_and_found_again_by_its_name() -> None:
    rows = clinic().rows("SELECT age, sex, ward FROM data")
    first = synthesis.best(rows, epsilon=1, delta=1e-6)
    again = synthesis.aim(rows, epsilon=1, delta=1e-6)
    assert again.repeated
    assert again.receipt["event"] == first.receipt["event"]


@pytest.mark.parametrize("method", ["mst", "aim", "independent"])
def test_a_synthesis_that_breaks_after_the_charge_is_stored_as_failed_and_never_drawn_again(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = clinic()
    rows = at.rows("SELECT sex, ward FROM data")
    before = len(at.ledger())

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("cell 42 of the data")

    name = "alone"  # the first thing that is done with noisy tables
    monkeypatch.setattr(sys.modules[f"tacit.synthesis.{method}"], name, broken)
    with pytest.raises(EngineError) as caught:
        getattr(synthesis, method)(rows, epsilon=1, delta=1e-6)
    assert str(caught.value) == FAILED  # nothing of what went wrong is told
    assert caught.value.__cause__ is None
    assert [entry.kind for entry in at.ledger()[before:]] == ["charged", "failed"]
    monkeypatch.undo()
    spent = at.spent()
    with pytest.raises(EngineError):
        getattr(synthesis, method)(rows, epsilon=1, delta=1e-6)
    assert at.spent() == spent
    assert [entry.kind for entry in at.ledger()[before:]] == ["charged", "failed"]
