"""What a newcomer writes: short forms that work, and habits of other libraries that get a hint."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import tacit
from tacit.errors import ParameterError, PolicyError

FRAME = pd.DataFrame({"who": range(6), "age": [20, 30, 40, 50, 60, 70], "sex": ["F", "M"] * 3})


def opened(columns: Any, budget: Any = 3, **facts: Any) -> tacit.Curator:
    return tacit.protect(FRAME, unit="who", columns=columns, budget=budget, **facts)


def test_short_forms_mean_what_the_long_ones_do() -> None:
    short = opened({"age": (0, 110), "sex": ["F", "M"]}, budget=3, analysts={"ana": 1})
    long = opened(
        {"age": tacit.between(0, 110), "sex": tacit.one_of(["F", "M"])},
        budget=tacit.Budget(3),
        analysts={"ana": tacit.Budget(1)},
    )
    assert short.policy.tables == long.policy.tables
    assert short.policy.budget == long.policy.budget
    assert short.policy.analysts == long.policy.analysts


@pytest.mark.parametrize(
    ("columns", "budget", "error", "words"),
    [
        ({"age": 5}, 3, PolicyError, r"Column 'age': what is public .*\(0, 110\) or \['F', 'M'\]. Got 5"),
        ({"age": (1, 2, 3)}, 3, PolicyError, "what is public"),
        ({"age": {20, 30}}, 3, PolicyError, "what is public"),
        (["age"], 3, PolicyError, "must be a mapping"),
        ({"agee": (0, 110)}, 3, PolicyError, "Did you mean 'age'"),
        ({"age": (110, 0)}, 3, PolicyError, "lower bound must not be above"),
        ({"age": (0, 110)}, "lots", ParameterError, "epsilon"),
        ({"age": (0, 110)}, -1, ParameterError, "epsilon"),
    ],
)
def test_what_cannot_be_meant_gets_a_sentence(columns: Any, budget: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        opened(columns, budget)


@pytest.mark.parametrize(
    ("habit", "instead"),
    [("mean", "avg"), ("groupby", "group_by"), ("head", "limit"), ("describe", "statistics"), ("frobnicate", "Steps:")],
)
def test_habits_of_other_libraries_get_a_hint(habit: str, instead: str) -> None:
    question = opened({"age": (0, 110)}).table("data")
    with pytest.raises(AttributeError, match=instead):
        getattr(question, habit)
    assert not hasattr(question, habit)
