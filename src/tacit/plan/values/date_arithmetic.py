"""+ and - with dates and times: days, other dates, and intervals."""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic
from tacit.plan.values.dates import as_date
from tacit.plan.values.value import Number, Value, described
from tacit.question import tree


def interval_of(node: tree.Arithmetic) -> tuple[tree.Scalar, int, str] | None:
    """What is moved, by how much and in which unit, where one side is an interval."""
    sides = [(node.left, node.right)] if node.op == "-" else [(node.left, node.right), (node.right, node.left)]
    for moved, by in sides if node.op in ("+", "-") else ():
        if isinstance(by, tree.Call) and by.function == "interval":
            amount, unit = (part.value for part in by.arguments if isinstance(part, tree.Literal))
            assert isinstance(amount, int)
            return moved, -amount if node.op == "-" else amount, str(unit)
    return None


def date_arithmetic(node: tree.Arithmetic, left: Number, right: Value) -> Value:
    """date - date is a number of days; date + days is a date."""
    if not isinstance(right, Number) or right.step != 1 or right.meaning not in ("date", "number"):
        raise QuestionError(f"A date allows {node.op} with a whole number of days, and not with {described(right)}.")
    found = arithmetic.OPERATIONS[node.op](left, right)
    if right.meaning == "date":
        if node.op == "+":
            raise QuestionError("Two dates cannot be added. Their difference is a number of days.")
        return found
    # a date that is shown must be one: outside the years 1 to 9999 there is nothing to show
    return as_date(replace(found, meaning="date"), f"A date {node.op} days")
