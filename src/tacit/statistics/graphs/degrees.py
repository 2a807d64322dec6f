"""How many nodes have which degree: the sorted degrees with noise, put back in order.

Setting. Nodes are public, neighbours differ in one edge.

Theorem. An edge changes two degrees by one each, and the sorted sequence by at most 2 in L1 (sorting moves sequences
no further apart). So Laplace noise of scale 2/epsilon on it is pure epsilon. Ordering the noisy sequence again by least
squares (isotonic regression) never adds to its squared distance from the truth, as a projection on a convex set that
holds the truth; where many nodes have the same degree it averages their noise.

Intervals. With probability `level` all n noises are within t at once (n times the chance of one). Isotonic regression
moves no entry by more than the largest noise (it is monotone and commutes with adding a constant): every entry of the
released sequence is within t of the true one, and the number of nodes with degree at least d lies between the numbers
of released entries >= d + t and >= d - t.

Source: Hay, Li, Miklau, Jensen 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from tacit import parameters
from tacit.curator import Price
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.graphs.source import Graph, graph_source


def degree_histogram(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    nodes: int | Sequence[Any] | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The number of nodes of each degree, and of at least each degree. Neighbours differ in one edge.

    The array `sequence` holds the released degrees in ascending order.

    >>> degree_histogram([(0, 1), (1, 2), (0, 2)], nodes=3, epsilon=1).names
    ('degree', 'nodes', 'at_least')
    """
    source = graph_source(data, columns, nodes=nodes)
    source.at_least(2, "degrees")
    mechanism = Laplace(2, parameters.price("epsilon", epsilon))
    missing = 1 - parameters.level("level", level)
    n = source.count
    reach = mechanism.error(1 - missing / n)

    def compute(graph: Graph, bits: BitSource) -> Content:
        noisy = mechanism.release(np.sort(graph.degrees), bits=bits)
        ordered = isotonic_regression(np.clip(noisy, -(10**15), 10**15).astype(np.float64)).x
        sequence = np.clip(np.rint(ordered), 0, n - 1).astype(np.int64)
        top = int(sequence[-1])
        degrees = np.arange(top + 1)
        counts = np.bincount(sequence, minlength=top + 1)
        # ends from the unrounded sequence, of which the theorem speaks
        low, high = (n - np.searchsorted(ordered, degrees + shift - 1e-9, side="left") for shift in (reach, -reach))
        at_least = n - np.searchsorted(sequence, degrees, side="left")
        notes = (
            "Neighbours differ in one edge; the nodes are public.",
            "The intervals of at_least hold all at once; they cover the noise.",
        )
        columns = (
            column("degree", degrees),
            column("nodes", counts),
            column("at_least", at_least, np.minimum(low, at_least), np.maximum(high, at_least)),
        )
        return Content("Degrees", columns, notes, {"sequence": sequence})

    exact = parameters.rational("epsilon", epsilon)
    asked = {"study": "degree_histogram", "epsilon": str(exact)}
    return source.release(asked, Price(mechanism.event, exact), compute, level=level, analyst=analyst)
