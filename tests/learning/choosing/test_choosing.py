"""Combinatorial choices: the law is the stated one, and neighbours' laws are as near as the theorems say."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import learning
from tacit.errors import ParameterError, QuestionError
from tacit.learning.choosing import coverage, greedy, k_median, vertex_cover
from tacit.learning.clusters.lloyd import FINE, own_sizes, scaled_rows
from tacit.learning.columns import Feature
from tacit.loss import compose, events
from tacit.noise import secure
from tacit.statistics.graphs.source import Graph
from tests.learning.second_moments.test_gram import clinic

Law = dict[tuple[int, ...], float]


def greedy_law(worths: Any, counts: Any, rounds: int, factor: float) -> Law:
    """The probability of every order of choices, by the definition, in floating point."""
    law: Law = {}
    for order in itertools.permutations(range(len(worths)), rounds):
        chance = 1.0
        for turn in range(rounds):
            had = np.array([max([worths[j][x] for j in order[:turn]], default=0) for x in range(len(counts))])
            gain = [sum(c * max(w - h, 0) for c, w, h in zip(counts, line, had, strict=True)) for line in worths]
            weight = {j: math.exp(factor * gain[j]) for j in range(len(worths)) if j not in order[:turn]}
            chance *= weight[order[turn]] / sum(weight.values())
        law[order] = chance
    return law


def hockey_stick(first: Law, second: Law, epsilon: float) -> float:
    """The delta at epsilon, both ways round."""
    keys = set(first) | set(second)
    one = sum(max(first.get(key, 0) - math.exp(epsilon) * second.get(key, 0), 0) for key in keys)
    other = sum(max(second.get(key, 0) - math.exp(epsilon) * first.get(key, 0), 0) for key in keys)
    return max(one, other)


@pytest.mark.parametrize(("delta", "kind"), [("0", events.Repeated), ("0.3", events.Approximate)])
def test_neighbouring_laws_of_greedy_choices_are_as_near_as_is_charged(delta: str, kind: type) -> None:
    """Enumerated: all orders of 4 sets on random small data, and one unit's rows added, of which there may be 2."""
    rng = np.random.default_rng()
    nearest = 0.0
    for case in range(40):
        rounds, rows = 4, 1 + case % 2
        plan = greedy.plan_greedy(rounds, rows, Fraction(1), Fraction(delta))
        worths = rng.choice([0, 1, 2**15, greedy.STEPS], (4, 3), p=[0.5, 0.1, 0.1, 0.3])
        counts = rng.integers(0, 4, 3)
        more = counts.copy()
        np.add.at(more, rng.integers(0, 3, rows) if case % 3 else np.full(rows, rng.integers(0, 3)), 1)
        laws = [greedy_law(worths, each, rounds, float(plan.each.factor)) for each in (counts, more)]
        assert hockey_stick(*laws, 1.0) <= float(Fraction(delta)) + 1e-12
        nearest = max(nearest, *(abs(math.log(laws[0][key] / laws[1][key])) for key in laws[0]))
    if delta == "0":
        assert 0.3 < nearest <= 1 + 1e-9  # the pure bound holds for all orders
        assert isinstance(plan.price.event, kind)


def test_with_many_rounds_the_price_does_not_depend_on_their_number() -> None:
    """Theorem 2 against its own sum, enumerated where it binds: one unit that any set covers."""
    delta = Fraction(1, 10**6)
    few, many = (greedy.plan_greedy(count, 1, Fraction(1), delta) for count in (400, 4_000))
    assert isinstance(many.price.event, events.Approximate)
    assert many.each.event.range == few.each.event.range
    own = float(many.each.event.range)
    assert own == pytest.approx(math.log1p(1 / greedy.telescoped_factor(delta)), rel=1e-6)
    grid = np.linspace(0.01, 20, 20_000)
    assert greedy.telescoped_factor(delta) >= ((grid + math.log(1e6)) / (1 - np.exp(-grid))).min()
    several = greedy.plan_greedy(400, 7, Fraction(1), delta)
    assert several.each.factor == few.each.factor / 7  # a unit's rows share one worth
    pure = greedy.plan_greedy(3, 1, Fraction(1), delta)  # a few rounds are composed as they are
    assert isinstance(pure.price.event, events.Repeated)
    assert compose([pure.price.event]).delta(1) <= 1e-6


