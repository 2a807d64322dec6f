"""Aggregates that are a value of the column itself: quantiles, least and greatest, the most frequent value."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.aggregates import argument, contains_aggregate
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader, scalar

_DECIMALS = 10**6
_MOST_OF_A_LIST = 100


def _median(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return tree.Aggregate("quantile", scalar(argument(node)), tree.Literal(Fraction(1, 2)))


def _quantile(node: exp.Expr) -> tree.Scalar:
    """quantile(x, q) in its spellings."""
    share = node.args.get("quantile") or node.args.get("expression")
    only(node, "this", "quantile", "expression")
    if share is None:
        advice = "Write quantile(x, 0.9), or percentile_cont(0.9) WITHIN GROUP (ORDER BY x)."
        raise refused(node, f"{shown(node)!r} does not say both the column and the share", advice)
    return _quantiles(scalar(argument(node)), share, node)


def _quantiles(column: tree.Scalar, share: exp.Expr, whole: exp.Expr, *, descending: bool = False) -> tree.Scalar:
    """The quantile of one share, or the list of those of a list of shares, in its order."""
    listed = share.expressions if isinstance(share, exp.Array) else None
    if listed is not None and not 1 <= len(listed) <= _MOST_OF_A_LIST:
        raise refused(whole, f"A list of quantiles has from 1 to {_MOST_OF_A_LIST} of them")
    shares = [_share(each, whole) for each in ([share] if listed is None else listed)]
    found = tuple(tree.Aggregate("quantile", column, tree.Literal(1 - each if descending else each)) for each in shares)
    return found[0] if listed is None else tree.Several(found)


def percentile(node: exp.Expr) -> tree.Scalar:
    """percentile(x, q) and percentile_approx(x, q), as Spark calls them; q may be a list."""
    if len(node.expressions) != 2:
        raise refused(node, f"{shown(node)!r} takes a column and a share", "Write percentile(x, 0.9).")
    column, share = node.expressions
    inner = contains_aggregate(column)
    if inner is not None:
        raise refused(inner, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
    return _quantiles(scalar(column), share, node)


def _within_group(node: exp.Expr) -> tree.Scalar:
    """percentile_cont(q) WITHIN GROUP (ORDER BY x), and mode() the same way."""
    only(node, "this", "expression")
    call, order = node.this, node.expression
    if not isinstance(order, exp.Order) or len(order.expressions) != 1:
        raise refused(node, "WITHIN GROUP takes ORDER BY and one column")
    only(order, "expressions")
    ordered = order.expressions[0]
    only(ordered, "this", "desc", "nulls_first")
    inner = contains_aggregate(ordered.this)
    if inner is not None:
        raise refused(inner, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
    column = scalar(ordered.this)
    if isinstance(call, exp.Mode):
        only(call)
        return tree.Aggregate("mode", column)
    if not isinstance(call, (exp.PercentileCont, exp.PercentileDisc)):
        advice = "It goes with percentile_cont, percentile_disc and mode."
        raise refused(node, f"WITHIN GROUP is not understood in {shown(node)!r}", advice)
    only(call, "this")
    return _quantiles(column, call.this, node, descending=bool(ordered.args.get("desc")))


def _share(node: exp.Expr, whole: exp.Expr) -> Fraction:
    value = scalar(node)
    exact = value.value if isinstance(value, tree.Literal) else None
    if isinstance(exact, bool) or not isinstance(exact, (int, Fraction)) or not 0 < exact < 1:
        advice = "Write a number such as 0.9; for the ends, min and max."
        raise refused(whole, f"The share in {shown(whole)!r} must be a constant above 0 and below 1", advice)
    if _DECIMALS % Fraction(exact).denominator:
        raise refused(whole, f"The share in {shown(whole)!r} has more than six decimals")
    return Fraction(exact)


def _min(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return tree.Aggregate("min", scalar(argument(node)))


def _max(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return tree.Aggregate("max", scalar(argument(node)))


def _mode(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    if node.args.get("this") is None:
        raise refused(node, "mode needs a column", "Write mode(x), or mode() WITHIN GROUP (ORDER BY x).")
    return tree.Aggregate("mode", scalar(argument(node)))


def _top_k(node: exp.Expr) -> tree.Scalar:
    """approx_top_k(x, k): the k most frequent values, written one after the other."""
    only(node, "this", "expression")
    value = None if node.args.get("expression") is None else scalar(node.expression)
    most = value.value if isinstance(value, tree.Literal) else None
    if type(most) is not int or not 1 <= most <= _MOST_OF_A_LIST:
        raise refused(node, f"approx_top_k takes a constant from 1 to {_MOST_OF_A_LIST}", "Write approx_top_k(x, 3).")
    return tree.Aggregate("mode", scalar(argument(node)), tree.Literal(most))


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType(
    {
        exp.Median: _median,
        exp.Quantile: _quantile,
        exp.ApproxQuantile: _quantile,
        exp.PercentileCont: _quantile,
        exp.PercentileDisc: _quantile,
        exp.WithinGroup: _within_group,
        exp.Min: _min,
        exp.Max: _max,
        exp.Mode: _mode,
        exp.ApproxTopK: _top_k,
    }
)
