"""k-means, its squared distances as a multiple of scikit-learn's without privacy."""

from __future__ import annotations

from _learning_data import Split
from _learning_frame import DELTA, Entry, bars
from _learning_scores import CLUSTERS, excess
from tacit import learning


def clusters(split: Split, epsilon: float) -> float:
    rows = split.train.matrix
    model = learning.KMeans(CLUSTERS, epsilon=epsilon, delta=DELTA, bounds=(0, 1)).fit(rows)
    return excess(rows, model.cluster_centers_)


def pure_clusters(split: Split, epsilon: float) -> float:
    rows = split.train.matrix
    return excess(rows, learning.KMeans(CLUSTERS, epsilon=epsilon, bounds=(0, 1)).fit(rows).cluster_centers_)


def plain(split: Split) -> float:
    return 1.0


BARS = bars(20, 10, 2.2, 1.1, 1.1)
ENTRIES = (
    Entry("k-means", "blobs", clusters, plain, BARS, "squared distances, lower is better", True),
    Entry("k-means", "digits", clusters, plain, {}, "squared distances, lower is better", True),
    Entry("k-means (pure epsilon)", "blobs", pure_clusters, plain, {}, "squared distances, lower is better", True),
)
