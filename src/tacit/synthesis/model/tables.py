"""Tables over some of the columns: how one is aligned with a larger one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from tacit.statistics.counts.marginals import Columns, Table, cells
from tacit.statistics.counts.marginals import marginal as summed

__all__ = ["Columns", "Table", "beside", "cells", "others", "shape_of", "summed"]


def shape_of(columns: Columns, sizes: Sequence[int]) -> tuple[int, ...]:
    """How many cells along each axis."""
    return tuple(sizes[each] for each in columns)


def beside(table: NDArray[Any], columns: Columns, larger: Columns) -> NDArray[Any]:
    """The table over `columns` with axes of length 1 added, so that it broadcasts against one over `larger`."""
    if columns == larger:
        return table
    held = dict(zip(columns, table.shape, strict=True))
    return table.reshape(tuple(held.get(each, 1) for each in larger))


def others(columns: Columns, kept: Columns) -> tuple[int, ...]:
    """The axes of a table over `columns` that are not in `kept`."""
    return tuple(axis for axis, each in enumerate(columns) if each not in kept)
