"""What the graph studies say about sensitivities, against all small graphs, one by one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from tacit.statistics.graphs.connectivity import heaviest_of_cuts
from tacit.statistics.graphs.cuts import all_costs, costs
from tacit.statistics.graphs.disjoint_trees import heaviest_of_trees
from tacit.statistics.graphs.edge_count import doubled_bounded_count
from tacit.statistics.graphs.k_stars import star_count, star_sensitivities
from tacit.statistics.graphs.smooth_count import smooth_bounds
from tacit.statistics.graphs.source import Graph
from tacit.statistics.graphs.spanning_tree import sensitivities, tree_cost
from tacit.statistics.graphs.triangles import count_and_sensitivities


def pairs_of(n: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(n), 2))


def graph_of(n: int, mask: int) -> Graph:
    edges = [pair for place, pair in enumerate(pairs_of(n)) if mask >> place & 1]
    return Graph(n, np.array(edges, dtype=np.int64).reshape(-1, 2), None)


def at_distances(values: list[int], flips: int, distances: int) -> list[list[int]]:
    """For s = 0, 1, ...: of every graph, the largest change by one edge of a graph within s edges of it."""
    local = [max(abs(values[m] - values[m ^ 1 << i]) for i in range(flips)) for m in range(len(values))]
    found = [local]
    for _ in range(distances):
        last = found[-1]
        found.append([max(last[m], *(last[m ^ 1 << i] for i in range(flips))) for m in range(len(values))])
    return found


def triangles_by_hand(graph: Graph) -> int:
    edges = {tuple(edge) for edge in graph.edges.tolist()}
    return sum({(a, b), (a, c), (b, c)} <= edges for a, b, c in itertools.combinations(range(graph.nodes), 3))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_triangles_and_their_local_sensitivities_are_those_of_all_graphs(n: int) -> None:
    flips = len(pairs_of(n))
    values = [triangles_by_hand(graph_of(n, mask)) for mask in range(1 << flips)]
    truth = at_distances(values, flips, 2 * n)
    for mask, value in enumerate(values):
        count, found = count_and_sensitivities(graph_of(n, mask))
        assert count == value
        assert [int(found[min(s, len(found) - 1)]) for s in range(2 * n)] == [truth[s][mask] for s in range(2 * n)]


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("k", [2, 3])
def test_stars_and_their_local_sensitivities_are_those_of_all_graphs(n: int, k: int) -> None:
    if k >= n:
        return
    flips = len(pairs_of(n))
    values = [sum(math.comb(int(d), k) for d in graph_of(n, mask).degrees) for mask in range(1 << flips)]
    truth = at_distances(values, flips, 2 * n)
    for mask, value in enumerate(values):
        graph = graph_of(n, mask)
        assert star_count(graph, k) == value
        found = list(star_sensitivities(graph, k))
        assert [found[min(s, len(found) - 1)] for s in range(2 * n)] == [truth[s][mask] for s in range(2 * n)]


@pytest.mark.parametrize("smoothness", [Fraction(1, 20), Fraction(1, 2)])
def test_the_smooth_sensitivity_is_the_largest_discounted_local_one_over_all_graphs(smoothness: Fraction) -> None:
    n, flips = 5, 10
    graphs = [graph_of(n, mask) for mask in range(1 << flips)]
    masks = np.arange(1 << flips)
    away = np.bitwise_count(masks[:, None] ^ masks[None, :])
    for values, sensitivity in (
        ([triangles_by_hand(graph) for graph in graphs], lambda graph: count_and_sensitivities(graph)[1].tolist()),
        ([star_count(graph, 2) for graph in graphs], lambda graph: star_sensitivities(graph, 2)),
    ):
        local = np.array(at_distances(values, flips, 0)[0])
        truth = (np.exp(-float(smoothness) * away) * local[None, :]).max(axis=1)
        most = int(local.max())
        found = [smooth_bounds([smoothness], sensitivity(graph), most)[0] for graph in graphs]
        np.testing.assert_allclose(found, truth, rtol=1e-12)
        # smooth indeed, between neighbours, with nothing to spare for the rounding but what is provided
        for i in range(flips):
            assert np.all(np.array(found) <= math.exp(smoothness) * np.array(found)[masks ^ 1 << i] * (1 + 2**-40))


def tree_cost_by_hand(n: int, weights: tuple[int, ...]) -> int:
    """The cheapest set of n - 1 pairs that connects all nodes."""
    best = None
    pairs = pairs_of(n)
    for chosen in itertools.combinations(range(len(pairs)), n - 1):
        groups = list(range(n))
        for place in chosen:
            a, b = (groups[end] for end in pairs[place])
            groups = [a if group == b else group for group in groups]
        if len(set(groups)) == 1:
            cost = sum(weights[place] for place in chosen)
            best = cost if best is None else min(best, cost)
    assert best is not None
    return best


@pytest.mark.parametrize("way", [heaviest_of_cuts, heaviest_of_trees])
@pytest.mark.parametrize(("n", "width"), [(2, 3), (3, 4), (4, 2)])
def test_tree_costs_have_the_stated_bound_at_every_distance_and_it_is_smooth(n: int, width: int, way: Any) -> None:
    pairs = pairs_of(n)
    states = list(itertools.product(range(width + 1), repeat=len(pairs)))
    index = {state: place for place, state in enumerate(states)}
    near = [
        [index[(*state[:i], w, *state[i + 1 :])] for i in range(len(pairs)) for w in range(width + 1) if w != state[i]]
        for state in states
    ]
    depth = len(pairs) + 2
    costs_found, bounds = [], []
    for state in states:
        kept = [place for place, w in enumerate(state) if w < width]  # a missing edge weighs the most there is
        graph = Graph(
            n,
            np.array([pairs[place] for place in kept], dtype=np.int64).reshape(-1, 2),
            np.array([state[place] for place in kept], dtype=np.int64),
        )
        costs_found.append(tree_cost(graph, width))
        bounds.append(list(itertools.islice(way(graph, width), depth)))
    assert costs_found == [tree_cost_by_hand(n, state) for state in states]
    local = [max(abs(costs_found[m] - costs_found[o]) for o in near[m]) for m in range(len(states))]
    for s in range(depth - 1):
        assert all(bounds[m][s] >= local[m] for m in range(len(states)))
        assert all(bounds[o][s] <= bounds[m][s + 1] for m in range(len(states)) for o in near[m])
        local = [max(local[m], *(local[o] for o in near[m])) for m in range(len(states))]
    for bound in bounds:  # and not larger than any change can be
        assert max(bound) <= width


def cut_weights_by_hand(graph: Graph, width: int, s: int) -> int:
    """The largest (s + 2)-th lightest weight of a cut."""
    assert graph.weights is not None
    weight = {tuple(edge): int(w) for edge, w in zip(graph.edges.tolist(), graph.weights, strict=True)}
    found = []
    for side in range(1, 1 << (graph.nodes - 1)):
        across = sorted(weight.get((u, v), width) for u, v in pairs_of(graph.nodes) if (side >> u ^ side >> v) & 1)
        found.append(across[s + 1] if s + 1 < len(across) else width)
    return max(found)


def test_the_heaviest_of_cuts_is_that_of_all_cuts_and_trees_are_no_lighter() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        n, density = int(rng.integers(2, 8)), rng.random() ** 0.3
        edges = np.array([pair for pair in pairs_of(n) if rng.random() < density], dtype=np.int64).reshape(-1, 2)
        graph = Graph(n, edges, rng.integers(0, 9, len(edges)))
        truth = [cut_weights_by_hand(graph, 9, s) for s in range(n)]
        assert list(itertools.islice(heaviest_of_cuts(graph, 9), n)) == truth
        trees = list(itertools.islice(heaviest_of_trees(graph, 9), n))
        assert all(tree >= cut for tree, cut in zip(trees, truth, strict=True))


def test_a_heavy_cut_between_two_light_groups_is_seen() -> None:
    edges = np.array(pairs_of(8), dtype=np.int64)
    inside = (edges[:, 0] < 4) == (edges[:, 1] < 4)
    graph = Graph(8, edges, np.where(inside, 1, 7))
    for way in (heaviest_of_cuts, heaviest_of_trees):
        assert list(itertools.islice(way(graph, 9), 2)) == [7, 7]  # every node alone has light edges enough
    assert [cut_weights_by_hand(graph, 9, s) for s in range(2)] == [7, 7]


@pytest.mark.parametrize(("n", "light"), [(60, 57), (150, 30)])
def test_many_light_edges_make_the_bound_small(n: int, light: int) -> None:
    edges = np.array(pairs_of(n), dtype=np.int64)
    graph = Graph(n, edges, np.full(len(edges), 5, dtype=np.int64))
    found = list(itertools.islice(sensitivities(graph, 100), n))
    assert found[:light] == [5] * light
    assert found[-1] == 100


def bounded_count_by_programme(graph: Graph, bound: int) -> float:
    if not len(graph.edges):
        return 0.0
    around = np.array([[node in edge for edge in graph.edges.tolist()] for node in range(graph.nodes)], dtype=float)
    ones = -np.ones(len(graph.edges))
    return float(-linprog(ones, A_ub=around, b_ub=np.full(graph.nodes, bound), bounds=(0, 1)).fun)


def test_the_bounded_edge_count_is_the_programme_and_moves_by_the_bound_for_a_node() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        n, bound = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        density = rng.random()
        edges = np.array([pair for pair in pairs_of(n) if rng.random() < density], dtype=np.int64).reshape(-1, 2)
        whole = Graph(n, edges, None)
        found = doubled_bounded_count(whole, bound)
        assert found == pytest.approx(2 * bounded_count_by_programme(whole, bound), abs=1e-6)
        without = Graph(n, edges[(edges != n - 1).all(axis=1)], None)
        assert 0 <= found - doubled_bounded_count(without, bound) <= 2 * bound
        if whole.degrees.max(initial=0) <= bound:
            assert found == 2 * len(edges)


def test_an_edge_moves_sorted_degrees_by_two_and_cuts_by_one_all_the_same_way() -> None:
    for n in (3, 4, 5):
        for mask in range(1 << len(pairs_of(n))):
            graph = graph_of(n, mask)
            cuts = all_costs(graph)
            for place in range(len(pairs_of(n))):
                if mask >> place & 1:
                    continue
                more = graph_of(n, mask | 1 << place)
                assert np.abs(np.sort(more.degrees) - np.sort(graph.degrees)).sum() <= 2
                moved = all_costs(more) - cuts
                assert set(moved.tolist()) <= {0, 1}


def test_the_costs_of_all_cuts_are_the_edges_between_their_sides() -> None:
    graph = graph_of(5, 0b1011010011)
    for place, cost in enumerate(all_costs(graph).tolist()):
        side = np.array([False, *((place + 1) >> j & 1 == 1 for j in range(4))])
        assert cost == sum(bool(side[u]) != bool(side[v]) for u, v in graph.edges.tolist())
        assert costs(graph, side[None, :]).tolist() == [cost]
    assert len(all_costs(graph)) == 15
