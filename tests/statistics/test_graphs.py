"""Graph studies: how graphs are read, what is released, what it costs, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import ParameterError, QuestionError, TacitError
from tacit.loss import compose, events
from tacit.mechanisms import Laplace, PermuteAndFlip
from tacit.noise import secure
from tacit.statistics.graphs import degree_histogram, edge_count, k_stars, minimum_cut, spanning_tree_cost, triangles
from tacit.statistics.graphs.cuts import _candidates
from tacit.statistics.graphs.smooth_count import SmoothCount, decayed
from tacit.statistics.graphs.source import Graph, GraphSource, graph_source

HUGE = 10**6
KITE = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]


class Network:
    """As much of a networkx graph as is needed: nodes, edges, and edges(data=name)."""

    def __init__(self, nodes: list[Any], edges: list[tuple[Any, ...]]) -> None:
        self.nodes = nodes
        self.edges = Edges(edges)


class Edges(list[tuple[Any, ...]]):
    def __init__(self, edges: list[tuple[Any, ...]]) -> None:
        super().__init__(each[:2] for each in edges)
        self.weighted = edges

    def __call__(self, data: str) -> list[tuple[Any, ...]]:
        assert data == "weight"
        return self.weighted


def calls(edges: list[tuple[int, int]], weights: list[float] | None = None, epsilon: float = 50) -> tacit.Curator:
    frame = pd.DataFrame(edges, columns=["caller", "callee"])
    frame["cost"] = weights if weights is not None else 1.0
    facts = {"caller": tacit.between(0, 9), "callee": tacit.between(0, 9), "cost": tacit.between(0, 10)}
    return tacit.protect(frame, unit="row", columns=facts, budget=tacit.Budget(epsilon=epsilon, delta=1e-6))


def seen(source: GraphSource) -> Graph:
    from tacit.curator import Price
    from tacit.statistics.finding import Content

    graphs: list[Graph] = []

    def compute(graph: Graph, bits: object) -> Content:
        graphs.append(graph)
        return Content("seen", ())

    source.release({"study": "seen"}, Price(events.Pure(Fraction(1)), Fraction(1)), compute)
    return graphs[0]


def test_all_ways_to_write_a_graph_mean_the_same() -> None:
    wanted = sorted(KITE)
    for source in (
        graph_source(KITE, nodes=5),
        graph_source([(b, a) for a, b in KITE] + KITE + [(3, 3), (0, 77), (-1, 2), ("x", 1), (None, 2)], nodes=5),
        graph_source(np.array([*KITE, (9, 1)]), nodes=5),
        graph_source(np.array([*KITE, (float("nan"), 1), (0.5, 1)]), nodes=5),
        graph_source(Network(list(range(5)), KITE)),
        graph_source([["abcde"[a], "abcde"[b]] for a, b in KITE], nodes=list("abcde")),
        graph_source(calls([*KITE, (2, 1)]), ["data.caller", "data.callee"]),
    ):
        assert [tuple(each) for each in seen(source).edges.tolist()] == wanted


def test_of_parallel_edges_the_lightest_counts_and_weights_are_clamped() -> None:
    edges = [(0, 1, 5.0), (1, 0, 3.0), (1, 2, -7.0), (2, 0, 99.0), (0, 3, float("nan")), (3, 3, 1.0)]
    source = graph_source(edges, nodes=4, weight="weight", bounds=(0, 10))
    graph = seen(source)
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert source.weight is not None
    assert [float(each * source.weight.step) for each in graph.weights] == [3, 10, 0]
    network = graph_source(Network([0, 1, 2, 3], edges), weight="weight", bounds=(0, 10))
    assert seen(network).weights.tolist() == graph.weights.tolist()


def test_an_edge_more_changes_one_pair() -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        rows = [tuple(rng.integers(-1, 6, 2).tolist()) for _ in range(12)]
        graphs = [{tuple(e) for e in seen(graph_source(given, nodes=5)).edges.tolist()} for given in (rows, rows[:-1])]
        assert len(graphs[0] ^ graphs[1]) <= 1


def test_studies_without_noise_are_the_plain_numbers() -> None:
    """Student's noise at epsilon 1e6 has a scale below 2e-5, and |T| > z has probability 2.2/z**3: 1e-10 in all."""
    assert triangles(KITE, nodes=5, epsilon=HUGE).value == 1
    assert k_stars(KITE, nodes=5, k=2, epsilon=HUGE).value == 1 + 1 + 3 + 1
    assert edge_count(KITE, nodes=5, epsilon=HUGE).value == 5
    assert edge_count(KITE, nodes=5, epsilon=HUGE, protect="node", most_degree=3).value == 5
    assert edge_count(KITE, nodes=5, epsilon=HUGE, protect="node", most_degree=1).value == 2.5
    degrees = degree_histogram(KITE, nodes=5, epsilon=HUGE)
    assert degrees["sequence"].tolist() == [1, 2, 2, 2, 3]
    assert degrees["nodes"] == (0, 1, 3, 1)
    assert degrees["at_least"] == (5, 5, 4, 1)
    weighted = [(a, b, 1.0 + a) for a, b in KITE]
    assert spanning_tree_cost(weighted, nodes=5, bounds=(0, 10), epsilon=HUGE).value == pytest.approx(9, abs=0.1)
    # a node alone, and no edge at all: every missing link costs the upper bound
    assert spanning_tree_cost(weighted, nodes=6, bounds=(0, 10), epsilon=HUGE).value == pytest.approx(19, abs=0.1)
    assert spanning_tree_cost([], nodes=4, bounds=(2, 10), epsilon=HUGE).value == pytest.approx(30, abs=0.1)
    assert spanning_tree_cost([(0, 1, 3.0)], nodes=2, bounds=(2, 10), epsilon=HUGE).value == pytest.approx(3, abs=0.1)


