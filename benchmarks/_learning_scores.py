"""Scores that models and peers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

COMPONENTS = 10
CLUSTERS = 10


def captured(rows: Any, components: Any) -> float:
    """The variance of the rows along these directions, as a share of the most that so many directions can have."""
    spread = np.cov(rows.T)
    kept = np.linalg.qr(np.asarray(components).T)[0]
    return float(np.trace(kept.T @ spread @ kept) / np.linalg.eigvalsh(spread)[-len(components) :].sum())


def excess(rows: Any, centres: Any) -> float:
    """The rows' squared distances from the nearest centre, as a multiple of those that scikit-learn finds."""
    best = KMeans(len(centres), n_init=10, random_state=0).fit(rows).inertia_
    apart = np.square(rows[:, None] - np.asarray(centres)[None]).sum(axis=2).min(axis=1)
    return float(apart.sum() / best)
