"""The exact numbers that an engine gives to a plan: those of every query that an answer may need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from tacit.engines.engine import Engine
from tacit.plan import Plan, Query
from tacit.plan.picks.rank_probe import Probe
from tacit.plan.plan import Pick
from tests.engines.conformance.engines import listed

Found: TypeAlias = list[list[tuple[Any, ...]]]
"""The rows of the plan's own query, of those inside it, and of those that its quantiles need."""


def found_by(engine: Engine, plan: Plan, reference: Engine) -> Found:
    """All that the engine gives to the plan. `reference` says which cells there are to look into."""
    found = [listed(engine, query) for query in (own_query(plan), *plan.counted[1:])]
    for pick in plan.picks:
        found.append(listed(engine, pick.query))
        if pick.ranked is not None:
            cells = cells_of(pick, reference)
            found += [listed(engine, probed(pick, cells)), read_rows(engine, pick, cells)]
    return found


def own_query(plan: Plan) -> Query:
    """The plan's query, with the number of units among its measures."""
    query = plan.query
    if query.unit_column is None:
        return query
    return replace(query, measure_columns=(*query.measure_columns, query.unit_column))


def cells_of(pick: Pick, reference: Engine) -> list[Any]:
    """Every cell that has rows, and one that has none."""
    assert pick.ranked is not None
    cells = sorted({row[: len(pick.ranked.keys)] for row in listed(reference, pick.query)}, key=str)
    return [*cells, tuple("nobody" if text else -7 for text in pick.ranked.texts)]


def read_rows(engine: Engine, pick: Pick, cells: list[Any]) -> list[tuple[Any, ...]]:
    """All rows of some stretches of the cells; in which order they come is an engine's own affair."""
    assert pick.ranked is not None
    last = pick.ranked.points - 1
    stretches = [Probe(cell, first, last, first) for cell in range(len(cells)) for first in (0, last // 3)]
    return sorted(listed(engine, pick.reading(cells, stretches)))


def probed(pick: Pick, cells: list[Any]) -> Query:
    """The query for some points of the cells."""
    assert pick.ranked is not None
    last = pick.ranked.points - 1
    leaves = [(0, last, last // 3), (last // 4, last // 2, last // 3), (last // 3, last // 3, last // 3)]
    return pick.probe(cells, [Probe(cell, *leaf) for cell in range(len(cells)) for leaf in leaves])