def test_a_cut_without_noise_is_the_cheapest() -> None:
    two = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]
    found = minimum_cut(two, nodes=6, epsilon=HUGE)
    assert found["side"] == (False, False, False, True, True, True)
    assert found["node"] == (0, 1, 2, 3, 4, 5)
    groups = [(i, j) for i in range(24) for j in range(i) if (i < 12) == (j < 12)]
    found = minimum_cut([*groups, (0, 20)], nodes=24, epsilon=200)
    assert found["side"] == (False,) * 12 + (True,) * 12


def test_contractions_look_at_noisy_weights_alone_and_split_the_nodes_in_two() -> None:
    rates = np.triu(np.ones((7, 7)), 1)
    sides = _candidates(rates, 50, secure())
    assert sides.shape == (57, 7)
    assert not sides[:, 0].any()
    assert all(side.any() for side in sides)


def test_what_is_charged_is_the_stated_epsilon() -> None:
    for finding in (
        triangles(KITE, nodes=5, epsilon=1),
        spanning_tree_cost([(0, 1, 3.0)], nodes=3, bounds=(0, 10), epsilon=1),
        k_stars(KITE, nodes=5, k=2, epsilon=1),
        degree_histogram(KITE, nodes=5, epsilon=1),
        edge_count(KITE, nodes=5, epsilon=1, protect="node", most_degree=3),
        minimum_cut(KITE, nodes=5, epsilon=1),
        minimum_cut(KITE, nodes=25, epsilon=1),
    ):
        event = events.from_json(finding.receipt["event"])
        assert compose([event]).epsilon(0) == pytest.approx(1, rel=1e-12)
    smooth = events.from_json(triangles(KITE, nodes=5, epsilon=1, delta=1e-6).receipt["event"])
    assert isinstance(smooth, events.Composed)
    assert smooth.events[0] == events.Approximate(Fraction(4, 5), Fraction(1, 10**6))


def test_the_size_of_the_noise_is_told_with_noise_for_its_own_smoothness() -> None:
    smooth = SmoothCount.at(1, 0, "0.1", "0.95").smooth
    assert smooth.size is not None
    assert smooth.size.event.sensitivity * smooth.size.lattice.unit >= smooth.gentle == Fraction(1, 25)
    assert smooth.size.event.sensitivity / smooth.size.event.scale == Fraction(1, 10)
    assert compose([smooth.noise.event]).epsilon(0) <= 0.9 * (1 + 1e-12)
    assert decayed(Fraction(1, 10), 3) == pytest.approx(math.exp(-0.3), rel=1e-15)
    assert decayed(Fraction(1), 10**6) == 0


@pytest.mark.statistical
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """At level 0.8, 120 of 200 or more: fewer by chance with probability 3e-11, if the level is just reached."""
    held = 0
    for _ in range(200):
        finding = triangles(KITE, nodes=12, epsilon=1, level="0.8")
        ((low, high),) = finding.intervals()["triangles"]
        held += low <= 1 <= high
    assert held >= 120


def test_node_privacy_has_noise_for_all_edges_of_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanisms: list[Any] = []

    def release(mechanism: Laplace, values: Any, *, bits: Any = None) -> Any:
        mechanisms.append((mechanism.event, values))
        return values

    monkeypatch.setattr(Laplace, "release", release)
    star = [(0, place) for place in range(1, 8)]
    edge_count(star, nodes=8, epsilon=1, protect="node", most_degree=3)
    assert mechanisms == [(events.DiscreteLaplace(6, Fraction(6)), 6)]
    mechanisms.clear()
    degree_histogram(star, nodes=8, epsilon=1)
    assert mechanisms[0][0] == events.DiscreteLaplace(2, Fraction(2))


def test_cuts_are_chosen_at_the_stated_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    factors: list[Fraction] = []

    def choose(mechanism: PermuteAndFlip, candidates: Any, *, losses: Any, bits: Any) -> Any:
        factors.append(mechanism.factor)
        return candidates[0]

    monkeypatch.setattr(PermuteAndFlip, "choose", choose)
    minimum_cut(KITE, nodes=5, epsilon=1)
    minimum_cut(KITE, nodes=25, epsilon=1)
    assert factors == [1, Fraction(1, 2)]


