"""How far a line's coefficients may be off: by the noise of the release, and by the sampling of the rows.

Theorem. The noise moves coefficients as `tacit.statistics.moments.least_squares` proves; q bounds that with probability
0.95. Without noise, least squares over n rows would err by a normal law of variance s**2 (C_xx**-1)_jj / n, with s**2
the variance about the line (errors of one variance; n large). Where errors are larger at some rows than at others,
which targets cut at their bounds bring about, the variance is another: sum h_i**2 e_i**2 in place of s**2 sum h_i**2,
with h_i the row's part in the coefficient. Products do not determine it, so deviations are taken `_UNEQUAL` times as
long, which covers a quarter more variance. Noise and sampling are independent, and their sum stays within
(q**2 + 1.96**2 (9/8)**2 s**2 (C_xx**-1)_jj / n)**(1/2) with probability 0.95 where q is that of a normal law, and about
so where it is one of sums of many noises. s**2 is released too: one deviation of its noise is added to it.

Draws of noise are Laplace's at the deviation of each entry: wider than a normal law's at this level, so that intervals
hold for either. The intervals are for coefficients of rows within their bounds and, around a released mean, within the
ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tacit import parameters
from tacit.learning.columns import Reals
from tacit.learning.model import scales
from tacit.learning.second_moments.second_moments import Moments
from tacit.statistics.moments.least_squares import least_squares
from tacit.statistics.moments.matrices import DRAWS, FEWER, MANY_COLUMNS, Matrices, with_errors
from tacit.statistics.moments.plausible import most, standard_draws

LEVEL = float(parameters.LEVEL)
_NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)
_ONE_DEVIATION = 0.68
_UNEQUAL = 9 / 8
_MOST_COORDINATES = 60  # with more, the draws of all products do not fit a small memory


@dataclass(frozen=True, slots=True)
class Told:
    """Slopes, and how far the intercept (first) and they may be off, in units of the vectors."""

    slopes: Reals
    reach: Reals


def told_line(moments: Moments, names: list[str], target: str) -> Told | None:
    """The plain least-squares line and its reach; None where the noise hides a direction."""
    places = moments.places([*names, target])
    if len(places) > _MOST_COORDINATES:
        return None
    found = _with_draws(moments, places)
    features, aim = list(range(len(places) - 1)), len(places) - 1
    half, middle = scales([moments.feature(name) for name in names])
    origin = -middle / half - moments.centre[[place - 1 for place in places[:-1]]]
    line = least_squares(found, features, aim, LEVEL, origin)
    if line.reach is None:
        return None
    sampling = _NORMAL * _UNEQUAL * _sampling(found, line.slopes, found.mean[:-1] - origin)
    return Told(line.slopes, np.sqrt(np.square(line.reach) + np.square(sampling)))


def _with_draws(moments: Moments, places: list[int]) -> Matrices:
    d = len(places)
    above = np.triu_indices(d)
    drawn = standard_draws(True, DRAWS if d <= MANY_COLUMNS else FEWER, 1 + d + len(above[0])) / math.sqrt(2)
    inner = np.ix_(places, places)
    pairs = np.zeros((len(drawn), d, d))
    pairs[:, above[0], above[1]] = pairs[:, above[1], above[0]] = drawn[:, 1 + d :]
    return with_errors(
        float(moments.matrix[0, 0]),
        moments.matrix[0, places],
        moments.matrix[inner],
        drawn[:, 0] * moments.deviations[0, 0],
        drawn[:, 1 : 1 + d] * moments.deviations[0, places],
        pairs * moments.deviations[inner],
    )


def _sampling(found: Matrices, slopes: Reals, away: Reals) -> Reals:
    """Deviations of the intercept and the slopes without noise."""
    inverse = np.linalg.inv(found.raw[:-1, :-1])
    left = float(found.raw[-1, -1] - slopes @ found.raw[:-1, -1])
    weights = np.array([*-slopes, 1.0])
    noise = np.einsum("i,bij,j->b", weights, found.errors, weights)
    variance = max(left, 0.0) + float(most(noise, _ONE_DEVIATION))
    rows = max(found.count - len(slopes) - 1, 1.0)
    level = 1.0 + float(away @ inverse @ away)
    return np.sqrt(np.maximum(variance * np.array([level, *np.diag(inverse)]) / rows, 0.0))
