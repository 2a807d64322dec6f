"""Answers over awkward rows are what plain SQL says on the same rows, or the documentation names the difference."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from tacit.curator import Curator
from tests.coverage.awkward import EPSILON, at_random, compare, listed, plain
from tests.coverage.awkward_tables import opened
from tests.coverage.questions import Asked

LISTED = listed()
DRAWN = 60  # of questions put together at random; `python -m tests.coverage.awkward 5000` asks more


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with opened() as found:
        yield found


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with plain() as found:
        yield found


@pytest.mark.parametrize("place", range(len(LISTED)))
def test_an_answer_is_what_plain_sql_says(curator: Curator, connection: duckdb.DuckDBPyConnection, place: int) -> None:
    _, problem = compare(curator, connection, LISTED[place])
    assert problem is None, f"{LISTED[place].sql}: {problem}"


def test_so_is_an_answer_to_a_question_put_together_at_random(
    curator: Curator, connection: duckdb.DuckDBPyConnection
) -> None:
    ends = [(*compare(curator, connection, each), each.sql) for each in at_random(DRAWN, seed=11)]
    assert [(sql, problem) for end, problem, sql in ends if problem and end == "answered"] == []
    assert sum(end == "answered" for end, _, _ in ends) >= 0.9 * DRAWN


def test_the_list_has_more_than_a_hundred_answers() -> None:
    assert sum(not each.refused for each in LISTED) >= 150
    assert len({each.sql for each in LISTED}) == len(LISTED)


@pytest.mark.parametrize(
    ("sql", "plain_sql"),
    [
        ("SELECT count(*) FROM people", "SELECT count(*) + 1 FROM people"),
        ("SELECT ward, count(*) FROM people GROUP BY ward", "SELECT ward, count(*) + 1 FROM people GROUP BY ward"),
        ("SELECT ward, avg(x) FROM people GROUP BY ward", "SELECT ward, avg(coalesce(x, 0)) FROM people GROUP BY ward"),
        ("SELECT avg(x) FROM people", "SELECT NULL"),
        ("SELECT k, count(*) FROM people WHERE k > 0 GROUP BY k", "SELECT k, count(*) FROM people GROUP BY k"),
    ],
)
def test_another_answer_is_noticed(
    curator: Curator, connection: duckdb.DuckDBPyConnection, sql: str, plain_sql: str
) -> None:
    _, problem = compare(curator, connection, Asked("", sql, plain_sql, EPSILON, refused=False))
    assert problem is not None
