"""How light every cut of a weighted graph is: for each s the largest weight that is the (s + 2)-th lightest of a cut.

U_s <= w exactly if every cut has s + 2 pairs of weight at most w, which is to say that the graph of those pairs has
edge connectivity s + 2 or more. Edge connectivities are found by Stoer and Wagner's algorithm, in whole numbers, for
the few weights that a search asks about. The search starts where single nodes (which are cuts too) allow it to.

Source: Stoer, Wagner 1997.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache

import numpy as np

from tacit.statistics.graphs.source import Graph
from tacit.statistics.source import Whole


def heaviest_of_cuts(graph: Graph, width: int) -> Iterator[int]:
    """U_0, U_1, ..., with `width` for pairs that are no edge; without end."""
    assert graph.weights is not None
    n = graph.nodes
    weights = np.full((n, n), width, dtype=np.int64)
    weights[graph.edges[:, 0], graph.edges[:, 1]] = graph.weights
    weights = np.minimum(weights, weights.T)
    of_nodes = np.sort(weights[~np.eye(n, dtype=bool)].reshape(n, n - 1), axis=1).max(axis=0)
    levels = np.unique(weights[np.triu_indices(n, 1)]).tolist()

    @cache
    def connectivity(place: int) -> int:
        light = (weights <= levels[place]) & ~np.eye(n, dtype=bool)
        return edge_connectivity(light.astype(np.int64))

    at = 0
    for cut in range(2, n):  # the smallest cuts have n - 1 pairs
        at = max(at, bisect_left(levels, int(of_nodes[cut - 1])))
        if levels[at] < width and connectivity(at) < cut:
            last = bisect_left(levels, width)
            at = bisect_left(range(last), cut, lo=at + 1, key=connectivity)
        if at == len(levels) or levels[at] >= width:
            break
        yield levels[at]
    while True:
        yield width


def edge_connectivity(matrix: Whole) -> int:
    """The least number of edges (or total weight) that parts the graph in two, of a symmetric matrix of them."""
    matrix = matrix.copy()
    best = int(matrix.sum())
    while len(matrix) > 1:
        n = len(matrix)
        inside = np.zeros(n, dtype=bool)
        strength = np.zeros(n, dtype=np.int64)
        last = before = 0
        for _ in range(n):
            before, last = last, int(np.where(inside, -1, strength).argmax())
            cut = int(strength[last])
            inside[last] = True
            strength += matrix[last]
        best = min(best, cut)
        matrix[before] += matrix[last]  # the last two become one
        matrix[:, before] = matrix[before]
        matrix[before, before] = 0
        matrix = np.delete(np.delete(matrix, last, axis=0), last, axis=1)
    return best
