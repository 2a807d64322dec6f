"""count, sum and avg as totals of weights, in SQL.

On a table whose lines stand for `tacit_weight` rows each, a count is the sum of the weights, a sum that of values times
weights, a mean their quotient. Other aggregates need lines that stand for equally many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

WEIGHT: Final = "tacit_weight"
_TOTALS: Final = (exp.Count, exp.Sum, exp.Avg, exp.CountIf)


def needs_rows(select: exp.Select) -> bool:
    """Whether an aggregate is asked that is not a total of weights: medians, minima, counts of different values."""
    return any(not _is_total(each) for each in select.find_all(exp.AggFunc) if not isinstance(each, exp.Filter))


def _is_total(node: exp.Expr) -> bool:
    return isinstance(node, _TOTALS) and not isinstance(node.this, exp.Distinct)


def weighted(node: exp.Expr) -> exp.Expr:
    """count, sum and avg as totals of weights; those of no row are 0 for counts and missing for the others."""
    found = total_of(node)
    if found is None:
        return node
    weight, condition, value = exp.column(WEIGHT), found.condition, found.value
    if value is None:
        return exp.Coalesce(this=exp.Sum(this=_case(condition, weight)), expressions=[exp.Literal.number("0.0")])
    condition = exp.and_(condition, _present(value))
    double = exp.Paren(this=exp.cast(value.copy(), "DOUBLE"))
    total = exp.Sum(this=_case(condition, exp.Mul(this=double, expression=weight)))
    if found.kind == "sum":
        return total
    return exp.Paren(this=exp.Div(this=total, expression=exp.Sum(this=_case(condition.copy(), weight.copy()))))


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A count, sum or mean over the rows with a condition; a count has no value."""

    kind: str
    condition: exp.Expr
    value: exp.Expr | None


def total_of(node: exp.Expr) -> Total | None:
    """What a count, sum or mean is, its FILTER included; None for other things."""
    condition: exp.Expr = exp.true()
    if isinstance(node, exp.Filter):
        condition, node = node.expression.this.copy(), node.this
    if not _is_total(node):
        return None
    if isinstance(node, exp.CountIf):
        return Total("count", exp.and_(condition, node.this.copy()), None)
    if isinstance(node, exp.Count):
        every = isinstance(node.this, exp.Star)
        return Total("count", condition if every else exp.and_(condition, _present(node.this)), None)
    return Total("sum" if isinstance(node, exp.Sum) else "avg", condition, node.this.copy())


def _present(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.not_(exp.Is(this=exp.Paren(this=node.copy()), expression=exp.null())))


def _case(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)])