def two_sided(worths: Any, before: Any, after: Any, rounds: int, e: float) -> float:
    """The largest loss of B over A that has more probability than 0.05 in all, by enumeration."""
    first, second = (greedy_law(worths, each, rounds, e) for each in (before, after))
    losses = sorted(((math.log(first[key] / second[key]), first[key]) for key in first), reverse=True)
    mass = 0.0
    for loss, chance in losses:
        mass += chance
        if mass > 0.05:
            return loss
    return 0.0


def test_the_telescoped_bound_holds_where_five_sets_hold_the_unit() -> None:
    worths = [[1, 1], [1, 0], [1, 0], [0, 1], [1, 0]]
    for e in (0.1, 0.5, 1.0):
        bound = math.expm1(e) * greedy.telescoped_factor(Fraction(1, 20))
        for counts in ([0, 3], [2, 0], [5, 5]):
            assert two_sided(worths, counts, [counts[0] + 1, counts[1]], 5, e) <= max(bound, e)


def drawn(draw: Callable[[], tuple[int, ...]], law: Law, runs: int = 3_000) -> None:
    """Frequencies within 6 deviations of the law: false alarm below 1e-6 for laws of up to 100 outcomes."""
    found = Counter(draw() for _ in range(runs))
    assert set(found) <= {key for key, chance in law.items() if chance > 0}
    for key, chance in law.items():
        assert abs(found[key] - runs * chance) <= 6 * math.sqrt(runs * chance * (1 - chance)) + 6


@pytest.mark.statistical
def test_choices_have_the_stated_law() -> None:
    worths, counts = np.array([[3, 0, 1], [2, 2, 0], [0, 1, 3]]), np.array([2, 1, 1])
    plan = greedy.plan_greedy(2, 1, Fraction(3, 2), Fraction(0), most=3)
    law = greedy_law(worths, counts, 2, float(plan.each.factor))
    bits = secure()
    drawn(lambda: tuple(plan.choose(3, lambda had: greedy.best_worths(worths, counts, had), bits)), law)


def cover_law(nodes: int, edges: list[tuple[int, int]], weights: list[int]) -> Law:
    """By the definition: degrees among those that are left, plus the public weight."""
    law: Law = {}
    for order in itertools.permutations(range(nodes)):
        chance, left = 1.0, set(range(nodes))
        for turn, vertex in enumerate(order):
            weight = {
                v: sum(1 for a, b in edges if v in (a, b) and {a, b} <= left) + weights[turn] / vertex_cover._GRID
                for v in left
            }
            chance *= weight[vertex] / sum(weight.values())
            left.discard(vertex)
        law[order] = chance
    return law


def graph_of(nodes: int, edges: list[tuple[int, int]]) -> Graph:
    return Graph(nodes, np.array(edges, dtype=np.int64).reshape(-1, 2), None)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_orders_of_neighbouring_graphs_are_within_epsilon_by_enumeration(epsilon: Fraction) -> None:
    """All graphs of 4 vertices and each of their edges left out."""
    weights = vertex_cover.public_weights(4, epsilon)
    pairs = list(itertools.combinations(range(4), 2))
    laws = {
        some: cover_law(4, list(some), weights) for size in range(7) for some in itertools.combinations(pairs, size)
    }
    nearest = 0.0
    for some, law in laws.items():
        for edge in some:
            less = laws[tuple(each for each in some if each != edge)]
            nearest = max(nearest, *(abs(math.log(law[order] / less[order])) for order in law))
    assert nearest <= float(epsilon)
    assert nearest > 0.3 * float(epsilon)


