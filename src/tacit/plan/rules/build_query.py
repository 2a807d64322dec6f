"""Rule: the one query that is pushed down. It reads the working copy, and returns whole numbers and keys.

Promise: it is built from nodes, never from text; all its names come from the policy, and its constants are typed.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tacit.plan.draft import Draft, changed
from tacit.plan.rules.bound_groups import LEAST, by_unit, ranked_rows
from tacit.plan.sources.anchors import put_together
from tacit.plan.values.scope import UNIT
from tacit.plan.values.value import cast_to

UNIT_COUNT = "tacit_units"


def build_query(draft: Draft) -> Draft:
    """SELECT keys, measures FROM the sources WHERE condition GROUP BY keys."""
    if draft.groups_per_unit is not None:
        return changed(draft, query=_by_unit(draft), inner_queries=_inner(draft))
    selected = [_called(key_column(place), sql.copy()) for place, sql in enumerate(draft.key_sql)]
    selected += _measures(draft, 0)
    if draft.cells is None:
        selected.append(exp.alias_(_units(draft), UNIT_COUNT))
    if not selected:
        selected.append(exp.alias_(cast_to(exp.Literal.number(0), "BIGINT"), measure_column(0)))
    query = from_sources(draft, selected)
    if draft.key_sql:
        # by place: the expression is written once, so exactly what is selected is grouped
        query.set(
            "group", exp.Group(expressions=[exp.Literal.number(1 + place) for place in range(len(draft.key_sql))])
        )
    return changed(draft, query=query, inner_queries=_inner(draft))


def _inner(draft: Draft) -> tuple[exp.Select, ...]:
    """The queries of the questions inside."""
    if not draft.inner:
        return ()
    nothing = exp.alias_(cast_to(exp.Literal.number(0), "BIGINT"), "nothing")
    return tuple(
        from_sources(each, _measures(draft, block) or [nothing.copy()])
        for block, each in enumerate(draft.inner, start=1)
    )


def _by_unit(draft: Draft) -> exp.Select:
    """The query with few groups of each unit: first by unit and cell, then by cell."""
    keys = [key_column(place) for place in range(len(draft.key_sql))]
    measures = [(measure_column(place), part) for place, part in enumerate(draft.parts) if part.block == 0]
    one = cast_to(exp.Literal.number(1), "BIGINT")
    selected = [exp.alias_(draft.unit_sql, UNIT)]
    selected += [exp.alias_(sql.copy(), name, copy=False) for name, sql in zip(keys, draft.key_sql, strict=True)]
    # a unit counts once in each of its cells
    selected += [
        exp.alias_(one.copy() if part.kind == "count_units" else part.sql.copy(), name) for name, part in measures
    ]
    rank = ranked_rows(draft)
    if rank is not None:
        selected.append(exp.alias_(exp.Min(this=rank), LEAST))
    pairs = from_sources(draft, selected)
    pairs = pairs.group_by(*(exp.Literal.number(place + 1) for place in range(len(keys) + 1)), copy=False)
    return by_unit(draft, pairs, keys, [name for name, _ in measures], UNIT_COUNT if draft.cells is None else None)


def _measures(draft: Draft, block: int) -> list[exp.Expr]:
    """The measures of the question itself (0), or of a question inside it, under names that are theirs alone."""
    parts = [(place, part) for place, part in enumerate(draft.parts) if part.block == block]
    return [_called(measure_column(place), part.sql.copy()) for place, part in parts]


def _called(name: str, sql: exp.Expr) -> exp.Expr:
    """An expression under a name of ours, without the checks of `exp.alias_` on the name and the node."""
    return exp.Alias(this=sql, alias=exp.Identifier(this=name, quoted=False))


def from_sources(draft: Draft, selected: Sequence[exp.Expr], kept: Sequence[exp.Expr] = ()) -> exp.Select:
    """SELECT these FROM the question's sources WHERE its condition holds, and all of `kept`."""
    assert draft.joined is not None
    return put_together(draft.joined.sources, selected, draft.where, kept)


def _units(draft: Draft) -> exp.Expr:
    if draft.rows_per_unit == 1:
        return exp.Count(this=exp.Star())
    return exp.Count(this=exp.Distinct(expressions=[draft.unit_sql]))


def key_column(place: int) -> str:
    """The name of a key's column in the query."""
    return f"k{place}"


def measure_column(place: int) -> str:
    """The name of a measure's column in the query."""
    return f"m{place}"
