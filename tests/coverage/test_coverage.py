"""The list of questions: every one ends as it says, every answer is right, and the page in docs/ tells the same.

Here they are asked end to end, on DuckDB; on other engines, `tests/engines/conformance/test_clinic.py` asks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from tacit.curator import Curator
from tests.coverage.engines import on_duckdb
from tests.coverage.outcomes import agrees, plain, wrong
from tests.coverage.questions import QUESTIONS, Asked
from tests.coverage.write import ENGINES, PAGE, kept, page


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with plain() as found:
        yield found


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with on_duckdb() as found:
        yield found


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_a_question_ends_as_the_list_says(curator: Curator, connection: duckdb.DuckDBPyConnection, place: int) -> None:
    _, problem = wrong(curator, QUESTIONS[place], connection)
    assert problem is None, f"{QUESTIONS[place].sql}: {problem}"


def test_most_questions_are_answered_and_few_are_refused() -> None:
    assert len(QUESTIONS) >= 130
    assert len({question.sql for question in QUESTIONS}) == len(QUESTIONS)
    assert sum(question.refused for question in QUESTIONS) <= 25  # so of any 120 of them at least 95 are answered


def test_the_page_holds_the_same_questions_with_the_same_ends() -> None:
    told = kept()
    assert PAGE.read_text(encoding="utf-8") == page(told), "run python -m tests.coverage.write"
    assert {sql for _, sql in told} == {question.sql for question in QUESTIONS}
    for name in ENGINES:
        for question in QUESTIONS:
            outcome = told[name, question.sql]
            assert outcome == "not run yet" or (outcome == "answered") != question.refused, question.sql


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([("F", 10)], [("F", 11)]),
        ([("F", 10)], [("F", 10), ("M", 3)]),
        ([("F", 10), ("F", 0)], [("F", 10)]),
        ([("F", None)], [("F", 1.0)]),
    ],
)
def test_another_answer_does_not_agree(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    question = Asked("", "SELECT sex, count(*) FROM t GROUP BY sex", "", 1, refused=False)
    assert not agrees(question, found, expected)
    assert agrees(question, expected, expected)
    assert agrees(question, [*expected, ("other", 0)], expected)
    ordered = Asked("", "SELECT sex, count(*) FROM t GROUP BY sex ORDER BY 2", "", 1, refused=False)
    assert not agrees(ordered, [*expected, ("other", 0)], expected)
