"""Functions and choices on finished cells: their values, and slopes beside differences."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.errors import QuestionError
from tacit.plan import make_plan
from tacit.plan.answers.applied import Extreme, Rising
from tacit.plan.answers.cases import Choice
from tacit.plan.answers.conditions import Test as Condition
from tacit.plan.answers.formulas import Apply, Cells, Constant, Formula, KeyFormula, Linear
from tacit.question import read
from tacit.question.functions import CURVES
from tests.plan.copies import clinic

FIRST, SECOND = Linear(((0, Fraction(1)),)), Linear(((1, Fraction(2)),))
LARGE = Choice((Condition(">", (FIRST, SECOND)),), (FIRST, Rising("sqrt", SECOND)))


def cells(first: list[float], second: list[float], keys: list[Any] | None = None) -> Cells:
    return Cells(len(first), [np.array(first), np.array(second)], [keys or ["a"] * len(first)])


@pytest.mark.parametrize(
    "formula",
    [
        *(Rising(name, FIRST) for name in CURVES),
        LARGE,
        Extreme(True, (FIRST, SECOND)),
        Extreme(False, (FIRST, SECOND)),
    ],
    ids=str,
)
def test_slopes_are_those_of_differences(formula: Formula) -> None:
    points = ([4.0, 0.5, 30.0], [1.0, 3.0, 2.0])
    here, tiny = formula.of(cells(*points)), 1e-6
    for measure in (0, 1):
        moved = [list(part) for part in points]
        moved[measure] = [value + tiny for value in moved[measure]]
        change = (formula.of(cells(*moved)).value - here.value) / tiny
        slope = here.slopes.get(measure, np.zeros(3))
        assert slope == pytest.approx(change, rel=1e-4, abs=1e-4)


def test_a_curve_without_a_value_is_missing_and_never_infinite() -> None:
    for name, inputs in {"sqrt": [-1.0], "ln": [0.0, -5.0], "log10": [0.0], "log2": [-1.0], "exp": [1e9]}.items():
        found = Rising(name, FIRST).of(cells(inputs, inputs))
        assert np.isnan(found.value).all()
        assert np.isfinite(found.slopes[0]).all()
    assert Rising("log10", FIRST).of(cells([1000.0], [0.0])).value[0] == pytest.approx(3)
    assert Apply("trunc", FIRST).of(cells([-2.5], [0.0])).value[0] == -2


def test_an_extreme_passes_over_what_is_missing() -> None:
    missing = Constant(None)
    assert Extreme(True, (missing, FIRST)).of(cells([7.0], [0.0])).value[0] == 7
    assert Extreme(False, (FIRST, missing)).of(cells([7.0], [0.0])).value[0] == 7
    assert math.isnan(Extreme(False, (missing, missing)).of(cells([7.0], [0.0])).value[0])


def test_the_first_condition_that_holds_decides_and_an_unsure_one_does_not() -> None:
    unsure = Condition(">", (Constant(None), FIRST))
    words = Choice(
        (unsure, Condition("=", (KeyFormula(0, False), Constant("a"))), Condition(">", (FIRST, Constant(0)))),
        (Constant("unsure"), Constant("is a"), Constant("positive"), Constant(None)),
    )
    found = words.of(cells([1.0, 1.0, -1.0], [0.0] * 3, ["a", "b", "b"]))
    assert list(found.value) == ["is a", "positive", None]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("CASE WHEN count(*) > 1 THEN 'a' ELSE 2 END", "one kind"),
        ("upper(count(*))", "keys and constants"),
        ("sqrt(sex)", "number is needed"),
        ("greatest(sex, 'a')", "number is needed"),
        ("substring(sex, count(*))", "constant whole numbers"),
        ("replace(sex, 'F', 'x')", "not understood on aggregates and keys"),
    ],
)
def test_what_does_not_go_together_is_refused(output: str, message: str) -> None:
    with pytest.raises(QuestionError, match=message):
        make_plan(read(f"SELECT sex, {output} FROM visits GROUP BY sex"), clinic())
