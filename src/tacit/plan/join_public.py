"""Rule: public tables beside the private one, joined so that no private row is ever doubled.

Theorem. If every row of the private table meets at most one row of each joined table, the joined rows of a unit are at
most its rows, and every sensitivity stays what it was. It is made true by construction: a public table is joined on
equality with some of its columns, and of all its rows that agree in those one is taken (the first in the order of all
its columns). Where the key is unique, as it should be, that changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.draft import Draft
from tacit.plan.scope import Place, Scope
from tacit.plan.translate import condition_of
from tacit.question import tree

SCHEMA = "tacit_copy"
_FIRST = "tacit_first"


def join_public(draft: Draft) -> Draft:
    """The joins as SQL."""
    seen = {draft.question.alias}
    joins = []
    for join in draft.question.joins:
        place = draft.scope.places[join.alias]
        columns = [_key_column(part, place, seen) for part in _parts(join.on)]
        # inside ON the joined table's columns are never missing: a row that meets none is made up afterwards
        inner = Scope({**draft.scope.places, join.alias: replace(place, optional=False)})
        on = condition_of(join.on, inner).sql
        source = _first_of_each(place, sorted(set(columns)))
        joins.append(exp.Join(this=source, on=on, side="LEFT" if join.kind == "left" else None, kind=None))
        seen.add(join.alias)
    return replace(draft, joins=tuple(joins))


def _parts(on: tree.Scalar) -> Iterator[tree.Scalar]:
    if isinstance(on, tree.And):
        for part in on.parts:
            yield from _parts(part)
    else:
        yield on


def _key_column(part: tree.Scalar, place: Place, seen: set[str]) -> str:
    """The public column that an equality fixes, given what was joined before."""
    if isinstance(part, tree.Compare) and part.op == "=":
        for mine, other in ((part.left, part.right), (part.right, part.left)):
            tables = {node.table for node in tree.walk(other) if isinstance(node, tree.Name)}
            if isinstance(mine, tree.Name) and mine.table == place.alias and tables and tables <= seen:
                return mine.column
    raise QuestionError(
        f"Table {place.table.name!r} can be joined on equalities with its columns only: "
        f"ON a.x = {place.table.name}.y AND ... Put other conditions into WHERE."
    )


def _first_of_each(place: Place, keys: list[str]) -> exp.Expr:
    columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in place.table.columns]
    partition = [exp.column(exp.to_identifier(name, quoted=True)) for name in keys]
    ranked = exp.alias_(
        exp.Window(
            this=exp.RowNumber(),
            partition_by=partition,
            order=exp.Order(expressions=[exp.Ordered(this=column.copy(), nulls_first=False) for column in columns]),
        ),
        _FIRST,
    )
    table = exp.table_(exp.to_identifier(place.table.name, quoted=True), db=SCHEMA)
    inner = exp.select(*columns, ranked).from_(table).subquery("tacit_ranked")
    first = exp.EQ(this=exp.column(_FIRST), expression=exp.Literal.number(1))
    outer = exp.select(*(column.copy() for column in columns)).from_(inner).where(first)
    return outer.subquery(exp.to_identifier(place.alias, quoted=True))
