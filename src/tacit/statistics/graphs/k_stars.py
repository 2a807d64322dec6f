"""How many k-stars a graph has (a node with k of its neighbours), with noise of its smooth sensitivity.

Setting. Nodes are public, neighbours differ in one edge. The number of k-stars is the sum over nodes of C(degree, k).

Theorem. Adding or removing the edge uv changes it by C(p, k-1) + C(q, k-1), p and q the degrees of u and v without that
edge. Within s changes of edges the largest such change is

    LS_s = max over pairs of the largest C(p + i, k-1) + C(q + j, k-1) with i + j <= s, p + i <= n - 2, q + j <= n - 2.

Proof. An edge other than uv raises only one of p and q; there are n - 2 ends for each. As C(., k-1) is convex, all of s
goes to the larger of the two until it is full, then to the other.
Only pairs matter that no other outdoes in both (larger, smaller); every node has at most two that might: with the
non-neighbour of highest degree, and with the neighbour of highest degree (where both lose one).
S = max over s of exp(-smoothness * s) LS_s is the smallest smooth bound.

Source: Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011; Nissim et al. 2007.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import comb
from typing import Any

import numpy as np

from tacit import parameters
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.graphs.adjacency import by_degree
from tacit.statistics.graphs.smooth_count import SmoothCount
from tacit.statistics.graphs.source import Graph, graph_source
from tacit.statistics.smooth_interval import INTERVAL_SHARE

_LARGEST = 10**200


def k_stars(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    k: int,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    interval_share: parameters.Number = INTERVAL_SHARE,
    nodes: int | Sequence[Any] | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The number of k-stars, k >= 2 (2-stars are paths of two edges). Neighbours differ in one edge.

    >>> k_stars([(0, 1), (1, 2), (0, 2)], k=2, nodes=3, epsilon=1).title
    'Stars with 2 arms'
    """
    source = graph_source(data, columns, nodes=nodes)
    arms = parameters.whole("k", k, least=2)
    source.at_least(arms + 1, f"stars with {arms} arms")
    n = source.count
    most = 2 * comb(n - 2, arms - 1)
    if n * comb(n - 1, arms) >= _LARGEST:
        raise parameters.refuse("k", "such that there are fewer than 1e200 possible stars", k)
    counting = SmoothCount.at(epsilon, delta, interval_share, level)

    def compute(graph: Graph, bits: BitSource) -> Content:
        found, at_distance = star_count(graph, arms), star_sensitivities(graph, arms)
        released = counting.release(found, at_distance, most, bits)
        ends = [min(max(end, 0), n * comb(n - 1, arms)) for end in released]
        notes = (
            "Neighbours differ in one edge; the nodes are public.",
            counting.note,
        )
        title = f"Stars with {arms} arms"
        return Content(title, (column("stars", *([end] for end in ends)),), notes)

    asked = {"study": "k_stars", "k": arms, **counting.stated}
    return source.release(asked, counting.price, compute, level=level, analyst=analyst)


def star_count(graph: Graph, k: int) -> int:
    """The sum over nodes of C(degree, k)."""
    degrees, nodes = np.unique(graph.degrees, return_counts=True)
    return sum(int(number) * comb(int(degree), k) for degree, number in zip(degrees, nodes, strict=True))


def star_sensitivities(graph: Graph, k: int) -> Iterator[int]:
    """LS_0, LS_1, ... until both ends are full."""
    most = graph.nodes - 2
    pairs = _best_pairs(graph)
    for s in range(2 * most + 1):
        yield max(_raised(p, q, s, most, k) for p, q in pairs)


def _raised(p: int, q: int, s: int, most: int, k: int) -> int:
    first = min(s, most - p)
    return comb(p + first, k - 1) + comb(min(q + s - first, most), k - 1)


def _best_pairs(graph: Graph) -> list[tuple[int, int]]:
    """(larger, smaller) degrees without the edge between them, of the pairs that no other outdoes in both."""
    matrix, degrees = by_degree(graph)
    found: set[tuple[int, int]] = set()
    for node in range(graph.nodes):
        next_to = np.sort(matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]])
        own = int(degrees[node])
        if next_to.size:
            found.add(_ordered(own - 1, int(degrees[next_to[0]]) - 1))
        taken = np.sort(np.append(next_to, node))
        gaps = np.flatnonzero(taken != np.arange(taken.size))  # the first place that is not taken
        stranger = int(gaps[0]) if gaps.size else taken.size
        if stranger < graph.nodes:
            found.add(_ordered(own, int(degrees[stranger])))
    return _undominated(found)


def _ordered(p: int, q: int) -> tuple[int, int]:
    return (p, q) if p >= q else (q, p)


def _undominated(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for p, q in sorted(pairs, reverse=True):
        if not kept or q > kept[-1][1]:
            kept.append((p, q))
    return kept
