"""`vertex_cover`: all vertices of a graph in an order, in which each edge is covered by whichever end comes first.

Mechanism. With n vertices left at first, in round i = 1, ..., n a vertex of those that are left is drawn with
probability proportional to d(v) + w_i, d its number of edges to others that are left. The w_i are public.

Theorem. With edges as units, the order is pure epsilon-differentially private for
epsilon = max(ln(1 + 1/min w_i), sum_{i < n} ln(1 + 2/((n - i + 1) w_i))).
Proof. Let A have one edge {u, v} more than B. In a round, the sum of weights is 2 m + (n - i + 1) w_i. P_A/P_B: only
where u or v is drawn first is the quotient of weights above 1, at most 1 + 1/w_i, once; the sums' are below 1.
P_B/P_A: quotients of weights are at most 1; the sums' are (2 m + 2 + (n - i + 1) w_i)/(2 m + (n - i + 1) w_i) at most
1 + 2/((n - i + 1) w_i), in rounds before either end is drawn, and never in the last.
w_i = c (n/(n - i + 1))**(1/2) makes the sum at most 4/c; the least c on a grid is found for which the theorem's
epsilon is at most the budget.

The draw is exact: w_i are multiples of 1/1024, rounded up, so weights are whole numbers, and one is drawn by a uniform
whole number below their sum.

Utility. The cover has at most (2 + 16/epsilon) times the least number of vertices, on average.
Source: Gupta, Ligett, McSherry, Roth, Talwar 2010.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.loss import events
from tacit.noise import BitSource, uniform_below
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.graphs.source import Graph, graph_source
from tacit.statistics.source import Whole

_GRID = 1 << 10
_MOST_NODES = 20_000
_UP = 1 + 1e-9  # far more than the sums below can be off


def vertex_cover(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    nodes: int | Sequence[Any] | None = None,
    analyst: str | None = None,
) -> Finding:
    """All vertices in an order; an edge is covered by the end that comes first. Vertices are public, edges are not.

    data: a networkx graph, a list of pairs with the public `nodes`, or rows of a curator with a column for each end.

    >>> found = vertex_cover([(0, 1), (1, 2)], nodes=3, epsilon=1)
    >>> found.receipt["epsilon"]
    '1'
    """
    source = graph_source(data, columns, nodes=nodes)
    source.source.one_row_each("vertex_cover")
    source.at_least(2, "a vertex cover")
    if source.count > _MOST_NODES:
        raise parameters.refuse("nodes", f"at most {_MOST_NODES:,}", source.count)
    exact = parameters.price("epsilon", epsilon)
    weights = public_weights(source.count, exact)

    def compute(graph: Graph, bits: BitSource) -> Content:
        order = draw_order(graph, weights, bits)
        table = (column("vertex", [source.nodes[place] for place in order]),)
        note = "Each edge is covered by whichever of its ends comes first. Neighbours differ in one edge."
        return Content("Vertex cover", table, (note,))

    asked = {"study": "vertex cover", "epsilon": str(exact)}
    return source.release(asked, Price(events.Pure(exact), exact), compute, analyst=analyst)


def draw_order(graph: Graph, weights: Sequence[int], bits: BitSource) -> list[int]:
    """The vertices, drawn one by one."""
    neighbours: list[list[int]] = [[] for _ in range(graph.nodes)]
    for first, second in graph.edges.tolist():
        neighbours[first].append(second)
        neighbours[second].append(first)
    degrees, left = graph.degrees * _GRID, np.ones(graph.nodes, dtype=np.int64)
    order = []
    for weight in weights:
        total = np.cumsum(chances(degrees, left, weight))
        at = int(np.searchsorted(total, uniform_below(int(total[-1]), None, bits), side="right"))
        order.append(at)
        left[at] = 0
        for other in neighbours[at]:
            degrees[other] -= _GRID
    return order


def chances(degrees: Whole, left: Whole, weight: int) -> Whole:
    """Whole numbers in proportion to which vertices are drawn."""
    return (degrees + weight) * left


def public_weights(nodes: int, epsilon: Fraction) -> list[int]:
    """The w_i, times the grid: the least whose theorem gives at most epsilon."""
    low, high = 0.0, 5.0 / float(epsilon) + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if cost_of(_weights(nodes, middle)) <= float(epsilon) else (middle, high)
    return _weights(nodes, high)


def _weights(nodes: int, constant: float) -> list[int]:
    return [max(math.ceil(_GRID * constant * math.sqrt(nodes / (nodes - i))), 1) for i in range(nodes)]


def cost_of(weights: Sequence[int]) -> float:
    """The theorem's epsilon, rounded up."""
    nodes = len(weights)
    more = math.log1p(_GRID / min(weights))
    fewer = math.fsum(math.log1p(2 * _GRID / ((nodes - i) * weight)) for i, weight in enumerate(weights[:-1]))
    return max(more, fewer) * _UP
