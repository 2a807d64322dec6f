"""The cost of a minimum spanning tree, with noise of a smooth bound of its sensitivity.

Setting. Nodes are public, weights lie in public bounds, counted here from the lower one, as whole steps 0 .. W.
Neighbours differ in the weight of one pair of nodes; a pair that is no edge weighs W, which makes every graph
connected: with k parts the cost of the best forest plus (k - 1) W. So adding or removing an edge, or changing its
weight, are all one change.

Theorem (local sensitivity). For a cut of the nodes in two let w_1 <= w_2 <= ... be the weights across it, W after the
last. Changing one pair's weight from w to w' moves the cost from c + min(w, B) to c + min(w', B), B the lightest
heaviest weight on a way around the pair: the largest, over the cuts that part it, of the smallest other weight across.
After s changes B is at most the largest (s + 2)-th weight of a cut. So LS_s <= U_s = max over cuts of w_(s+2).
U_s <= LS_(s+1): once the s + 1 lightest weigh W, the next one counts in full, and 0 in its place saves all of it. So
taking U for LS costs no more than a factor exp(smoothness).
U_s(x) <= U_(s+1)(y) for neighbours, as one change moves a weight by at most one place in its cuts. Hence
S = max over s of exp(-smoothness * s) U_s is a smooth bound. It is used up to 100 nodes (`connectivity`); beyond that
V_s >= U_s, with V_s(x) <= V_(s+1)(y) too, takes its place (`disjoint_trees`). The number of nodes is public.

All of it is whole numbers.

Source: Nissim, Raskhodnikova, Smith 2007, for public edges with private weights; the bounds here are derived above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit import parameters
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.graphs.connectivity import heaviest_of_cuts
from tacit.statistics.graphs.disjoint_trees import disjoint_forests, heaviest_of_trees
from tacit.statistics.graphs.smooth_count import SmoothCount
from tacit.statistics.graphs.source import Graph, graph_source
from tacit.statistics.smooth_interval import INTERVAL_SHARE

MOST_EXACT = 100
_LARGEST = 1 << 50


def spanning_tree_cost(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    bounds: Any = None,
    delta: parameters.Number = 0,
    interval_share: parameters.Number = INTERVAL_SHARE,
    nodes: int | Sequence[Any] | None = None,
    weight: str = "weight",
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The cost of the cheapest way to connect all nodes, where a missing edge costs the upper bound of the weights.

    Edges are (from, to, weight), or those of a networkx graph with the attribute `weight`. Neighbours differ in the
    weight of one pair of nodes, or in whether it is an edge; the nodes are public.

    >>> spanning_tree_cost([(0, 1, 1.0), (1, 2, 2.0)], nodes=3, bounds=(0, 5), epsilon=1).names
    ('cost',)
    """
    source = graph_source(data, columns, nodes=nodes, weight=weight, bounds=bounds)
    source.at_least(2, "a spanning tree")
    variable = source.weight
    assert variable is not None
    assert variable.low is not None
    assert variable.high is not None
    lowest, width = variable.low, variable.high - variable.low
    if width * source.count >= _LARGEST or abs(lowest) * source.count >= _LARGEST:
        raise parameters.refuse("bounds", "such that a tree's cost is below 2**50 steps of the grid", (lowest, width))
    counting = SmoothCount.at(epsilon, delta, interval_share, level)
    links, step = source.count - 1, variable.step

    def compute(graph: Graph, bits: BitSource) -> Content:
        cost, at_distance = tree_cost(graph, width), sensitivities(graph, width)
        released = counting.release(cost, at_distance, width, bits)
        ends = [float((min(max(end, 0), links * width) + links * lowest) * step) for end in released]
        notes = (
            "A missing edge costs as much as the heaviest one allowed.",
            "Neighbours differ in one edge or its weight; the nodes are public.",
            counting.note,
        )
        return Content("Cost of a minimum spanning tree", (column("cost", *([end] for end in ends)),), notes)

    asked = {"study": "spanning_tree_cost", **counting.stated}
    return source.release(asked, counting.price, compute, level=level, analyst=analyst)


def tree_cost(graph: Graph, width: int) -> int:
    """The cost of the best tree, where pairs that are no edge weigh `width`."""
    weights = next(disjoint_forests(graph, width))
    return int(weights.sum()) + width * (graph.nodes - 1 - len(weights))


def sensitivities(graph: Graph, width: int) -> Iterator[int]:
    """A bound for distance 0, 1, ... without end."""
    return heaviest_of_cuts(graph, width) if graph.nodes <= MOST_EXACT else heaviest_of_trees(graph, width)
