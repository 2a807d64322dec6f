"""A fixture for every rule, tests/fixtures/rules/<rule>.sql: a question, and what the rule makes of it.

Sections after the question: `query` (one for each query that is pushed down, in order), `change` (of each measure: how
far one unit moves all cells together, and one cell), `noise` (of each measure: its kind and scale, at epsilon 1 without
a delta), `kinds`, `cells`, `levels`, `schema`, `notes`; `says` is a part of some sentence, `refused` of the refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import tacit
from tacit.errors import TacitError
from tacit.mechanisms import Laplace
from tacit.plan import RULES, KnownKeys, Measure, Plan, make_plan
from tacit.policy import Policy
from tacit.question import read
from tests.plan.copies import clinic

FOLDER = Path(__file__).parent.parent / "fixtures" / "rules"
NAMES = [rule.__name__ for rule in RULES]


def sections(rule: str) -> tuple[str, list[tuple[str, str]]]:
    """The question, and the sections below it."""
    parts = re.split(r"^-- (\w+)\n", (FOLDER / f"{rule}.sql").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    pairs = [(name, text.strip(" \n")) for name, text in zip(parts[::2], parts[1::2], strict=True)]
    assert pairs[0][0] == "question"
    return pairs[0][1], pairs[1:]


def test_every_rule_has_its_file_and_its_fixture() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in FOLDER.glob("*.sql"))
    files = {rule.__module__: rule.__name__ for rule in RULES}
    assert files == {f"tacit.plan.rules.{name}": name for name in NAMES}
    folder = {path.stem for path in Path(tacit.__file__).parent.glob("plan/rules/*.py")}
    assert folder - {"__init__"} == set(NAMES)


def huge() -> Policy:
    """The clinic with charges as large as a policy may state them: their squares are more than floats can hold."""
    policy = clinic()
    visits = policy.tables["visits"]
    charge = replace(visits.columns["charge"], upper=Fraction(10**100))
    columns = {**visits.columns, "charge": charge}
    return replace(policy, tables={**policy.tables, "visits": replace(visits, columns=columns)})


def _noise(measure: Measure) -> str:
    assert isinstance(measure.mechanism, Laplace)
    return f"Laplace {measure.mechanism.event.scale}"


def _cells(plan: Plan) -> list[str]:
    assert isinstance(plan.keys, KnownKeys)
    return [" ".join(map(str, cell)) for cell in plan.keys.cells]


LISTED: dict[str, Callable[[Plan], list[str]]] = {
    "change": lambda plan: [f"{each.l1} {each.linf}" for each in plan.measures],
    "noise": lambda plan: [_noise(each) for each in plan.measures],
    "kinds": lambda plan: [each.kind for each in plan.measures],
    "cells": _cells,
    "levels": lambda plan: (
        [" ".join(map(str, keys)) or "()" for keys in plan.measures[0].levels.sets]  # type: ignore[union-attr]
        if plan.measures[0].levels
        else []
    ),
    "schema": lambda plan: [f"{name} {kind}" for name, kind in plan.schema],
    "notes": lambda plan: list(plan.notes),
}


@pytest.mark.parametrize("rule", NAMES)
def test_the_rule_makes_of_the_question_what_is_written_down(rule: str) -> None:
    question, expected = sections(rule)
    refusals = [text for name, text in expected if name == "refused"]
    if refusals:
        with pytest.raises(TacitError, match=re.escape(refusals[0])):
            make_plan(read(question), huge() if rule == "bound_sizes" else clinic(), epsilon=1)
        return
    plan = make_plan(read(question), clinic(), epsilon=1)
    queries = [text for name, text in expected if name == "query"]
    if queries:
        assert [each.text(pretty=True) for each in plan.queries] == queries
    for name, text in expected:
        if name == "says":
            assert any(text in sentence for sentence in plan.sentences)
        elif name != "query":
            assert LISTED[name](plan) == text.split("\n")
