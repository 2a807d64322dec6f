"""A fixture for every rule, tests/fixtures/rules/<rule>.sql: a question, and what the rule makes of it.

The section `fills` after the question lists what this rule alone adds to the draft that the rules before it left, a
line for each field of `plan.draft.Draft`, with its value where that is short; a rule that only refuses has `refused`,
a part of its refusal. The other sections are about the finished plan: `query` (one for each query that is pushed down,
in order), `change` (of each measure: how far one unit moves all cells together, and one cell), `noise` (of each
measure: its kind and scale, at epsilon 1 without a delta), `kinds`, `cells`, `levels`, `schema`, `notes`; `says` is a
part of some sentence.
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
from tacit.plan.asked import Asked
from tacit.plan.draft import Draft, Part
from tacit.plan.make import prepare, terms_of
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


def _part(part: Part) -> str:
    return part.kind if part.levels is None else f"{part.kind} on {len(part.levels.sets)} levels"


FIELDS: dict[str, Callable[[Draft], str]] = {
    "rows_per_unit": lambda draft: str(draft.rows_per_unit),
    "where": lambda draft: "" if draft.where is None else draft.where.sql("duckdb"),
    "key_columns": lambda draft: ", ".join(column.name for column in draft.key_columns),
    "cells": lambda draft: "unknown" if draft.cells is None else f"{len(draft.cells)}",
    "parts": lambda draft: ", ".join(map(_part, draft.parts)),
    "pick_parts": lambda draft: ", ".join(part.kind for part in draft.pick_parts),
    "outputs": lambda draft: ", ".join(output.name for output in draft.outputs),
    "groups_per_unit": lambda draft: str(draft.groups_per_unit),
    "sensitivities": lambda draft: ", ".join(str(each.l1) for each in draft.sensitivities),
    "mechanisms": lambda draft: ", ".join(type(each).__name__ for each in draft.mechanisms),
}
"""The fields of a draft whose values are short enough to be written down."""


def policy_for(rule: str) -> Policy:
    return huge() if rule == "bound_sizes" else clinic()


def drafted(text: str, rule: str) -> Draft:
    """The question as the rules before this one leave it."""
    question, policy = read(text), policy_for(rule)
    asked = Asked(Fraction(1)).with_words_of(question.privacy)
    terms = terms_of(policy, asked)
    draft = prepare(question, policy, asked, terms)._draft
    for each in RULES[: NAMES.index(rule)]:
        draft = each(draft)
    return draft


@pytest.mark.parametrize("rule", NAMES)
def test_the_rule_itself_adds_what_is_written_down_and_nothing_else(rule: str) -> None:
    question, expected = sections(rule)
    (name, text), *_ = expected
    before = drafted(question, rule)
    if name == "refused":
        with pytest.raises(TacitError, match=re.escape(text)):
            RULES[NAMES.index(rule)](before)
        return
    after = RULES[NAMES.index(rule)](before)
    filled = [field for field in vars(before) if getattr(before, field) != getattr(after, field)]
    assert name == "fills"
    assert [f"{field}: {FIELDS[field](after)}" if field in FIELDS else field for field in filled] == text.split("\n")


@pytest.mark.parametrize("rule", NAMES)
def test_the_finished_plan_is_the_one_written_down(rule: str) -> None:
    question, expected = sections(rule)
    if expected[0][0] == "refused":
        with pytest.raises(TacitError, match=re.escape(expected[0][1])):
            make_plan(read(question), policy_for(rule), epsilon=1)
        return
    plan = make_plan(read(question), policy_for(rule), epsilon=1)
    queries = [text for name, text in expected if name == "query"]
    if queries:
        assert [each.text(pretty=True) for each in plan.queries] == queries
    for name, text in expected:
        if name == "says":
            assert any(text in sentence for sentence in plan.sentences)
        elif name not in ("fills", "query"):
            assert LISTED[name](plan) == text.split("\n")