@pytest.mark.statistical
def test_vertices_are_drawn_by_their_law() -> None:
    edges = [(0, 1), (1, 2), (2, 3)]  # once a vertex is gone, its edges count no more
    weights = vertex_cover.public_weights(4, Fraction(9))
    bits, graph = secure(), graph_of(4, edges)
    drawn(lambda: tuple(vertex_cover.draw_order(graph, weights, bits)), cover_law(4, edges, weights))


def test_the_public_weights_cost_what_is_paid_and_not_much_less() -> None:
    for nodes in (2, 10, 1_000):
        for epsilon in ("0.1", "1", "5"):
            weights = vertex_cover.public_weights(nodes, Fraction(epsilon))
            w = [each / vertex_cover._GRID for each in weights]
            plain = sum(math.log(1 + 2 / ((nodes - i) * w[i])) for i in range(nodes - 1))
            cost = max(math.log(1 + 1 / min(w)), plain)
            assert 0.98 * float(epsilon) < cost <= float(epsilon)


@pytest.mark.statistical
def test_the_centre_of_a_star_comes_first_and_a_curator_stores_the_order() -> None:
    """A star of 400 edges at epsilon 4: the centre has 400 of weights near 1,600 in the first rounds."""
    edges = [(0, other) for other in range(1, 400)]
    order = list(learning.vertex_cover(edges, nodes=400, epsilon=4)["vertex"])
    assert sorted(order) == list(range(400))
    assert order.index(0) < 40
    with pytest.raises(ParameterError, match="nodes"):
        learning.vertex_cover(edges, epsilon=1)


def places_law(apart: Any, k: int, swaps: int, factor: float) -> Law:
    """k-median's law, by walking every way."""
    spots = range(len(apart[0]))

    def cost(some: Any) -> float:
        return float(sum(min(row[place] for place in some) for row in apart))

    def shared(options: list[Any]) -> list[tuple[Any, float]]:
        weights = [math.exp(-factor * cost(option)) for option in options]
        return [(option, weight / sum(weights)) for option, weight in zip(options, weights, strict=True)]

    ways: list[tuple[list[int], list[tuple[int, ...]], float]] = [([], [], 1.0)]
    for _ in range(k):
        grown = []
        for chosen, met, chance in ways:
            options = [[*chosen, place] for place in spots if place not in chosen]
            grown += [(option, met, chance * share) for option, share in shared(options)]
        ways = grown
    ways = [(chosen, [tuple(sorted(chosen))], chance) for chosen, _, chance in ways]
    for _ in range(swaps):
        grown = []
        for chosen, met, chance in ways:
            others = [place for place in spots if place not in chosen]
            options = [chosen] + [[*(p for p in chosen if p != out), into] for out in chosen for into in others]
            grown += [(o, [*met, tuple(sorted(o))], chance * share) for o, share in shared(options)]
        ways = grown
    law: Law = {}
    for _, met, chance in ways:
        for some, share in shared(met):
            law[tuple(some)] = law.get(tuple(some), 0.0) + chance * share
    return law


def test_laws_of_k_median_on_neighbours_are_within_epsilon_by_enumeration() -> None:
    rng = np.random.default_rng()
    nearest = 0.0
    for case in range(30):
        rows, longest = 1 + case % 2, 20
        plan = greedy.plan_greedy(4, rows, Fraction(1), Fraction(0), most=longest, submodular=False)
        apart = rng.integers(0, longest + 1, (5, 3))
        more = np.vstack([apart, rng.choice([0, longest], (rows, 3))])
        laws = [places_law(each.tolist(), 2, 1, float(plan.each.factor)) for each in (apart, more)]
        nearest = max(nearest, *(abs(math.log(laws[0][key] / laws[1][key])) for key in laws[0]))
    assert 0.1 < nearest <= 1


