"""One list of questions: every engine gives the same exact whole numbers, and they are those of plain Python."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from tacit.plan import Plan, make_plan
from tacit.policy import Policy
from tacit.question import read
from tacit.question.functions import FUNCTIONS
from tests.engines.conformance.engines import Opened
from tests.engines.conformance.exact import Found, found_by
from tests.engines.conformance.questions import QUESTIONS, Question

KNOWN = [question for question in QUESTIONS if question.where is not None]


texts_read = functools.cache(read)  # the same for every engine


def planned(question: Question, policy: Policy) -> Plan:
    """The plan at some price."""
    asked = texts_read(question.sql)
    return make_plan(asked, policy, epsilon=1, delta="1/1000000", rows_per_unit=question.rows_per_unit)


@pytest.fixture(scope="session")
def known(reference: Opened) -> Callable[[Question], Found]:
    """What the reference gives; asked once, however many engines are compared with it."""
    engine, policy = reference
    return functools.cache(lambda question: found_by(engine, planned(question, policy), engine))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.sql)
def test_every_engine_gives_the_same_exact_numbers_and_they_are_those_of_plain_arithmetic(
    opened: Opened, reference: Opened, known: Callable[[Question], Found], question: Question
) -> None:
    """Each question is run once on each engine."""
    same, plan = known(question), planned(question, opened[1])
    found = same if opened is reference else found_by(opened[0], plan, reference[0])
    assert found == same
    if question.where is not None:
        (measure,) = plan.measures
        assert measure.centre == 0
        keys = len(plan.query.key_columns)
        assert {row[:keys]: row[keys] * measure.step for row in found[0]} == question.truth()


def test_most_questions_have_a_truth_of_their_own_and_every_function_is_asked_for() -> None:
    assert len(QUESTIONS) >= 100
    assert len(KNOWN) >= 0.7 * len(QUESTIONS)
    texts = " ".join(question.sql.lower() for question in QUESTIONS)
    missing = [name for name in FUNCTIONS if name not in texts]
    assert missing == []
