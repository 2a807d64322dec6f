"""Pairs of a question and the query that is pushed down for it, in tests/fixtures/queries/*.sql."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from tacit.plan import make_plan
from tacit.question import read
from tests.plan.copies import clinic, copy_of

FOLDER = Path(__file__).parent.parent / "fixtures" / "queries"
FILES = sorted(FOLDER.glob("*.sql"))


def pair(path: Path) -> tuple[str, str]:
    """The question, and the query below the line `-- query`."""
    question, _, query = path.read_text(encoding="utf-8").partition("-- query\n")
    return question.removeprefix("-- question\n").strip(), query.strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_query_is_the_one_written_down(path: Path) -> None:
    question, query = pair(path)
    plan = make_plan(read(question), clinic(), epsilon=1, delta="1/1000000")
    assert plan.query.text(pretty=True) == query


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_query_runs_on_an_empty_copy_and_is_one_select(path: Path) -> None:
    question, query = pair(path)
    plan = make_plan(read(question), clinic(), epsilon=1, delta="1/1000000")
    names = [*plan.query.key_columns, *plan.query.measure_columns]
    names += [plan.query.unit_column] if plan.query.unit_column else []
    found = copy_of(clinic(), {}).execute(query)
    assert [column[0] for column in found.description] == names
    assert all(kind in ("BIGINT", "HUGEINT") for name, kind, *_ in found.description if name[0] != "k")
    assert [type(each).__name__ for each in sqlglot.parse(query, read="duckdb")] == ["Select"]


def test_there_are_fixtures() -> None:
    assert len(FILES) >= 12
