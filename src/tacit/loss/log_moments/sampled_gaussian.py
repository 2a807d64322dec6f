"""Log moments of Poisson-sampled Gaussian noise by a quadrature whose error is bounded, not estimated.

Theorem. Let phi be the standard normal density, r(x) = 1 - q + q exp(mu x - mu^2/2). The two directions of sampling
at rate q (see `atoms`) have the moments  remove: integral of phi r^(z+1);  add: integral of phi r^(-z). The trapezoid
rule of step h differs from them, on Re z = c and |Im z| <= T, by at most

    2 E_P[exp(c L)] exp(a^2/2 + mu a T + [add] c log sec(mu a/2)) / (exp(2 pi a/h) - 1)      for every a with mu a < pi.

Proof. For f analytic and decaying in |Im x| <= a the error is at most the integrals of |f(x + ia)| and |f(x - ia)|,
summed and divided by exp(2 pi a/h) - 1. Put r(x + ia) = A + B exp(i mu a) with A, B > 0: it does not vanish, its
argument is between 0 and mu a, and (A + B) cos(mu a/2) <= |r(x + ia)| <= A + B = r(x). With |phi(x + ia)| = phi(x)
exp(a^2/2) the claim follows.

The sum is cut where the summand g has started to fall at least like exp(-9 |x|): d/dx log g is -x + (c+1) mu w(x)
(remove) or -x - c mu w(x) (add), where w = q exp(mu x - mu^2/2)/r is between 0 and 1 and grows with x. What is cut
off is at most g(cut) (h + 1/9) on each side; that is measured and counted as roundoff.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.loss.log_moments.atoms import Atoms, exponential_sum, sampled_loss
from tacit.loss.log_moments.transforms import Array, Spread, Transform, raised

_REACH = 9.25  # phi falls by exp(-42.8) from 0 to here
_QUADRATURE = 42.0  # the theorem's error is 2 exp(-42) < 2^-59
_FARTHEST = 400.0  # largest tilt times mu that is integrated; beyond it real orders use simple bounds
_ORDERS_AT_ONCE = 16


class _Grid(NamedTuple):
    x: Array
    step: float
    losses: Array
    log_masses: Array


@dataclass(frozen=True, slots=True)
class SampledGaussian(Transform):
    """Gaussian noise of mu = sensitivity/sigma after Poisson sampling at a `rate` strictly between 0 and 1.

    Densities may be known only up to a factor exp(+-slack) (see `transforms.GaussianShift`): mixtures keep that factor.
    """

    mu: float
    rate: float
    removes: bool
    slack: float = 0.0

    @property
    def greatest(self) -> float:
        return math.inf if self.removes else raised(2.0 * self.slack - math.log1p(-self.rate))

    @property
    def log_surplus(self) -> float:
        return self.slack

    @property
    def highest_tilt(self) -> float:
        return _FARTHEST / self.mu

    def work(self, height: float) -> float:
        return 3.0 + 0.05 * self.mu * height

    @property
    def has_rest(self) -> bool:
        return True

    def log_moment(self, z: Array) -> Array:
        if np.isrealobj(z):
            return self._at_real_orders(z)
        grid = self._grid(float(z[0].real), float(np.abs(z.imag).max()))
        return exponential_sum(grid.losses, grid.log_masses, z) + self.slack * (1.0 + 2.0 * z)

    def _at_real_orders(self, orders: Array) -> Array:
        # Never above the unsampled noise, nor (add) above the greatest loss: all that is used beyond the highest tilt.
        ceiling = orders * (orders + 1.0) * (self.mu**2 / 2.0)
        result = ceiling if self.removes else np.minimum(ceiling, orders * self.greatest)
        computed = np.flatnonzero(orders <= self.highest_tilt)
        for start in range(0, len(computed), _ORDERS_AT_ONCE):
            some = computed[start : start + _ORDERS_AT_ONCE]
            grid = self._grid(float(orders[some].max()), 0.0)
            result[some] = exponential_sum(grid.losses, grid.log_masses, orders[some])
        return result + self.slack * (1.0 + 2.0 * orders)

    def _grid(self, tilt: float, height: float) -> _Grid:
        """Nodes that hold the theorem's error below exp(-_QUADRATURE) for every smaller tilt and height too."""
        mu = self.mu
        strips = np.linspace(0.05, 1.0, 40) * min(9.0, 0.98 * math.pi / mu)
        needed = _QUADRATURE + strips**2 / 2.0
        if not self.removes:
            needed = needed - tilt * np.log(np.cos(mu * strips / 2.0))
        step = 2.0 * math.pi / float((needed / strips + mu * height).min())
        if self.removes:
            low, high = -_REACH, _REACH + (tilt + 1.0) * mu
        else:
            weight = math.exp(float(self._log_weight(np.array([-_REACH]))[0]))
            low, high = -_REACH - tilt * mu * weight, _REACH
        x = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step
        log_density = -x * x / 2.0 + math.log(step / math.sqrt(2.0 * math.pi))
        log_ratio = sampled_loss(mu * x - mu * mu / 2.0, self.rate)
        if self.removes:
            return _Grid(x, step, log_ratio, log_density + log_ratio)
        return _Grid(x, step, -log_ratio, log_density)

    def _log_weight(self, x: Array) -> Array:
        exponent = self.mu * x - self.mu**2 / 2.0
        return math.log(self.rate) + exponent - sampled_loss(exponent, self.rate)

    def roundoff(self, tilt: float, height: float) -> tuple[float, float]:
        grid = self._grid(tilt, height)
        fixed, slope = Atoms(grid.losses, grid.log_masses).roundoff(tilt, height)
        exponents = tilt * grid.losses + grid.log_masses
        weights = np.exp(exponents - exponents.max())
        cut = float((weights[0] + weights[-1]) / weights.sum()) * (1.0 + 1.0 / (9.0 * grid.step))
        return fixed + 1.0 + cut * 2.0**53, slope

    @property
    def axis_roundoff(self) -> tuple[float, float, float]:
        # The farthest node is at (c + 1) mu + 2 _REACH, its loss at most mu times that; nodes are counted in thousands.
        reach = self.mu + 2.0 * _REACH
        return 2000.0 + 100.0 * reach, 32.0 * (self.mu * reach + 1.0) + 100.0 * self.mu, 32.0 * self.mu**2

    def spread(self, tilt: float) -> Spread:
        """The best box under the tilted density of the loss around its mean, and its total variation.

        As a function of x the log density has the derivative -x + s mu w(x) - mu (1 - w(x)), s = c + 1 or -c: with w
        logistic it has at most three zeros, so there are at most two maxima, all between the extremes of
        s mu w - mu (1 - w), and the variation is at most four times the largest.
        """
        grid = self._grid(tilt, 0.0)
        exponents = tilt * grid.losses + grid.log_masses
        top = float(exponents.max())
        log_total = top + math.log(float(np.exp(exponents - top).sum()))
        weights = np.exp(exponents - log_total)
        mean = float(grid.x @ weights)
        deviation = math.sqrt(max(float((grid.x - mean) ** 2 @ weights), 1e-12))
        power = tilt + 1.0 if self.removes else -tilt
        best = (0.0, 0.0)
        for reach in (0.6, 0.9, 1.3, 1.7, 2.2):
            low, high = mean - reach * deviation, mean + reach * deviation
            log_heights, error = self._log_density(low, high, power, log_total)
            ends = sampled_loss(self.mu * np.array([low, high]) - self.mu**2 / 2.0, self.rate)
            width = float(ends[1] - ends[0])
            if width <= 0.0:  # in floats the loss is flat there: no box
                continue
            mass = 0.99 * math.exp(min(0.0, float(log_heights.min()) - error + math.log(width)))
            if mass * width**2 > best[0] * best[1] ** 2:
                best = (mass, width)
        low, high = (-self.mu, power * self.mu) if self.removes else (-max(tilt, 1.0) * self.mu, 0.0)
        log_heights, error = self._log_density(low, high, power, log_total)
        return Spread(*best, variation=4.0 * math.exp(min(700.0, float(log_heights.max()) + error)))

    def _log_density(self, low: float, high: float, power: float, log_total: float) -> tuple[Array, float]:
        """Log density of the loss, over x from low to high, and how far it may move between the points."""
        x = np.linspace(low, high, 801)
        log_ratio = sampled_loss(self.mu * x - self.mu**2 / 2.0, self.rate)
        log_density = power * log_ratio - x * x / 2.0 - 0.5 * math.log(2.0 * math.pi) - log_total
        steepest = max(abs(low), abs(high)) + (abs(power) + 1.0) * self.mu
        # d(loss)/dx = mu w(x); half a spacing to the nearest point
        return log_density - self._log_weight(x) - math.log(self.mu), steepest * (high - low) / 1600.0
