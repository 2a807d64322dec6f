"""How many triangles a graph has, with noise of its smooth sensitivity.

Setting. Nodes are public, neighbours differ in one edge. For nodes i, j let a be the number of their common neighbours
and b the number of other nodes adjacent to exactly one of them.

Theorem. Adding or removing the edge ij changes the number of triangles by a. Within s changes of edges the largest such
change, the local sensitivity at distance s, is

    LS_s = max over pairs of min(a + floor((s + min(s, b))/2), n - 2).

Proof. A node adjacent to one of i, j becomes a common neighbour by one edge, any other by two, and no edge serves two
nodes. So with s edges the best is min(s, b) of the first kind, then floor((s - min(s, b))/2) of the second.
S = max over s of exp(-smoothness * s) LS_s is the smallest smooth bound (Nissim et al.), and is what is used.

How. Pairs with common neighbours come from the sparse square of the adjacency matrix, row block by row block; of pairs
without any only the largest b matters, and is looked for among the nodes of highest degree first. As min(a + s,
a + floor((s + b)/2)) grows with b, two running maxima over b (of a for b >= s, of 2a + b for b < s) give all LS_s.

Source: Nissim, Raskhodnikova, Smith 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tacit import parameters
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.graphs.adjacency import by_degree, row_blocks
from tacit.statistics.graphs.smooth_count import SmoothCount
from tacit.statistics.graphs.source import Graph, graph_source
from tacit.statistics.smooth_interval import INTERVAL_SHARE
from tacit.statistics.source import Whole


def triangles(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    interval_share: parameters.Number = INTERVAL_SHARE,
    nodes: int | Sequence[Any] | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The number of triangles. Neighbours differ in one edge; the nodes are public.

    >>> triangles([(0, 1), (1, 2), (0, 2)], nodes=3, epsilon=1).names
    ('triangles',)
    """
    source = graph_source(data, columns, nodes=nodes)
    counting = SmoothCount.at(epsilon, delta, interval_share, level)
    count, most = source.count, max(source.count - 2, 0)

    def compute(graph: Graph, bits: BitSource) -> Content:
        found, at_distance = count_and_sensitivities(graph)
        released = counting.release(found, at_distance.tolist(), most, bits)
        ceiling = math.comb(count, 3)
        ends = [min(max(end, 0), ceiling) for end in released]
        notes = (
            "Neighbours differ in one edge; the nodes are public.",
            counting.note,
        )
        return Content("Triangles", (column("triangles", *([end] for end in ends)),), notes)

    asked = {"study": "triangles", **counting.stated}
    return source.release(asked, counting.price, compute, level=level, analyst=analyst)


def count_and_sensitivities(graph: Graph) -> tuple[int, Whole]:
    """The number of triangles, and the local sensitivities at distance 0, 1, ... until they stay as they are."""
    n = graph.nodes
    if n < 3:
        return 0, np.zeros(1, dtype=np.int64)
    matrix, degrees = by_degree(graph)
    most_common = _most_common(matrix, degrees)
    outdone = int(np.max(np.where(most_common < 0, -1, 2 * most_common + np.arange(2 * n))))
    apart = _widest_without_common(matrix, degrees, outdone)
    if apart > outdone:
        most_common[apart] = max(most_common[apart], 0)
    return _count(matrix), _at_distances(most_common, n)


def _count(matrix: sparse.csr_array) -> int:
    """Every triangle once, from its node of lowest degree by way of the middle one: no node has many ways up."""
    upward = sparse.tril(matrix, format="csr")
    total = 0
    for rows in row_blocks(upward):
        total += int((upward[rows] @ upward).multiply(upward[rows]).sum())
    return total


def _most_common(matrix: sparse.csr_array, degrees: Whole) -> Whole:
    """By b: the largest a of the pairs with that b, pairs left out that another one outdoes at every distance.

    A pair of nodes of degree at most t has a <= t and 2a + b <= 2t. Once all others have been seen, and one had
    a >= t and 2a + b >= 2t, the pairs that are left cannot matter.
    """
    n = len(degrees)
    found = np.full(2 * n, -1, dtype=np.int64)
    for rows in row_blocks(matrix):
        code = (matrix[rows] @ matrix + 2 * n * matrix[rows]).tocoo()  # common neighbours, and whether there is an edge
        first, second = code.row.astype(np.int64) + rows.start, code.col.astype(np.int64)
        other = second > first
        first, second = first[other], second[other]
        joined, common = np.divmod(code.data[other], 2 * n)
        np.maximum.at(found, degrees[first] + degrees[second] - 2 * common - 2 * joined, common)
        left = int(degrees[rows.stop]) if rows.stop < n else 0
        if np.any((found >= left) & (2 * found + np.arange(2 * n) >= 2 * left)):
            break
    return found


def _widest_without_common(matrix: sparse.csr_array, degrees: Whole, outdone: int) -> int:
    """The largest b among pairs of nodes without common neighbours, if it is above `outdone`.

    A pair with a = 0 matters only by its b, and not at all if another pair has a 2a + b as large.
    """
    best = outdone
    for node in range(len(degrees)):  # from the highest degree down, so that its partners yet to come have no higher
        if 2 * degrees[node] <= best:
            break
        shares = np.zeros(len(degrees), dtype=bool)
        shares[(matrix[[node]] @ matrix).indices] = True
        shares[node] = True
        next_to = matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]]
        touching = next_to[~shares[next_to]]
        if touching.size:
            best = max(best, int(degrees[node] + degrees[touching].max() - 2))
        shares[next_to] = True
        place = int(shares.argmin())
        if not shares[place]:
            best = max(best, int(degrees[node] + degrees[place]))
    return best


def _at_distances(most_common: Whole, n: int) -> Whole:
    """LS_s for s = 0 .. 2n; by then all are n - 2."""
    width = len(most_common)
    none = most_common < 0
    from_here = np.maximum.accumulate(most_common[::-1])[::-1]  # the largest a with b >= s
    scored = np.where(none, -4 * n, 2 * most_common + np.arange(width))
    before = np.concatenate([[-4 * n], np.maximum.accumulate(scored)])  # the largest 2a + b with b < s
    s = np.arange(width + 1)
    above = np.concatenate([np.where(from_here < 0, -4 * n, from_here), [-4 * n]])
    return np.minimum(np.maximum(above + s, (before + s) // 2), n - 2)
