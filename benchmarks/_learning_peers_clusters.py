"""diffprivlib's k-means, on the matrices that scikit-learn gets."""

from __future__ import annotations

from diffprivlib.models import KMeans

from _learning_data import Split
from _learning_scores import CLUSTERS, excess


def clusters(split: Split, epsilon: float) -> float:
    model = KMeans(CLUSTERS, epsilon=epsilon, bounds=(0, 1)).fit(split.train.matrix)
    return excess(split.train.matrix, model.cluster_centers_)


PEERS = {
    ("k-means", "blobs"): clusters,
    ("k-means", "digits"): clusters,
    ("k-means (pure epsilon)", "blobs"): clusters,
}
