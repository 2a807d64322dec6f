"""A SELECT that adds up the rows of an answer: SELECT max(n) FROM (SELECT ward, count(*) AS n ... GROUP BY ward).

The keys decide whether the inner SELECT is an answer or a table of units. With the unit among them every group belongs
to one unit (`open_rows`), and its rows are private. Without it, groups hold many units, and the answer to the inner
question is added up. Then the inner SELECT becomes the question, and the outer one its summary: the names of inner
outputs are replaced by what they stand for, aggregates outside become `Total`, and WHERE a condition on the rows of the
answer. All of the outer SELECT is computed from what was released, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tacit.errors import QuestionError
from tacit.plan.sources.names import conjunction, listed
from tacit.plan.sources.opener import Opener
from tacit.policy import Policy
from tacit.question import tree

_TOTALS: Mapping[str, tree.TotalFunction] = {
    "count_rows": "count",
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "min": "min",
    "max": "max",
}
_KNOWN = "Over the rows of an answer there are count, sum, avg, min and max."


def summarise(question: tree.Question, policy: Policy) -> tree.Question:
    """The question unchanged, or as a summary of the question inside it."""
    inside = _answer(question.source) if not question.joins else None
    if inside is None or not _is_answer(inside.rows, policy):
        return question
    rows = inside.rows
    if question.sets or rows.sets:
        raise QuestionError("ROLLUP, CUBE and GROUPING SETS do not go with totals over the rows of an answer.")
    if question.qualify is not None:
        raise QuestionError("QUALIFY does not go with totals over the rows of an answer.")
    meant = _meaning(inside, totals=True)
    conditions = (*inside.conditions, *(() if question.where is None else (meant(question.where),)))
    summary = tree.Summary(
        keys=tuple(meant(key.expression) for key in question.keys),
        having=None if question.having is None else meant(question.having),
    )
    return replace(
        question,
        source=rows.source,
        joins=rows.joins,
        where=rows.where,
        keys=rows.keys,
        outputs=tuple(tree.Output(output.name, meant(output.expression)) for output in question.outputs),
        having=rows.having,
        qualify=conjunction(conditions),
        order=tuple(replace(each, expression=meant(each.expression)) for each in question.order),
        summary=summary,
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """A SELECT that aggregates, as it is seen from outside: what its columns mean, and which rows are kept."""

    rows: tree.Rows
    alias: str
    columns: Mapping[str, tree.Scalar]
    conditions: tuple[tree.Scalar, ...] = ()


def _answer(source: tree.Source) -> _Answer | None:
    """The SELECT that aggregates in FROM, even where others only choose among its rows and columns."""
    if not isinstance(source, tree.Derived) or not isinstance(source.rows, tree.Rows) or source.rows.distinct:
        return None
    rows = source.rows
    outputs = [output for output in rows.outputs if isinstance(output, tree.Output)]
    aggregated = any(isinstance(node, tree.Aggregate) for each in outputs for node in tree.walk(each.expression))
    if rows.keys or aggregated:
        if len(outputs) < len(rows.outputs):
            raise QuestionError("'*' cannot be mixed with aggregates. Name the columns.")
        return _Answer(rows, source.alias, {output.name: output.expression for output in outputs})
    inside = None if rows.joins or rows.having is not None else _answer(rows.source)
    if inside is None:
        return None
    meant = _meaning(inside, totals=False)
    columns: dict[str, tree.Scalar] = {}
    for output in rows.outputs:
        if isinstance(output, tree.Output):
            columns[output.name] = meant(output.expression)
        else:
            columns |= {name: each for name, each in inside.columns.items() if name not in output.but}
    where = () if rows.where is None else (meant(rows.where),)
    return _Answer(inside.rows, source.alias, columns, (*inside.conditions, *where))


def _is_answer(rows: tree.Rows, policy: Policy) -> bool:
    """Whether no key of the SELECT is the unit, so that its groups are not one unit's."""
    joined = Opener(policy, None).open_from(rows.source, rows.joins, rows.where)
    return joined.rows is not None and not any(joined.names.own_unit(key.expression) for key in rows.keys)


def _meaning(inside: _Answer, *, totals: bool) -> Callable[[tree.Scalar], tree.Scalar]:
    """An expression of the outer SELECT in terms of the SELECT that aggregates."""
    named = {name.lower(): expression for name, expression in inside.columns.items()}

    def change(node: tree.Scalar) -> tree.Scalar | None:
        if isinstance(node, tree.Aggregate) and totals:
            if node.kind not in _TOTALS:
                raise QuestionError(f"{node.kind} is not understood over the rows of an answer. {_KNOWN}")
            argument = None if node.argument is None else tree.rewrite(node.argument, change)
            return tree.Total(_TOTALS[node.kind], argument)
        if isinstance(node, (tree.Over, tree.Inner)):
            raise QuestionError(f"A window function or a SELECT does not go with totals over an answer. {_KNOWN}")
        if not isinstance(node, tree.Name):
            return None
        own = node.table is None or node.table.lower() == inside.alias.lower()
        found = named.get(node.column.lower()) if own else None
        if found is None:
            columns = listed("Columns", inside.columns, node.column)
            raise QuestionError(f"Column {node.column!r} is not among those of the SELECT inside. {columns}")
        return found

    return lambda expression: tree.rewrite(expression, change)
