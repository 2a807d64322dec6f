"""What an asker may say is listed once, and seen on every method that takes it."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import pytest

from tacit.curator import Curator, Planner
from tacit.curator.database import Database
from tacit.errors import ParameterError
from tacit.plan.asked import Asked
from tests.curator.tables import COUNT

WORDS = tuple(inspect.signature(Asked.of).parameters)
METHODS = ("plan", "planned", "estimate", "explain", "why")


@pytest.mark.parametrize("owner", [Planner, Curator, Database])
def test_help_and_tab_completion_see_every_word(owner: type) -> None:
    for name in (*METHODS, *(() if owner is Planner else ("ask",))):
        method = getattr(owner, name)
        assert tuple(inspect.signature(method).parameters) == ("self", "sql", *WORDS)
        shown = pydoc.plain(pydoc.render_doc(method))
        assert all(word in shown for word in ("delta", "within", "rows_per_unit", "groups_per_unit", "analyst"))
    assert WORDS[0] == "epsilon"
    assert inspect.signature(owner.plan).parameters["delta"].kind is inspect.Parameter.KEYWORD_ONLY


def test_words_and_the_value_they_make_are_the_same_question(shared: Curator) -> None:
    words: dict[str, Any] = {"delta": "1e-6", "rows_per_unit": 1, "weights": {"n": 2}}
    sql = "SELECT count(*) AS n, sum(age) AS s FROM people"
    assert shared.plan(sql, "0.1", **words) == shared.plan(sql, Asked.of(0.1, **words))
    assert shared.plan(sql=sql, epsilon="0.1", **words) == shared.plan(sql, Asked.of("0.1", **words))  # type: ignore[call-arg]


@pytest.mark.parametrize("word", WORDS[1:])
def test_nothing_can_be_said_besides_the_value(shared: Curator, word: str) -> None:
    said = {"analyst": "ana", "weights": {"n": 1}}.get(word, 0)
    with pytest.raises(ParameterError, match="a number where other parameters are given"):
        Planner(shared.policy).plan(COUNT, Asked.of(1), **{word: said})  # type: ignore[arg-type]


def test_what_is_no_word_is_refused(shared: Curator) -> None:
    for name in (*METHODS, "ask"):
        with pytest.raises(TypeError, match="Did you mean 'epsilon'"):
            getattr(shared, name)(COUNT, epsilom=1)


@pytest.mark.parametrize("word", ["rows", "rows_per_unit", "groups_per_unit"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "2", True])
def test_whole_numbers_are_checked_where_they_are_said(word: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"The '{word}' parameter must be a whole number of at least 1"):
        Asked.of(1, **{word: value})
