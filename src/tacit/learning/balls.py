"""Rows of whole numbers, shrunk to a ball; that they are short enough is checked.

Theorem. What `shrunk` returns has whole coordinates, and no row's L2 norm is above `reach`: the squares are whole
numbers whose sums stay below 2**53, so they are exact, and a row that is found to be longer becomes 0. The result for a
row depends on that row alone: a root and a quotient are correctly rounded on every machine.
"""

from __future__ import annotations

import numpy as np

from tacit.learning.columns import Reals
from tacit.statistics.moments.clipping import DOWN
from tacit.statistics.source import Whole


def shrunk(rows: Reals, reach: int) -> Reals:
    """The rows, one in each column, each at most `reach` long."""
    return measured(rows, reach)[0]


def measured(rows: Reals, reach: int) -> tuple[Reals, Reals]:
    """The same rows, and the square of each one's length."""
    most = float(reach * reach)
    squares = np.einsum("ij,ij->j", rows, rows)
    factors = np.where(squares > most, reach / np.sqrt(np.maximum(squares, 1.0)) * DOWN, 1.0)
    cut = rows * factors
    np.trunc(cut, out=cut)
    squares = np.einsum("ij,ij->j", cut, cut)
    long = squares > most
    if long.any():  # `DOWN` makes up for all rounding, so this never happens, and the rows do not change the time
        cut[:, long], squares[long] = 0, 0
    return np.asarray(cut), np.asarray(squares)


def shrunk_rows(rows: Whole, reach: int) -> Whole:
    """The same for whole numbers with one row in each line."""
    return np.asarray(shrunk(rows.T.astype(np.float64), reach).T, dtype=np.int64)
