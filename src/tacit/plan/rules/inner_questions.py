"""Rule: questions inside the outputs, `SELECT count(*) / (SELECT count(*) FROM t)`: planned separately, paid together.

The inner question is an aggregate of its own over private rows: its measures get noise and a share of the budget like
all others, from a query of their own, and the outer formula computes with the noisy number. Cost: the sum of both, as
for any two releases about the same units; so both must protect the same kind of unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacit.errors import QuestionError
from tacit.plan.answers.formulas import Cells, Estimate, Formula
from tacit.plan.draft import Draft, changed
from tacit.question import tree


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
    from tacit.plan.make import INNER_RULES

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


@dataclass(frozen=True, slots=True)
class Beside:
    """A formula over measures at other places: those of an inner question, the same in every cell."""

    inside: Formula
    offset: int
    count: int

    @property
    def measures(self) -> frozenset[int]:
        return frozenset(self.offset + place for place in self.inside.measures)

    def of(self, cells: Cells) -> Estimate:
        own = cells.noisy[self.offset : self.offset + self.count]
        spreads = cells.spreads[self.offset : self.offset + self.count]
        steps = cells.steps[self.offset : self.offset + self.count]
        inner = self.inside.of(Cells(cells.size, own, spreads=spreads, within=cells.within, steps=steps))
        slopes, far = (
            {self.offset + place: part for place, part in each.items()} for each in (inner.slopes, inner.far)
        )
        return Estimate(inner.value, slopes, far, doubtful=inner.doubtful, decided=inner.decided)
