"""Rule: what the rows of one unit can cost in all queries of a plan, held to a public limit (`work`).

Every query reads the sources of its question once, and computes keys, condition and measures on each of their rows. A
histogram has a query of its own; so has every column that values are picked from by rank, which reads the rows once for
each pass and at most `_MORE` times for whatever else a choice needs. The numbers of ROLLUP and the like are sums of the
finest cells, which the engine does not compute.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tacit.plan.draft import Draft, changed
from tacit.plan.picks.part import PickPart
from tacit.plan.picks.rank_query import passes
from tacit.plan.work import STEPS, Work, computed, counted_once, distinct_in, effort_of, held

_MORE = 3
_RANKED = 8  # steps of one pass: rows are placed, joined with the remaining stretches, counted, summed, and searched


def bound_work(draft: Draft) -> Draft:
    """The draft with the work that one unit can cause; refused where it is too much."""
    work = _of_question(draft)
    for block, inner in enumerate(draft.inner, start=1):
        measures = [part.sql for part in draft.parts if part.block == block]
        work += _reading(inner, measures)
    return changed(draft, work=held(work))


def _of_question(draft: Draft) -> Work:
    work = _reading(draft, [part.sql for part in draft.parts if part.block == 0])
    if draft.groups_per_unit is not None:
        work += _again(draft, STEPS)
    for part in draft.parts:
        if part.bins is not None:
            work += _reading(draft, [part.bins.sql])
    for pick in draft.pick_parts:
        work += (_reading(draft, [pick.sql]) + _again(draft, _RANKED)).times(_passes(pick))
    return work


def _passes(pick: PickPart) -> int:
    return 1 if pick.kind == "mode" else passes(pick.points) + _MORE


def _reading(draft: Draft, measures: Sequence[exp.Expr]) -> Work:
    """One query: the sources, and what is computed on their rows."""
    assert draft.joined is not None
    sqls = [*measures, *draft.key_sql, *([] if draft.where is None else [draft.where])]
    effort = effort_of(sqls, draft.scope.lengths)
    units = draft.cells is None and draft.rows_per_unit > 1  # unknown keys: the units of each are counted too
    distinct = counted_once(distinct_in(measures) + units, draft.joined.most, draft.joined.together)
    return draft.joined.work + computed(draft.joined.most, effort, draft.scope.lists) + distinct


def _again(draft: Draft, steps: int) -> Work:
    return Work(steps * draft.rows_per_unit, steps * draft.rows_per_unit)
