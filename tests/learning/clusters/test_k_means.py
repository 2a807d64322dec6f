"""k-means: what one unit moves, a row's part is its own, all noise is charged, and clusters are found."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from tacit import learning
from tacit.errors import ParameterError
from tacit.learning.clusters import lloyd
from tacit.learning.clusters.k_means import Clustering, centres_of, plan_clusters
from tacit.learning.clusters.partition import BINS, Box, Coreset, Partition, nearest_shares
from tacit.learning.columns import Feature
from tacit.loss import compose, events
from tests.learning.second_moments.test_gram import cells, clinic, columns

CASES = 1_000


def placed_cells(features: tuple[Feature, ...], rows: int, rng: np.random.Generator) -> Any:
    """Codes at the ends, between them and beyond; of listed columns places, -1 for what is not listed."""
    found = np.stack([cells(each, rows, rng) for each in features], axis=1)
    for place, each in enumerate(features):
        if each.options is not None:
            found[found[:, place] >= each.size, place] = -1
    return found


def norms(moved: Any) -> tuple[int, int]:
    """The L1 norm and the squared L2 norm, in Python's own integers."""
    flat = [int(each) for each in np.asarray(moved).ravel()]
    return sum(map(abs, flat)), sum(each * each for each in flat)


def within(noise: Any, moved: Any) -> float:
    """How much of the stated sensitivity is used; more than 1 is a violation."""
    taxicab, squared = norms(moved)
    event = noise.event
    if isinstance(event, events.DiscreteLaplace):
        return taxicab / event.sensitivity
    assert isinstance(event, events.DiscreteGaussian)
    return float(squared / event.sensitivity**2)


def some_leaves(tree: Partition, codes: Any, rng: np.random.Generator) -> tuple[list[Box], Any]:
    """Leaves as a tree of noisy counts would make them, and where rows stand."""
    noise = float(rng.choice([0.0, 3.0, 300.0]))
    leaves, home = [Box(tuple((e.low, e.low + e.width) for e in tree.features), np.zeros(tree.starts[-1]))], None
    home = np.zeros(len(codes), dtype=np.int64)
    for _ in range(int(rng.integers(0, 4))):
        counts = 50 + tree.counts(codes, home, leaves) + rng.normal(0, noise, (len(leaves), tree.starts[-1]))
        leaves = [Box(leaf.ends, found, 1) for leaf, found in zip(leaves, counts, strict=True)]
        leaves, home = tree._cut(codes, home, leaves)
    return leaves, home


def neighbour_pairs(cases: int, rng: np.random.Generator) -> dict[str, float]:
    """The largest share of each stated sensitivity that a unit's rows were seen to use."""
    used: dict[str, float] = {}
    for turn in range(cases):
        if turn % 50 == 0:
            features, r = columns(rng), int(rng.integers(1, 4))
            clusters, delta = int(rng.integers(1, 6)), Fraction(int(rng.integers(0, 2)), 100)
            tree_plan = plan_clusters(features, clusters, "tree", r, Fraction(1), delta)
            whole_plan = plan_clusters(features, clusters, "lloyd", r, Fraction(1), delta)
        tree = Partition(features, tree_plan.levels, tuple(map(float, tree_plan.sizes)), 1.0)
        codes = placed_cells(features, 30, rng)
        codes = np.vstack([codes, np.repeat(codes[:1], r, axis=0) if rng.random() < 0.5 else codes[:r]])
        leaves, home = some_leaves(tree, codes, rng)
        with_unit, without = tree.counts(codes, home, leaves), tree.counts(codes[:-r], home[:-r], leaves)
        found = {"tree": within(tree_plan.noises[0], with_unit - without)}
        rows = lloyd.scaled_rows(codes, features, tree_plan.sizes)
        centres = rng.integers(-lloyd.FINE, lloyd.FINE + 1, (clusters, rows.shape[1]))
        homes = lloyd.nearest(rows, centres)
        assert (homes[:-r] == lloyd.nearest(rows[:-r], centres)).all()
        for name, plan in (("steps", tree_plan), ("rounds", whole_plan)):
            radius = int(rng.choice([16, 1000, 1 << 17, 1 << 20]))
            parts = lloyd.steps(rows, homes, centres, radius, plan.pure) if name == "steps" else rows
            sums = lloyd.whole_sums(parts, homes, clusters, plan.constant)
            before = lloyd.whole_sums(parts[:-r], homes[:-r], clusters, plan.constant)
            found[name] = within(plan.noises[-1], sums - before)
        used = {name: max(used.get(name, 0.0), share) for name, share in found.items()}
    return used


