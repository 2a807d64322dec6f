"""A fixture for every rewrite, tests/fixtures/rewrites/<rewrite>.sql: a question, and what the rewrite makes of it.

The section `changes` lists the fields of the question that this rewrite alone changes. After it comes another question:
one that `means` the same, or one that `plans` the same query, with the same noise.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import tacit
from tacit.plan import make_plan
from tacit.plan.make import REWRITES
from tacit.question import canonical, read, tree
from tests.plan.copies import clinic

FOLDER = Path(__file__).parent.parent / "fixtures" / "rewrites"
NAMES = [rewrite.__name__ for rewrite in REWRITES]


def sections(rewrite: str) -> tuple[str, list[str], str, str]:
    """The question, the fields that change, and the other question with what it has in common."""
    text = (FOLDER / f"{rewrite}.sql").read_text(encoding="utf-8")
    _, _, question, _, changes, common, other = re.split(r"^-- (\w+)\n", text, flags=re.MULTILINE)
    return question.strip(), changes.split(), common, other.strip()


def rewritten(question: tree.Question, last: str) -> tuple[tree.Question, tree.Question]:
    """The question before and after this rewrite."""
    for rewrite in REWRITES[: NAMES.index(last)]:
        question = rewrite(question, clinic())
    return question, REWRITES[NAMES.index(last)](question, clinic())


def test_every_rewrite_has_its_file_and_its_fixture() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in FOLDER.glob("*.sql"))
    files = {rewrite.__module__: rewrite.__name__ for rewrite in REWRITES}
    assert files == {f"tacit.plan.rewrites.{name}": name for name in NAMES}
    folder = {path.stem for path in Path(tacit.__file__).parent.glob("plan/rewrites/*.py")}
    assert folder - {"__init__"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_rewrite_changes_what_is_written_down_and_nothing_else(name: str) -> None:
    question, changes, _, _ = sections(name)
    before, after = rewritten(read(question), name)
    names = [field.name for field in fields(tree.Question)]
    assert [each for each in names if getattr(before, each) != getattr(after, each)] == changes


@pytest.mark.parametrize("name", NAMES)
def test_the_question_comes_to_the_one_written_down(name: str) -> None:
    question, _, common, other = sections(name)
    ours, theirs = (make_plan(read(text), clinic(), epsilon=1) for text in (question, other))
    if common == "means":
        assert canonical(ours.question) == canonical(theirs.question)
    else:
        assert common == "plans"
        assert (ours.query.text(), ours.event) == (theirs.query.text(), theirs.event)
