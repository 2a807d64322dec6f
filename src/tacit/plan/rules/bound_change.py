"""Rule: how far one unit can move each measure.

Theorem. Neighbours differ in all rows of one unit, of which the question reads at most r (rows_per_unit). Let every row
add at most b in size to one cell of a measure. Then the vector of cells changes by at most r b in L1, hence in L2 and
in Linf: all rows may lie in one cell. A count of units changes by at most 1 in each cell that the unit's rows reach, of
which there are at most k = min(r, cells): L1 k, L2 sqrt(k), Linf 1. A histogram is a vector over cells and bins (see
`bins`). With several levels of cells see `levels`. Measures that are released together are parts that add up to b on
every row, none of them negative: all of them together change by at most r b in L1 (`together`), which is stated for
each.
"""

from __future__ import annotations

from fractions import Fraction

from tacit.loss.numbers.rounding import sqrt_up
from tacit.plan.draft import Draft, Part, changed
from tacit.plan.levels import Levels
from tacit.plan.plan import Sensitivity


def bound_change(draft: Draft) -> Draft:
    """The sensitivities of all measures."""
    return changed(draft, sensitivities=tuple(_sensitivity(part, draft) for part in draft.parts))


def _sensitivity(part: Part, draft: Draft) -> Sensitivity:
    block = draft.block(part)
    rows = block.rows_per_unit
    bound = part.bound if part.together is None else part.together.size
    if part.levels is not None:
        return _on_levels(part, part.levels, rows, bound)
    bins = 1 if part.bins is None else len(part.bins.values)
    reached = rows if block.cells is None else min(rows, max(len(block.cells), 1) * bins)
    reached = min(reached, block.groups_per_unit or reached)
    if part.kind in ("count_units", "count_some_units"):
        reason = f"{part.reason}, and reaches at most {reached:,} cell{'s' * (reached > 1)}"
        return Sensitivity(reached, sqrt_up(Fraction(reached)), 1, reached, reason)
    most = rows * bound
    times = f", and a unit has at most {rows:,} rows" if rows > 1 else ", and a unit has one row"
    return Sensitivity(most, Fraction(most), most, reached, part.reason + times)


def _on_levels(part: Part, levels: Levels, rows: int, bound: int) -> Sensitivity:
    """Every level sees all the rows: S levels change by S times as much, in L2 by sqrt(S) times."""
    count = len(levels.sets)
    most = rows * bound
    reached = sum(min(rows, length) for length in levels.lengths)
    times = f", a unit has at most {rows:,} row{'s' * (rows > 1)}, and is counted on {count} level{'s' * (count > 1)}"
    return Sensitivity(count * most, most * sqrt_up(Fraction(count)), most, reached, part.reason + times)
