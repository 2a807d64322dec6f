"""Scores that models and peers share."""

from __future__ import annotations

from typing import Any

import numpy as np

COMPONENTS = 10


def captured(rows: Any, components: Any) -> float:
    """The variance of the rows along these directions, as a share of the most that so many directions can have."""
    spread = np.cov(rows.T)
    kept = np.linalg.qr(np.asarray(components).T)[0]
    return float(np.trace(kept.T @ spread @ kept) / np.linalg.eigvalsh(spread)[-len(components) :].sum())
