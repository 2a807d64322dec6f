"""Small functions of rows for trying the frameworks: importable by name, as a function that runs isolated must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def middle_row(rows: NDArray[np.float64]) -> float:
    """The median of the first column, whose values lie between 0 and 100: row ceil(n/2), or 0 without rows."""
    return _row(rows, (len(rows) + 1) // 2)


def largest_gap_at(rows: NDArray[np.float64], distance: int) -> float:
    """A bound of how far one row, added or removed, moves `middle_row` on data within this distance.

    Each row that comes or goes moves the middle by at most one place among the present rows.
    """
    middle = (len(rows) + 1) // 2
    return _row(rows, middle + distance + 1) - _row(rows, middle - distance - 1)


def rows_missing_to_a_thousand(rows: NDArray[np.float64]) -> int:
    """How many rows must be added until there are a thousand."""
    return max(1000 - len(rows), 0)


def _row(rows: NDArray[np.float64], place: int) -> float:
    """The row of this rank, counted from 1: 0 before the first, 100 after the last."""
    if place < 1:
        return 0.0
    return 100.0 if place > len(rows) else float(np.sort(rows[:, 0])[place - 1])
