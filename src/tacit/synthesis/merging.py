"""Rare values put together: cells whose noisy counts do not stand out from the noise become one.

Released counts decide which are merged, so it costs nothing. Tables over the merged cells are sums of exact counts, and
a row still has one cell in each. A merged cell is divided again by the released counts of its single values (`shares`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.source import Whole
from tacit.synthesis.model.tables import Columns, Table


@dataclass(frozen=True, slots=True, eq=False)
class Merge:
    """For each cell of a column, the merged cell that it belongs to, and its share of that cell."""

    codes: Whole
    shares: Table

    @property
    def size(self) -> int:
        """How many cells are left."""
        return int(self.codes.max()) + 1

    @property
    def is_plain(self) -> bool:
        """Whether every cell is still its own."""
        return self.size == len(self.codes)


def plain(size: int) -> Merge:
    """Nothing merged."""
    return Merge(np.arange(size, dtype=np.int64), np.ones(size))


def merge_rare(noisy: Table, least: float, estimated: Table) -> Merge:
    """All cells below `least` become one, which is divided by their estimated counts (all above 0)."""
    rare = noisy < least
    if int(rare.sum()) < 2:
        return plain(len(noisy))
    codes = np.zeros(len(noisy), dtype=np.int64)
    kept = np.flatnonzero(~rare)
    codes[kept] = np.arange(len(kept))
    codes[rare] = len(kept)
    shares = np.ones(len(noisy))
    shares[rare] = estimated[rare] / estimated[rare].sum()
    return Merge(codes, shares)


def merged(table: NDArray[Any], columns: Columns, merges: Sequence[Merge]) -> NDArray[Any]:
    """The table over the merged cells."""
    for axis, each in enumerate(columns):
        merge = merges[each]
        if not merge.is_plain:
            turned = np.moveaxis(table, axis, 0)
            found = np.zeros((merge.size, *turned.shape[1:]), dtype=table.dtype)
            np.add.at(found, merge.codes, turned)
            table = np.moveaxis(found, 0, axis)
    return table


def spread(table: Table, columns: Columns, merges: Sequence[Merge]) -> Table:
    """The table over the single cells again."""
    for axis, each in enumerate(columns):
        merge = merges[each]
        if not merge.is_plain:
            shape = [1] * table.ndim
            shape[axis] = len(merge.codes)
            table = np.take(table, merge.codes, axis=axis) * merge.shares.reshape(shape)
    return table


def spread_codes(codes: Whole, merge: Merge, generator: np.random.Generator) -> Whole:
    """Single cells for rows of merged ones, each by its share."""
    if merge.is_plain:
        return codes
    order = np.argsort(merge.codes, kind="stable")
    ends = np.cumsum(np.bincount(merge.codes))
    found = order[ends - 1][codes]  # right for all cells that were not merged
    several = np.bincount(merge.codes) > 1
    for cell in np.flatnonzero(several):
        rows = np.flatnonzero(codes == cell)
        own = np.flatnonzero(merge.codes == cell)
        counts = np.floor(np.cumsum(merge.shares[own]) * len(rows) + generator.random()).astype(np.int64)
        counts[-1] = len(rows)
        drawn = np.repeat(own, np.diff(np.minimum(counts, len(rows)), prepend=0))
        found[generator.permutation(rows)] = drawn
    return found