def test_a_units_rows_move_every_released_vector_by_at_most_its_sensitivity() -> None:
    used = neighbour_pairs(CASES, np.random.default_rng())
    assert set(used) == {"tree", "steps", "rounds"}
    assert all(0.97 < share <= 1 for share in used.values()), used  # never exceeded, and reached


def test_sums_of_all_rows_are_the_sums_of_the_rows_one_by_one() -> None:
    rng = np.random.default_rng()
    for _ in range(25):
        features = columns(rng)
        plan = plan_clusters(features, 3, "tree", 1, Fraction(1), Fraction(1, 100))
        tree = Partition(features, 4, tuple(map(float, plan.sizes)), 1.0)
        codes = placed_cells(features, 40, rng)
        leaves, home = some_leaves(tree, codes, rng)
        alone = sum(tree.counts(codes[[i]], home[[i]], leaves) for i in range(40))
        assert (alone == tree.counts(codes, home, leaves)).all()
        rows = lloyd.scaled_rows(codes, features, plan.sizes)
        centres = rng.integers(-lloyd.FINE, lloyd.FINE + 1, (3, rows.shape[1]))
        homes = lloyd.nearest(rows, centres)
        steps = lloyd.steps(rows, homes, centres, 999, bool(rng.integers(0, 2)))
        assert steps.shape == rows.shape
        one = [lloyd.nearest(rows[[i]], centres)[0] for i in range(40)]
        assert (homes == one).all()


def test_the_nearest_centre_is_the_nearest_in_exact_arithmetic() -> None:
    rng = np.random.default_rng()
    rows = rng.integers(-lloyd.FINE, lloyd.FINE + 1, (300, 9))
    centres = rng.integers(-lloyd.FINE, lloyd.FINE + 1, (7, 9))
    centres[4] = centres[2]  # a tie goes to the first
    apart = [[sum((int(a) - int(b)) ** 2 for a, b in zip(row, c, strict=True)) for c in centres] for row in rows]
    assert lloyd.nearest(rows, centres).tolist() == [each.index(min(each)) for each in apart]


def test_bins_are_those_of_the_boxes_and_cuts_send_rows_where_their_bins_were() -> None:
    """Counts against a plain histogram; and after a cut, a leaf's rows are those of its bins."""
    feature = Feature("a", 5, 99, Fraction(1))
    tree = Partition((feature,), 3, (1.0,), 0.0)
    codes = np.random.default_rng().integers(5, 105, (400, 1))
    root = Box(((5, 104),), np.zeros(BINS))
    exact = tree.counts(codes, np.zeros(400, dtype=np.int64), [root])[0]
    assert exact.tolist() == np.histogram(codes[:, 0], np.arange(BINS + 1) * 100 / BINS + 5)[0].tolist()
    leaves, home = tree._cut(codes, np.zeros(400, dtype=np.int64), [Box(root.ends, exact.astype(float), 1)])
    below, above = leaves[0].ends[0], leaves[1].ends[0]
    assert (below[0], above[1]) == (5, 104)
    assert below[1] + 1 == above[0]
    assert (home == (codes[:, 0] >= above[0])).all()
    first = int((home == 0).sum())
    assert first in np.cumsum(exact).tolist()


def test_the_cut_is_the_one_of_least_squared_distances() -> None:
    """Against all cuts of two columns, by their definition; the second column is three times as long."""
    rng = np.random.default_rng()
    features = (Feature("a", 0, BINS - 1, Fraction(1)), Feature("b", 0, BINS - 1, Fraction(1)))
    sizes = (1.0, 3.0)
    tree = Partition(features, 3, sizes, 0.0)
    for _ in range(40):
        codes = np.stack([rng.choice([0, 1, 6, 7], 60), rng.integers(2, 6, 60)], axis=1)
        counts = tree.counts(codes, np.zeros(60, dtype=np.int64), [Box(((0, BINS - 1),) * 2, np.zeros(2 * BINS))])[0]
        best = tree._best(Box(((0, BINS - 1),) * 2, counts.astype(float), 1))
        assert best is not None
        left: dict[tuple[int, int], float] = {}
        for column, size in enumerate(sizes):
            u = (2 * codes[:, column] / (BINS - 1) - 1) * size
            for code in range(1, BINS):
                sides = [u[codes[:, column] < code], u[codes[:, column] >= code]]
                kept = sum(float(np.square(s - s.mean()).sum()) for s in sides if len(s))
                left[column, code] = float(np.square(u - u.mean()).sum()) - kept
        assert best[0] == pytest.approx(max(left.values()))
        assert left[best[1].column, best[1].code] == pytest.approx(max(left.values()))


