"""One list of questions: every engine gives the same exact whole numbers, and they are those of plain Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tacit.plan import Plan, make_plan
from tacit.plan.picks.rank_probe import Probe
from tacit.plan.plan import Pick
from tacit.policy import Policy
from tacit.question import read
from tacit.question.functions import FUNCTIONS
from tests.engines.conformance.engines import Opened, listed
from tests.engines.conformance.questions import QUESTIONS, Question

KNOWN = [question for question in QUESTIONS if question.where is not None]


texts_read = functools.cache(read)  # the same for every engine


def planned(question: Question, policy: Policy) -> tuple[Plan, Any]:
    """The plan, and its query with the number of units among its measures."""
    asked = texts_read(question.sql)
    plan = make_plan(asked, policy, epsilon=1, delta="1/1000000", rows_per_unit=question.rows_per_unit)
    query = plan.query
    if query.unit_column is not None:
        query = replace(query, measure_columns=(*query.measure_columns, query.unit_column))
    return plan, query


Found = list[list[tuple[Any, ...]]]
"""The rows of the question's own query, and then of those that its quantiles need."""


@pytest.fixture(scope="session")
def known(reference: Opened) -> Callable[[Question], Found]:
    """What the reference gives; asked once, however many engines are compared with it."""
    return functools.cache(lambda question: found_by(reference, question, reference))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.sql)
def test_every_engine_gives_the_same_exact_numbers_and_they_are_those_of_plain_arithmetic(
    opened: Opened, reference: Opened, known: Callable[[Question], Found], question: Question
) -> None:
    """Each question is run once on each engine."""
    same = known(question)
    found = same if opened is reference else found_by(opened, question, reference)
    assert found == same
    if question.where is not None:
        plan, query = planned(question, opened[1])
        (measure,) = plan.measures
        assert measure.centre == 0
        keys = len(query.key_columns)
        assert {row[:keys]: row[keys] * measure.step for row in found[0]} == question.truth()


def found_by(opened: Opened, question: Question, reference: Opened) -> Found:
    """All that the engine gives to the question. `reference` says which cells there are to look into."""
    plan, query = planned(question, opened[1])
    found = [listed(opened[0], query)]
    for pick in plan.picks:
        found.append(listed(opened[0], pick.query))
        if pick.ranked is not None:
            cells = cells_of(pick, reference)
            found += [listed(opened[0], probed(pick, cells)), read_rows(opened, pick, cells)]
    return found


def cells_of(pick: Pick, reference: Opened) -> list[Any]:
    """Every cell that has rows, and one that has none."""
    assert pick.ranked is not None
    cells = sorted({row[: len(pick.ranked.keys)] for row in listed(reference[0], pick.query)}, key=str)
    return [*cells, tuple("nobody" if text else -7 for text in pick.ranked.texts)]


def read_rows(opened: Opened, pick: Pick, cells: list[Any]) -> list[tuple[Any, ...]]:
    """All rows of some stretches of the cells; in which order they come is an engine's own affair."""
    assert pick.ranked is not None
    last = pick.ranked.points - 1
    stretches = [Probe(cell, first, last, first) for cell in range(len(cells)) for first in (0, last // 3)]
    return sorted(listed(opened[0], pick.reading(cells, stretches)))


def probed(pick: Pick, cells: list[Any]) -> Any:
    """The query for some points of the cells."""
    assert pick.ranked is not None
    last = pick.ranked.points - 1
    leaves = [(0, last, last // 3), (last // 4, last // 2, last // 3), (last // 3, last // 3, last // 3)]
    return pick.probe(cells, [Probe(cell, *leaf) for cell in range(len(cells)) for leaf in leaves])


def test_most_questions_have_a_truth_of_their_own_and_every_function_is_asked_for() -> None:
    assert len(QUESTIONS) >= 100
    assert len(KNOWN) >= 0.7 * len(QUESTIONS)
    texts = " ".join(question.sql.lower() for question in QUESTIONS)
    missing = [name for name in FUNCTIONS if name not in texts]
    assert missing == []
