"""Rule: questions inside the outputs, `SELECT count(*) / (SELECT count(*) FROM t)`: planned separately, paid together.

The inner question is an aggregate of its own over private rows: its measures get noise and a share of the budget like
all others, from a query of their own, and the outer formula computes with the noisy number. Cost: the sum of both, as
for any two releases about the same units; so both must protect the same kind of unit.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import QuestionError
from tacit.plan.draft import Draft, changed
from tacit.plan.rules.filter_rows import filter_rows
from tacit.plan.rules.find_keys import find_keys
from tacit.plan.rules.measure import measure
from tacit.plan.rules.open_sources import open_sources
from tacit.plan.rules.outputs import outputs
from tacit.plan.rules.pick import pick
from tacit.plan.rules.resolve import resolve
from tacit.question import tree

INNER_RULES = (open_sources, resolve, filter_rows, find_keys, measure, pick, outputs)
"""What is done for a question inside another; its noise is planned together with the outer one's."""


def inner_questions(draft: Draft) -> Draft:
    """The draft with the questions inside its outputs resolved and measured."""
    found: dict[tree.Question, Draft] = {}

    def change(node: tree.Scalar) -> tree.Scalar | None:
        if not isinstance(node, tree.Inner):
            return None
        inner = _measured(node.question, draft)
        found.setdefault(inner.question, inner)
        return tree.Inner(inner.question)

    question = draft.question
    outputs = tuple(tree.Output(each.name, tree.rewrite(each.expression, change)) for each in question.outputs)
    having = None if question.having is None else tree.rewrite(question.having, change)
    qualify = None if question.qualify is None else tree.rewrite(question.qualify, change)
    order = tuple(tree.rewrite(each, change) for each in question.order)
    if not found:
        return draft
    resolved = replace(question, outputs=outputs, having=having, qualify=qualify, order=order)
    return changed(draft, question=resolved, inner=tuple(found.values()))


def _measured(question: tree.Question, outer: Draft) -> Draft:
    shown = question.outputs[0].expression
    if isinstance(shown, tree.Several) or (isinstance(shown, tree.Aggregate) and shown.kind == "histogram"):
        raise QuestionError("A SELECT that stands for a number has one number, and no list or histogram.")
    draft = Draft(replace(question, rows_per_unit=outer.asked.rows_per_unit), outer.policy, outer.asked)
    for rule in INNER_RULES:
        draft = rule(draft)
    assert draft.joined is not None
    assert outer.joined is not None
    if draft.joined.kind != outer.joined.kind:
        raise QuestionError("A question inside another must be about the same kind of unit. Ask it by itself.")
    if draft.inner:
        raise QuestionError("A question inside a question inside a question is not understood.")
    return draft
