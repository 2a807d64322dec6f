"""Exact privacy curves of noise added to a number, for epsilon >= 0, rounded up.

delta(epsilon) = sup over events E of P(E) - exp(epsilon) Q(E), with P and Q the noise around two neighbours. For
these log-concave laws the best E is a half line, so a larger shift costs more, and the pair at the full sensitivity
dominates.

- Laplace, t = S/b:  delta = 1 - exp((epsilon - t)/2) up to t, then 0. A vector of L1 sensitivity S is dominated by one
  number of sensitivity S (two coordinates cost less than their sum; by induction any number of them).
- Discrete Laplace, r = exp(-1/b): the half line x <= m, m = ceil((s - epsilon b)/2) - 1, gives
  delta = (1 - r^(m+1) + r (1 - exp(epsilon) r^(s-m-1)))/(1 + r).
- Gaussian, mu = S/sigma:  delta = Phi(-a) - exp(epsilon) Phi(-b),  a = epsilon/mu - mu/2,  b = a + mu (Balle and Wang
  2018). With the Mills ratio M this is phi(a)(M(a) - M(b)); M is convex with M' = x M - 1, so for small mu
  the trapezoid mu (g(a) + g(b))/2, g = -M', bounds the difference where subtraction would cancel.
- Discrete Gaussian: where one coordinate changes, a half-line sum over the lattice. Elsewhere, and for wide noise, it
  is compared with rounded Gaussian noise of smaller variance: see `rounded_gaussian`.

Stated slack: erfcx and ndtr of scipy are granted a relative error of 2^-43 (tested against arbitrary precision).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tacit.loss.curves import lattice_vectors
from tacit.loss.numbers.outward import UNIT, Floats, float_down, float_up, special

_SPECIAL = 2.0**-43
_TINY = 1e-300  # covers what underflows
_WIDE = 256  # above this sigma lattice sums are long and the comparison with rounded Gaussian noise is tight
_REACH = 37  # lattice points beyond this many sigmas carry less than exp(-684)


def laplace(sensitivity: Fraction, scale: Fraction, epsilon: Floats) -> Floats:
    """The curve of Laplace noise."""
    top = float_up(sensitivity / scale)
    exponent = np.minimum(epsilon - top, 0.0) / 2
    return -np.expm1(exponent - UNIT * top * (exponent < 0)) * (1 + 16 * UNIT)


def discrete_laplace(sensitivity: int, scale: Fraction, epsilon: Floats) -> Floats:
    """The curve of discrete Laplace noise."""
    top = float_up(sensitivity / scale)
    wide, rate = float(scale), float(1 / scale)
    ratio = math.exp(-rate)
    # A threshold that rounding moved by one loses only a term whose ratio is exp(epsilon) up to that rounding.
    last = np.clip(np.ceil((sensitivity - epsilon * wide) / 2) - 1, -1, sensitivity)
    inside = -np.expm1(-(last + 1) * rate) - ratio * np.expm1(
        np.minimum(epsilon - (sensitivity - last - 1) * rate, rate)
    )
    slack = 16 * UNIT * (inside + top * (1 + ratio))
    return np.where(epsilon < top, np.maximum(inside + slack, 0.0) / (1 + ratio), 0.0)


def gaussian(mu: float, epsilon: Floats) -> Floats:
    """The curve of Gaussian noise with sensitivity `mu` standard deviations (rounded up: delta grows with mu)."""
    centre = epsilon / mu
    a = centre - mu / 2
    b = a + mu
    root_half = math.sqrt(0.5)
    mills = math.sqrt(math.pi / 2)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        density = np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        far = mills * special().erfcx(b * root_half)
        if mu < 1e-4:
            slopes = [1 - x * mills * special().erfcx(x * root_half) for x in (a, b)]
            # 1 - x M(x) cancels for large x, where it is below 1/(1 + x^2) anyway.
            bounded = [
                np.minimum(slope + _SPECIAL * (1 + np.abs(x)), np.where(x > 0, 1 / (1 + x * x), 2.0))
                for slope, x in zip(slopes, (a, b), strict=True)
            ]
            value = density * mu * (bounded[0] + bounded[1]) / 2
        else:
            near = mills * special().erfcx(np.maximum(a, 0.0) * root_half)
            above = density * (near - far + _SPECIAL * (near + far))
            half = special().ndtr(-a)
            below = half - density * far + _SPECIAL * (half + density * far)
            value = np.where(a >= 0, above, below)
        # delta is the integral of phi(a + t)(1 - exp(-mu t)) over t > 0, so |d log delta / d a| <= 2|a| + 2.
        slack = 4 * UNIT * ((2 * np.abs(a) + 2) * (centre + mu) + a * a + 16)
        value = value * (1 + slack) + _TINY
    bound: Floats = np.where(a > 37, np.minimum(np.nan_to_num(value, nan=_TINY), 1e-290), np.clip(value, 0.0, 1.0))
    return bound


def discrete_gaussian(sensitivity: Fraction, sigma: Fraction, dimensions: int, epsilon: Floats) -> Floats:
    """Discrete Gaussian noise: exact where one coordinate changes and sigma <= 256, or few and sigma is small.

    Elsewhere an upper bound.
    """
    squared = math.floor(sensitivity * sensitivity)  # of the distance of two integer vectors
    if squared == 0:
        return np.zeros_like(epsilon)
    if sigma <= _WIDE and (dimensions == 1 or squared == 1):
        return _lattice_sum(math.isqrt(squared), sigma, epsilon)
    rounded = rounded_gaussian(squared, sigma, dimensions, epsilon)
    if not lattice_vectors.applies(squared, float(sigma)):
        return rounded
    return np.minimum(rounded, lattice_vectors.delta(squared, float(sigma), dimensions, epsilon))


def _lattice_sum(shift: int, sigma: Fraction, epsilon: Floats) -> Floats:
    variance = float(sigma * sigma)
    reach = math.ceil(_REACH * float(sigma)) + 1
    points = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-points * points / (2 * variance))
    below = np.concatenate([[0.0], np.cumsum(weights)])  # below[i] = weight of the points before number i
    # x stands in the half line when its loss (shift^2 - 2 shift x)/(2 variance) is above epsilon.
    edge = np.ceil(shift / 2 - epsilon * variance / shift)
    # Error of the weights: exponents up to 37^2/2 with a relative error of four units; of the running sums: n units.
    slack = (4 * _REACH * _REACH + len(points) + 64 + epsilon) * UNIT
    value = np.zeros_like(epsilon)
    # A slip of rounding moves the edge past a point of next to no gain, which may still outweigh all points beyond it.
    for end in (edge, edge + 1):
        here = below[np.clip(end + reach, 0, len(points)).astype(np.int64)]
        there = below[np.clip(end - shift + reach, 0, len(points)).astype(np.int64)]
        with np.errstate(over="ignore", invalid="ignore"):
            lost = np.where(there > 0, np.exp(epsilon) * there, 0.0)
            value = np.fmax(value, here - lost + slack * (here + lost))
    bound: Floats = np.clip(value / (below[-1] * (1 - slack)) + _TINY, 0.0, 1.0)
    return bound


def rounded_gaussian(squared: int, sigma: Fraction, dimensions: int, epsilon: Floats) -> Floats:
    """Discrete Gaussian noise in d dimensions, compared with Gaussian noise that is rounded to integers at random.

    The second theorem of `discrete_gaussian`, where it is proved: for sigma^2 = v0 + v1,
    delta(epsilon) <= (1 + theta)^d delta_Gauss(S/sqrt(v0); epsilon - d log((1 + theta)/(1 - theta))). Here v1 follows
    from a few thetas.
    """
    best = np.ones_like(epsilon)
    for theta in (1e-12 / dimensions, 1e-9 / dimensions, 1e-6 / dimensions, 1e-4 / dimensions, 1e-2 / dimensions):
        # exp(-c m^2) <= exp(-c) exp(-c (m - 1)), and c > 4, so theta <= 2.1 exp(-c).
        rounding = math.log(2.1 / theta) / (2 * math.pi**2) * (1 + 16 * UNIT)
        rest = float_down(sigma * sigma) * (1 - 4 * UNIT) - rounding
        if rest <= 0:
            continue
        mu = math.sqrt(squared / rest) * (1 + 8 * UNIT)
        loss = dimensions * (math.log1p(theta) - math.log1p(-theta)) * (1 + 16 * UNIT)
        shifted = epsilon - loss
        bound = np.where(shifted >= 0, gaussian(mu, np.maximum(shifted, 0.0)), 1.0)
        # Below zero the curve is at most its value at zero plus 1 - exp(epsilon).
        bound = np.where(shifted < 0, gaussian(mu, np.zeros(1))[0] - np.expm1(np.minimum(shifted, 0.0)), bound)
        best = np.minimum(best, bound * math.exp(dimensions * theta) * (1 + 16 * UNIT))
    return np.minimum(best, 1.0)
