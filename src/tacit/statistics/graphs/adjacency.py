"""A graph as a sparse matrix, and its rows in blocks that keep the work in memory small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from tacit.statistics.graphs.source import Graph
from tacit.statistics.source import Whole

_WORK = 4_000_000  # paths of length two in one block


def by_degree(graph: Graph) -> tuple[sparse.csr_array, Whole]:
    """The adjacency matrix with its nodes in order of falling degree, and the degrees."""
    degrees = graph.degrees
    order = np.argsort(-degrees, kind="stable")
    places = np.empty(graph.nodes, dtype=np.int64)
    places[order] = np.arange(graph.nodes)
    first, second = places[graph.edges[:, 0]], places[graph.edges[:, 1]]
    ones = np.ones(2 * len(graph.edges), dtype=np.int64)
    ends = (np.concatenate([first, second]), np.concatenate([second, first]))
    return sparse.csr_array((ones, ends), shape=(graph.nodes, graph.nodes)), degrees[order]


def row_blocks(matrix: sparse.csr_array) -> Iterator[slice]:
    """Slices of rows, each with about as many paths of length two as are held at once."""
    paths = np.cumsum(matrix @ np.diff(matrix.indptr))
    start = 0
    while start < len(paths):
        done = int(paths[start - 1]) if start else 0
        stop = max(int(np.searchsorted(paths, done + _WORK, side="right")), start + 1)
        yield slice(start, stop)
        start = stop
