"""Aggregates that are sums and counts, or follow from them; `picks` reads the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader, scalar

_SIMPLE: Mapping[type[exp.Expr], tree.AggregateKind] = MappingProxyType(
    {
        exp.Sum: "sum",
        exp.Avg: "avg",
        exp.Variance: "var_samp",
        exp.VariancePop: "var_pop",
        exp.Stddev: "stddev_samp",
        exp.StddevSamp: "stddev_samp",
        exp.StddevPop: "stddev_pop",
        exp.LogicalAnd: "bool_and",
        exp.LogicalOr: "bool_or",
    }
)
_PAIRS: Mapping[type[exp.Expr], tree.AggregateKind] = MappingProxyType(
    {
        exp.Corr: "corr",
        exp.CovarPop: "covar_pop",
        exp.CovarSamp: "covar_samp",
        exp.RegrSlope: "regr_slope",
        exp.RegrIntercept: "regr_intercept",
        exp.RegrR2: "regr_r2",
        exp.RegrCount: "regr_count",
    }
)


NAMED_AGGREGATES = frozenset({"HISTOGRAM", "PERCENTILE", "PERCENTILE_APPROX", "APPROX_PERCENTILE"})
"""Aggregates of various dialects that the parser knows only by their names."""


def is_aggregate(node: object) -> bool:
    """Whether a node is an aggregate itself."""
    named = isinstance(node, exp.Anonymous) and str(node.this).upper() in NAMED_AGGREGATES
    return named or isinstance(node, exp.AggFunc)


def contains_aggregate(node: exp.Expr) -> exp.Expr | None:
    """The first aggregate in or below a node; those of a SELECT inside it are not its own."""
    inside = node.walk(prune=lambda part: isinstance(part, (exp.Select, exp.SetOperation)))
    return next((part for part in inside if is_aggregate(part)), None)


def argument(node: exp.Expr) -> exp.Expr:
    """The argument of an aggregate."""
    inside: exp.Expr | None = node.args.get("this")
    if inside is None:
        raise refused(node, f"{shown(node)!r} does not say of what", "Name a column.")
    if isinstance(inside, exp.Distinct):
        raise refused(node, f"DISTINCT is not understood in {shown(node)!r}", "It goes with count and the unit only.")
    inner = contains_aggregate(inside)
    if inner is not None:
        raise refused(inner, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
    return inside


def _simple(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return tree.Aggregate(_SIMPLE[type(node)], scalar(argument(node)))


def _pair(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    if node.args.get("expression") is None:
        raise refused(node, f"{shown(node)!r} takes two columns")
    inner = contains_aggregate(node.expression)
    if inner is not None:
        raise refused(inner, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
    return tree.Aggregate(_PAIRS[type(node)], scalar(argument(node)), scalar(node.expression))


def _count(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "big_int")
    if node.args.get("this") is None or isinstance(node.this, exp.Star):
        if isinstance(node.this, exp.Star):
            only(node.this)
        return tree.Aggregate("count_rows", None)
    if isinstance(node.this, exp.Distinct):
        only(node.this, "expressions")
        if len(node.this.expressions) != 1:
            raise refused(node, "count(DISTINCT ...) takes one column", "Count them one by one.")
        return count_different(scalar(node.this.expressions[0]))
    counted = scalar(argument(node))
    if isinstance(counted, tree.Literal) and counted.value is not None:
        return tree.Aggregate("count_rows", None)
    return tree.Aggregate("count", counted)


def count_different(argument: tree.Scalar) -> tree.Aggregate:
    """count(DISTINCT ...). The plan knows whether x is the unit. CASE WHEN c THEN x END is x where c holds."""
    if isinstance(argument, tree.Case) and len(argument.branches) == 1 and argument.otherwise == tree.Literal(None):
        return tree.Aggregate("count_units", argument.branches[0].value, argument.branches[0].condition)
    return tree.Aggregate("count_units", argument)


def _count_if(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return _where(tree.Aggregate("count_rows", None), scalar(argument(node)))


def _filter(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    aggregate = scalar(node.this)
    inner = contains_aggregate(node.expression.this)
    if inner is not None:
        raise refused(inner, "FILTER speaks of rows and cannot hold an aggregate", "Use HAVING for that.")
    condition = scalar(node.expression.this)
    if isinstance(aggregate, tree.Several) and all(isinstance(each, tree.Aggregate) for each in aggregate.items):
        return tree.Several(
            tuple(_where(each, condition) for each in aggregate.items if isinstance(each, tree.Aggregate))
        )
    if not isinstance(aggregate, tree.Aggregate):
        raise refused(node, "FILTER goes with an aggregate")
    return _where(aggregate, condition)


def _where(aggregate: tree.Aggregate, condition: tree.Scalar) -> tree.Scalar:
    """The aggregate over the rows where the condition holds: the others count as NULL."""
    if aggregate.kind == "count_units":
        both = condition if aggregate.second is None else tree.And((condition, aggregate.second))
        return replace(aggregate, second=both)
    inside = tree.Literal(1) if aggregate.argument is None else aggregate.argument
    kind = "count" if aggregate.kind == "count_rows" else aggregate.kind
    return replace(aggregate, kind=kind, argument=tree.Case((tree.Branch(condition, inside),), tree.Literal(None)))


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType(
    {
        exp.Count: _count,
        exp.CountIf: _count_if,
        exp.Filter: _filter,
        **dict.fromkeys(_SIMPLE, _simple),
        **dict.fromkeys(_PAIRS, _pair),
    }
)
