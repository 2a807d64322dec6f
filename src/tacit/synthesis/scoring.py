"""How far a model is from the data, as a whole number with a sensitivity that holds exactly.

Theorem. Let c be an exact table of counts and e a public table of the same shape, in whole numbers of 1/GRID. The score
    s = weight * (sum over cells of |GRID c - e|  -  penalty),     weight and penalty public whole numbers,
changes by at most weight * GRID * r when a unit with at most r rows is added or removed.
Proof. The unit changes the counts c by non-negative whole numbers that add up to at most r, all with the same sign; by
the triangle inequality each changes its own term by at most GRID times as much. All of it is whole numbers: no sum
depends on the order of its terms. e is made of released numbers alone (`on_grid`), and so are weight and penalty.

Words of 64 bits hold the sums for tables of fewer than 2**46 rows: GRID is 2**12, estimates are cut off at 2**46 in
all, and weights are at most 2**4.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit.statistics.source import Whole
from tacit.synthesis.model.tables import Table

GRID: Final = 1 << 12
MOST_WEIGHT: Final = 1 << 4
_MOST: Final = float(1 << 46)


def on_grid(estimate: Table) -> Whole:
    """Estimated counts in whole numbers of 1/GRID."""
    limited = np.clip(np.nan_to_num(estimate), 0.0, _MOST / max(estimate.size, 1))
    return np.rint(limited * GRID).astype(np.int64)


def distance(counts: Whole, estimate: Whole) -> int:
    """GRID times the sum of the differences of exact counts and an estimate on the grid."""
    return int(np.abs(counts * GRID - estimate).sum())


def sensitivity(rows_per_unit: int, weight: int = 1) -> int:
    """How far a unit moves a score with this weight."""
    return weight * GRID * rows_per_unit
