"""Discrete Gaussian noise: the exact lattice pair where it is known to be worst, a smoothing argument elsewhere.

`pair_of` prices noise of mass proportional to exp(-x^2/(2 sigma^2)) on each of d integers, on integer vectors
whose squared L2 distance is an integer n at most sensitivity^2.

One coordinate moves (d = 1, or n < 2). The noise is log-concave, so the likelihood ratio of a shift by s' is
monotone, the best test is a half-line, and its curve max_x F(x) - a F(x - s') grows with s'. The largest shift s is
therefore the worst. Its losses are (s^2 - 2 s x)/(2 sigma^2), and completing the square,
    E_P[exp(z L)] = exp(z (z + 1) s^2/(2 sigma^2)) Theta(z s)/Theta(0),   Theta(y) = sum over integers x of
    exp(-(x+y)^2/(2 sigma^2)).

Several coordinates move. Let sigma^2 = s0^2 + s1^2, t the theta of the second theorem of the module
`discrete_gaussian`, where it is proved, and tau = d log((1 + t)/(1 - t)). It gives with mu^2 = n/s0^2
    delta(epsilon) <= (1 + t)^d delta_Gaussian(epsilon - tau) <= exp(tau) delta_Gaussian(epsilon - 2 tau),
as 1 + t <= (1 + t)/(1 - t) and a curve falls in epsilon               (GaussianShift with slack tau).
s1 is chosen so that tau is about 1e-12. On the real axis the moments are at most those of the continuous Gaussian with
mu^2 = n/sigma^2 (Canonne, Kamath and Steinke, 2020, Proposition 5); for sigma < 4, where s0 is much smaller than
sigma, nothing else is used, and `pair_of` gives None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.loss.curves.discrete_gaussian import integer_distance, only_shift, rounding_variance
from tacit.loss.log_moments.atoms import Atoms, exponential_sum
from tacit.loss.log_moments.transforms import FIXED, SLOPE, TINY, Array, GaussianShift, Transform, raised

_WIDE = 64  # from this sigma on smoothing costs less than 0.04 % of mu^2 and needs no lattice
_NARROW = 4
_SLACK = 1.055e-12
_DIRECT = 1.5  # below this sigma the sum has few terms; above, its Fourier dual has three
_REACH = 9.25


def pair_of(sensitivity: Fraction, sigma: Fraction, dimensions: int) -> Transform | None:
    """The transform of discrete Gaussian noise, or None where only real orders are known."""
    squared = integer_distance(sensitivity)
    if squared == 0:
        return Transform()
    shift = only_shift(squared, dimensions)
    if shift is not None:
        if sigma < _WIDE:
            return LatticeGaussian(shift, float(sigma))
        squared = shift**2
    return _smoothed(squared, sigma, dimensions) if sigma >= _NARROW else None


def _smoothed(squared: int, sigma: Fraction, dimensions: int) -> GaussianShift:
    t = _SLACK / (2.0 * dimensions)
    return GaussianShift(
        mu_squared=raised(float(squared / (sigma**2 - Fraction(rounding_variance(t))))),
        slack=raised(dimensions * 2.0 * t / (1.0 - t)),
        axis_mu_squared=raised(float(squared / sigma**2)),
    )


@dataclass(frozen=True, slots=True)
class LatticeGaussian(Transform):
    """One-dimensional discrete Gaussian noise shifted by the integer `shift`."""

    shift: int
    sigma: float

    @property
    def greatest(self) -> float:
        return math.inf

    @property
    def has_rest(self) -> bool:
        return True

    def log_moment(self, z: Array) -> Array:
        half = 0.5 * (self.shift / self.sigma) ** 2
        if np.isrealobj(z):
            theta = self._log_theta_ratio(z) if self.sigma < _DIRECT else np.log(self._dual(z + 0j)).real
            return np.asarray(z * (z + 1.0) * half + theta)
        if self.sigma < _DIRECT:
            tilted = self.atoms(centre=round(-float(z[0].real) * self.shift))
            return exponential_sum(tilted.losses, tilted.log_masses, z)
        # The moment is periodic in Im z up to a sign: exp(2 pi i n x) = 1. Near the axis the dual sum is short.
        period = 2.0 * math.pi * self.sigma**2 / self.shift
        turns = np.round(z.imag / period)
        near = z - 1j * (turns * period)
        sign = 1.0 - 2.0 * ((turns * self.shift) % 2.0)
        return np.asarray(near * (near + 1.0) * half + np.log(sign * self._dual(near) + TINY))

    def _log_theta_ratio(self, orders: Array) -> Array:
        """log Theta(c s)/Theta(0) for real c, from the terms around -c s; the rest is below exp(-42) of the total."""
        twice = 2.0 * self.sigma**2
        reach = math.ceil(_REACH * self.sigma) + 2
        offsets = np.arange(-reach, reach + 1)
        fractions = orders * self.shift - np.round(orders * self.shift)
        terms = np.exp(-((np.add.outer(fractions, offsets)) ** 2) / twice)
        return np.asarray(np.log(terms.sum(axis=1) / np.exp(-(offsets**2) / twice).sum()))

    def _dual(self, z: Array) -> Array:
        weight = -2.0 * math.pi**2 * self.sigma**2
        turn = 2j * math.pi * self.shift * z
        ratio = (
            1.0
            + np.exp(weight + turn)
            + np.exp(weight - turn)
            + np.exp(4 * weight + 2 * turn)
            + np.exp(4 * weight - 2 * turn)
        )
        return np.asarray(ratio / (1.0 + 2.0 * math.exp(weight)))

    def roundoff(self, tilt: float, height: float) -> tuple[float, float]:
        mean = (tilt + 0.5) * (self.shift / self.sigma) ** 2
        reach = 10.0 * self.shift / self.sigma
        return FIXED + 500.0 + 8.0 * tilt * mean, SLOPE * (mean + reach + 7.0 * self.shift * math.exp(-(self.sigma**2)))

    @property
    def axis_roundoff(self) -> tuple[float, float, float]:
        mu_squared = (self.shift / self.sigma) ** 2
        return FIXED + 500.0, 8.0 * mu_squared + 7.0 * self.shift, 8.0 * mu_squared

    def atoms(self, centre: int = 0) -> Atoms:
        """The masses around `centre`. For centre 0 this is the whole pair, what is cut off counted as lost."""
        reach = math.ceil(_REACH * 1.2 * self.sigma) + 2
        offsets = np.arange(-reach, reach + self.shift + 1)
        twice = 2.0 * self.sigma**2
        x = centre + offsets
        log_masses = -(x**2) / twice - float(np.log(np.exp(-(offsets**2) / twice).sum()))
        outside = 4.0 * math.exp(-(reach**2) / twice)
        return Atoms(self.shift * (self.shift - 2.0 * x) / twice, log_masses + 2.0**-46, lost=outside, vanished=outside)
