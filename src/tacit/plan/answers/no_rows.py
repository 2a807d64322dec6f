"""Means, variances and covariances of no rows: NULL, as in SQL, where the noisy count says so.

A mean of no rows does not exist, and a variance of a sample needs two. Whether there are rows is private; the noisy
count is not. Where the count is nearer to a smaller number of rows than to the least one, and so far below it that
noise alone would do this in only one of forty cases, the value is reported as missing. The middle of the bounds with
the noise of empty sums would be an interval around a number that does not exist. Where the count leaves it open, the
quotient by a noisy count has an interval that is wide enough (`bends`).

Promise: only noisy numbers and the deviations of their noise come in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.bends import WITHIN_95

Floats = NDArray[np.float64]
_HALF_A_ROW = 0.5


def unless_empty(value: Floats, count: Floats, place: int, spreads: Sequence[float | Floats], least: float) -> Floats:
    """The values, NaN where there are too few rows, as far as the count (measure `place`) can show."""
    if not spreads:
        return value
    return np.where(least - count > np.maximum(WITHIN_95 * np.asarray(spreads[place]), _HALF_A_ROW), np.nan, value)
