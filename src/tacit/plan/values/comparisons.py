"""Comparisons of two values, and of one with many constants.

Promise: kinds that do not go together are refused; the result is NULL where either side is, and never fails.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic, dates
from tacit.plan.values.value import (
    Nothing,
    Number,
    Text,
    Truth,
    Value,
    cast_to,
    constant,
    described,
    enclosed,
    truth_as_number,
)
from tacit.question.scalars import moment


def compared(op: str, left: Value, right: Value) -> Truth:
    """left op right; a text constant compared with a date is read as a date."""
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return Truth(cast_to(exp.Null(), "BOOLEAN"), True)
    left, right = as_moment(left, right), as_moment(right, left)
    if isinstance(left, Text) and isinstance(right, Text):
        sql = arithmetic.COMPARISONS[op](this=enclosed(left.sql), expression=enclosed(right.sql))
        return Truth(sql, left.nullable or right.nullable)
    a, b = (truth_as_number(side) if isinstance(side, Truth) else side for side in (left, right))
    if not isinstance(a, Number) or not isinstance(b, Number):
        raise QuestionError(f"{described(left)} cannot be compared with {described(right)}.".capitalize())
    if {a.meaning, b.meaning} == {"date", "timestamp"}:
        a, b = dates.as_timestamp(a), dates.as_timestamp(b)
    if a.meaning != b.meaning and {a.meaning, b.meaning} != {"number", "boolean"}:
        raise QuestionError(f"{described(left)} cannot be compared with {described(right)}.".capitalize())
    return arithmetic.compare(op, a, b)


def as_moment(value: Value, beside: Value) -> Value:
    """A text constant as the date or time that it says, where it is compared with one."""
    if isinstance(value, Text) and value.constant is not None and isinstance(beside, Number):
        if beside.meaning == "date" and len(value.constant) <= 10:
            return constant(dates.days(moment(value.constant, "date")), meaning="date")
        if beside.meaning in ("date", "timestamp"):
            read = moment(value.constant, "timestamp")
            assert isinstance(read, datetime.datetime)
            return constant(dates.microseconds(read), meaning="timestamp")
    return value


def is_one_of(operand: Value, values: Sequence[Value]) -> Truth:
    """Whether the operand is one of these constants."""
    checks = [compared("=", operand, value) for value in values]
    first = checks[0].sql
    constants = [check.sql.expression.unnest() for check in checks if check.sql.this == first.this]
    if len(constants) == len(checks) and isinstance(first, exp.EQ):
        # a constant that is not on the grid becomes x <> x, which no value satisfies
        met = [item for item, check in zip(constants, checks, strict=True) if isinstance(check.sql, exp.EQ)]
        return Truth(exp.In(this=first.this, expressions=met), operand.nullable)
    return Truth(enclosed(chained(exp.Or, checks)), any(check.nullable for check in checks))


def chained(kind: type[exp.Expr], parts: Sequence[Truth]) -> exp.Expr:
    """The parts with AND or OR between them."""
    first, *rest = (enclosed(part.sql) if isinstance(part.sql, (exp.And, exp.Or)) else part.sql for part in parts)
    for part in rest:
        first = kind(this=first, expression=part)
    return first
