"""How far off a value can be at the most, whatever its noise was.

Theorem. A mean of numbers between two bounds lies between them, a variance between 0 and a quarter of their distance
squared (twice that for a sample, of two rows at least), a covariance within a quarter of the product of two distances,
a correlation between -1 and 1. Values that are shown are held to the same. So the exact value is no farther from the
one that is shown than the farther end, and an interval that is cut there loses nothing. It is cut at every level alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.floats import as_float
from tacit.plan.answers.formulas import Formula, Mean, Variance
from tacit.plan.answers.pairs import Covariance, Held
from tacit.plan.answers.roots import Root, Squared

_SAMPLE = 2.0  # n/(n - 1) for n of 2 or more


def range_of(formula: Formula) -> tuple[float, float] | None:
    """Between which values of a formula lie, exact and shown; None where nothing is known."""
    if isinstance(formula, Mean):
        return as_float(formula.low), as_float(formula.high)
    if isinstance(formula, Variance):
        return 0.0, as_float(formula.largest) * (_SAMPLE if formula.sample else 1.0)
    if isinstance(formula, Covariance):
        most = as_float(formula.largest) * (_SAMPLE if formula.sample else 1.0)
        return -most, most
    if isinstance(formula, Held):
        return formula.low, formula.high
    inside = range_of(formula.inside) if isinstance(formula, (Root, Squared)) else None
    if inside is None:
        return None
    if isinstance(formula, Root):
        return float(np.sqrt(max(inside[0], 0.0))), float(np.sqrt(max(inside[1], 0.0)))
    return 0.0, max(inside[0] ** 2, inside[1] ** 2)


def farthest(formula: Formula, values: NDArray[np.float64]) -> list[float | None] | None:
    """For each value how far the exact one can be; None for one that is missing, and where nothing is known."""
    ends = range_of(formula)
    if ends is None:
        return None
    low, high = ends
    return [None if not np.isfinite(each) else float(max(each - low, high - each)) for each in values]
