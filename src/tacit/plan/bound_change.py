"""Rule: how far one unit can move each measure.

Theorem. Neighbours differ in all rows of one unit, of which the question reads at most r (rows_per_unit). Let every row
add at most b in size to one cell of a measure. Then the vector of cells changes by at most r b in L1, hence in L2 and
in Linf: all rows may lie in one cell. A count of units changes by at most 1 in each cell that the unit's rows reach, of
which there are at most k = min(r, cells): L1 k, L2 sqrt(k), Linf 1.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tacit.loss.rounding import sqrt_up
from tacit.plan.draft import Draft, Part
from tacit.plan.plan import Sensitivity


def bound_change(draft: Draft) -> Draft:
    """The sensitivities of all measures."""
    return replace(draft, sensitivities=tuple(_sensitivity(part, draft) for part in draft.parts))


def _sensitivity(part: Part, draft: Draft) -> Sensitivity:
    rows = draft.rows_per_unit
    reached = rows if draft.cells is None else min(rows, max(len(draft.cells), 1))
    if part.kind == "count_units":
        reason = f"{part.reason}, and reaches at most {reached:,} cell{'s' * (reached > 1)}"
        return Sensitivity(reached, sqrt_up(Fraction(reached)), 1, reached, reason)
    most = rows * part.bound
    times = f", and a unit has at most {rows:,} rows" if rows > 1 else ", and a unit has one row"
    return Sensitivity(most, Fraction(most), most, reached, part.reason + times)
