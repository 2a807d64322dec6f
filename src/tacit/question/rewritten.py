"""Other words for what the tree already has: power, log(2, x), IS DISTINCT FROM, iff, sum_if, and functions by name.

Promise: each becomes existing nodes that mean the same on every value; any other form is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.aggregates import NAMED_AGGREGATES, count_different
from tacit.question.dates import date_part
from tacit.question.histograms import read_histogram
from tacit.question.picks import percentile
from tacit.question.refusals import histogram, is_histogram, only, refused, shown
from tacit.question.scalars import Reader, call, scalar, unknown
from tacit.question.texts import part_of_text

_MOST_POWER = 4


def _logarithm(node: exp.Expr) -> tree.Scalar:
    """log(x) and log10(x); log2(x). (A dialect whose log is the natural one is parsed as ln.)"""
    only(node, "this", "expression")
    if node.args.get("expression") is None:
        return call(node, "log10", (scalar(node.this),))
    base = scalar(node.this)
    names = {10: "log10", 2: "log2"}
    if not isinstance(base, tree.Literal) or base.value not in names:
        raise refused(node, f"{shown(node)!r} has a base that is not understood", "Use ln, log10 or log2.")
    return call(node, names[base.value], (scalar(node.expression),))  # type: ignore[index]


def _same(node: exp.Expr) -> tree.Scalar:
    """a IS NOT DISTINCT FROM b, and IS DISTINCT FROM: never NULL."""
    only(node, "this", "expression")
    a, b = scalar(node.this), scalar(node.expression)
    neither = tree.And((tree.IsNull(a), tree.IsNull(b)))
    both = tree.And((tree.Not(tree.IsNull(a)), tree.Not(tree.IsNull(b)), tree.Compare("=", a, b)))
    alike = tree.Or((both, neither))
    return alike if isinstance(node, exp.NullSafeEQ) else tree.Not(alike)


def _summed_if(kind: tree.AggregateKind) -> Reader:
    """sum_if(x, condition): the rows where the condition does not hold count as NULL."""

    def read(node: exp.Expr) -> tree.Scalar:
        if len(node.expressions) != 2:
            raise refused(node, f"{shown(node)!r} needs a number and a condition")
        value, condition = map(scalar, node.expressions)
        if any(isinstance(part, tree.Aggregate) for side in (value, condition) for part in tree.walk(side)):
            raise refused(node, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
        return tree.Aggregate(kind, tree.Case((tree.Branch(condition, value),), tree.Literal(None)))

    return read


def _iff(node: exp.Expr) -> tree.Scalar:
    """iff(condition, a, b)."""
    if len(node.expressions) != 3:
        raise refused(node, f"{shown(node)!r} needs a condition and two values")
    condition, value, otherwise = map(scalar, node.expressions)
    return tree.Case((tree.Branch(condition, value),), otherwise)


_NAMED: Mapping[str, Reader] = MappingProxyType(
    {
        "DATE_PART": date_part,
        "DATEPART": date_part,
        "IFF": _iff,
        "SUM_IF": _summed_if("sum"),
        "SUMIF": _summed_if("sum"),
        "AVG_IF": _summed_if("avg"),
        "AVGIF": _summed_if("avg"),
    }
)
"""Functions that the parser knows only by their names."""


def _anonymous(node: exp.Expr) -> tree.Scalar:
    """suffix(x, 'a') is DuckDB's ends_with; magnitude is our own."""
    if str(node.this).upper() in _NAMED:
        only(node, "this", "expressions")
        return _NAMED[str(node.this).upper()](node)
    if str(node.this).upper() == "SUFFIX" and len(node.expressions) == 2:
        only(node, "this", "expressions")
        return part_of_text(exp.EndsWith(this=node.expressions[0], expression=node.expressions[1]))
    if str(node.this).upper() == "MAGNITUDE":
        only(node, "this", "expressions")
        return call(node, "magnitude", tuple(map(scalar, node.expressions)))
    assert isinstance(node, exp.Anonymous)
    only(node, "this", "expressions")
    if str(node.this).upper() == "HISTOGRAM":
        return read_histogram(node)
    if str(node.this).upper() in NAMED_AGGREGATES:
        return percentile(node)
    raise histogram(node) if is_histogram(node) else unknown(node)


def _distinct(node: exp.Expr) -> tree.Scalar:
    """approx_count_distinct: only the noise makes it approximate, not the count."""
    only(node, "this")
    return count_different(scalar(node.this))


def _power(node: exp.Expr) -> tree.Scalar:
    """x to a small whole power, as a product."""
    only(node, "this", "expression")
    base, power = scalar(node.this), scalar(node.expression)
    value = power.value if isinstance(power, tree.Literal) else None
    if type(value) is not int or not 1 <= value <= _MOST_POWER:
        raise refused(node, f"{shown(node)!r} needs a constant power from 1 to {_MOST_POWER}")
    product = base
    for _ in range(value - 1):
        product = tree.Arithmetic("*", product, base)
    return product


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType(
    {
        exp.Log: _logarithm,
        exp.NullSafeEQ: _same,
        exp.NullSafeNEQ: _same,
        exp.Pow: _power,
        exp.Anonymous: _anonymous,
        exp.ApproxDistinct: _distinct,
    }
)
