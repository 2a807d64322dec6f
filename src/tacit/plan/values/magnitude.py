"""magnitude(x): the cell of powers of two that a number lies in (`tacit.policy.cells`).

Promise: a tree of comparisons with constants, so it cannot fail on any number of any width; NULL stays NULL. Its bounds
and its points follow from those of x, because the code is monotone. A column whose bounds are "auto" is already stored
as its cell.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values.intervals import Interval
from tacit.plan.values.value import Nothing, Number, Value, bare, enclosed, integer, null
from tacit.policy import cells


def magnitude(value: Value) -> Value:
    """The cell of a number."""
    if isinstance(value, Nothing):
        return null()
    if not isinstance(value, Number) or value.meaning != "number":
        raise QuestionError(
            "magnitude needs a number, such as a price or an age; dates, texts and conditions have none."
        )
    if value.coded:
        return replace(value, coded=False)
    points = cells.cells_between(value.bounds.low, value.bounds.high, value.step)
    number = enclosed(value.sql)

    def reaches(cell: int, yes: exp.Expr, no: exp.Expr) -> exp.Expr:
        return exp.Case().when(_reaches(number, cell, value.step), yes, copy=False).else_(no, copy=False)

    found = cells.decide(points, reaches, integer)
    if value.nullable:
        missing = exp.Is(this=number.copy(), expression=exp.Null())
        found = exp.Case().when(missing, exp.Null()).else_(found)
    return Number(found, Interval(points[0], points[-1]), nullable=value.nullable, points=points)


def is_coded(value: Value) -> bool:
    """Whether only the cell of the number is held, because its bounds are not known yet."""
    return isinstance(value, Number) and value.coded


def with_bounds(value: Value, column: str) -> Value:
    """A column's value, unless its bounds are not known yet: then there is only its cell, which is no value."""
    if is_coded(value):
        raise QuestionError(
            f'Column {column!r} has no bounds yet ("auto" in the policy). It can be asked for some, by suggest or by '
            f"magnitude({column}); once they are stated in the policy, for everything else."
        )
    return value


def _reaches(number: exp.Expr, cell: int, step: Fraction) -> exp.Expr:
    """Whether a whole number of steps lies in the cell or above it: x > a is x > floor(a), x >= a is x >= ceil(a)."""
    strictly, place = cells.edge(cell)
    if strictly:
        return exp.GT(this=number.copy(), expression=bare(floor(place / step)))
    return exp.GTE(this=number.copy(), expression=bare(ceil(place / step)))
