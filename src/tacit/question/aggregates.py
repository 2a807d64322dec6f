"""Aggregates: count, sum, avg, variance and standard deviation; others are refused with a pointer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader, add_readers, scalar

_SIMPLE: Mapping[type[exp.Expr], tree.AggregateKind] = MappingProxyType(
    {
        exp.Sum: "sum",
        exp.Avg: "avg",
        exp.Variance: "var_samp",
        exp.VariancePop: "var_pop",
        exp.Stddev: "stddev_samp",
        exp.StddevSamp: "stddev_samp",
        exp.StddevPop: "stddev_pop",
    }
)
_LATER = (exp.Min, exp.Max, exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)


def contains_aggregate(node: exp.Expr) -> exp.Expr | None:
    """The first aggregate in or below a node."""
    found: exp.Expr | None = node.find(exp.AggFunc)
    return found


def _argument(node: exp.Expr) -> exp.Expr:
    argument: exp.Expr = node.this
    if isinstance(argument, exp.Distinct):
        raise refused(node, f"DISTINCT is not understood in {shown(node)!r}", "It goes with count and the unit only.")
    inner = contains_aggregate(argument)
    if inner is not None:
        raise refused(inner, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
    return argument


def _simple(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return tree.Aggregate(_SIMPLE[type(node)], scalar(_argument(node)))


def _count(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "big_int")
    if node.args.get("this") is None or isinstance(node.this, exp.Star):
        if isinstance(node.this, exp.Star):
            only(node.this)
        return tree.Aggregate("count_rows", None)
    if isinstance(node.this, exp.Distinct):
        only(node.this, "expressions")
        if len(node.this.expressions) != 1 or not isinstance(node.this.expressions[0], exp.Column):
            raise refused(node, "count(DISTINCT ...) takes the unit's column only", "Other columns come later.")
        return tree.Aggregate("count_units", scalar(node.this.expressions[0]))
    argument = scalar(_argument(node))
    if isinstance(argument, tree.Literal) and argument.value is not None:
        return tree.Aggregate("count_rows", None)
    return tree.Aggregate("count", argument)


def _count_if(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return _where(tree.Aggregate("count_rows", None), scalar(_argument(node)), node)


def _filter(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    aggregate = scalar(node.this)
    inner = contains_aggregate(node.expression.this)
    if inner is not None:
        raise refused(inner, "FILTER speaks of rows and cannot hold an aggregate", "Use HAVING for that.")
    if not isinstance(aggregate, tree.Aggregate):
        raise refused(node, "FILTER goes with an aggregate")
    return _where(aggregate, scalar(node.expression.this), node)


def _where(aggregate: tree.Aggregate, condition: tree.Scalar, node: exp.Expr) -> tree.Scalar:
    """The aggregate over the rows where the condition holds: the others count as NULL."""
    if aggregate.kind == "count_units":
        raise refused(node, "count(DISTINCT unit) with FILTER is not understood yet", "Put the condition into WHERE.")
    inside = tree.Literal(1) if aggregate.argument is None else aggregate.argument
    kind = "count" if aggregate.kind == "count_rows" else aggregate.kind
    return tree.Aggregate(kind, tree.Case((tree.Branch(condition, inside),), tree.Literal(None)))


def _later(node: exp.Expr) -> tree.Scalar:
    advice = "For now: avg, stddev, or counts over buckets, e.g. GROUP BY floor(x / 10) * 10."
    raise refused(node, f"{shown(node)!r} needs a mechanism that is not built yet", advice)


_AGGREGATES: Mapping[type[exp.Expr], Reader] = MappingProxyType(
    {
        exp.Count: _count,
        exp.CountIf: _count_if,
        exp.Filter: _filter,
        **dict.fromkeys(_SIMPLE, _simple),
        **dict.fromkeys(_LATER, _later),
    }
)
add_readers(_AGGREGATES)
