"""A SELECT over an answer: SELECT ... FROM (SELECT key, count(*) AS n ... GROUP BY key) WHERE n > 100 ORDER BY n.

The outer SELECT computes with the rows of the inner one and adds them up no further, so both are one question: names of
the inner outputs are replaced by what they stand for, and the outer WHERE becomes a condition on the finished rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.question import clauses, tree
from tacit.question.aggregates import contains_aggregate, is_aggregate
from tacit.question.inner_selects import outputs_of_rows, source_of
from tacit.question.refusals import refused

Meaning = Callable[[tree.Scalar], tree.Scalar]
_PLAIN = frozenset({"expressions", "from_", "where", "order", "limit", "offset"})


def over_answer(select: exp.Select, names: Sequence[str] = ()) -> tree.Question | None:
    """The question of a SELECT over an answer; None where it is none.

    `names` are the answer's columns where the inner SELECT names them differently: in a UNION ALL, the first SELECT
    names them.
    """
    if any(value and name not in _PLAIN for name, value in select.args.items()):
        return None
    source = select.args["from_"].this
    if not isinstance(source, exp.Subquery) or any(_adds_up(node) for node in select.expressions):
        return None
    derived = source_of(source)
    assert isinstance(derived, tree.Derived)
    inner = derived.rows
    if isinstance(inner, tree.Union) or inner.distinct or not _is_answer(inner):
        return None
    found = [output for output in inner.outputs if isinstance(output, tree.Output)]
    if len(found) != len(inner.outputs):
        raise refused(select, "'*' cannot be mixed with aggregates", "Name the columns.")
    if names:
        found = [tree.Output(name, output.expression) for name, output in zip(names, found, strict=True)]
    meanings = {output.name.lower(): output for output in found}

    def meant(expression: tree.Scalar) -> tree.Scalar:
        def change(node: tree.Scalar) -> tree.Scalar | None:
            if not isinstance(node, tree.Name):
                return None
            known = node.table is None or node.table.lower() == derived.alias.lower()
            output = meanings.get(node.column.lower()) if known else None
            if output is None:
                raise refused(select, f"Column {node.column!r} is not among {', '.join(meanings)}")
            return output.expression

        return tree.rewrite(expression, change)

    outputs = tuple(_outputs(select, list(meanings.values()), derived.alias, meant))
    where = None if select.args.get("where") is None else meant(clauses.where_of(select) or tree.Literal(True))
    having = inner.having
    if where is not None and any(select.find_all(exp.Window)) and not _windows_first(source, select):
        having = where if having is None else tree.And((having, where))
        where = None
    return tree.Question(
        source=inner.source,
        joins=inner.joins,
        where=inner.where,
        keys=inner.keys,
        outputs=outputs,
        having=having,
        order=tuple(
            tree.Order(meant(each.expression), each.descending, each.nulls_first)
            for each in clauses.order_of(select, _as_written(select))
        ),
        limit=clauses.limit_of(select),
        offset=clauses.offset_of(select),
        rows_per_unit=None,
        sets=inner.sets,
        qualify=where,
    )


def _windows_first(source: exp.Subquery, select: exp.Select) -> bool:
    """Whether window functions come before the outer WHERE: those of the inner SELECT do, the outer ones do not."""
    inside = any(source.find_all(exp.Window))
    outside = [*select.expressions, *([select.args["order"]] if select.args.get("order") else [])]
    if not any(node.find(exp.Window) for node in outside):
        return True
    if inside:
        raise refused(select, "Window functions on both sides of a WHERE are not understood", "Use them in one SELECT.")
    return False


def _adds_up(node: exp.Expr) -> bool:
    """Whether an output aggregates the rows of the inner SELECT once more (a window function does not)."""
    if contains_aggregate(node) is None:
        return False
    return any(is_aggregate(part) and part.find_ancestor(exp.Window) is None for part in node.walk())


def _is_answer(rows: tree.Rows) -> bool:
    if rows.keys:
        return True
    outputs = [output for output in rows.outputs if isinstance(output, tree.Output)]
    return any(isinstance(node, tree.Aggregate) for output in outputs for node in tree.walk(output.expression))


def _outputs(select: exp.Select, inner: Sequence[tree.Output], alias: str, meant: Meaning) -> list[tree.Output]:
    found: list[tree.Output] = []
    for output in outputs_of_rows(select):
        if isinstance(output, tree.Every):
            if output.table is not None and output.table.lower() != alias.lower():
                raise refused(select, f"No table is called {output.table!r} here")
            found += inner
        else:
            found.append(tree.Output(output.name, meant(output.expression)))
    return found


def _as_written(select: exp.Select) -> list[tree.Output]:
    """The outputs under the names that ORDER BY may use, before they are replaced by what they mean."""
    return [output for output in outputs_of_rows(select) if isinstance(output, tree.Output)]
