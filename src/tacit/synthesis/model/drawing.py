"""Rows drawn from a model, as evenly as whole numbers allow.

From the root of the tree on, the new columns of each clique are drawn given its separator. Rows with the same separator
values get their share of every cell rounded to a whole number by systematic sampling (Madow 1949): with c_j the sums of
the expected counts and u uniform, cell j gets floor(c_j + u) - floor(c_{j-1} + u). So each row has exactly the model's
probabilities, each count is its expectation rounded up or down, and tables of the rows vary far less by chance than
with rows drawn one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.synthesis.model.tables import Table, shape_of
from tacit.synthesis.model.trees import Tree

Codes = NDArray[np.int64]


def drawn_rows(tree: Tree, tables: Sequence[Table], count: int, generator: np.random.Generator) -> Codes:
    """A matrix of codes, one line for each row."""
    rows = np.zeros((count, len(tree.sizes)), dtype=np.int64)
    for clique, separator, table in zip(tree.cliques, tree.separators, tables, strict=True):
        new = tuple(each for each in clique if each not in separator)
        if not new:
            continue
        axes = [clique.index(each) for each in (*separator, *new)]
        given = np.transpose(table, axes).reshape(int(np.prod(shape_of(separator, tree.sizes), dtype=np.int64)), -1)
        places = np.zeros(count, dtype=np.int64)
        for each in separator:
            places = places * tree.sizes[each] + rows[:, each]
        cells = drawn_given(places, given, generator)
        for each in reversed(new):
            cells, rows[:, each] = np.divmod(cells, tree.sizes[each])
    return rows


def drawn_given(places: Codes, given: Table, generator: np.random.Generator) -> Codes:
    """For each row a cell, with probabilities proportional to the line of `given` that its place names."""
    shuffled = generator.permutation(len(places))
    ordered = shuffled[np.argsort(places[shuffled], kind="stable")]
    present, counts = np.unique(places, return_counts=True)
    cells = np.empty(len(places), dtype=np.int64)
    width = given.shape[1]
    at = 0
    step = max(1, (1 << 22) // width)  # lines at a time, so that memory stays small
    for start in range(0, len(present), step):
        lines, sizes = present[start : start + step], counts[start : start + step]
        weights = given[lines]
        sums = weights.sum(axis=1, keepdims=True)
        weights = np.where(sums > 0, weights, 1.0)  # impossible values get equal weights
        rising = np.cumsum(weights, axis=1)
        full = rising == rising[:, -1:]  # only impossible cells follow: rounding must not reach them
        ends = np.floor(rising * (sizes[:, None] / rising[:, -1:]) + generator.random((len(lines), 1)))
        ends = np.where(full, sizes[:, None], np.minimum(ends, sizes[:, None]))
        whole = np.diff(ends, axis=1, prepend=0.0).astype(np.int64).reshape(-1)
        many = int(sizes.sum())
        cells[ordered[at : at + many]] = np.repeat(np.tile(np.arange(width), len(lines)), whole)
        at += many
    return cells