@pytest.mark.statistical
def test_k_median_has_the_stated_law() -> None:
    apart = np.array([[0, 5, 9], [9, 1, 4], [7, 7, 0], [2, 8, 8]], dtype=np.int32)
    plan = greedy.plan_greedy(4, 1, Fraction(3), Fraction(0), most=9, submodular=False)
    bits = secure()
    law = places_law(apart.tolist(), 2, 1, float(plan.each.factor))
    drawn(lambda: tuple(k_median.search(apart, 2, 1, plan.each, bits)), law, 1_500)


def k_median_pairs(cases: int, rng: np.random.Generator) -> float:
    """The largest share of the stated sensitivity that a unit's rows were seen to move any cost by."""
    used = 0.0
    for _ in range(cases):
        widths = rng.choice([1, 7, 1_000, (1 << 42) + 1], int(rng.integers(1, 4)))
        features = tuple(Feature(f"c{i}", -3, int(width), Fraction(1, 8)) for i, width in enumerate(widths))
        sizes = own_sizes(features)
        points = [tuple(float(rng.uniform(-3 / 8, (w - 3) / 8)) for w in widths) for _ in range(4)]
        spots = k_median.scaled_places(points, features, sizes)
        longest, r = k_median.longest_distance(spots, sizes), int(rng.integers(1, 4))
        codes = np.stack([rng.choice([-3, w - 3, -9, w + 9, w // 2], 6 + r) for w in widths], axis=1)
        apart = k_median.distances(scaled_rows(codes, features, sizes), spots)
        for some in itertools.chain.from_iterable(itertools.combinations(range(4), k) for k in (1, 2)):
            moved = k_median.cost(apart, some) - k_median.cost(apart[:-r], some)
            assert 0 <= moved <= r * longest
            used = max(used, moved / (r * longest))
    return used


def test_a_units_rows_move_the_cost_of_places_by_at_most_its_sensitivity_and_one_way() -> None:
    assert k_median_pairs(150, np.random.default_rng()) > 0.99


def coverage_pairs(cases: int, rng: np.random.Generator) -> float:
    """The largest share of a unit's worth that its gains added up to, over greedy orders: never more than 1."""
    used = 0.0
    for _ in range(cases):
        values, sets, r = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        worths = rng.choice([0, 1, 999, greedy.STEPS], (sets, values))
        counts = rng.integers(0, 9, values)
        more = counts.copy()
        np.add.at(more, rng.integers(0, values, r), 1)
        total, order = 0, rng.permutation(sets).tolist()
        for turn, place in enumerate(order):
            gains = greedy.best_worths(worths, more, order[:turn]) - greedy.best_worths(worths, counts, order[:turn])
            assert (gains >= 0).all()
            assert (gains <= r * greedy.STEPS).all()
            total += int(gains[place])
        assert total <= r * greedy.STEPS
        used = max(used, total / (r * greedy.STEPS))
    return used


def test_a_units_gains_go_one_way_and_add_up_to_at_most_its_rows() -> None:
    assert coverage_pairs(500, np.random.default_rng()) == 1.0


@pytest.mark.statistical
def test_coverage_chooses_what_covers_most_on_arrays_and_for_a_curator() -> None:
    """Gains of 300 against 40 rows at epsilon 1 a choice: the wrong one has probability exp(-260)."""
    data = np.array(["a"] * 200 + ["b"] * 100 + ["c"] * 150 + ["d"] * 30)
    sets = {"ab": ["a", "b"], "a": ["a"], "cd": ["c", "d"], "d": ["d"]}
    found = learning.maximum_coverage(data, sets=sets, choose=2, epsilon=2, values=["a", "b", "c", "d"])
    assert list(found["set"]) == ["ab", "cd"]
    assert found.receipt["epsilon"] == "2"
    order = learning.set_cover(data, sets=sets, epsilon=4, values=["a", "b", "c", "d"])
    assert list(order["set"])[:2] == ["ab", "cd"]
    assert sorted(order["set"]) == sorted(sets)
    worth = {"most": {"a": "0.9", "c": "0.9"}, "little": {"a": 0.1, "b": 0.2}}
    assert learning.maximum_coverage(
        data, sets=worth, choose=1, epsilon=1, values=["a", "b", "c", "d"]
    )["set"] == ("most",)  # fmt: skip
    curator, _ = clinic()
    before = len(curator.ledger())
    asked: dict[str, Any] = {"sets": {"women": ["F"], "men": ["M"]}, "choose": 1, "epsilon": 1}
    first = learning.maximum_coverage(curator.rows("SELECT sex FROM data"), **asked)
    entries = len(curator.ledger())
    assert entries > before
    again = learning.maximum_coverage(curator.rows("SELECT sex FROM data"), **asked)
    assert again.repeated
    assert again["set"] == first["set"]
    assert len(curator.ledger()) == entries
    assert first.receipt["rows_per_unit"] == "3"


@pytest.mark.statistical
def test_k_median_chooses_places_among_the_rows() -> None:
    rng = np.random.default_rng()
    rows = np.vstack([rng.normal((10, 10), 1, (2_000, 2)), rng.normal((80, 30), 1, (2_000, 2))])
    places = [(0, 0), (10, 10), (50, 20), (80, 30), (99, 99), (20, 80)]
    found = learning.k_median(rows, places=places, k=2, epsilon=1, bounds=(0, 100))
    assert sorted(found["place"]) == [1, 3]
    assert set(found["x0"]) == {10.0, 80.0}
    charged = events.from_json(found.receipt["event"])
    assert isinstance(charged, events.Repeated)
    assert charged.count == 2 + 2 + 1  # greedy choices, swaps, and the last one
    better = learning.k_median(rows, places=places, k=2, swaps=40, epsilon=1, delta=1e-6, bounds=(0, 100))
    assert compose([events.from_json(better.receipt["event"])]).delta(1) <= 1e-6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: learning.maximum_coverage(d, sets={}, choose=1, epsilon=1, values=["a"]), "sets"),
        (lambda d: learning.maximum_coverage(d, sets={"s": ["z"]}, choose=1, epsilon=1, values=["a"]), "sets"),
        (lambda d: learning.maximum_coverage(d, sets={"s": "a"}, choose=1, epsilon=1, values=["a"]), "sets"),
        (lambda d: learning.maximum_coverage(d, sets={"s": {"a": 2}}, choose=1, epsilon=1, values=["a"]), "worths"),
        (lambda d: learning.maximum_coverage(d, sets={"s": ["a"]}, choose=2, epsilon=1, values=["a"]), "choose"),
        (lambda d: learning.maximum_coverage(d, sets={"s": ["a"]}, choose=1, epsilon=0, values=["a"]), "epsilon"),
        (lambda d: learning.set_cover(d, sets={"s": {"a": 0.5}}, epsilon=1, values=["a"]), "worths"),
        (lambda d: learning.k_median(np.ones(3), places=[(1, 2)], k=1, epsilon=1, bounds=(0, 2)), "places"),
        (lambda d: learning.k_median(np.ones(3), places=[1], k=2, epsilon=1, bounds=(0, 2)), "k"),
        (lambda d: learning.k_median(np.ones(3), places=np.ones(2), k=1, epsilon=1, bounds=(0, 2)), "places"),
        (lambda d: learning.k_median(np.ones(3), places=[1], k=1, epsilon=1), "bounds"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_paid(call: Any, words: str) -> None:
    with pytest.raises((ParameterError, QuestionError), match=words):
        call(np.array(["a", "a"]))


def test_no_rows_are_chosen_from_as_well() -> None:
    empty = learning.maximum_coverage(np.array(["z"]), sets={"s": ["a"], "t": ["a"]}, choose=2, epsilon=1, values=["a"])
    assert sorted(empty["set"]) == ["s", "t"]
    found = learning.k_median(np.full(4, np.nan), places=[1, 2], k=1, epsilon=1, bounds=(0, 2))
    assert found["place"][0] in (0, 1)
    assert isinstance(coverage._worths(Feature("a", 0, 1, Fraction(1), ("x",)), {"s": ["x"]})[1], np.ndarray)
    assert FINE > 0
    assert tacit.learning is learning