def test_the_edges_of_a_curator_are_the_graph() -> None:
    clinic = calls(KITE, [1.0, 2.0, 3.0, 4.0, 5.0], 10**7)
    found = spanning_tree_cost(clinic, ["data.caller", "data.callee", "data.cost"], epsilon=HUGE)
    assert found.value == pytest.approx(1 + 2 + 4 + 5 + 5 * 10, abs=0.1)


def test_empty_and_tiny_graphs_give_a_private_result() -> None:
    for edges in ([], np.zeros((0, 2), dtype=int), [(0, 0)], [(5, 6)]):
        for nodes in (2, 3):
            assert triangles(edges, nodes=nodes, epsilon=1).value in (0, 1)
            assert len(degree_histogram(edges, nodes=nodes, epsilon=1)) >= 1
            assert edge_count(edges, nodes=nodes, epsilon=1).value >= 0
            assert edge_count(edges, nodes=nodes, epsilon=1, protect="node", most_degree=1).value >= 0
            assert len(minimum_cut(edges, nodes=nodes, epsilon=1)) == nodes
        assert k_stars(edges, nodes=3, k=2, epsilon=1).value >= 0
    assert edge_count([], nodes=1, epsilon=1).value >= 0
    complete = [(i, j) for i in range(6) for j in range(i)]
    assert triangles(complete, nodes=6, epsilon=HUGE).value == 20
    assert triangles(complete, nodes=6, epsilon=1, delta=1e-6).value >= 0


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (lambda: triangles(KITE, epsilon=1), "given with a list of edges"),
        (lambda: triangles(KITE, nodes=0, epsilon=1), "at least 1"),
        (lambda: triangles(KITE, nodes=[1, 1], epsilon=1), "different labels"),
        (lambda: triangles(KITE, nodes=5, epsilon=-1), "above 0"),
        (lambda: triangles(KITE, nodes=5, epsilon=1, delta=2), "below 1"),
        (lambda: triangles(KITE, nodes=5, epsilon=1, level=0), "strictly between"),
        (lambda: triangles([(1, 2, 3)], nodes=5, epsilon=1), "2 entries"),
        (lambda: triangles(np.zeros(4), nodes=5, epsilon=1), "2 entries"),
        (lambda: triangles(7, nodes=5, epsilon=1), "a list of edges"),
        (lambda: triangles(Network([0], []), nodes=5, epsilon=1), "left out"),
        (lambda: k_stars(KITE, nodes=5, k=1, epsilon=1), "at least 2"),
        (lambda: k_stars(KITE, nodes=5, k=5, epsilon=1), "at least 6"),
        (lambda: k_stars(KITE, nodes=10_000, k=900, epsilon=1), "1e200"),
        (lambda: spanning_tree_cost([(0, 1, 2)], nodes=3, epsilon=1), "exactly one"),
        (lambda: spanning_tree_cost([(0, 1, 2)], nodes=3, bounds=(5, 0), epsilon=1), "lower one first"),
        (lambda: spanning_tree_cost([(0, 1, 2)], nodes=1, bounds=(0, 5), epsilon=1), "at least 2"),
        (lambda: spanning_tree_cost([(0, 1)], nodes=3, bounds=(0, 5), epsilon=1), "3 entries"),
        (lambda: edge_count(KITE, nodes=5, epsilon=1, protect="all"), "'edge' or 'node'"),
        (lambda: edge_count(KITE, nodes=5, epsilon=1, protect="node"), "given with"),
        (lambda: edge_count(KITE, nodes=5, epsilon=1, most_degree=3), "given with"),
        (lambda: edge_count(KITE, nodes=5, epsilon=1, protect="node", most_degree=0), "at least 1"),
        (lambda: minimum_cut(KITE, nodes=1, epsilon=1), "at least 2"),
        (lambda: minimum_cut(KITE, nodes=5_000, epsilon=1), "at most 1,000"),
        (lambda: minimum_cut(KITE, nodes=5, epsilon=1, contractions=0), "at least 1"),
    ],
)
def test_public_mistakes_are_refused(study: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        study()


def test_a_curator_must_have_nodes_that_are_public_and_one_edge_a_unit() -> None:
    clinic = calls(KITE)
    ends = ["data.caller", "data.callee"]
    with pytest.raises(QuestionError, match="needs 2 columns"):
        triangles(clinic, ["data.caller"], epsilon=1)
    with pytest.raises(QuestionError, match="whole numbers with bounds"):
        triangles(clinic, ["data.caller", "data.cost"], epsilon=1)
    with pytest.raises(ParameterError, match="policy states"):
        triangles(clinic, ends, nodes=5, epsilon=1)
    with pytest.raises(ParameterError, match="graph in memory"):
        edge_count(clinic, ends, epsilon=1, protect="node", most_degree=2)
    frame = pd.DataFrame({"who": [1, 1], "a": [0, 1], "b": [1, 2]})
    several = tacit.protect(
        frame,
        unit="who",
        rows_per_unit=2,
        columns={"a": tacit.between(0, 3), "b": tacit.between(0, 3)},
        budget=tacit.Budget(epsilon=3),
    )
    with pytest.raises(TacitError, match="one row of each unit"):
        triangles(several, ["data.a", "data.b"], epsilon=1)
    assert clinic.spent().loss == several.spent().loss == 0