def test_listed_values_are_cut_off_where_that_lessens_distances_most() -> None:
    feature = Feature("a", 0, 1, Fraction(1), ("x", "y", "z"))
    tree = Partition((feature,), 3, (1.0,), 0.0)
    codes = np.array([[0]] * 50 + [[1]] * 30 + [[2]] * 20 + [[-1]] * 4)
    counts = tree.counts(codes, np.zeros(104, dtype=np.int64), [Box(((0, 1),), np.zeros(3))])[0]
    assert counts.tolist() == [50, 30, 20]
    best = tree._best(Box(((0, 1),), counts.astype(float), 1))
    assert best is not None
    vectors = np.eye(3)[codes[:100, 0]]
    total = np.square(vectors - vectors.mean(axis=0)).sum()
    gains = []
    for value in range(3):
        sides = [vectors[codes[:100, 0] == value], vectors[codes[:100, 0] != value]]
        gains.append(total - sum(np.square(s - s.mean(axis=0)).sum() for s in sides))
    assert best[0] == pytest.approx(max(gains))
    assert best[1].code == int(np.argmax(gains))


def test_nearest_shares_are_the_nearest() -> None:
    rng = np.random.default_rng()
    for _ in range(50):
        numbers = rng.normal(0, 1, 5)
        found = nearest_shares(numbers)
        assert found.sum() == pytest.approx(1)
        assert (found >= 0).all()
        others = rng.dirichlet(np.ones(5) * 0.5, 200)
        assert np.square(others - numbers).sum(axis=1).min() >= np.square(found - numbers).sum() - 1e-12


@pytest.mark.parametrize("method", ["tree", "lloyd"])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-5"), ("1", "0"), ("10", "1e-6"), ("1000", "1e-5")])
def test_the_charged_event_is_what_is_drawn_and_is_worth_the_price(
    method: str, epsilon: str, delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.mechanisms import Gaussian, Laplace

    drawn: list[events.Event] = []
    for kind in (Gaussian, Laplace):
        release = kind.release

        def watched(self: Any, values: Any, *, release: Any = release, **options: Any) -> Any:
            drawn.append(self.event)
            return release(self, values, **options)

        monkeypatch.setattr(kind, "release", watched)
    X = np.random.default_rng().uniform(0, 1, (40, 2))
    model = learning.KMeans(3, method=method, epsilon=epsilon, delta=delta, bounds=(0, 1)).fit(X)
    charged = events.from_json(model.receipt_["event"])
    parts = charged.events if isinstance(charged, events.Composed) else (charged,)
    told = [part for each in parts for part in [each.event] * each.count if isinstance(each, events.Repeated)]
    assert drawn == told
    assert len(drawn) == (6 if method == "tree" else 5)
    assert compose([charged]).delta(Fraction(epsilon)) <= float(Fraction(delta))
    if Fraction(epsilon) <= 10:  # and nothing is given away
        assert compose([charged]).epsilon(Fraction(delta)) > 0.95 * float(Fraction(epsilon))


def test_in_lloyds_rounds_counts_and_sums_have_epsilon_over_twice_the_rounds_each() -> None:
    features = (
        Feature("a", 0, 9, Fraction(1)),
        Feature("b", 0, 9, Fraction(2)),
        Feature("c", 0, 1, Fraction(1), (0, 1)),
    )
    plan = plan_clusters(features, 4, "lloyd", 1, Fraction(1), Fraction(0))
    event = plan.noises[0].event
    assert isinstance(event, events.DiscreteLaplace)
    assert plan.rounds == 5
    assert Fraction(plan.constant) / event.scale == Fraction(1, 2 * 5)  # what a count of 1 is worth
    assert Fraction(sum(plan.sizes)) / event.scale == Fraction(1, 2 * 5)
    # the columns' lengths in the data's own units: 4.5, 9, and 1 for listed values
    assert plan.sizes == (lloyd.FINE // 2, lloyd.FINE, lloyd.FINE // 9)


def inertia(model: Any, rows: Any) -> float:
    return float(np.square(rows[:, None] - model.cluster_centers_[None]).sum(axis=2).min(axis=1).sum())


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "delta", "most"), [(1, 1e-5, 1.2), (3, 0, 1.2)])
def test_clusters_that_are_apart_are_found(epsilon: float, delta: float, most: float) -> None:
    """Measured: at most 1.003 times the least inertia in 100 runs of each; merging two clusters gives far more."""
    X, y = make_blobs(6_000, 6, centers=4, random_state=3)
    best = sum(float(np.square(X[y == c] - X[y == c].mean(axis=0)).sum()) for c in range(4))
    model = learning.KMeans(4, epsilon=epsilon, delta=delta, bounds=(-15, 15)).fit(X)
    assert inertia(model, X) < most * best
    assert -model.score(X) == pytest.approx(inertia(model, X), rel=1e-6)
    assert len(set(model.predict(X[y == 0]))) == 1


