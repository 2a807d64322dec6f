"""Rule: the one query that is pushed down. It reads the working copy, and returns whole numbers and keys.

Promise: it is built from nodes, never from text; all its names come from the policy, and its constants are typed.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tacit.plan.draft import Draft
from tacit.plan.join_public import SCHEMA
from tacit.plan.measure import UNIT
from tacit.plan.values import cast_to

RANK = "tacit_rank"
UNITS = "tacit_units"


def build_query(draft: Draft) -> Draft:
    """SELECT keys, measures FROM the copy WHERE rank <= r AND condition GROUP BY keys."""
    question = draft.question
    alias = exp.to_identifier(question.alias, quoted=True)
    selected = [exp.alias_(sql.copy(), key_column(place)) for place, sql in enumerate(draft.key_sql)]
    selected += [exp.alias_(part.sql.copy(), measure_column(place)) for place, part in enumerate(draft.parts)]
    if draft.cells is None:
        selected.append(exp.alias_(_units(draft, alias), UNITS))
    if not selected:
        selected.append(exp.alias_(cast_to(exp.Literal.number(0), "BIGINT"), measure_column(0)))
    table = exp.table_(exp.to_identifier(question.table, quoted=True), db=SCHEMA, alias=alias)
    query = exp.select(*selected, copy=False).from_(table, copy=False)
    for join in draft.joins:
        query.append("joins", join.copy())
    if draft.rows_per_unit < draft.policy.tables[question.table].rows_per_unit:
        rank = exp.LTE(this=exp.column(RANK, alias.copy()), expression=exp.Literal.number(draft.rows_per_unit))
        query = query.where(rank, copy=False)
    if draft.where is not None:
        query = query.where(draft.where.copy(), copy=False)
    if draft.key_sql:
        # by place: the expression is written once, so what is grouped is what is selected
        query = query.group_by(*(exp.Literal.number(place + 1) for place in range(len(draft.key_sql))), copy=False)
    return replace(draft, query=query)


def _units(draft: Draft, alias: exp.Identifier) -> exp.Expr:
    if draft.rows_per_unit == 1:
        return exp.Count(this=exp.Star())
    return exp.Count(this=exp.Distinct(expressions=[exp.column(UNIT, alias.copy())]))


def key_column(place: int) -> str:
    """The name of a key's column in the query."""
    return f"k{place}"


def measure_column(place: int) -> str:
    """The name of a measure's column in the query."""
    return f"m{place}"
