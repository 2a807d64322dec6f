"""The list on engines other than DuckDB: they give the same exact numbers to every question, and refuse the same.

Ledger, noise and release do not depend on the engine, so that a whole ask of every question says no more than its exact
numbers do. What an engine may do to a whole ask is seen with one question for every kind of answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tacit.curator import Curator
from tacit.errors import QuestionError
from tacit.plan import Plan, UnitedPlan
from tests.coverage.questions import QUESTIONS, Asked
from tests.engines.conformance.exact import Found, found_by


def plans_of(curator: Curator, question: Asked) -> tuple[Plan, ...]:
    """How the question would be answered: one plan, or those of a UNION ALL."""
    plan = curator.planned(question.sql, question.price)
    return tuple(each for _, each in plan.plans) if isinstance(plan, UnitedPlan) else (plan,)


def exact(curator: Curator, question: Asked, reference: Curator) -> list[Found] | str:
    """The exact numbers of every plan of the question, or why it is refused."""
    try:
        plans = plans_of(curator, question)
    except QuestionError as refused:
        return str(refused)
    return [found_by(curator._engine, plan, reference._engine) for plan in plans]


def differs(curator: Curator, question: Asked, reference: Curator) -> tuple[list[Found] | str, str | None]:
    """What came of a question on this engine, and in what it is not as on the engine that it is compared with."""
    found, same = exact(curator, question, reference), exact(reference, question, reference)
    if isinstance(found, str) != question.refused:
        return found, f"it is refused: {found}" if isinstance(found, str) else "it is answered"
    return found, None if found == same else f"its exact numbers or words are {found}, and were {same}"


def of_every_kind(curator: Curator) -> Iterator[Asked]:
    """The questions of which each brings a kind of answer that none before it had."""
    seen: set[tuple[Any, ...]] = set()
    for question in QUESTIONS:
        new = kinds(curator, question) - seen
        if new:
            yield question
        seen |= new


def kinds(curator: Curator, question: Asked) -> set[tuple[Any, ...]]:
    """Of what kinds the parts of its answer are; a refusal is a kind of answer."""
    if question.refused:
        return {("refused",)}
    plans = plans_of(curator, question)
    found: set[tuple[Any, ...]] = {("plans", len(plans) > 1)}
    for plan in plans:
        steps = ("inner", "having", "qualify", "order", "limit", "summary", "picks")
        found |= {("step", name) for name in steps if getattr(plan, name)}
        found |= {("keys", type(plan.keys), each.meaning) for each in plan.keys.columns}
        found |= {("pick", type(each.mechanism)) for each in plan.picks}
        found |= {("measure", each.kind, type(each.mechanism), each.levels is None) for each in plan.measures}
        found |= {("output", each.kind) for each in plan.outputs}
    return found
