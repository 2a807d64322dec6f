"""The parts of a join's condition as SQL, and the earlier source that each is about."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tacit.plan.sources.anchors import Tie
from tacit.plan.values.scope import Place, Scope
from tacit.plan.values.translate import condition_of, value_of
from tacit.plan.values.value import Text
from tacit.question import tree


def tie_of(part: tree.Scalar, scope: Scope) -> Tie:
    """A part of a condition as SQL; for an equality, also whether it compares texts."""
    if is_of_units(part):
        return Tie(unit_equality(part, scope))
    texts = (
        isinstance(part, tree.Compare)
        and part.op == "="
        and all(isinstance(value_of(side, scope), Text) for side in (part.left, part.right))
    )
    return Tie(condition_of(part, scope).sql, texts)


def spoken_of(on: Sequence[tree.Scalar], place: Place, first: str) -> str:
    """The earlier source that the first part of its condition is about."""
    for part in on:
        for node in tree.walk(part):
            if isinstance(node, (tree.Name, tree.UnitOf)) and node.table not in (None, place.alias):
                return str(node.table)
    return first


def is_of_units(part: tree.Scalar) -> bool:
    """Whether a part says that two units are the same."""
    return isinstance(part, tree.Compare) and isinstance(part.left, tree.UnitOf)


def unit_equality(part: tree.Scalar, scope: Scope) -> exp.Expr:
    """That equality as SQL."""
    assert isinstance(part, tree.Compare)
    assert isinstance(part.left, tree.UnitOf)
    assert isinstance(part.right, tree.UnitOf)
    left, right = (scope.places[side.table].unit_sql for side in (part.left, part.right))
    return exp.EQ(this=left, expression=right)
