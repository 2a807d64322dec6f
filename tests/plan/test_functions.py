"""The two tables of functions: how each is read (`question.functions`), and what it is (`plan.functions`)."""

from __future__ import annotations

from collections import Counter

import pytest

from tacit.errors import QuestionError
from tacit.plan.functions import TABLE, on_answer
from tacit.question import functions, tree
from tacit.question.readers import LISTS, READERS


def test_every_function_that_can_be_read_has_a_meaning_and_the_tables_agree_in_order() -> None:
    assert [each.name for each in TABLE] == [each.name for each in functions.TABLE]


def test_no_kind_of_node_has_two_readers() -> None:
    listed = Counter(kind for own in LISTS for kind in own)
    assert max(listed.values()) == 1
    assert listed.keys() == READERS.keys()


def test_what_has_no_meaning_on_an_answer_is_refused_with_what_has_one() -> None:
    with pytest.raises(QuestionError, match=r"strftime is not understood on aggregates and keys\. Known: abs, sign, "):
        on_answer(tree.Call("strftime", ()), None)  # type: ignore[arg-type]
