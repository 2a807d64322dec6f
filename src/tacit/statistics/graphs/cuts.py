"""A cheap cut of a graph: two sides with few edges between them, by exponential sampling.

Setting. Nodes are public, neighbours differ in one edge. An edge adds one to the cost of the cuts that it crosses and
nothing to the others, so costs are monotone with sensitivity 1.

Theorem (up to 20 nodes). Choosing among all 2**(n-1) - 1 cuts by permute-and-flip on their costs is pure epsilon, and
with probability at least 1 - b the cost of the choice is below the cheapest plus (ln(2**(n-1)) + ln(1/b))/epsilon.

More nodes. All cuts are too many to list, and a list found by looking at the graph would be private itself. So half of
epsilon buys noisy weights of all pairs (Laplace, scale 2/epsilon; an edge changes one pair), candidates are drawn from
those alone (random contraction: pairs are joined in the order of exponential clocks with their noisy weights as rates,
until two groups are left; and every single node), which is post-processing; the other half chooses among them by their
true costs. The guarantee against the cheapest *candidate* is as above. Against the cheapest cut there is only this
guarantee: a single node is always a candidate, so the cost is at most the least degree plus the same term. Contraction
finds smaller cuts where groups are joined by many fewer edges than the noise of n**2 pairs hides: dense graphs.

Source: Gupta, Ligett, McSherry, Roth, Talwar 2010 (who choose among all cuts, and sample those of small cost with a
delta that needs n**6 contractions to be small; it is not done here); contraction: Karger 1993.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from tacit import parameters
from tacit.curator import Price
from tacit.loss import events
from tacit.mechanisms import Laplace, PermuteAndFlip
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.graphs.source import Graph, graph_source
from tacit.statistics.source import Whole

MOST_LISTED = 20
_MOST_NODES = 1000
Sides = NDArray[np.bool_]
"""A line for each cut: which nodes are on the side without node 0."""


def minimum_cut(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    contractions: int = 200,
    nodes: int | Sequence[Any] | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """For each node the side it is on, of a cut that few edges cross. Neighbours differ in one edge.

    `contractions` is how many candidates are drawn for a graph of more than 20 nodes.

    >>> found = minimum_cut([(0, 1), (1, 2), (0, 2)], nodes=3, epsilon=1)
    >>> found["node"], len(set(found["side"]))
    ((0, 1, 2), 2)
    """
    source = graph_source(data, columns, nodes=nodes)
    source.at_least(2, "a cut")
    n = source.count
    if n > _MOST_NODES:
        raise parameters.refuse("nodes", f"at most {_MOST_NODES:,} for a cut", n)
    exact, draws = parameters.price("epsilon", epsilon), parameters.whole("contractions", contractions, least=1)
    exact_level = parameters.level("level", level)
    listed = n <= MOST_LISTED
    choice = PermuteAndFlip(1, exact if listed else exact / 2, monotone=True)
    weighing = None if listed else Laplace(1, exact / 2)
    event = choice.event if weighing is None else events.Composed((weighing.event, choice.event))
    candidates = 2 ** (n - 1) - 1 if listed else n + draws
    reach = choice.shortfall(candidates, confidence=exact_level)
    labels = list(source.nodes)

    def compute(graph: Graph, bits: BitSource) -> Content:
        if weighing is None:
            place = choice.choose(range(candidates), losses=all_costs(graph), bits=bits)
            side = ((place + 1) >> np.arange(n - 1)) & 1 == 1
            side = np.concatenate([[False], side])
        else:
            sides = _candidates(_noisy_weights(graph, weighing, bits), draws, bits)
            place = choice.choose(range(len(sides)), losses=costs(graph, sides), bits=bits)
            side = sides[place]
        among = "all cuts" if listed else f"{candidates:,} candidates (single nodes, and contractions of noisy weights)"
        notes = (
            f"With probability {float(exact_level):g} it crosses at most {reach:.3g} edges more than the least among "
            f"{among}.",
            "Neighbours differ in one edge; the nodes are public.",
        )
        return Content("A cut that few edges cross", (column("node", _plain(labels)), column("side", side)), notes)

    asked = {"study": "minimum_cut", "epsilon": str(exact), "contractions": 0 if listed else draws}
    return source.release(asked, Price(event, exact), compute, level=level, analyst=analyst)


def all_costs(graph: Graph) -> Whole:
    """The costs of all cuts: at place c - 1 is the cut whose second side has the nodes j with bit j - 1 of c set."""
    n = graph.nodes
    sides = np.arange(1, 2 ** (n - 1), dtype=np.int64) << 1  # bit j for node j; node 0 is on the first side
    total = np.zeros(len(sides), dtype=np.int64)
    for first, second in graph.edges.tolist():
        total += ((sides >> first) ^ (sides >> second)) & 1
    return total


def costs(graph: Graph, sides: Sides) -> Whole:
    """How many edges cross each of the cuts."""
    first, second = graph.edges[:, 0], graph.edges[:, 1]
    return np.array([np.count_nonzero(side[first] != side[second]) for side in sides], dtype=np.int64)


def _noisy_weights(graph: Graph, weighing: Laplace, bits: BitSource) -> NDArray[np.float64]:
    """A rate for each pair, as a symmetric matrix: the noisy weight, or nearly zero where that is negative."""
    n = graph.nodes
    exact = np.zeros((n, n), dtype=np.int64)
    exact[graph.edges[:, 0], graph.edges[:, 1]] = 1
    above = np.triu_indices(n, 1)
    noisy = weighing.release(exact[above], bits=bits)
    rates = np.zeros((n, n))
    rates[above] = np.maximum(np.clip(noisy, 0, 2**40), 1e-3)  # so that every pair may be joined in the end
    return rates


def _candidates(rates: NDArray[np.float64], draws: int, bits: BitSource) -> Sides:
    """Every single node, and the groups that are left by random contractions. Nothing private goes in."""
    n = len(rates)
    generator = np.random.default_rng(bits.bits(128))
    above = np.triu_indices(n, 1)
    found = [np.arange(n) == node for node in range(n)]
    for _ in range(draws):
        clocks = np.zeros((n, n))
        clocks[above] = np.maximum(generator.exponential(size=len(above[0])) / rates[above], 1e-300)
        tree = minimum_spanning_tree(clocks)
        tree.data[tree.data.argmax()] = 0  # the last contraction is not made
        tree.eliminate_zeros()
        found.append(connected_components(tree, directed=False)[1] != 0)
    return np.array([side ^ side[0] for side in found])


def _plain(labels: list[Any]) -> list[Any]:
    """Labels as JSON keeps them."""
    return labels if all(isinstance(each, (int, str)) for each in labels) else [str(each) for each in labels]
