"""Rule: outputs that are totals of the answer's rows: formulas over totals, which are formulas over its cells."""

from __future__ import annotations

from fractions import Fraction

from tacit.errors import QuestionError
from tacit.plan.answers.conditions import Test
from tacit.plan.answers.formulas import Formula, KeyFormula, Linear
from tacit.plan.answers.summaries import Grouping, Summary, Summed, Total
from tacit.plan.draft import Draft, changed
from tacit.plan.plan import OutputPlan
from tacit.plan.rules.outputs import Kind, condition, formula_of, is_picked, kind_of, sort_of
from tacit.question import tree


def sum_up(draft: Draft) -> Draft:
    """The formulas of everything that is shown where the rows of the answer are added up."""
    question, summary = draft.question, draft.question.summary
    if summary is None:
        return draft
    keys = [formula_of(key, draft) for key in summary.keys]
    columns = tuple(draft.key_columns[key.place] for key in keys if isinstance(key, KeyFormula))
    if len(columns) < len(keys) or len({*summary.keys}) < len(keys):
        raise QuestionError("GROUP BY over the rows of an answer takes keys of the answer, each once.")
    having = [] if summary.having is None else [summary.having]
    shown = [*(output.expression for output in question.outputs), *(each.expression for each in question.order)]
    nodes = list(
        dict.fromkeys(node for each in (*shown, *having) for node in tree.walk(each) if isinstance(node, tree.Total))
    )
    totals = tuple(_total(node, draft) for node in nodes)
    grouping = Grouping(tuple(key for key in keys if isinstance(key, KeyFormula)))
    # seen from outside the totals are the measures, and the groups' keys are the keys
    outside = changed(
        draft,
        key_columns=columns,
        pick_parts=(),
        formulas={},
        totals={node: Linear(((place, Fraction(1)),)) for place, node in enumerate(nodes)},
    )
    places = {key: tree.KeyValue(place) for place, key in enumerate(summary.keys)}

    def summed(node: tree.Scalar) -> tuple[tree.Scalar, Formula]:
        def change(part: tree.Scalar) -> tree.Scalar | None:
            if isinstance(part, (tree.KeyValue, tree.Aggregate)) and part not in places:
                raise QuestionError(
                    "Over the rows of an answer, its columns stand inside count, sum, avg, min or max, or in GROUP BY."
                )
            return part if isinstance(part, tree.Total) else places.get(part)

        seen = tree.rewrite(node, change)
        return seen, Summed(formula_of(seen, outside), totals, grouping)

    planned = []
    for output in question.outputs:
        seen, formula = summed(output.expression)
        kind = _total_kind(seen, draft) if isinstance(seen, tree.Total) else kind_of(seen, outside)
        planned.append(OutputPlan(output.name, kind, formula, is_picked(output)))
    kept = None if summary.having is None else Summed(_having(summed(summary.having)[1]), totals, grouping)
    return changed(
        draft,
        outputs=tuple(planned),
        having=None if question.having is None else condition(question.having, draft),
        qualify=None if question.qualify is None else condition(question.qualify, draft),
        order=tuple((summed(each.expression)[1], each.descending, each.nulls_first) for each in question.order),
        summary=Summary(grouping, kept),
    )


def _having(formula: Formula) -> Formula:
    assert isinstance(formula, Summed)
    if not isinstance(formula.inside, Test):
        raise QuestionError("HAVING needs a condition, such as count(*) > 100.")
    return formula.inside


def _total(node: tree.Total, draft: Draft) -> Total:
    if node.argument is None:
        return Total(node.function, None)
    inside = formula_of(node.argument, draft)
    if node.function != "count" and sort_of(inside, draft) != "number":
        raise QuestionError(
            f"{node.function} over the rows of an answer needs a number, and a {sort_of(inside, draft)} was found."
        )
    return Total(node.function, inside)


def _total_kind(node: tree.Total, draft: Draft) -> Kind:
    if node.function == "count":
        return "integer"
    whole = node.function != "avg" and node.argument is not None and kind_of(node.argument, draft) == "integer"
    return "integer" if whole else "real"
