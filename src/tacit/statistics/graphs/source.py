"""Where a graph comes from: a networkx graph, a list of edges, or rows of a curator with a column for each end.

Promise. The nodes are public, the edges are not. A graph is read as undirected, without loops and without parallel
edges (of parallel weighted edges the lightest counts); an edge with an end that is not among the nodes, or with a
weight that is not a number, is left out; weights beyond the bounds are clamped. So data that differ in one edge (or, on
a curator, in one row) give graphs that differ in at most one pair of nodes: whether it is an edge, and of what weight.
Nothing that an edge holds raises an error; shapes, the nodes and the bounds are public, and wrong ones are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.curator import Curator, Price, Rows
from tacit.errors import QuestionError
from tacit.noise import BitSource
from tacit.plan.row_plan import Variable
from tacit.statistics.arrays import array_source
from tacit.statistics.finding import Content, Finding
from tacit.statistics.source import ArraySource, Opened, Source, Whole, source_of

_MOST_NODES = 10**7


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph:
    """An exact graph on the nodes 0, 1, ... below `nodes`, paid for. Edges are pairs in ascending order, each once."""

    nodes: int
    edges: Whole  # a matrix of two columns, the smaller end first
    weights: Whole | None  # a code for each edge, counted from the lower bound

    @property
    def degrees(self) -> Whole:
        """The degree of each node."""
        return np.bincount(self.edges.ravel(), minlength=self.nodes).astype(np.int64)


Compute: TypeAlias = Callable[[Graph, BitSource], Content]


@dataclass(frozen=True, slots=True, eq=False)
class GraphSource:
    """Nodes that are public, and a way to pay for a look at the edges."""

    source: Source
    nodes: Sequence[Any]  # labels, in order
    ends: tuple[str, str]
    offsets: tuple[int, int]  # the codes of the first node
    weight: Variable | None

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)

    def at_least(self, nodes: int, study: str) -> None:
        """Refuse fewer nodes than a study needs."""
        if self.count < nodes:
            raise parameters.refuse("nodes", f"at least {nodes} for {study}", self.count)

    def release(
        self,
        asked: Mapping[str, Any],
        price: Price,
        compute: Compute,
        *,
        level: parameters.Number = "0.95",
        analyst: str | None = None,
    ) -> Finding:
        """The finding of a study of the graph, paid for."""

        def of_graph(opened: Opened, bits: BitSource) -> Content:
            return compute(self._graph(opened), bits)

        whole = {**asked, "nodes": self.count}
        return self.source.release(whole, price, of_graph, level=level, analyst=analyst)

    def _graph(self, opened: Opened) -> Graph:
        names = self.ends if self.weight is None else (*self.ends, self.weight.name)
        codes, _ = opened.tally(*names)
        pairs = np.sort(codes[:, :2] - np.asarray(self.offsets, dtype=np.int64), axis=1)
        real = (pairs[:, 0] >= 0) & (pairs[:, 1] < self.count) & (pairs[:, 0] < pairs[:, 1])
        pairs = pairs[real]
        if self.weight is None:
            return Graph(self.count, np.unique(pairs, axis=0), None)
        assert self.weight.low is not None
        weights = codes[real, 2] - self.weight.low
        order = np.lexsort((weights, pairs[:, 1], pairs[:, 0]))
        pairs, weights = pairs[order], weights[order]
        first = np.ones(len(pairs), dtype=bool)  # of each pair: the lightest, as they are sorted
        first[1:] = np.any(pairs[1:] != pairs[:-1], axis=1)
        return Graph(self.count, pairs[first], weights[first])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeArrays(ArraySource):
    """Edges in memory. `unit` says in words what neighbours differ by."""

    unit: str = "one edge"

    @property
    def neighbours(self) -> str:
        """One edge, or one node with all its edges."""
        return self.unit


def graph_source(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    nodes: int | Sequence[Any] | None = None,
    weight: str | None = None,
    bounds: Any = None,
    unit: str = "one edge",
) -> GraphSource:
    """The graph that `data` means.

    data: a networkx graph; a list of pairs or an array with two columns, with the public `nodes` (how many, numbered
    from 0, or their labels); or a curator with the columns of both ends (and of the weight, last), or its rows.
    """
    if isinstance(data, (Curator, Rows, Source)):
        if unit != "one edge":
            hint = "A row of a curator is an edge. Take the graph as a list of edges."
            raise parameters.refuse("data", "a graph in memory, where nodes are the units", "rows of a curator", hint)
        return _of_rows(data, columns, nodes, weight is not None, bounds)
    if hasattr(data, "nodes") and hasattr(data, "edges"):
        if nodes is not None:
            raise parameters.refuse("nodes", "left out where the graph has them", nodes)
        labels: Sequence[Any] = tuple(data.nodes)
        found = list(data.edges) if weight is None else list(data.edges(data=weight))
        edges = [tuple(each)[:2] for each in found]
        weights = None if weight is None else [each[2] for each in found]
    else:
        labels = _labels(nodes)
        edges, weights = _columns(data, weight is not None)
    if isinstance(edges, list):
        first, second = (_places([each[end] for each in edges], labels) for end in (0, 1))
    else:
        first, second = (_numbered(edges[:, end], labels) for end in (0, 1))
    known = [Variable(name, "number", Fraction(1), 0, len(labels) - 1, None, False) for name in ("from", "to")]
    codes: dict[str, NDArray[Any]] = {"from": first, "to": second}
    missing: dict[str, NDArray[np.bool_]] = {"from": first < 0, "to": second < 0}
    weighed: Variable | None = None
    if weight is not None:
        read = array_source({"weight": weights}, None, {"weight": bounds}, None)
        weighed = read.variable("weight")
        codes["weight"], missing["weight"] = read.columns["weight"], read.missing["weight"]
        known.append(weighed)
    source = EdgeArrays(tuple(known), codes, missing, unit)
    return GraphSource(source, labels, ("from", "to"), (0, 0), weighed)


def _labels(nodes: Any) -> Sequence[Any]:
    if nodes is None:
        hint = "They are public; the edges are not looked at to find them."
        raise parameters.refuse("nodes", "given with a list of edges: how many there are, or their labels", None, hint)
    if isinstance(nodes, (list, tuple, range)):
        if not nodes or len(set(nodes)) != len(nodes):
            raise parameters.refuse("nodes", "a list of different labels, at least one", list(nodes)[:5])
        return nodes
    count = parameters.whole("nodes", nodes, least=1)
    if count > _MOST_NODES:
        raise parameters.refuse("nodes", f"at most {_MOST_NODES:,}", count)
    return range(count)


def _columns(data: Any, weighted: bool) -> tuple[Any, Any]:
    """Edges as a list of pairs or a matrix of numbers, and weights where they are asked for."""
    width = 3 if weighted else 2
    allowed = f"a graph, or a list of edges with {width} entries each"
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or data.shape[1] != width:
            raise parameters.refuse("data", allowed, f"an array of shape {data.shape}")
        numbers = data.dtype.kind in "iuf"
        edges = data[:, :2] if numbers else [tuple(each) for each in data[:, :2].tolist()]
        return edges, data[:, 2] if weighted else None
    try:
        rows = [tuple(each) for each in data]
    except TypeError:
        raise parameters.refuse("data", allowed, f"a value of type {type(data).__name__}") from None
    if any(len(row) != width for row in rows):
        raise parameters.refuse("data", allowed, "an edge with another number of entries")
    return [row[:2] for row in rows], [row[2] for row in rows] if weighted else None


def _places(ends: Sequence[Any], labels: Sequence[Any]) -> Whole:
    """The number of each label; -1 for anything that is not a label."""
    places = {label: place for place, label in enumerate(labels)}
    return np.array([places.get(end, -1) if isinstance(end, Hashable) else -1 for end in ends], dtype=np.int64)


def _numbered(ends: NDArray[Any], labels: Sequence[Any]) -> Whole:
    if not isinstance(labels, range):
        return _places(ends.tolist(), labels)
    real = ends.astype(np.float64)
    inside = (real >= 0) & (real < len(labels)) & (real == np.floor(real))  # NaN is in no comparison
    return np.where(inside, np.where(inside, real, 0.0), -1.0).astype(np.int64)


def _of_rows(data: Any, columns: Sequence[str] | None, nodes: Any, weighted: bool, bounds: Any) -> GraphSource:
    for name, given in (("nodes", nodes), ("bounds", bounds)):
        if given is not None:
            raise parameters.refuse(name, "left out where a curator has the data: its policy states it", given)
    source = source_of(data, columns)
    width = 3 if weighted else 2
    if len(source.variables) != width:
        names = ", ".join(each.name for each in source.variables)
        wanted = "the two ends and the weight" if weighted else "the two ends"
        raise QuestionError(f"A graph needs {width} columns, {wanted} of each edge; these were given: {names}.")
    source.one_row_each("A graph whose edges are private")
    first, second, *rest = source.variables
    if rest and (rest[0].low is None or rest[0].high is None or rest[0].low == rest[0].high):
        raise QuestionError(f"The weight {rest[0].name!r} must be a number with bounds in the policy.")
    labels, other = _domain(first), _domain(second)
    if first.meaning == "text":
        if labels != other:
            raise QuestionError("Both ends of an edge must have the same listed values, in the same order.")
        return GraphSource(source, labels, (first.name, second.name), (0, 0), rest[0] if rest else None)
    everyone = range(min(labels[0], other[0]), max(labels[-1], other[-1]) + 1)
    start = everyone.start
    return GraphSource(source, everyone, (first.name, second.name), (start, start), rest[0] if rest else None)


def _domain(variable: Variable) -> Sequence[Any]:
    if variable.meaning == "text":
        if variable.values is None:
            raise QuestionError(f"The ends of edges {variable.name!r} need their values listed in the policy.")
        return variable.values
    if variable.low is None or variable.high is None or variable.step != 1 or variable.rounded:
        raise QuestionError(f"The ends of edges {variable.name!r} must be whole numbers with bounds in the policy.")
    if variable.high - variable.low >= _MOST_NODES:
        raise QuestionError(f"The ends of edges {variable.name!r} have bounds too far apart: at most {_MOST_NODES:,}.")
    return range(variable.low, variable.high + 1)
