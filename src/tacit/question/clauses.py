"""The clauses of a SELECT: a table of FROM, WHERE, GROUP BY, the outputs, HAVING, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.aggregates import contains_aggregate
from tacit.question.refusals import as_sql, histogram, is_histogram, only, refused, shown
from tacit.question.scalars import identifier, scalar

_ROWS_OPTION = "tacit_rows_per_unit"


def table_of(node: exp.Table) -> tree.Named:
    """The table of `visits v`, or of `visits(tacit_rows_per_unit => 4) v`."""
    only(node, "this", "alias")
    rows = None
    if isinstance(node.this, exp.Anonymous):
        name, rows = str(node.this.this), _rows_option(node.this)
    else:
        name = identifier(node.this)
    alias = node.args.get("alias")
    if alias is not None:
        only(alias, "this")
    return tree.Named(name, name if alias is None else identifier(alias.this), rows)


def _rows_option(node: exp.Anonymous) -> int:
    if is_histogram(node):
        raise histogram(node)
    advice = f"The only thing in brackets after a table is {_ROWS_OPTION} => a whole number."
    options = node.expressions
    if len(options) != 1 or not isinstance(options[0], exp.Kwarg) or options[0].this.name.lower() != _ROWS_OPTION:
        raise refused(node, f"{str(node.this)[:40]!r} is not a table, and no function stands in FROM", advice)
    value = scalar(options[0].expression)
    if not isinstance(value, tree.Literal) or type(value.value) is not int or value.value < 1:
        raise refused(node, f"{_ROWS_OPTION} must be a whole number of at least 1", advice)
    return value.value


def where_of(select: exp.Select) -> tree.Scalar | None:
    """The condition on rows."""
    node = select.args.get("where")
    if node is None:
        return None
    no_aggregate(node.this, "WHERE")
    return scalar(node.this)


def no_aggregate(node: exp.Expr, clause: str) -> None:
    inner = contains_aggregate(node)
    if inner is not None:
        advice = "HAVING is the place for conditions on aggregates."
        raise refused(inner, f"{clause} speaks of single rows and cannot hold {shown(inner)!r}", advice)


def outputs_of(select: exp.Select) -> tuple[tree.Output, ...]:
    """The columns of the answer, each with a name of its own."""
    outputs: list[tree.Output] = []
    taken: set[str] = set()
    for node in select.expressions:
        if isinstance(node, exp.Alias):
            only(node, "this", "alias")
            name, inside = identifier(node.args["alias"]), node.this
        else:
            name, inside = default_name(node), node
        base, again = name, 2
        while name.lower() in taken:
            name, again = f"{base}_{again}", again + 1
        taken.add(name.lower())
        outputs.append(tree.Output(name, scalar(inside)))
    return tuple(outputs)


_USUAL: Mapping[type[exp.Expr], str] = MappingProxyType(
    {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median"}
)


def _is_quoted(column: exp.Column) -> bool:
    return any(part.args.get("quoted") for part in column.parts)


def default_name(node: exp.Expr) -> str:
    """The name of an output that was given none."""
    if isinstance(node, exp.Column):
        return str(node.name) or "column"
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count"
    if type(node) in _USUAL and isinstance(node.this, exp.Column) and not _is_quoted(node.this):
        # written here as the generator would write it, which would take most of the time of a short question
        return f"{_USUAL[type(node)]}({'.'.join(part.name for part in node.this.parts)})"
    return as_sql(node, normalize_functions="lower")[:120]


def key_of(node: exp.Expr, outputs: Sequence[tree.Output]) -> tree.Key:
    """One key: an expression, a place, or the name of an output."""
    key = _key(node, outputs)
    if any(isinstance(part, (tree.Aggregate, tree.Over)) for part in tree.walk(key.expression)):
        raise refused(node, "GROUP BY speaks of single rows and cannot hold an aggregate")
    if isinstance(key.expression, tree.Literal):
        raise refused(node, "GROUP BY a constant groups nothing", "Leave it out.")
    return key


def _key(node: exp.Expr, outputs: Sequence[tree.Output]) -> tree.Key:
    place = _place(node, outputs)
    if place is not None:
        return tree.Key(place.name, place.expression)
    expression = scalar(node)
    if isinstance(expression, tree.Name) and expression.table is None:
        for output in outputs:
            if output.name.lower() == expression.column.lower():
                same = (
                    isinstance(output.expression, tree.Name) and output.name.lower() == output.expression.column.lower()
                )
                return tree.Key(output.name, output.expression, None if same else expression)
    for output in outputs:
        if output.expression == expression:
            return tree.Key(output.name, expression)
    return tree.Key(default_name(node), expression)


def _place(node: exp.Expr, outputs: Sequence[tree.Output]) -> tree.Output | None:
    if not isinstance(node, exp.Literal) or node.args.get("is_string"):
        return None
    value = scalar(node)
    if not isinstance(value, tree.Literal) or type(value.value) is not int or not 1 <= value.value <= len(outputs):
        raise refused(node, f"There is no output at place {node.this}", f"Places go from 1 to {len(outputs)}.")
    return outputs[value.value - 1]


def having_of(select: exp.Select, outputs: Sequence[tree.Output], keys: Sequence[tree.Key] = ()) -> tree.Scalar | None:
    """The condition on the cells of the answer; it may name outputs, and keys before them."""
    node = select.args.get("having")
    left = {key.written.column.lower() for key in keys if key.written is not None}
    named = [output for output in outputs if output.name.lower() not in left]
    return None if node is None else _by_name(scalar(node.this), named)


def order_of(select: exp.Select, outputs: Sequence[tree.Output]) -> tuple[tree.Order, ...]:
    """How the answer is sorted."""
    clause = select.args.get("order")
    if clause is None:
        return ()
    only(clause, "expressions")
    orders = []
    for node in clause.expressions:
        only(node, "this", "desc", "nulls_first")
        place = _place(node.this, outputs)
        expression = place.expression if place else _by_name(scalar(node.this), outputs)
        orders.append(tree.Order(expression, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))
    return tuple(orders)


def _by_name(expression: tree.Scalar, outputs: Sequence[tree.Output]) -> tree.Scalar:
    """The expression with names of outputs replaced by what they stand for (not inside aggregates)."""
    named: Mapping[str, tree.Scalar] = {output.name.lower(): output.expression for output in outputs}

    def change(node: tree.Scalar) -> tree.Scalar | None:
        if isinstance(node, tree.Aggregate):
            return node
        if isinstance(node, tree.Name) and node.table is None:
            return named.get(node.column.lower())
        return None

    return tree.rewrite(expression, change)


def qualify_of(select: exp.Select, outputs: Sequence[tree.Output]) -> tree.Scalar | None:
    """The condition after window functions; it may name outputs."""
    node = select.args.get("qualify")
    return None if node is None else _by_name(scalar(node.this), outputs)


def limit_of(select: exp.Query) -> int | None:
    """How many rows of the answer to show."""
    node = select.args.get("limit")
    return None if node is None else _rows(node, "LIMIT")


def offset_of(select: exp.Query) -> int:
    """How many rows of the answer to skip first."""
    node = select.args.get("offset")
    return 0 if node is None else _rows(node, "OFFSET")


def _rows(node: exp.Expr, clause: str) -> int:
    only(node, "expression")
    value = scalar(node.expression)
    if not isinstance(value, tree.Literal) or type(value.value) is not int or value.value < 0:
        raise refused(node, f"{clause} takes a whole number of at least 0")
    return value.value
