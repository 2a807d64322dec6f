"""The nearest non-negative numbers of a given sum: what noisy counts and shares become. It costs nothing.

Theorem. Let x be n numbers and s > 0. The point of the simplex {y >= 0, sum y = s} nearest to x in the Euclidean norm
is y = max(x - c, 0) for the one c with sum y = s. With x sorted so that it falls, c is (x_1 + ... + x_k - s)/k for the
largest k whose x_k is above that number.

Proof. The conditions of Karush, Kuhn and Tucker say that y_i = x_i - c where y_i > 0, and x_i <= c elsewhere. The sum
of max(x - c, 0) falls strictly in c where it is positive, so one c fits; the largest k is how many y_i are positive.

Source: Held, Wolfe, Crowder 1974; the form with sorting is Duchi, Shalev-Shwartz, Singer, Chandra 2008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def lowering(values: Reals, total: float) -> float:
    """The number c of the theorem, for the sum `total` > 0."""
    falling = -np.sort(-values.reshape(-1))
    shifts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)  # if so many values stay positive
    return float(shifts[np.count_nonzero(falling > shifts) - 1])


def nearest(values: Reals, total: float) -> Reals:
    """The nearest non-negative numbers whose sum is `total` > 0, in the shape of `values`.

    >>> nearest(np.array([3.0, 1.0, -2.0]), 2.0)
    array([2., 0., 0.])
    """
    return np.asarray(np.maximum(values - lowering(values, total), 0.0))
