"""UNION ALL of answers: SELECT 'visits' AS what, count(*) AS n FROM visits UNION ALL SELECT 'patients', count(*) ...

Promise: every SELECT of it is a question by itself, read as any other; ORDER BY, LIMIT and OFFSET after the last one
are about all rows together, and sort by columns of the result, by name or by place. Operations that would compare rows
of one answer with those of another (UNION, INTERSECT, EXCEPT) are refused.

A SELECT that only computes with the rows of such a union, SELECT what, n * 2 FROM (... UNION ALL ...) WHERE n > 10, is
the union of the same SELECT over each part: it treats rows one by one, so it does not matter where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from tacit.question import clauses, tree
from tacit.question.aggregates import contains_aggregate
from tacit.question.over_answers import over_answer
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import scalar

_OVER_ROWS = frozenset({"expressions", "from_", "where", "order", "limit", "offset"})


def united_of(node: exp.SetOperation, question_of: Callable[[exp.Select], tree.Question]) -> tree.United:
    """The questions of a UNION ALL, and the clauses about all their rows together."""
    parts = tuple(question_of(select) for select in _parts(node, outermost=True))
    names = [output.name for output in parts[0].outputs]
    for number, part in enumerate(parts[1:], start=2):
        if len(part.outputs) != len(names):
            raise refused(
                node,
                f"The SELECTs of a UNION ALL must have the same number of columns: the first has {len(names)}, "
                f"and number {number} has {len(part.outputs)}",
            )
    return tree.United(parts, tuple(_order(node, names)), clauses.limit_of(node), clauses.offset_of(node))


def _parts(node: exp.Expr, *, outermost: bool = False) -> Iterator[exp.Select]:
    """The SELECTs, in order. Inside, a union stands alone: what it sorts or cuts would be lost."""
    if isinstance(node, exp.Subquery):
        only(node, "this")
        yield from _parts(node.this)
    elif isinstance(node, exp.Union):
        if node.args.get("distinct") or node.args.get("by_name"):
            raise refused(node, "Answers are put together by UNION ALL alone, column by column", "Write UNION ALL.")
        said = ("order", "limit", "offset") if outermost else ()
        only(node, "this", "expression", "distinct", *said)
        yield from _parts(node.this)
        yield from _parts(node.expression)
    elif isinstance(node, exp.Select):
        yield node
    elif isinstance(node, exp.SetOperation):
        raise refused(node, "INTERSECT and EXCEPT are not understood", "Ask two questions, and compare the answers.")
    else:
        raise refused(node, f"A SELECT is needed on both sides of UNION ALL, and {shown(node)!r} is none")


def _order(node: exp.Query, names: Sequence[str]) -> Iterator[tree.Sorted]:
    clause = node.args.get("order")
    if clause is None:
        return
    only(clause, "expressions")
    for each in clause.expressions:
        only(each, "this", "desc", "nulls_first")
        place = _column(each.this, names)
        yield tree.Sorted(place, bool(each.args.get("desc")), bool(each.args.get("nulls_first")))


def _column(node: exp.Expr, names: Sequence[str]) -> int:
    value = scalar(node)
    if isinstance(value, tree.Literal) and type(value.value) is int and 1 <= value.value <= len(names):
        return value.value - 1
    folded = [name.lower() for name in names]
    if isinstance(value, tree.Name) and value.table is None and value.column.lower() in folded:
        return folded.index(value.column.lower())
    raise refused(
        node,
        f"ORDER BY after a UNION ALL takes columns of the result, and {shown(node)!r} is none",
        f"Columns: {', '.join(names)}; or their places, from 1 to {len(names)}.",
    )


def over_union(select: exp.Select) -> tree.United | None:
    """A SELECT over the rows of a union of answers: the same SELECT over each of them; None for any other SELECT."""
    clause = select.args.get("from_")
    source = None if clause is None else clause.this
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Union):
        return None
    only(source, "this", "alias")
    if any(value and name not in _OVER_ROWS for name, value in select.args.items()):
        return None
    if any(contains_aggregate(node) is not None or node.find(exp.Window) for node in select.expressions):
        return None
    parts = list(_parts(source.this))
    if not all(_aggregates(part) for part in parts):
        return None  # rows, not answers
    names = [output.name for output in clauses.outputs_of(parts[0])]
    questions: list[tree.Question] = []
    for part in parts:
        if len(part.expressions) != len(names):
            raise refused(part, f"The SELECTs of a UNION ALL must have the same number of columns, here {len(names)}")
        outer = exp.Select(expressions=[node.copy() for node in select.expressions])
        inside = exp.Subquery(this=part.copy(), alias=source.args.get("alias"))
        outer.set("from_", exp.From(this=inside))
        if select.args.get("where") is not None:
            outer.set("where", select.args["where"].copy())
        question = over_answer(outer, names)
        if question is None:
            raise refused(part, "This SELECT of a UNION ALL is no answer", "Use count, sum or avg, or GROUP BY.")
        questions.append(question)
    order = tuple(_order(select, [output.name for output in questions[0].outputs]))
    return tree.United(tuple(questions), order, clauses.limit_of(select), clauses.offset_of(select))


def _aggregates(select: exp.Select) -> bool:
    grouped = select.args.get("group") is not None
    return grouped or any(contains_aggregate(node) is not None for node in select.expressions)
