"""One of several values: CASE and its like, and the least or greatest of several.

Promise: the invariants of `value`. All values are of one kind, on one grid that holds each of them exactly, and the
bounds are the hull of theirs.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic
from tacit.plan.values.intervals import Interval
from tacit.plan.values.value import Nothing, Number, Text, Truth, Value, null, truth_as_number, widened

LARGEST_STATED = 1 << 53  # least or greatest with constants on both sides is as good as bounds of the policy


def choice(conditions: list[Truth], values: list[Value]) -> Value:
    """The value of the first condition that holds; all values are of one kind."""
    present = [value for value in values if not isinstance(value, Nothing)]
    if not present:
        return null()
    nullable = any(value.nullable for value in values)
    if all(isinstance(value, Text) for value in present):
        texts = [value for value in present if isinstance(value, Text)]
        known = (
            None
            if any(text.values is None for text in texts)
            else tuple(dict.fromkeys(item for text in texts for item in text.values or ()))
        )
        return Text(_case(conditions, [value.sql for value in values]), nullable, known)
    numbers = [truth_as_number(value) if isinstance(value, Truth) else value for value in present]
    if not all(isinstance(number, Number) for number in numbers):
        raise QuestionError("The branches of a CASE (or of COALESCE, IF) must all be numbers, or all texts.")
    return _number_choice(conditions, values, [number for number in numbers if isinstance(number, Number)], nullable)


def _number_choice(conditions: list[Truth], values: list[Value], numbers: list[Number], nullable: bool) -> Number:
    meanings = {number.meaning for number in numbers}
    if len(meanings) > 1 and meanings != {"number", "boolean"}:
        raise QuestionError("The branches of a CASE (or of COALESCE, IF) must be of one kind.")
    fine = numbers[0]
    for number in numbers[1:]:
        fine = arithmetic.common(fine, number)[0]
    gridded = [arithmetic.common(number, fine)[0] for number in numbers]
    wide = any(number.wide for number in gridded)
    bounds = gridded[0].bounds
    for number in gridded[1:]:
        bounds = bounds.hull(number.bounds)
    queue = iter(gridded)
    sqls = [
        value.sql if isinstance(value, Nothing) else (widened(number) if wide else number.sql)
        for value in values
        for number in ([gridded[0]] if isinstance(value, Nothing) else [next(queue)])
    ]
    points = _merged_points(gridded)
    return Number(
        _case(conditions, sqls),
        bounds,
        gridded[0].step,
        meanings.pop() if len(meanings) == 1 else "number",
        nullable=nullable,
        rounded=any(number.rounded for number in gridded),
        stated=all(number.stated for number in gridded),
        wide=wide,
        points=points,
    )


def _merged_points(numbers: list[Number]) -> tuple[int, ...] | None:
    merged: set[int] = set()
    for number in numbers:
        points = (number.constant,) if number.constant is not None else number.points
        if points is None:
            return None
        merged.update(points)
    return tuple(sorted(merged))


def _case(conditions: list[Truth], sqls: list[exp.Expr]) -> exp.Expr:
    case = exp.Case()
    for condition, sql in zip(conditions, sqls, strict=False):
        case = case.when(condition.sql, sql)
    return case.else_(sqls[-1])


def extreme(kind: type[exp.Expr], arguments: list[Value]) -> Value:
    """The least or greatest argument that is not NULL."""
    unconditional = [Truth(exp.true(), False) for _ in arguments[1:]]
    mixed = choice(unconditional, arguments)  # checks the kinds, and gives the common grid and the hull of the bounds
    nullable = all(argument.nullable for argument in arguments)
    assert isinstance(mixed.sql, exp.Case)
    first, *rest = [branch.args["true"] for branch in mixed.sql.args["ifs"]] + [mixed.sql.args["default"]]
    chosen = kind(this=first, expressions=rest, ignore_nulls=True)
    if isinstance(mixed, Number):
        return _held_extreme(kind, replace(mixed, sql=chosen, nullable=nullable), arguments)
    return replace(mixed, sql=chosen, nullable=nullable)


def _held_extreme(kind: type[exp.Expr], mixed: Number, arguments: list[Value]) -> Number:
    """least(...) is at most every argument that is never NULL, greatest(...) at least."""
    bounds = mixed.bounds
    for argument in arguments:
        if isinstance(argument, Number) and not argument.nullable:
            on_grid = arithmetic.common(argument, mixed)[0].bounds
            if kind is exp.Least:
                bounds = Interval(bounds.low, max(min(bounds.high, on_grid.high), bounds.low))
            else:
                bounds = Interval(min(max(bounds.low, on_grid.low), bounds.high), bounds.high)
    return replace(mixed, bounds=bounds, stated=mixed.stated or bounds.size < LARGEST_STATED)
