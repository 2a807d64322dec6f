"""Scalars of a question to values on the working copy: `value_of(node, scope)`, one small function for each kind.

Promise: the SQL is generated from our tree alone, and keeps the invariants of `value`: it cannot fail on any row.
Kinds that do not go together are refused while planning, from the policy's facts and never from a row. Some operations
repeat their operand, so nesting them multiplies the SQL; it is measured at every step, and too much is refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.functions import on_row
from tacit.plan.values import arithmetic, dates
from tacit.plan.values.choices import choice
from tacit.plan.values.clock import shifted
from tacit.plan.values.comparisons import chained, compared, is_one_of
from tacit.plan.values.date_arithmetic import date_arithmetic, interval_of
from tacit.plan.values.in_select import in_rows, unit_in_rows
from tacit.plan.values.magnitude import magnitude, with_bounds
from tacit.plan.values.scope import Scope
from tacit.plan.values.texts import as_text
from tacit.plan.values.value import (
    Nothing,
    Number,
    Text,
    Truth,
    Value,
    bare,
    cast_to,
    constant,
    described,
    enclosed,
    null,
    truth_as_number,
)
from tacit.question import tree
from tacit.question.sql_nodes import every_node

_MOST_NODES = 20_000


def value_of(node: tree.Scalar, scope: Scope) -> Value:
    """What the node is on a row."""
    found = _value(node, scope)
    if not isinstance(node, (tree.Name, tree.Literal)):  # which are small
        _held(_size(found))
    return found


def _values_of(nodes: Iterable[tree.Scalar], scope: Scope) -> list[Value]:
    """What several nodes are, held to the limit one by one: each may be as large as all may be together."""
    found: list[Value] = []
    size = 0
    for node in nodes:
        found.append(value_of(node, scope))
        size = _held(size + _size(found[-1]))
    return found


def _size(value: Value) -> int:
    return len(every_node(value.sql))


def _held(size: int) -> int:
    if size > _MOST_NODES:
        raise QuestionError("An expression in the question grows too large. Nest divisions and conditions less deeply.")
    return size


@singledispatch
def _value(node: tree.Scalar, scope: Scope) -> Value:
    raise QuestionError(f"{type(node).__name__} cannot stand in an expression about one row.")


def condition_of(node: tree.Scalar, scope: Scope) -> Truth:
    """The node as a condition."""
    return _as_condition(value_of(node, scope))


def _as_condition(found: Value) -> Truth:
    if isinstance(found, Number) and found.meaning == "boolean":
        return Truth(exp.EQ(this=enclosed(found.sql), expression=bare(1)), found.nullable)
    if isinstance(found, Nothing):
        return Truth(cast_to(exp.Null(), "BOOLEAN"), True)
    if not isinstance(found, Truth):
        raise QuestionError(f"A condition is needed, and {described(found)} was found. Compare it with something.")
    return found


def number_of(node: tree.Scalar, scope: Scope, user: str) -> Number:
    """The node as a number, for an operation that needs one."""
    return _as_number(value_of(node, scope), user)


def _as_number(found: Value, user: str) -> Number:
    if isinstance(found, Truth):
        found = truth_as_number(found)
    if not isinstance(found, Number):
        raise QuestionError(f"{user} needs a number, and {described(found)} was found.")
    return found


@_value.register
def _(node: tree.Name, scope: Scope) -> Value:
    return with_bounds(scope.value(node), node.column)


@_value.register
def _(node: tree.InRows, scope: Scope) -> Value:
    if isinstance(node.operand, tree.UnitOf):
        return unit_in_rows(node, scope)
    return in_rows(value_of(node.operand, scope), node, scope)


@_value.register
def _(node: tree.Literal, scope: Scope) -> Value:
    value = node.value
    if value is None:
        return null()
    if isinstance(value, bool):
        return Truth(exp.true() if value else exp.false(), nullable=False)
    if isinstance(value, str):
        return Text(exp.Literal.string(value), nullable=False, values=(value,), constant=value)
    if isinstance(value, datetime.datetime):
        return constant(dates.microseconds(value), meaning="timestamp")
    if isinstance(value, datetime.date):
        return constant(dates.days(value), meaning="date")
    exact = Fraction(value)
    if max(abs(exact.numerator), exact.denominator) >= 1 << 96:
        raise QuestionError("A number in the question has too many digits to be computed with exactly.")
    return constant(exact.numerator, Fraction(1, exact.denominator))


@_value.register
def _(node: tree.Negate, scope: Scope) -> Value:
    inside = value_of(node.operand, scope)
    return null() if isinstance(inside, Nothing) else arithmetic.negate(_plain_number(inside, "-"))


@_value.register
def _(node: tree.Arithmetic, scope: Scope) -> Value:
    interval = interval_of(node)
    if interval is not None:
        moment_node, amount, unit = interval
        moved = value_of(moment_node, scope)
        return moved if isinstance(moved, Nothing) else shifted(_as_number(moved, node.op), amount, unit)
    left, right = (value_of(side, scope) for side in (node.left, node.right))
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return null()
    if node.op in ("+", "-") and isinstance(left, Number) and left.meaning == "date":
        return date_arithmetic(node, left, right)
    return arithmetic.OPERATIONS[node.op](_plain_number(left, node.op), _plain_number(right, node.op))


def _plain_number(value: Value, user: str) -> Number:
    found = _as_number(value, user)
    if found.meaning in ("date", "timestamp"):
        raise QuestionError(f"{user!r} needs a number, and {described(found)} was found. Dates allow date + days.")
    return replace(found, meaning="number")


@_value.register
def _(node: tree.Compare, scope: Scope) -> Value:
    return compared(node.op, value_of(node.left, scope), value_of(node.right, scope))


@_value.register
def _(node: tree.And, scope: Scope) -> Value:
    parts = [_as_condition(part) for part in _values_of(node.parts, scope)]
    return Truth(chained(exp.And, parts), any(part.nullable for part in parts))


@_value.register
def _(node: tree.Or, scope: Scope) -> Value:
    parts = [_as_condition(part) for part in _values_of(node.parts, scope)]
    return Truth(chained(exp.Or, parts), any(part.nullable for part in parts))


@_value.register
def _(node: tree.Not, scope: Scope) -> Value:
    inside = condition_of(node.operand, scope)
    return Truth(exp.Not(this=enclosed(inside.sql)), inside.nullable)


@_value.register
def _(node: tree.In, scope: Scope) -> Value:
    operand = value_of(node.operand, scope)
    if isinstance(operand, Truth):
        operand = truth_as_number(operand)
    # compared with a column in its place, which is one word: a large operand is copied only into its final place
    stand_in = replace(operand, sql=exp.column("tacit_operand"))
    found = is_one_of(stand_in, [value_of(value, scope) for value in node.values])
    places = list(found.sql.find_all(exp.Column))
    _held(len(places) * _size(operand))
    for place in places:
        place.replace(enclosed(operand.sql))
    return found


@_value.register
def _(node: tree.Like, scope: Scope) -> Value:
    operand = value_of(node.operand, scope)
    if not isinstance(operand, Text):
        raise QuestionError(f"LIKE needs a text, and {described(operand)} was found.")
    if node.pattern.endswith("\\"):
        raise QuestionError("A LIKE pattern cannot end in a backslash.")
    kind = exp.ILike if node.ignore_case else exp.Like
    return Truth(kind(this=enclosed(operand.sql), expression=exp.Literal.string(node.pattern)), operand.nullable)


@_value.register
def _(node: tree.IsNull, scope: Scope) -> Value:
    unit = node.operand
    inside = scope.places[unit.table].unit_sql if isinstance(unit, tree.UnitOf) else value_of(unit, scope).sql
    return Truth(exp.Is(this=enclosed(inside), expression=exp.Null()), nullable=False)


@_value.register
def _(node: tree.Case, scope: Scope) -> Value:
    for place, branch in enumerate(node.branches):
        if _never_missing(branch.condition, scope):  # no later branch is reached, so no NULL comes from there
            node = tree.Case(node.branches[:place], branch.value)
            break
    if not node.branches:
        return value_of(node.otherwise, scope)
    parts = [branch.condition for branch in node.branches] + [branch.value for branch in node.branches]
    found = _values_of([*parts, node.otherwise], scope)
    conditions = [_as_condition(condition) for condition in found[: len(node.branches)]]
    values = found[len(node.branches) :]
    for place, branch in enumerate(node.branches):  # COALESCE: a value that is used only where it is not NULL
        if branch.condition == tree.Not(tree.IsNull(branch.value)):
            values[place] = replace(values[place], nullable=False)
    return choice(conditions, values)


def _never_missing(condition: tree.Scalar, scope: Scope) -> bool:
    """Whether it is `x IS NOT NULL` of an x that has a value on every row."""
    inside = condition.operand if isinstance(condition, tree.Not) else None
    if not isinstance(inside, tree.IsNull) or isinstance(inside.operand, tree.UnitOf):
        return False
    return not value_of(inside.operand, scope).nullable


@_value.register
def _(node: tree.Call, scope: Scope) -> Value:
    if node.function == "magnitude" and isinstance(node.arguments[0], tree.Name):
        return magnitude(scope.value(node.arguments[0]))  # the one place where a column without bounds may stand
    arguments = _values_of(node.arguments, scope)
    if any(isinstance(argument, Nothing) for argument in arguments):
        return null()
    return on_row(node.function, arguments)


@_value.register
def _(node: tree.Cast, scope: Scope) -> Value:
    inside = value_of(node.operand, scope)
    if isinstance(inside, Nothing):
        return inside
    if node.kind == "text":
        return as_text(inside, "A cast to a text")
    if isinstance(inside, Truth):
        inside = truth_as_number(inside)
    if isinstance(inside, Number):
        if node.kind == "date" and inside.meaning in ("date", "timestamp"):
            return dates.as_date(inside, "A cast to DATE")
        if node.kind == "timestamp" and inside.meaning in ("date", "timestamp"):
            return dates.as_timestamp(inside)
        if node.kind in ("integer", "real") and inside.meaning in ("number", "boolean"):
            plain = replace(inside, meaning="number")
            return arithmetic.rounded_to(plain, 0) if node.kind == "integer" else plain
        if node.kind == "boolean" and inside.meaning == "boolean":
            return inside
    raise QuestionError(f"{described(inside)} cannot be cast to {node.kind}.".capitalize())
