"""How far off a value can be at most, whatever its noise was.

Theorem. A mean of numbers between two bounds lies between them, a variance between 0 and a quarter of their distance
squared (twice that for a sample, of two rows at least), a covariance within a quarter of the product of two distances,
a correlation between -1 and 1. Shown values are clamped to the same bounds. So the exact value is no farther from the
shown one than the farther end, and an interval that is cut there loses nothing. It is cut at every level alike. A
rising function of such a number lies between its values at the ends; a choice among several numbers lies between the
least and the greatest of their ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.applied import Extreme, Rising
from tacit.plan.answers.cases import Choice
from tacit.plan.answers.floats import as_float
from tacit.plan.answers.formulas import Apply, Constant, Formula, Mean, Variance
from tacit.plan.answers.pairs import Covariance, Held
from tacit.plan.answers.roots import Root, Squared

_SAMPLE = 2.0  # n/(n - 1) for n of 2 or more


def range_of(formula: Formula) -> tuple[float, float] | None:
    """The two ends between which a formula's exact and shown values lie; None where nothing is known."""
    if isinstance(formula, Mean):
        return as_float(formula.low), as_float(formula.high)
    if isinstance(formula, Variance):
        return 0.0, as_float(formula.largest) * (_SAMPLE if formula.sample else 1.0)
    if isinstance(formula, Covariance):
        most = as_float(formula.largest) * (_SAMPLE if formula.sample else 1.0)
        return -most, most
    if isinstance(formula, Held):
        return formula.low, formula.high
    if isinstance(formula, Constant) and isinstance(formula.value, (int, float, Fraction)):
        return as_float(formula.value), as_float(formula.value)
    if isinstance(formula, Choice):
        return _around([range_of(value) for value in formula.known])
    if isinstance(formula, Extreme):
        return _around([range_of(part) for part in formula.parts])
    inside = range_of(formula.inside) if isinstance(formula, (Root, Squared, Apply, Rising)) else None
    if inside is None:
        return None
    if isinstance(formula, Root):
        return float(np.sqrt(max(inside[0], 0.0))), float(np.sqrt(max(inside[1], 0.0)))
    if isinstance(formula, Rising) and formula.curve.domain == "from zero":
        low, high = formula.curve.values(np.maximum(inside, 0.0)).tolist()
        return low, high
    if isinstance(formula, Squared):
        return 0.0, max(inside[0] ** 2, inside[1] ** 2)
    if isinstance(formula, Apply) and formula.form.ranged:  # to a step beyond at the most
        step = 10.0**-formula.decimals
        return float(np.floor(inside[0] / step) * step), float(np.ceil(inside[1] / step) * step)
    return None


def _around(ranges: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    """The ends that include all of them; None where nothing is known of one."""
    known = [each for each in ranges if each is not None]
    if not known or len(known) < len(ranges):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def farthest(formula: Formula, values: NDArray[np.float64]) -> list[float | None] | None:
    """For each value how far the exact one can be; None for one that is missing, and where nothing is known."""
    ends = range_of(formula)
    if ends is None:
        return None
    low, high = ends
    return [None if not math.isfinite(each) else max(each - low, high - each) for each in values.tolist()]
