"""How far the exact results of two neighbours lie apart, against what the plan says they may."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacit.mechanisms import Laplace
from tacit.plan import Plan
from tacit.plan.plan import KnownKeys, Measure
from tests.plan.worlds import Blocks, Cells, Store, World


def measured(plan: Plan, columns: Sequence[int]) -> list[Fraction]:
    """The measures of one cell, exactly, from the columns of the plan's queries."""
    found = [Fraction(column) for column in columns[: len(plan.measures)]]
    for bundle in plan.bundles:
        for place, row in zip(bundle.places, bundle.matrix, strict=True):
            found[place] = sum((by * columns[part] for by, part in zip(row, bundle.places, strict=True)), Fraction(0))
    return found


def check_neighbours(store: Store, plan: Plan, units: Sequence[int]) -> int:
    """Compare the whole with every neighbour, and with itself under other numbers of units; how many neighbours."""
    worlds = [World(), World(turn=-3), *(World(unit) for unit in units)]
    whole, renumbered, *others = store.blocks(plan, worlds)
    assert renumbered == whole
    check_whole(plan, whole[0])
    for other in others:
        check_pair(plan, whole, other)
    return len(others)


def check_whole(plan: Plan, cells: Cells) -> None:
    """Whole numbers only, and known keys hold every cell that comes back (a public table may break its promise)."""
    for key, numbers in cells.items():
        assert all(type(number) is int for number in numbers)
        if isinstance(plan.keys, KnownKeys) and plan.keys.levels is None and not plan.question.joins:
            assert key in set(plan.keys.cells)


def check_pair(plan: Plan, one: Blocks, other: Blocks) -> None:
    """All norms of the difference, over all cells and levels, of every measure (and of the units of unknown keys)."""
    for measure in plan.measures:
        block = measure.block
        names = plan.counted[block].measure_columns
        changes = _changes(one[block], other[block], names.index(measure.name))
        _check_measure(measure, changes if measure.levels is None else _on_levels(plan, measure, changes))
    for bundle in plan.bundles:  # one noise for all of them: their changes add up to no more than it was made for
        first = plan.measures[bundle.places[0]]
        whole = 0
        for measure in (plan.measures[place] for place in bundle.places):
            assert (measure.block, measure.levels, measure.mechanism) == (first.block, first.levels, first.mechanism)
            names = plan.counted[first.block].measure_columns
            changes = _changes(one[first.block], other[first.block], names.index(measure.name))
            changes = changes if measure.levels is None else _on_levels(plan, measure, changes)
            whole += sum(map(abs, changes.values()))
        assert isinstance(first.mechanism, Laplace)
        assert whole <= first.mechanism.event.sensitivity
    if plan.query.unit_column is not None:
        units = [abs(change) for change in _changes(one[0], other[0], len(plan.query.measure_columns)).values()]
        assert max(units, default=0) <= 1
        assert sum(units) <= min(plan.rows_per_unit, plan.question.groups_per_unit or plan.rows_per_unit)


def _changes(one: Cells, other: Cells, place: int) -> dict[tuple[object, ...], int]:
    """By how much each cell changed; a cell that is not there is zero."""
    found = {}
    for key in {*one, *other}:
        before, after = (cells[key][place] if key in cells else 0 for cells in (one, other))
        found[key] = before - after
    return found


def _on_levels(plan: Plan, measure: Measure, finest: dict[tuple[object, ...], int]) -> dict[tuple[object, ...], int]:
    """The changes of all the cells that get noise: of every level's, whose numbers are sums of the finest."""
    assert measure.levels is not None
    assert isinstance(plan.keys, KnownKeys)
    known = [set(column.values or ()) for column in plan.keys.columns]
    found: dict[tuple[object, ...], int] = {}
    for level, places in enumerate(measure.levels.sets):
        for key, change in finest.items():
            if all(part in values for part, values in zip(key, known, strict=True)):  # others are dropped
                cell = (level, *(key[place] for place in places))
                found[cell] = found.get(cell, 0) + change
    return found


def _check_measure(measure: Measure, changes: dict[tuple[object, ...], int]) -> None:
    sizes = [abs(change) for change in changes.values()]
    assert sum(sizes) <= measure.l1
    assert sum(size**2 for size in sizes) <= measure.l2**2
    assert max(sizes, default=0) <= measure.linf
    assert sum(size > 0 for size in sizes) <= measure.sensitivity.l0
