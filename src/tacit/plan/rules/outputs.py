"""Rule: outputs, HAVING and ORDER BY as formulas over noisy measures and released keys. They cost nothing."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal as OneOf
from typing import TypeAlias

from tacit.errors import QuestionError
from tacit.plan.answers.applied import Wording
from tacit.plan.answers.cases import Choice
from tacit.plan.answers.conditions import Test
from tacit.plan.answers.floats import of_allowed_size
from tacit.plan.answers.formulas import Apply, Constant, Formula, KeyFormula, LeftOut, Linear, Operation
from tacit.plan.answers.inner import InnerFormula
from tacit.plan.answers.listing import Listing
from tacit.plan.answers.nested import ListFormula, MapFormula, list_of, map_of
from tacit.plan.answers.windows import RANKS, Sorting, Window
from tacit.plan.columns import KeyColumn
from tacit.plan.draft import Draft, changed
from tacit.plan.functions import on_answer
from tacit.plan.plan import OutputPlan
from tacit.plan.rules.measure import HISTOGRAM, PICKS
from tacit.question import tree
from tacit.question.scalars import moment

Kind: TypeAlias = OneOf["integer", "real", "text", "date", "timestamp", "boolean"]
_ALONE = "is a column of the answer by itself: nothing computes with it, and nothing is sorted or filtered by it."


def outputs(draft: Draft) -> Draft:
    """The formulas of everything the answer shows, is filtered by or is sorted by."""
    question = draft.question
    if question.summary is not None:
        return draft  # these are totals of the rows, which `sum_up` plans
    planned = tuple(_planned(output, draft) for output in question.outputs)
    having = None if question.having is None else condition(question.having, draft)
    qualify = None if question.qualify is None else condition(question.qualify, draft)
    order = tuple((formula_of(each.expression, draft), each.descending, each.nulls_first) for each in question.order)
    return changed(draft, outputs=planned, having=having, qualify=qualify, order=order)


def _planned(output: tree.Output, draft: Draft) -> OutputPlan:
    node = output.expression
    if isinstance(node, tree.Several):
        parts = tuple(formula_of(item, draft) for item in node.items)
        return OutputPlan(output.name, list_of(kind_of(node.items[0], draft)), ListFormula(parts), picked=True)
    if isinstance(node, tree.Aggregate) and node.kind == HISTOGRAM:
        formula = draft.formulas[node]
        assert isinstance(formula, MapFormula)
        binned = draft.parts[formula.measure].bins
        assert binned is not None
        return OutputPlan(output.name, map_of(binned.kind), formula)
    return OutputPlan(output.name, kind_of(node, draft), formula_of(node, draft), is_picked(output))


def condition(node: tree.Scalar, draft: Draft) -> Formula:
    formula = formula_of(node, draft)
    if not isinstance(formula, Test):
        raise QuestionError("HAVING needs a condition, such as count(*) > 100.")
    return formula


def is_picked(output: tree.Output) -> bool:
    nodes = tree.walk(output.expression)
    return any(isinstance(node, tree.Aggregate) and node.kind in PICKS for node in nodes)


def _shown_as(column: KeyColumn) -> Kind:
    """How a key or a picked value is shown."""
    if column.meaning == "number":
        return "integer" if column.step.denominator == 1 else "real"
    return column.meaning


def kind_of(node: tree.Scalar, draft: Draft) -> Kind:
    formula = formula_of(node, draft)
    if isinstance(formula, KeyFormula):
        return _shown_as(draft.shown_columns[formula.place])
    if isinstance(formula, Test):
        return "boolean"
    if isinstance(formula, Choice):
        sort = sort_of(formula, draft)
        return "real" if sort == "number" else sort  # type: ignore[return-value]  # text, date or timestamp
    if isinstance(formula, (Listing, Wording)) or (isinstance(formula, Constant) and isinstance(formula.value, str)):
        return "text"
    if isinstance(formula, Window):
        return "integer" if formula.function in RANKS else "real"
    if isinstance(formula, InnerFormula):
        formula = formula.inside
    if isinstance(formula, LeftOut):
        return "integer"
    # with several levels, the numbers that are made to agree are not whole any more
    whole = (
        draft.levels is None
        and isinstance(formula, Linear)
        and all(factor.denominator == 1 for _, factor in formula.terms)
    )
    return "integer" if whole else "real"


@singledispatch
def formula_of(node: tree.Scalar, draft: Draft) -> Formula:
    """The formula of an expression about cells."""
    raise QuestionError(
        f"{type(node).__name__.upper()} is not understood on aggregates and keys yet. Compute it later."
    )


@formula_of.register
def _(node: tree.Aggregate, draft: Draft) -> Formula:
    if node.kind == HISTOGRAM:
        raise QuestionError(f"A histogram {_ALONE}")
    return draft.formulas[node]


@formula_of.register
def _(node: tree.Several, draft: Draft) -> Formula:
    raise QuestionError(f"A list of quantiles {_ALONE}")


@formula_of.register
def _(node: tree.Total, draft: Draft) -> Formula:
    return draft.totals[node]


@formula_of.register
def _(node: tree.KeyValue, draft: Draft) -> Formula:
    return KeyFormula(node.place, draft.key_columns[node.place].meaning in ("number", "boolean"))


@formula_of.register
def _(node: tree.LeftOut, draft: Draft) -> Formula:
    if not isinstance(node.key, tree.KeyValue):
        raise QuestionError("GROUPING takes the keys of GROUP BY.")
    return LeftOut(node.key.place)


@formula_of.register
def _(node: tree.Over, draft: Draft) -> Formula:
    argument = None if node.argument is None else formula_of(node.argument, draft)
    if argument is not None and node.function in ("sum", "avg") and sort_of(argument, draft) != "number":
        raise QuestionError(f"{node.function} OVER needs a number, and a {sort_of(argument, draft)} was found.")
    partition = tuple(formula_of(part, draft) for part in node.partition)
    order = tuple(Sorting(formula_of(each.expression, draft), each.descending, each.nulls_first) for each in node.order)
    return Window(node.function, argument, node.offset, partition, order, node.frame)


@formula_of.register
def _(node: tree.Inner, draft: Draft) -> Formula:
    block = next(place for place, each in enumerate(draft.inner, start=1) if each.question == node.question)
    places = [place for place, part in enumerate(draft.parts) if part.block == block]
    inside = draft.inner[block - 1].outputs[0].formula
    return InnerFormula(inside, places[0], len(places)) if places else inside


@formula_of.register
def _(node: tree.Literal, draft: Draft) -> Formula:
    of_allowed_size("A constant", node.value)
    return Constant(node.value)


@formula_of.register
def _(node: tree.Negate, draft: Draft) -> Formula:
    return Operation("-", Constant(0), _number(node.operand, draft))


@formula_of.register
def _(node: tree.Arithmetic, draft: Draft) -> Formula:
    return Operation(node.op, _number(node.left, draft), _number(node.right, draft))


@formula_of.register
def _(node: tree.Call, draft: Draft) -> Formula:
    return on_answer(node, _Reads(draft))


@dataclass(frozen=True, slots=True)
class _Reads:
    """How a function reads its arguments here."""

    draft: Draft

    def number(self, node: tree.Scalar) -> Formula:
        return _number(node, self.draft)

    def word(self, node: tree.Scalar) -> Formula:
        return _word(node, self.draft)


def _word(node: tree.Scalar, draft: Draft) -> Formula:
    """A key or a constant as a text: a noisy number has too many digits to be one."""
    formula = formula_of(node, draft)
    if isinstance(formula, (KeyFormula, Constant)) or sort_of(formula, draft) == "text":
        return formula
    raise QuestionError("A text is made of keys and constants here, and a computed number was found.")


@formula_of.register
def _(node: tree.Cast, draft: Draft) -> Formula:
    if node.kind == "text":
        return Wording("concat", (_word(node.operand, draft),))
    inside = _number(node.operand, draft)
    if node.kind not in ("integer", "real"):
        raise QuestionError(f"A cast to {node.kind} is not understood on aggregates and keys.")
    return Apply("round", inside) if node.kind == "integer" else inside


@formula_of.register
def _(node: tree.Compare, draft: Draft) -> Formula:
    left, right = formula_of(node.left, draft), formula_of(node.right, draft)
    left, right = _as_compared(left, sort_of(right, draft)), _as_compared(right, sort_of(left, draft))
    if sort_of(left, draft) != sort_of(right, draft):
        raise QuestionError(f"A {sort_of(left, draft)} cannot be compared with a {sort_of(right, draft)} here.")
    return Test(node.op, (left, right))


def _as_compared(formula: Formula, other: str) -> Formula:
    """A text constant compared with a date or time is read as a date or time."""
    if isinstance(formula, Constant) and isinstance(formula.value, str) and other in ("date", "timestamp"):
        return Constant(moment(formula.value, other))
    return formula


@formula_of.register
def _(node: tree.And, draft: Draft) -> Formula:
    return Test("and", tuple(condition(part, draft) for part in node.parts))


@formula_of.register
def _(node: tree.Or, draft: Draft) -> Formula:
    return Test("or", tuple(condition(part, draft) for part in node.parts))


@formula_of.register
def _(node: tree.Not, draft: Draft) -> Formula:
    return Test("not", (condition(node.operand, draft),))


@formula_of.register
def _(node: tree.IsNull, draft: Draft) -> Formula:
    return Test("null", (formula_of(node.operand, draft),))


@formula_of.register
def _(node: tree.In, draft: Draft) -> Formula:
    return Test("or", tuple(formula_of(tree.Compare("=", node.operand, value), draft) for value in node.values))


@formula_of.register
def _(node: tree.Case, draft: Draft) -> Formula:
    conditions = tuple(condition(branch.condition, draft) for branch in node.branches)
    values = tuple(formula_of(value, draft) for value in (*(b.value for b in node.branches), node.otherwise))
    found = Choice(conditions, values)
    if len({sort_of(value, draft) for value in found.known}) > 1:
        raise QuestionError("The branches of a CASE (or of COALESCE, NULLIF) must be of one kind.")
    return found


def _number(node: tree.Scalar, draft: Draft) -> Formula:
    formula = formula_of(node, draft)
    if sort_of(formula, draft) != "number":
        raise QuestionError(f"A number is needed here, and a {sort_of(formula, draft)} was found.")
    return formula


def sort_of(formula: Formula, draft: Draft) -> str:
    """The kind that decides what a value can be compared with."""
    if isinstance(formula, Choice):
        return sort_of(formula.known[0], draft) if formula.known else "number"
    if isinstance(formula, Wording):
        return "text"
    if isinstance(formula, KeyFormula):
        meaning = draft.shown_columns[formula.place].meaning
        return "number" if meaning == "boolean" else meaning
    if isinstance(formula, Constant):
        for kind, name in ((str, "text"), (datetime.datetime, "timestamp"), (datetime.date, "date")):
            if isinstance(formula.value, kind):
                return name
    return "number"
