"""x IN (SELECT ...): x compared with a public list of values; or a unit compared with a list of units.

Whether a unit is on a list of units depends on that unit's own rows alone, so a condition on it keeps every promise of
`scope.Place`. A row that an outer join kept without a unit is neither on a list nor off it: the answer is NULL. (SQL
says FALSE where the list is empty. Whether it is empty depends on other people, so that must not matter: with NOT IN,
one person on the list would decide about all such rows.) Whether any other value occurs in private rows depends on
other people, and is refused before this.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic
from tacit.plan.values.scope import UNIT, Scope
from tacit.plan.values.value import Nothing, Number, Text, Truth, Value, cast_to, described, truth_as_number
from tacit.question import tree


def unit_in_rows(node: tree.InRows, scope: Scope) -> Truth:
    """Whether a row's unit is among the units of a SELECT."""
    assert isinstance(node.operand, tree.UnitOf)
    place, opened = scope.places[node.operand.table], scope.opened[node.rows]
    if place.kind != opened.kind:
        raise QuestionError("IN (SELECT ...): the two tables protect units of different kinds.")
    units = exp.select(exp.column(UNIT)).from_(opened.query.subquery("tacit_in"))
    found = exp.In(this=place.unit_sql, query=units.subquery())
    if not place.optional:
        return Truth(found, nullable=False)
    present = exp.Not(this=exp.Is(this=place.unit_sql, expression=exp.Null()))
    return Truth(exp.Case().when(present, found), nullable=True)


def in_rows(left: Value, node: tree.InRows, scope: Scope) -> Truth:
    """Whether a value is among those of a public SELECT."""
    opened = scope.opened[node.rows]
    source = opened.query.subquery("tacit_in")
    (right,) = opened.columns.values()
    if isinstance(left, Nothing):
        return Truth(cast_to(exp.Null(), "BOOLEAN"), True)
    if isinstance(left, Truth):
        left = truth_as_number(left)
    nullable = left.nullable or right.nullable
    if isinstance(left, Text) and isinstance(right, Text):
        return Truth(exp.In(this=left.sql, query=exp.select(right.sql).from_(source).subquery()), nullable)
    if not isinstance(left, Number) or not isinstance(right, Number) or left.meaning != right.meaning:
        raise QuestionError(f"{described(left)} cannot be IN a SELECT of {described(right)}s.".capitalize())
    left, right = arithmetic.common(left, right)
    a, b = arithmetic.beside(left, right)
    return Truth(exp.In(this=a, query=exp.select(b).from_(source).subquery()), nullable)
