"""The least-squares line from noisy moments, and how far the noise may have moved it. In units of the half widths.

Theorem. Let C_xx, C_xy be the released covariances of features and target, E_xx, E_xy their errors, b the exact
coefficients. As (C_xx - E_xx) b = C_xy - E_xy, the plain solution b' = C_xx^-1 C_xy errs by
    b' - b = C_xx^-1 (E_xy - E_xx b)
exactly: there is no bias but what the noise in C_xx^-1 makes. With D = b' - b and W = C_xx^-1 the j-th line reads
    D_j = (W (E_xy - E_xx b'))_j + (W E_xx D)_j,
a noise whose law is public (`matrices`; the terms with the count cancel), and a term that is small compared with D
where the features' spread stands out of its noise. If q_j bounds the first, and Q_jl bounds (W E_xx)_jl, then |D| <= q
+ Q |D|, so |D| <= (1 - Q)^-1 q wherever the spectral radius of Q >= 0 is below 1: the interval. For one feature this is
Fieller's, with the triangle inequality; for many it is Fieller's to first order, and wider than that by the remainder.

Where the radius is not below `_MOST_RADIUS` the released moments do not determine the line: nothing bounds D. A ridge
then lifts the features' least variance to the size of its noise, so that the numbers are not wild; what it takes from
the coefficients is not known, and no interval is given.

The intercept errs by (h_y - b h_x)/N - M_x D (h, N and M as in `matrices`), bounded likewise.
Source: Fieller 1954; Vu, Slavkovic 2009 and Wang 2018 for noisy sufficient statistics with a ridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.moments.matrices import Matrices
from tacit.statistics.moments.plausible import most
from tacit.statistics.moments.positive import nearest_positive

Reals = NDArray[np.float64]
_MOST_RADIUS = 0.5


@dataclass(frozen=True, slots=True)
class Line:
    """Slopes, and the intercept at `origin`, in units of the half widths; `reach` bounds the errors of both.

    The intercept comes first in `reach`, which is None where the noise is too large for intervals; then, and only then,
    `ridge` is above 0.
    """

    slopes: Reals
    intercept: float
    reach: Reals | None
    ridge: float


def least_squares(found: Matrices, features: Sequence[int], aim: int, level: float, origin: Reals) -> Line:
    """The line of the column `aim` on `features`; the intercept is at the features' `origin`."""
    chosen = list(features)
    inner, crossed = found.raw[np.ix_(chosen, chosen)], found.raw[chosen, aim]
    noise = found.errors[:, chosen][:, :, chosen]
    slopes = _solved(inner, crossed)
    if slopes is not None and found.enough:
        reach = _reach(found, chosen, aim, level, origin, slopes)
        if reach is not None:
            return Line(slopes, _at(found, chosen, aim, slopes, origin), reach, 0.0)
    noisy = float(most(np.abs(np.linalg.eigvalsh(noise)).max(axis=1), 0.5))
    ridge = max(noisy - max(float(np.linalg.eigvalsh(inner)[0]), 0.0), 1e-9)
    held = nearest_positive(inner) + ridge * np.eye(len(chosen))
    slopes = np.asarray(np.linalg.solve(held, found.covariance[chosen, aim]))
    return Line(slopes, _at(found, chosen, aim, slopes, origin), None, ridge)


def _solved(inner: Reals, crossed: Reals) -> Reals | None:
    """The plain solution, where the released matrix can be a covariance at all."""
    if float(np.linalg.eigvalsh(inner)[0]) <= 0:
        return None
    return np.asarray(np.linalg.solve(inner, crossed))


def _at(found: Matrices, chosen: list[int], aim: int, slopes: Reals, origin: Reals) -> float:
    return float(found.mean[aim] - slopes @ (found.mean[chosen] - origin))


def _reach(found: Matrices, chosen: list[int], aim: int, level: float, origin: Reals, slopes: Reals) -> Reals | None:
    """How far the intercept and the slopes may be off, each by itself; None where nothing bounds it."""
    inverse = np.linalg.inv(found.raw[np.ix_(chosen, chosen)])
    noise = found.errors[:, chosen][:, :, chosen]
    first = (found.errors[:, chosen, aim] - noise @ slopes) @ inverse.T
    moved = most(np.einsum("jk,bkl->bjl", inverse, noise), level)
    if float(np.abs(np.linalg.eigvals(moved)).max()) >= _MOST_RADIUS:
        return None
    own = most(first, level)
    slope = np.linalg.solve(np.eye(len(chosen)) - moved, own)
    shifts = found.mean_errors[:, chosen]
    away = found.mean[chosen] - origin
    level_noise = found.mean_errors[:, aim] - shifts @ slopes - first @ away
    crossing = float(most(level_noise, level)) + np.abs(away) @ (slope - own) + most(shifts, level) @ slope
    return np.array([crossing, *slope])
