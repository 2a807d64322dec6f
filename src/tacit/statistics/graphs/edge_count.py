"""How many edges a graph has: against knowing an edge, or against knowing a node with all its edges.

Edge privacy. One edge changes the number by one: Laplace noise of scale 1/epsilon.

Node privacy. Neighbours differ in one node with all its edges, which may be n - 1 of them. With a public bound D of
degrees, released is the value of the linear programme

    F(G) = max of the sum of x_e over edges, 0 <= x_e <= 1, the sum of x_e around each node at most D.

Theorem. F has node sensitivity D, and F(G) is the number of edges where no degree is above D.
Proof. A solution for G is one for G with a node more (zero on the new edges), so F does not fall; dropping the new
node's edges from a solution costs at most D, so it does not rise by more. With all degrees at most D, x = 1 is allowed.
Whole numbers. 2 F(G) is the largest flow from left to right in the graph that has every node once on each side, with
capacity D in on the left and D out on the right, and capacity 1 from u to v and from v to u for every edge: a flow f
gives x_uv = (f_uv + f_vu)/2 and the other way round. Largest flows between whole capacities are whole, so 2 F is, its
sensitivity is 2 D, and discrete Laplace noise of scale 2 D/epsilon is added to it.

The interval covers the noise, not the edges that a degree above D leaves out.

Source: Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

from tacit import parameters
from tacit.curator import Price
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.graphs.source import Graph, graph_source

_LARGEST_DEGREE = 1 << 20


def edge_count(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    protect: str = "edge",
    most_degree: int | None = None,
    nodes: int | Sequence[Any] | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The number of edges. protect="edge": neighbours differ in one edge; protect="node": in a node with all its edges.

    `most_degree`, for nodes, is public: edges of a node beyond it do not count.

    >>> edge_count([(0, 1), (1, 2), (0, 2)], nodes=3, epsilon=1).receipt["event"]
    '{"kind":"discrete-laplace","scale":"1","sensitivity":1}'
    """
    if protect not in ("edge", "node"):
        raise parameters.refuse("protect", "'edge' or 'node'", protect)
    if (most_degree is None) == (protect == "node"):
        hint = "It is a public bound of the degrees that count."
        raise parameters.refuse("most_degree", "given with protect='node', and only then", most_degree, hint)
    unit = "one edge" if protect == "edge" else "one node with all its edges"
    source = graph_source(data, columns, nodes=nodes, unit=unit)
    exact = parameters.price("epsilon", epsilon)
    exact_level = parameters.level("level", level)
    asked: dict[str, Any] = {"study": "edge_count", "protect": protect, "epsilon": str(exact)}
    if most_degree is None:
        mechanism = Laplace(1, exact)
        note = "Neighbours differ in one edge; the nodes are public. The interval covers the noise."
    else:
        bound = parameters.whole("most_degree", most_degree, least=1)
        if bound > _LARGEST_DEGREE:
            raise parameters.refuse("most_degree", f"at most {_LARGEST_DEGREE:,}", bound)
        mechanism = Laplace(2 * bound, exact)
        asked["most_degree"] = bound
        note = (
            "Neighbours differ in one node with all its edges. The interval covers the noise, "
            f"and not the edges of nodes that have more than {bound:,}."
        )
    reach = mechanism.error(exact_level)

    def compute(graph: Graph, bits: BitSource) -> Content:
        if most_degree is None:
            value = max(mechanism.release(len(graph.edges), bits=bits), 0)
            made = column("edges", [value], [max(value - reach, 0)], [value + reach])
        else:
            doubled = max(mechanism.release(doubled_bounded_count(graph, bound), bits=bits), 0)
            made = column("edges", [doubled / 2], [max(doubled - reach, 0) / 2], [(doubled + reach) / 2])
        return Content("Edges", (made,), (note,))

    return source.release(asked, Price(mechanism.event, exact), compute, level=level, analyst=analyst)


def doubled_bounded_count(graph: Graph, bound: int) -> int:
    """2 F(G), by the largest flow through two copies of the nodes."""
    n, edges = graph.nodes, graph.edges
    if not len(edges):
        return 0
    if int(graph.degrees.max()) <= bound:
        return 2 * len(edges)  # the flow that fills every edge
    left, right = edges[:, 0] + 1, edges[:, 1] + 1
    everyone = np.arange(1, n + 1)
    start, end = 0, 2 * n + 1
    tails = np.concatenate([np.full(n, start), left, right, everyone + n])
    heads = np.concatenate([everyone, right + n, left + n, np.full(n, end)])
    room = np.concatenate([np.full(n, bound), np.ones(2 * len(edges)), np.full(n, bound)]).astype(np.int32)
    network = sparse.csr_array((room, (tails, heads)), shape=(2 * n + 2, 2 * n + 2))
    network.indices, network.indptr = network.indices.astype(np.int32), network.indptr.astype(np.int32)
    return int(maximum_flow(network, start, end).flow_value)