def test_distances_are_in_the_datas_own_units() -> None:
    """Two columns, one a thousand times as long: the clusters are those of the long one."""
    rng = np.random.default_rng()
    X = np.stack([rng.choice([-900.0, 900.0], 3_000), rng.uniform(-1, 1, 3_000)], axis=1)
    model = learning.KMeans(2, epsilon=20, delta=1e-5, bounds=([-1000, -1], [1000, 1])).fit(X)
    assert sorted(np.round(model.cluster_centers_[:, 0], -1)) == [-900, 900]


def test_a_curators_clusters_are_stored_and_listed_values_are_shares() -> None:
    curator, frame = clinic()
    rows = curator.rows("SELECT age, charge, sex, smoker FROM data")
    before = len(curator.ledger())
    model = learning.KMeans(3, epsilon=5, delta=1e-6).fit(rows)
    entries = len(curator.ledger())
    assert entries > before
    again = learning.KMeans(3, epsilon=5, delta=1e-6).fit(rows)
    assert len(curator.ledger()) == entries
    assert (again.cluster_centers_ == model.cluster_centers_).all()
    other = learning.KMeans(2, epsilon=5, delta=1e-6).fit(rows)
    assert len(curator.ledger()) > entries
    assert len(other.cluster_centers_) == 2
    assert model.cluster_centers_.shape == (3, 6)
    assert model.predict(frame[["age", "charge", "sex", "smoker"]]).shape == (200,)
    assert model.receipt_["rows_per_unit"] == "3"
    assert list(model.get_feature_names_out()) == ["kmeans0", "kmeans1", "kmeans2"]


def test_nothing_exact_about_the_rows_is_kept() -> None:
    X = np.random.default_rng().uniform(0, 1, (50, 2))
    model = learning.KMeans(2, epsilon=1, bounds=(0, 1)).fit(X)
    for name in ("labels_", "inertia_", "n_samples_seen_"):
        assert not hasattr(model, name)
    shapes = {np.shape(value) for value in vars(model).values() if isinstance(value, np.ndarray)}
    assert shapes <= {(2, 2), (2,)}


@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("method", ["tree", "lloyd"])
@pytest.mark.parametrize("delta", [0, 1e-5])
def test_few_and_equal_rows_give_a_private_model(rows: int, method: str, delta: float) -> None:
    X = np.ones((rows, 7))
    model = learning.KMeans(5, method=method, epsilon=0.01, delta=delta, bounds=(0, 1)).fit(X)
    assert model.cluster_centers_.shape == (5, 7)
    assert np.isfinite(model.cluster_centers_).all()
    assert (np.abs(model.cluster_centers_ - 0.5) <= 0.5 + 1e-9).all()


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 5000}, "n_clusters"),
        ({"method": "elkan"}, "method"),
        ({"bounds": None}, "bounds"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
    ],
)
def test_what_is_wrong_is_refused_by_name(facts: dict[str, Any], words: str) -> None:
    whole: dict[str, Any] = {"n_clusters": 2, "epsilon": 1, "bounds": (0, 1), **facts}
    with pytest.raises(ParameterError, match=words):
        learning.KMeans(**whole).fit(np.ones((4, 2)))


def test_fewer_points_than_clusters_are_doubled_beside_themselves() -> None:
    made = centres_of(Coreset(np.zeros((1, 3)), np.array([5.0]), 30_000.0), 4)
    assert len({tuple(each) for each in made.tolist()}) == 4
    assert isinstance(
        plan_clusters((Feature("a", 0, 9, Fraction(1)),), 1, "best", 1, Fraction(1), Fraction(0)), Clustering
    )
