"""What the plan makes of the table of functions."""

from __future__ import annotations

import importlib

import pytest

from tacit.errors import QuestionError
from tacit.plan.functions import ANSWERS, ROWS, on_answer
from tacit.question import tree
from tacit.question.forms import InPlan
from tacit.question.functions import TABLE


def test_every_function_that_the_table_leaves_to_the_plan_is_there_and_no_other() -> None:
    assert {each.on_row.name for each in TABLE if isinstance(each.on_row, InPlan)} == ROWS.keys()
    assert {each.on_answer.name for each in TABLE if isinstance(each.on_answer, InPlan)} == ANSWERS.keys()


@pytest.mark.parametrize("name", [*(f"values.{name}" for name in ROWS), *(f"answers.{name}" for name in ANSWERS)])
def test_the_names_of_the_table_are_those_of_the_plan(name: str) -> None:
    room, file, *inside = name.split(".")
    found: object = importlib.import_module(f"tacit.plan.{room}.{file}")
    for part in inside:
        found = getattr(found, part)


def test_what_has_no_meaning_on_an_answer_is_refused_with_what_has_one() -> None:
    with pytest.raises(QuestionError, match=r"strftime is not understood on aggregates and keys\. Known: abs, sign, "):
        on_answer(tree.Call("strftime", ()), None)  # type: ignore[arg-type]
