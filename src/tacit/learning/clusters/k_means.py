"""`KMeans`: clusters from a tree of noisy histograms and a few noisy steps, or from Lloyd's rounds alone.

Theorem. "tree": L levels of counts (`partition`), then T rounds of steps (`lloyd`), each with noise for its own
sensitivity, charged together (`calibrated`). "lloyd": T rounds of counts and sums of whole rows, from centres that are
drawn without the data; counts and sums have epsilon/(2 T) each. Without a delta all noise is Laplace's, and the price
is pure. What is made of the released numbers is post-processing. Levels, rounds and shares depend on public numbers.

Distances are in the data's own units, as scikit-learn's are; a listed value is a coordinate of 1 or 0.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and listed values are public.
Source: see `partition` and `lloyd`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from sklearn import cluster
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tacit import parameters
from tacit.curator import Price
from tacit.learning.calibrated import Noise, Part, calibrated, deviation
from tacit.learning.clusters import lloyd
from tacit.learning.clusters.lloyd import FINE, LENGTH
from tacit.learning.clusters.partition import Coreset, Partition
from tacit.learning.columns import Feature, Reals
from tacit.learning.model import Model, scales
from tacit.learning.training import training
from tacit.mechanisms import Laplace
from tacit.noise import BitSource, uniform_below
from tacit.statistics.finding import Content, column
from tacit.statistics.source import Opened, Whole

METHODS: Final = ("best", "tree", "lloyd")
_TREE_SHARE = Fraction(3, 5)
_STEPS = 2  # rounds after the tree
_ROUNDS = 5  # of Lloyd's method alone
_CONSTANT = LENGTH * 35 // 100
_RADIUS = 1.5  # times the distance of rows from the points of the coreset
_MOST_COORDINATES, _MOST_CLUSTERS = 1 << 10, 1 << 10


@dataclass(frozen=True, slots=True)
class Clustering:
    """What is released, and with which noise; all of it is known before a row is read."""

    features: tuple[Feature, ...]
    clusters: int
    sizes: tuple[int, ...]  # of each column's coordinates
    levels: int  # of the tree; 0 where there is none
    rounds: int
    constant: int
    noises: tuple[Noise, ...]
    price: Price

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace's."""
        return isinstance(self.noises[0], Laplace)

    def learn(self, codes: Whole, bits: BitSource) -> Whole:
        """The centres. `codes` of listed columns are places."""
        rows = lloyd.scaled_rows(codes, self.features, self.sizes)
        if not self.levels:
            return self._from_anywhere(rows, bits)
        tree = Partition(self.features, self.levels, tuple(map(float, self.sizes)), deviation(self.noises[0]))
        found = tree.grow(codes, lambda counts: np.asarray(self.noises[0].release(counts, bits=bits)))
        centres = centres_of(found, self.clusters)
        radius = max(math.ceil(_RADIUS * math.sqrt(found.spread)), 16)
        if self.pure:
            radius = math.ceil(radius * math.sqrt(rows.shape[1]))
        for _ in range(self.rounds):
            homes = lloyd.nearest(rows, centres)
            ways = lloyd.steps(rows, homes, centres, radius, self.pure)
            exact = lloyd.whole_sums(ways, homes, self.clusters, self.constant)
            noisy = np.asarray(self.noises[1].release(exact, bits=bits), dtype=np.float64)
            centres = lloyd.moved_centres(centres, noisy, self.constant, radius, deviation(self.noises[1]))
        return centres

    def _from_anywhere(self, rows: Whole, bits: BitSource) -> Whole:
        drawn = uniform_below(2 * FINE + 1, self.clusters * rows.shape[1], bits).reshape(self.clusters, -1) - FINE
        spans = np.array([s for each, s in zip(self.features, self.sizes, strict=True) for _ in range(each.size)])
        centres = np.sign(drawn) * (np.abs(drawn) * spans // FINE)
        noise = deviation(self.noises[0]) / self.constant
        for _ in range(self.rounds):
            homes = lloyd.nearest(rows, centres)
            exact = lloyd.whole_sums(rows, homes, self.clusters, self.constant)
            noisy = np.asarray(self.noises[0].release(exact, bits=bits), dtype=np.float64)
            counts = noisy[:, 0] / self.constant
            means = np.clip(np.rint(noisy[:, 1:] / np.maximum(counts, 1.0)[:, None]), -spans, spans).astype(np.int64)
            centres = np.where((counts > noise)[:, None], means, centres)
        return np.asarray(centres)


def plan_clusters(
    features: tuple[Feature, ...], clusters: int, method: str, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Clustering:
    """What is released for a budget, from public numbers."""
    width, m, r = sum(each.size for each in features), len(features), rows_per_unit
    if width > _MOST_COORDINATES:
        allowed = f"at most {_MOST_COORDINATES:,} coordinates, one for each listed value"
        raise parameters.refuse("columns", allowed, width)
    sizes = lloyd.own_sizes(features)
    if method == "lloyd" or (method == "best" and clusters == 1):
        rounds = 1 if clusters == 1 else _ROUNDS
        total, squared = sum(sizes), sum(each * each for each in sizes)
        constant = total if delta == 0 else math.isqrt(squared)
        part = Part(
            r * (constant + total), r * r * (constant**2 + squared), clusters * (width + 1), Fraction(1), rounds
        )
        noises, price = calibrated([part], epsilon, delta)
        return Clustering(features, clusters, sizes, 0, rounds, constant, noises, price)
    levels = max(clusters - 1, 1).bit_length() + 2
    tree = Partition(features, levels, tuple(map(float, sizes)), 1.0)
    counted = Part(r * m, r * r * m, tree.most, _TREE_SHARE, levels)
    moved = Part(
        r * (_CONSTANT + LENGTH),
        r * r * (_CONSTANT**2 + LENGTH**2),
        clusters * (width + 1),
        1 - _TREE_SHARE,
        _STEPS,
    )
    noises, price = calibrated([counted, moved], epsilon, delta)
    return Clustering(features, clusters, sizes, levels, _STEPS, _CONSTANT, noises, price)


def centres_of(found: Coreset, clusters: int) -> Whole:
    """k-means of the coreset; where there are fewer points than clusters, points are duplicated in place."""
    points, weights = found.points, np.maximum(found.weights, 1e-6)
    aside = math.sqrt(max(found.spread, 1.0) / points.shape[1])
    turn = 0
    while len(points) < clusters:
        signs = np.array([1.0 if (turn >> (place % 16)) & 1 else -1.0 for place in range(points.shape[1])])
        heaviest = int(np.argmax(weights))
        weights[heaviest] /= 2
        points = np.vstack([points, points[heaviest] + aside * signs])
        weights = np.append(weights, weights[heaviest])
        turn += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = cluster.KMeans(clusters, n_init=10, random_state=0).fit(points, sample_weight=weights)
    return np.asarray(np.clip(np.rint(made.cluster_centers_), -FINE, FINE), dtype=np.int64)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):
    """The centres of `n_clusters` clusters. There is no `labels_` and no `inertia_`: both are facts about the rows.

    method: "tree", "lloyd", or "best" of them. epsilon, delta: the price; without a delta the noise is Laplace's.
    bounds, values: public facts about arrays.

    >>> KMeans(3, epsilon=1, bounds=(0, 100)).fit([[20], [30], [80]]).cluster_centers_.shape
    (3, 1)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "best",
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        values: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> KMeans:  # noqa: N803
        """Learn from rows of a curator or from arrays. y is not used."""
        clusters = parameters.whole("n_clusters", self.n_clusters, least=1)
        if clusters > _MOST_CLUSTERS:
            raise parameters.refuse("n_clusters", f"at most {_MOST_CLUSTERS:,}", clusters)
        if self.method not in METHODS:
            raise parameters.refuse("method", f"one of {', '.join(map(repr, METHODS))}", self.method)
        epsilon, delta = self._budget()
        given = training(self, X, y, None)
        plan = plan_clusters(given.features, clusters, self.method, given.source.rows_per_unit, epsilon, delta)
        names = [each.name for each in given.features]
        coordinates = [name for each in given.features for name in each.coordinates]
        half, middle = scales(given.features)

        def compute(opened: Opened, bits: BitSource) -> Content:
            codes = placed(opened.values(*names), given.features, opened.meanings(*names))
            centres = plan.learn(codes, bits) / FINE
            own = (middle + centres * half.max()).T
            places = (column(f"centre {name}", each) for name, each in zip(coordinates, own, strict=True))
            table = (column("cluster", list(range(clusters))), *places)
            return Content(f"Clusters of {', '.join(names)}", table, (), {"centres": centres})

        asked = {"study": "k-means", "clusters": clusters, "levels": plan.levels, "rounds": plan.rounds}
        asked |= {"coordinates": [[each.name, each.size] for each in given.features]}
        finding = given.source.release(asked, plan.price, compute, analyst=analyst)
        self._keep(finding, given.features)
        self.cluster_centers_ = middle + np.asarray(finding["centres"]) * half.max()
        self.n_iter_ = plan.rounds
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """Learn from arrays, then say which cluster each row is in: exact, so only for the holder of these rows."""
        return self.fit(X).predict(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """How far each row is from each centre, values being clamped to their bounds."""
        rows = self._vectors(X)
        half, middle = scales(self._features)
        rows = middle + half * rows
        apart = [np.linalg.norm(rows - centre, axis=1) for centre in self.cluster_centers_]
        return np.stack(apart, axis=1)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The cluster whose centre is nearest."""
        return self.transform(X).argmin(axis=1)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The squared distances of these rows from their centres, summed and negative.

        Exact, so only for the holder of these rows.
        """
        return -float(np.square(self.transform(X).min(axis=1)).sum())


def placed(codes: Whole, features: tuple[Feature, ...], meanings: list[str]) -> Whole:
    """Codes, those of listed columns being the places of their values."""
    found = codes.copy()
    for place, (each, meaning) in enumerate(zip(features, meanings, strict=True)):
        if each.options is not None:
            found[:, place] = each.places(codes[:, place], meaning)
    return found
