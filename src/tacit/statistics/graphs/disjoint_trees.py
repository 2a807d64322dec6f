"""Spanning trees of a weighted graph without a common edge, cheapest first: a bound of how light every cut is.

Setting and order. Pairs are ordered by weight, then by a fixed public mixing of their ends (so that equal weights do
not all go through one node). F_1 is the first spanning forest in that order, F_2 the first of what is left, and so on.
T(w) is the number of F_1, F_2, ... up to the first that, by weights of at most w, does not span all nodes.

Theorem. V_s, the least w with T(w) >= s + 2 (W if there is none), is at least U_s, the largest (s + 2)-th weight of a
cut; and V_s(x) <= V_(s+1)(y) for graphs x, y that differ in the weight of one pair.
Proof. Each of the trees has a pair across every cut. For the second, the graphs of pairs with weight <= w differ in at
most one pair e, for every w. Take e from the tree F_i. If F_(i+1) is a tree too, the first pair f of it across the gap
puts F_i together again, and what is left for F_(i+1), F_(i+2), ... misses f in place of e; so it goes on until the last
tree, which may be one no more. Hence T(w) changes by at most one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from tacit.statistics.graphs.source import Graph
from tacit.statistics.source import Whole


def heaviest_of_trees(graph: Graph, width: int) -> Iterator[int]:
    """V_0, V_1, ..., without end."""
    heaviest = 0
    for number, weights in enumerate(disjoint_forests(graph, width), start=1):
        if len(weights) < graph.nodes - 1:
            break
        heaviest = max(heaviest, int(weights.max()))
        if number >= 2:
            yield heaviest
    while True:
        yield width


def disjoint_forests(graph: Graph, width: int) -> Iterator[Whole]:
    """The weights of F_1, F_2, ... without end. An edge of weight `width` is as good as none."""
    assert graph.weights is not None
    lighter = graph.weights < width
    edges, weights = graph.edges[lighter], graph.weights[lighter]
    mixed = _mixed(edges[:, 0], edges[:, 1])
    order = np.lexsort((edges[:, 1], edges[:, 0], mixed, weights))
    edges, weights = edges[order], weights[order]
    left = np.arange(len(edges))
    while True:
        ranks = left + 1.0  # from 1 on: a zero would be no edge; exact below 2**53
        matrix = sparse.csr_array((ranks, (edges[left, 0], edges[left, 1])), shape=(graph.nodes, graph.nodes))
        chosen = minimum_spanning_tree(matrix).data.astype(np.int64) - 1 if left.size else left
        yield weights[chosen]
        left = np.setdiff1d(left, chosen, assume_unique=True)


def _mixed(first: Whole, second: Whole) -> Whole:
    """Numbers below 2**31 that follow no pattern of the ends."""
    code = (first * 40_503 + second * 30_011 + 12_345) % (2**31)
    for _ in range(3):
        code = (code ^ (code >> 13)) * 1_274_126_177 % (2**31)
    return code
