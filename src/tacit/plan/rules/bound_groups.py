"""Rule: at most g groups of one unit, where the question asks for it (`groups_per_unit`).

Theorem. Of the cells that a unit's rows reach, the first g are kept: those of its rows of least rank (`tacit_rank`, a
keyed hash of what the row is), and where there are no ranks (rows of a SELECT inside, or of either side of a FULL JOIN)
those whose keys have the least hash. Its rows in other cells are left out. Which cells these are depends on the unit's
own rows alone, so it has rows in at most g cells, and every other unit's rows stay as they are. A count of units then
changes by at most g in L1 and sqrt(g) in L2; sums and counts of rows change by no more than before.

The number of the unit (`tacit_unit`) must not decide: with one unit less, those of others may be different numbers.
The keys themselves come last, so that no two cells of a unit are ever alike.

The query gets one level more: one row for each unit and cell, ranked within the unit, then added up by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.draft import Draft, changed
from tacit.plan.values.scope import RANK, UNIT, quoted
from tacit.plan.values.value import cast_to

LEAST = "tacit_least"
_RANK = "tacit_group_rank"


def bound_groups(draft: Draft) -> Draft:
    """The draft with the bound that was asked for; refused where it has no meaning."""
    most = draft.question.groups_per_unit
    if most is None:
        return draft
    if not draft.key_sql:
        raise QuestionError("groups_per_unit bounds the groups of one unit, and this question has no GROUP BY.")
    if draft.levels is not None:
        raise QuestionError("groups_per_unit cannot stand with ROLLUP, CUBE or GROUPING SETS.")
    if most >= draft.rows_per_unit:  # a unit has no more rows than that, hence no more groups
        return changed(draft, question=replace(draft.question, groups_per_unit=None))
    counts = ("count_units", "count_some_units")  # of the cells that are kept, at most 1 in each
    if draft.pick_parts or not all(part.additive or part.kind in counts for part in draft.parts):
        raise QuestionError(
            "groups_per_unit goes with count, sum, avg, variance and count(DISTINCT unit), which add up over units."
        )
    return changed(draft, groups_per_unit=most)


def ranked_rows(draft: Draft) -> exp.Expr | None:
    """The rank of a row within its unit, where the rows that name the unit come from a table."""
    assert draft.joined is not None
    unit = draft.unit_sql
    if not isinstance(unit, exp.Column):
        return None  # the unit may come from either side of a FULL JOIN
    owner = unit.table
    place = next(place for place in draft.joined.places if place.alias == owner)
    return None if place.table is None else exp.column(RANK, quoted(owner))


def by_unit(
    draft: Draft, query: exp.Select, keys: Sequence[str], measures: Sequence[str], units: str | None
) -> exp.Select:
    """The query that keeps g cells of each unit; `query` gives the keys and measures of a unit in a cell."""
    assert draft.groups_per_unit is not None
    hashed = exp.MD5(this=exp.Concat(expressions=_texts(keys), safe=True, coalesce=False))
    order: list[exp.Expr] = [exp.column(LEAST)] if ranked_rows(draft) is not None else []
    order += [hashed, *(exp.column(name) for name in keys)]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[exp.column(UNIT)],
        order=exp.Order(expressions=[exp.Ordered(this=each, nulls_first=False) for each in order]),
    )
    columns = [exp.column(name) for name in (*keys, *measures)]
    ranked = exp.select(*columns, exp.alias_(rank, _RANK)).from_(query.subquery("tacit_pairs"))
    selected: list[exp.Expr] = [exp.column(name) for name in keys]
    wide = cast_to(exp.Literal.number(0), "INT128")
    selected += [
        exp.alias_(exp.Coalesce(this=exp.Sum(this=exp.column(name)), expressions=[wide.copy()]), name)
        for name in measures
    ]
    if units is not None:
        selected.append(exp.alias_(exp.Count(this=exp.Star()), units))
    few = exp.LTE(this=exp.column(_RANK), expression=exp.Literal.number(draft.groups_per_unit))
    outer = exp.select(*selected).from_(ranked.subquery("tacit_ranked")).where(few)
    return outer.group_by(*(exp.Literal.number(place + 1) for place in range(len(keys))))


def _texts(names: Sequence[str]) -> list[exp.Expr]:
    """The columns as texts with a mark between them; NULL is a text of its own."""
    parts: list[exp.Expr] = []
    for name in names:
        text = exp.Cast(this=exp.column(name), to=exp.DataType(this=exp.DType.TEXT, nested=False))
        present = exp.Not(this=exp.Is(this=exp.column(name), expression=exp.Null()))
        shown = exp.Case().when(present, text).else_(exp.Literal.string("NULL"))
        parts += [exp.Literal.string(":"), shown]
    return parts
