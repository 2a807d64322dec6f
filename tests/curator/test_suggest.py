"""Bounds bought: the rule and its failure probability, the charge, and that asking again is free."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.curator import Curator, Suggestion
from tacit.curator.suggest import FAILURE, bounds_of, question_for, threshold_of
from tacit.errors import BudgetExceeded, QuestionError
from tacit.mechanisms import Laplace
from tacit.policy import auto
from tacit.policy.cells import cell_of

ROWS = 6_000
DRAW = random.Random(11)
DISTRIBUTIONS: dict[str, Callable[[], float]] = {
    "uniform": lambda: DRAW.uniform(0, 100),
    "far from zero": lambda: DRAW.uniform(10_000, 10_100),
    "both signs": lambda: DRAW.gauss(0, 5),
    "heavy tail": lambda: DRAW.lognormvariate(3, 1),
    "negative": lambda: -DRAW.expovariate(1 / 50),
    "tiny": lambda: DRAW.uniform(1e-9, 1e-8),
    "constant": lambda: 42.0,
    "zero": lambda: 0.0,
    "huge": lambda: 1e300,
    "strange": lambda: DRAW.choice([math.nan, math.inf, 3.0, 3.5]),
}


def clinic(**columns: tuple[list[Any], Any]) -> Curator:
    """Two rows of each person; each column with its facts."""
    rows = len(next(iter(columns.values()))[0])
    frame = pa.table({"id": [row // 2 for row in range(rows)], **{name: each for name, (each, _) in columns.items()}})
    facts = {name: stated for name, (_, stated) in columns.items()}
    return tacit.protect(frame, unit="id", rows_per_unit=2, table="t", columns=facts, budget=tacit.Budget(100))


VALUES = {name: [draw() for _ in range(ROWS)] for name, draw in DISTRIBUTIONS.items()}


@pytest.fixture(scope="module")
def many() -> Iterator[Curator]:
    with clinic(**{name: (values, tacit.auto()) for name, values in VALUES.items()}) as curator:
        yield curator


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(20), Fraction(7, 3)])
@pytest.mark.parametrize("cells", [2, 128, 261])
def test_the_threshold_is_the_least_that_all_noises_together_rarely_exceed(scale: Fraction, cells: int) -> None:
    found = threshold_of(Laplace(1, scale=scale), cells)
    decay = math.exp(-1 / scale)

    def tail(t: int) -> float:  # of one cell, on both sides: 2 a**(t + 1) / (1 + a)
        return 2 * decay ** (t + 1) / (1 + decay)

    assert cells * tail(found) <= FAILURE < cells * tail(found - 1)
    assert Fraction(1, 100) == FAILURE


@pytest.mark.statistical
def test_a_cell_without_rows_is_seen_as_rarely_as_is_said() -> None:
    # the rule fails in at most 1 of 100 runs, and an empty cell is above T in half of them (noise is symmetric): of
    # 6,000 runs at most 30 are expected. T is whole, so that it is 0.403 % of the runs, 24.2 of them (binomial): none
    # has probability 3e-11, and 70 or more have 1e-13
    mechanism = Laplace(2, epsilon="0.5")
    noise = mechanism.release(np.zeros(6_000 * 261, dtype=np.int64)).reshape(6_000, 261)
    wrong = int((noise > threshold_of(mechanism, 261)).any(axis=1).sum())
    assert 0 < wrong < 70


@pytest.mark.statistical
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_interval_covers_every_cell_with_many_rows(many: Curator, name: str) -> None:
    # a cell with 400 rows above T is not seen where its noise of scale 4 is below -400: 1e-43
    found = many.suggest(f"t.{name}", epsilon="0.5")
    threshold = threshold_of(Laplace(2, epsilon="0.5"), 261)
    cells = [cell_of(Fraction(value)) for value in VALUES[name] if math.isfinite(value)]
    full = [cell for cell in set(cells) if cells.count(cell) > threshold + 400]
    assert full
    assert found.lower is not None
    assert found.upper is not None
    lower, upper = bounds_of(auto().column("x", "real"), min(full), max(full))
    if name == "zero":  # a range of one point is shown as 0 to 1, unless noise adds a cell beside it (0.4 % of runs)
        lower = upper = 0.0
    assert found.lower <= lower <= upper <= found.upper
    assert f"more than {2 * threshold} rows" in found.sureness
    tacit.between(found.lower, found.upper).column("x", "real")  # the policy takes it


@pytest.mark.statistical
def test_whole_numbers_without_bounds_get_bounds_too() -> None:
    # 1,000 rows in each of six cells; noise of scale 2 hides one with probability below 1e-100
    values = [(-9, 0, 1, 5, 100, 2**61)[row % 6] for row in range(ROWS)]
    stated = {"free": tacit.anything(), "auto": tacit.auto(), "bounded": tacit.between(-(2**62), 2**62)}
    with clinic(**{name: (values, facts) for name, facts in stated.items()}) as curator:
        suggested = [curator.suggest(f"T.{name.upper()}", epsilon=1) for name in stated]
    for found in suggested:
        assert isinstance(found.lower, int)
        assert isinstance(found.upper, int)
        assert found.lower <= -15
        assert found.upper >= 2**62 - 1
        assert tacit.between(found.lower, found.upper).column("x", "integer").bounded


@pytest.mark.parametrize(
    ("kind", "first", "last", "bounds"),
    [
        ("integer", 65, 67, (1, 7)),
        ("integer", -67, -65, (-7, -1)),
        ("integer", -65, 66, (-1, 3)),
        ("integer", 0, 0, (0, 0)),
        ("integer", -130, 130, (-(2**62), 2**62)),
        ("real", 65, 67, (1.0, 8.0)),
        ("real", -67, -65, (-8.0, -1.0)),
        ("real", 0, 65, (0.0, 2.0)),
        ("real", 1, 64, (0.0, 1.0)),
        ("real", 0, 0, (0.0, 1.0)),
        ("real", -130, 130, (-(2.0**66), 2.0**66)),
    ],
)
def test_bounds_are_the_ends_of_the_cells(kind: Any, first: int, last: int, bounds: tuple[float, float]) -> None:
    found = bounds_of(auto().column("x", kind), first, last)
    assert found == bounds
    assert {type(end) for end in found} == {int if kind == "integer" else float}


@pytest.mark.statistical
def test_it_is_charged_as_a_question_and_free_the_second_time() -> None:
    with clinic(x=([5.0] * ROWS, tacit.auto(nullable=False))) as curator:
        sql = question_for(curator.policy, "t.x")[0]
        first = curator.suggest("t.x", epsilon="0.1")
        assert (first.epsilon, first.repeated) == (Fraction(1, 10), False)
        assert curator.spent().loss == Fraction(1, 10)
        again = curator.suggest("t.x", epsilon=0.1)
        assert again.repeated
        assert (again.lower, again.upper, again.line) == (first.lower, first.upper, first.line)
        assert curator.ask(sql, "0.1").repeated
        assert curator.spent().loss == Fraction(1, 10)
        assert len([entry for entry in curator.ledger() if entry.cost is not None]) == 1
        assert curator.suggest("t.x", epsilon=0.1, rows_per_unit=1).repeated is False
        assert curator.spent().loss == Fraction(2, 10)
        assert first.line is not None
        assert first.line.startswith('x = { type = "real", between = [')
        assert "nullable = false" in first.line
        assert "charged" in str(first)
        assert "nothing was charged" in str(again)


@pytest.mark.statistical
def test_too_few_rows_give_no_bounds_and_say_so() -> None:
    # ten rows, and a threshold of some 200: noise of scale 20 reaches it in a cell with probability 1 % / 522 at most,
    # in all 261 with 0.5 %; asked at four budgets, all four would have to be wrong: 1e-9
    with clinic(x=([5.0] * 10, tacit.auto())) as curator:
        found: list[Suggestion] = [curator.suggest("t.x", epsilon=f"0.{tenth}") for tenth in range(1, 5)]
    without = [each for each in found if each.line is None]
    assert without
    assert all((each.lower, each.upper) == (None, None) for each in without)
    assert all("Too few rows" in each.sureness and "No bounds for t.x" in str(each) for each in without)


def test_what_cannot_be_suggested_is_refused_before_the_charge() -> None:
    frame = pa.table({"id": [1, 2], "x": [1.0, 2.0], "word": ["a", "b"]})
    columns = {"x": tacit.auto(), "word": tacit.anything()}
    with tacit.protect(frame, unit="id", table="t", columns=columns, budget=tacit.Budget(1)) as curator:
        for column, words in (("t.y", "Did you mean 't.x'"), ("x", "table.column"), ("t.word", "is a text"), (7, "no")):
            with pytest.raises(QuestionError, match=words):
                curator.suggest(column)  # type: ignore[arg-type]
        curator.suggest("t.x", epsilon=1)
        with pytest.raises(BudgetExceeded):
            curator.suggest("t.x", epsilon="0.5")
        assert curator.spent().loss == 1
