"""Rows for timing: 20 numbers, and a class that depends on all of them and bends with one. Needs numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

REACH = 4.0


def drawn(rows: int) -> tuple[Any, Any]:
    """So many rows, the same each time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 20)).clip(-REACH, REACH)
    weights = rng.normal(size=20)
    lean = 1 / (1 + np.exp(-(X @ weights) - np.sin(3 * X[:, 0])))
    return X, (rng.random(rows) < lean).astype(int)
