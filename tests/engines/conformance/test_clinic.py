"""What analysts ask (`tests/coverage`), on engines other than DuckDB: the same exact numbers, the same refusals.

On DuckDB every question is asked end to end (`tests/coverage/test_coverage.py`); elsewhere one of every kind is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tacit.curator import Curator
from tacit.policy import Policy, Source, Table
from tests.coverage.engines import NO_SPARK, on_duckdb, on_spark, over_postgres
from tests.coverage.everywhere import differs, exact, of_every_kind
from tests.coverage.outcomes import asked, plain, wrong
from tests.coverage.questions import QUESTIONS
from tests.postgres_server import Server

ENGINES = ("postgres", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(scope="module")
def on_reference() -> Iterator[Curator]:
    """The engine that the others are compared with."""
    with on_duckdb() as found:
        yield found


@pytest.fixture(scope="module", params=ENGINES)
def clinic(request: pytest.FixtureRequest) -> Iterator[Curator]:
    """One engine after the other."""
    with ExitStack() as stack:
        if request.param == "spark":
            if NO_SPARK is not None:
                pytest.skip(NO_SPARK)
            yield stack.enter_context(on_spark())
        else:
            server: Server = request.getfixturevalue("postgres")
            yield stack.enter_context(over_postgres(server.database("clinic")))


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_every_engine_gives_the_same_exact_numbers_and_refuses_in_the_same_words(
    clinic: Curator, on_reference: Curator, place: int
) -> None:
    _, problem = differs(clinic, QUESTIONS[place], on_reference)
    assert problem is None, f"{QUESTIONS[place].sql}: {problem}"


def test_every_engine_knows_the_same_of_public_tables(clinic: Curator, on_reference: Curator) -> None:
    """Plans are made of the question and the policy alone, so that they are the same as well."""
    assert without_sources(clinic.policy) == without_sources(on_reference.policy)


def test_questions_of_every_kind_are_answered_end_to_end(clinic: Curator, on_reference: Curator) -> None:
    with plain() as connection:
        ends = [(question.sql, wrong(clinic, question, connection)) for question in of_every_kind(on_reference)]
    assert [(sql, problem) for sql, (_, problem) in ends if problem is not None] == []
    assert 20 <= len(ends) <= len(QUESTIONS) / 4


def test_a_question_is_refused_in_the_words_of_its_plan(on_reference: Curator) -> None:
    """So that comparing plans compares what an asker is told."""
    for question in QUESTIONS:
        if question.refused:
            assert exact(on_reference, question, on_reference) == asked(on_reference, question)


def test_another_number_is_noticed(clinic: Curator, on_reference: Curator) -> None:
    """A question whose words differ a little stands for an engine that counts otherwise."""
    answered = next(each for each in QUESTIONS if each.sql == "SELECT count(*) FROM visits WHERE urgent IS TRUE")
    for sql in ("SELECT count(*) FROM visits WHERE urgent IS NOT TRUE", "SELECT count(*) FROM visits"):
        other = replace(answered, sql=sql)
        assert exact(clinic, other, on_reference) != exact(on_reference, answered, on_reference)


def without_sources(policy: Policy) -> list[tuple[Table, object]]:
    """What the policy says of tables, wherever they lie, and what was read of those that are public."""
    return [(replace(table, source=Source("frame", "anywhere")), table.meets) for table in policy.tables.values()]
