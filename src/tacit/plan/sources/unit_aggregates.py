"""Aggregates within one unit's group: exact values with exact bounds, to go on computing with.

Promise: the value depends on the group's own rows, keeps the invariants of `value`, and fails on no row. A group has
between 1 and R rows.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic
from tacit.plan.values.intervals import Interval
from tacit.plan.values.scope import Scope
from tacit.plan.values.translate import condition_of, number_of, value_of
from tacit.plan.values.value import NARROW, Nothing, Number, Value, cast_to, integer, operands
from tacit.question import tree

_KNOWN = "count, count(DISTINCT ...), sum, avg, min, max"


def aggregate_value(node: tree.Aggregate, scope: Scope, most: int) -> Value:
    """The aggregate of a group of at most `most` rows."""
    if node.kind == "count_rows":
        return Number(exp.Count(this=exp.Star()), Interval(1, most), nullable=False)
    if node.kind == "count_units" and node.second is not None:
        found = exp.Case().when(condition_of(node.second, scope).sql, integer(1))
        return Number(exp.Count(this=exp.Distinct(expressions=[found])), Interval(0, 1), nullable=False)
    if node.kind == "count_units":
        return Number(cast_to(exp.Literal.number(1), "BIGINT"), Interval(1, 1), nullable=False)
    assert node.argument is not None
    if node.kind in ("count", "count_distinct"):
        inside = value_of(node.argument, scope)
        counted = inside.sql if node.kind == "count" else exp.Distinct(expressions=[inside.sql])
        top = 0 if isinstance(inside, Nothing) else most
        return Number(exp.Count(this=counted), Interval(0, top), nullable=False)
    if node.kind == "sum":
        return _sum(_bounded(node, scope), most)
    if node.kind == "avg":
        return _mean(_bounded(node, scope), most)
    if node.kind in ("min", "max"):
        return _extreme(node, scope)
    raise QuestionError(f"{node.kind} is not understood in a SELECT inside, for one unit. Known there: {_KNOWN}.")


def _bounded(node: tree.Aggregate, scope: Scope) -> Number:
    assert node.argument is not None
    number = number_of(node.argument, scope, node.kind)
    if number.meaning in ("date", "timestamp"):
        raise QuestionError(f"{node.kind} of a date is not understood. Take it of days: a_date - DATE '2020-01-01'.")
    if not number.stated:
        raise QuestionError(f"{node.kind} needs a column with bounds. State them in the policy: between = [low, high].")
    return replace(number, meaning="number")


def _sum(number: Number, most: int) -> Number:
    low, high = number.bounds.low, number.bounds.high
    bounds = Interval(min(low, most * low), max(high, most * high))
    operands(bounds, number)  # refuses sums that could grow beyond all types
    wide = bounds.size >= NARROW
    sql: exp.Expr = exp.Sum(this=number.sql)
    # engines add 64-bit numbers in a wider type: cast back where the bounds fit
    sql = cast_to(sql, "INT128" if wide else "BIGINT")
    return replace(number, sql=sql, bounds=bounds, wide=wide, points=None)


def _mean(number: Number, most: int) -> Number:
    count = Number(exp.Count(this=number.sql.copy()), Interval(0 if number.nullable else 1, most), nullable=False)
    mean = arithmetic.divide(_sum(number, most), count)
    # cut towards zero on a finer grid, on which the bounds are whole numbers: the mean stays between them
    scale = number.step / mean.step
    assert scale.denominator == 1
    return replace(mean, bounds=number.bounds * Interval(scale.numerator, scale.numerator))


def _extreme(node: tree.Aggregate, scope: Scope) -> Value:
    assert node.argument is not None
    inside = value_of(node.argument, scope)
    kind = exp.Min if node.kind == "min" else exp.Max
    if isinstance(inside, Number):
        return replace(inside, sql=kind(this=inside.sql))
    raise QuestionError(f"{node.kind} in a SELECT inside needs a number, a date or a time.")
