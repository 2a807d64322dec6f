"""Noisy tables made possible again: consistent and not below zero. Post-processing of released numbers.

The total is kept: it is known best, and cells that are merely lifted to zero would make it larger and larger.

Theorem (shares only come nearer). Let x be tables with the total N > 0, and let t be the true ones, with the total T >
0. The tables with the total N that are consistent and non-negative are a convex set, and t * N/T is one of them. Going
to the nearest point of a convex set brings one no further from any of its points (and steps to the nearest consistent
tables of the total N, to the nearest non-negative ones, and so on in turn are such steps). So |y - t N/T| <= |x - t
N/T| for what comes out: as shares of the total, |y/N - t/T| <= |x/N - t/T|. The error of the total itself stays as it
was.

One table: the nearest non-negative table of a given total is found at once (`simplex`), by subtracting the same number
from all cells and dropping those below zero. Several tables: the two steps in turn (von Neumann; Bregman 1965) until no
cell lies below zero by more than `TOLERANCE`, or for `MOST_STEPS`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.mechanisms.simplex import nearest
from tacit.statistics.counts.marginals import Columns, Lattice, Table
from tacit.statistics.source import Whole

TOLERANCE = 0.01
MOST_STEPS = 300


def possible(lattice: Lattice, tables: Mapping[Columns, Table]) -> dict[Columns, Table]:
    """Consistent tables of the same total near to consistent `tables`, with no cell far below zero."""
    total = float(next(iter(tables.values())).sum())
    if total <= 0:
        return {each: np.zeros_like(table) for each, table in tables.items()}
    found = dict(tables)
    for _ in range(MOST_STEPS):
        if min(float(table.min()) for table in found.values()) >= -TOLERANCE:
            break
        found = lattice.nearest_consistent({each: np.maximum(table, 0.0) for each, table in found.items()}, total)
    return found


def simplex(values: Table) -> Table:
    """The nearest non-negative numbers with the same sum; zeros where that sum is not above zero."""
    total = float(values.sum())
    if total <= 0:
        return np.zeros_like(values)
    return nearest(values, total)


def whole_simplex(noisy: Whole) -> Whole:
    """Whole non-negative numbers near `noisy`, with the same sum where that is above zero."""
    if int(noisy.min(initial=0)) >= 0:
        return noisy
    real = simplex(noisy.astype(np.float64)).reshape(-1)
    total = max(sum(noisy.reshape(-1).tolist()), 0)
    found = np.floor(real).astype(np.int64)
    rest = min(max(total - int(found.sum()), 0), found.size)
    found[np.argsort(found - real, kind="stable")[:rest]] += 1
    return found.reshape(noisy.shape)


def repaired(noisy: Whole, limit: float) -> Whole:
    """Whole non-negative numbers: counts above the limit, which noise alone does not reach, stay as they came.

    The others become the nearest non-negative ones of the same sum among themselves, or zeros where that sum is not
    above zero. Their noise then stays with them: with the total kept over all cells (`whole_simplex`), one count that
    holds all rows had to pay for what was lifted in every empty cell, and was off several times as far as it came.
    """
    found = noisy.copy()
    small = noisy <= limit
    found[small] = whole_simplex(noisy[small])
    return found


def pooled(values: Table) -> Table:
    """The nearest falling sequence: neighbours that rise are pooled to their mean, in one pass (O(n)).

    Each value is put on a stack of blocks with falling means; a block that is above the one before it is merged with
    it. Every value is pushed once and merged at most once.
    """
    sums: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        total, size = value, 1
        while sums and total * sizes[-1] >= sums[-1] * size:
            total, size = total + sums.pop(), size + sizes.pop()
        sums.append(total)
        sizes.append(size)
    return np.repeat(np.array(sums) / np.array(sizes), sizes) if sums else np.zeros(0)
