"""Intervals for correlations, from tests whose statistics are linear in the released covariances.

Theorem. Let r be the exact correlation of two columns of exact variances v, w > 0 and covariance c, and k**2 = v/w.
Then v/k = k w = sqrt(v w), so
    c - r (v/k + k w)/2 = 0   and   v - k**2 w = 0.
Both are linear in (c, v, w). With the released ones put in, both are combinations of their noises, whose law is known
(in the theorem of `matrices` even the term with the count cancels). So a test of k by the second equation and of r,
given k, by the first need no delta method: the interval holds the r that are not rejected for some k that is not
rejected. With the tests at 1 - a/10 and 1 - 9a/10 it misses with probability at most a = 1 - level, up to the error of
the means that `matrices` puts in. Wherever a variance does not stand out of its noise the interval is from -1 to 1.

To first order k does not matter, as v/k + k w is least at the released ratio; for few rows it does.
Source: Fieller 1954 (ratios by linear tests); the equation for r is argued here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.moments.matrices import Matrices
from tacit.statistics.moments.plausible import most

Reals = NDArray[np.float64]
_RATIO_SHARE = 0.1  # of what may be missed, for the test of k
_RATIOS = 9


def correlation_ends(found: Matrices, level: float) -> tuple[Reals, Reals]:
    """The ends between which each correlation lies with probability `level`, by itself; 1 and 1 on the diagonal."""
    d = len(found.mean)
    low, high = np.full((d, d), -1.0), np.ones((d, d))
    np.fill_diagonal(low, 1.0)
    if not found.enough:
        return low, high
    i, j = np.triu_indices(d, 1)
    crossed, first, second = found.errors[:, i, j], found.errors[:, i, i], found.errors[:, j, j]
    c, v, w = found.raw[i, j], found.raw[i, i], found.raw[j, j]
    missing = 1 - level
    ratios, known = _ratios(v, w, first, second, 1 - _RATIO_SHARE * missing)
    own = 1 - (1 - _RATIO_SHARE) * missing
    least, greatest = np.full(len(c), np.inf), np.full(len(c), -np.inf)
    k = ratios[_RATIOS // 2]
    q = _deviations(c, (v / k + k * w) / 2, crossed, (first / k + k * second) / 2, own)
    for k in ratios:
        middle, noise = (v / k + k * w) / 2, (first / k + k * second) / 2
        ends, bounded = _not_rejected(c, middle, crossed, noise, q)
        known &= bounded
        least, greatest = np.minimum(least, ends[0]), np.maximum(greatest, ends[1])
    low[i, j] = low[j, i] = np.where(known, np.clip(least, -1.0, 1.0), -1.0)
    high[i, j] = high[j, i] = np.where(known, np.clip(greatest, -1.0, 1.0), 1.0)
    return low, high


def _ratios(v: Reals, w: Reals, first: Reals, second: Reals, level: float) -> tuple[Reals, NDArray[np.bool_]]:
    """Values of k from the least to the greatest that is not rejected, one a line, and where they have both ends."""
    (low, high), bounded = _not_rejected(v, w, first, second, _deviations(v, w, first, second, level))
    known = bounded & (low > 0) & (v > 0) & (w > 0)
    low, high = np.where(known, low, 1.0), np.where(known, high, 1.0)
    shares = np.linspace(0.0, 1.0, _RATIOS)[:, None]
    return np.sqrt(low * (high / low) ** shares), known


def _deviations(top: Reals, bottom: Reals, top_noise: Reals, bottom_noise: Reals, level: float) -> Reals:
    """The deviations that the noise of top - t bottom exceeds by chance: the larger of t = 0 and the quotient."""
    found = np.zeros_like(top)
    for t in (np.zeros_like(top), top / np.where(bottom == 0, 1.0, bottom)):
        noise = top_noise - t * bottom_noise
        deviation = np.sqrt(np.mean(np.square(noise), axis=0))
        found = np.maximum(found, most(noise, level) / np.maximum(deviation, 1e-300))
    return found


def _not_rejected(
    top: Reals, bottom: Reals, top_noise: Reals, bottom_noise: Reals, q: Reals
) -> tuple[tuple[Reals, Reals], NDArray[np.bool_]]:
    """The ends of all t for which |top - t bottom| is within what its noise exceeds by chance; and where there are any.

    (top - t bottom)**2 <= q**2 (A - 2 t B + t**2 C) with the noises' second moments A, B, C and q deviations.
    """
    a, b, c = (
        np.mean(one * other, axis=0)
        for one, other in ((top_noise, top_noise), (top_noise, bottom_noise), (bottom_noise, bottom_noise))
    )
    leading = bottom * bottom - q * q * c
    half = top * bottom - q * q * b
    inner = half * half - leading * (top * top - q * q * a)
    bounded = (leading > 0) & (bottom > 0)
    root = np.sqrt(np.maximum(inner, 0.0))
    under = np.where(bounded, leading, 1.0)
    return ((half - root) / under, (half + root) / under), bounded
