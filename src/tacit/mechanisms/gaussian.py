"""Gaussian noise on whole numbers, or on a grid of reals.

Theorem. Let f(x) be a vector of integers with L2 sensitivity S: sum (f_i(x) - f_i(y))**2 <= S**2 for all neighbours
x, y. Adding to each coordinate independent noise of mass proportional to exp(-k**2 / (2 sigma**2)) on the integers is
  S**2/(2 sigma**2)-zero-concentrated differentially private, and
  (epsilon, delta)-differentially private whenever the exact curve of this *discrete* law says so: see
  `tacit.loss.calibrate`. The classic sqrt(2 ln(1.25/delta)) formula, which fails for epsilon >= 1, is not used.

Dimensions. At most S**2 coordinates of an integer vector can change, each by 1 or more; the others carry equal noise
under both neighbours and drop out. So the event counts min(size, S**2) coordinates; `size` binds only below S**2.

Error. With w(k) = exp(-k**2/(2 sigma**2)), Pr[|noise| > t] = 2 sum_{k > t} w(k) / sum_k w(k). Up to sigma = 1024 the
sums are taken term by term with a relative allowance of 1e-11 for float error (exponents up to 800 and 41,000
additions cost less). Beyond, sum_{k > t} w(k) <= the integral of w from t on, as w falls, and sum_k w(k) >= sigma
sqrt(2 pi) by Poisson summation; so Pr[|noise| > t] <= erfc(t/(sigma sqrt 2)), and the t returned is above the exact
one by at most 1.

Assumptions. The caller's sensitivity holds under the caller's neighbour relation (add or remove one unit by default).
Reals go through `grid`, whose theorem gives S in steps. Noise is drawn exactly (`tacit.noise.discrete_gaussian`).

Source: Canonne, Kamath, Steinke 2020 (discrete Gaussian); Bun, Steinke 2016 (zCDP); Balle, Wang 2018 (exact curve).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import noise, parameters
from tacit.loss import calibrate
from tacit.loss.events import DiscreteGaussian
from tacit.loss.numbers.rounding import float_down, sqrt_up
from tacit.mechanisms.base import only_one, ordinary
from tacit.mechanisms.grid import Grid, lattice
from tacit.mechanisms.whole_numbers import WholeNumbers
from tacit.parameters import Number

_SMALLEST_SIGMA = Fraction(1, 10**100)  # the sampler's own limit
_LARGEST_SUMMED_SIGMA = 1024
_SMALLEST_LEVEL = Fraction(1, 10**290)


@dataclass(frozen=True, slots=True, init=False)
class Gaussian:
    """Gaussian noise for values of this L2 sensitivity, by (epsilon, delta), by rho (zCDP) or by sigma.

    With an exact sensitivity (int or Fraction) the values are whole numbers; with a float sensitivity, or a `grid` (a
    power of two), they are reals. One release holds at most `size` values; at sensitivity 1 whole numbers need no size.

    >>> Gaussian(1, rho="0.005").scale  # rho is 1 / (2 scale**2)
    10.0
    """

    event: DiscreteGaussian
    lattice: WholeNumbers | Grid
    _variance: Fraction = field(repr=False, compare=False)

    def __init__(
        self,
        sensitivity: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        *,
        rho: Number | None = None,
        sigma: Number | None = None,
        size: int = 1,
        grid: Number | None = None,
    ) -> None:
        places = lattice(sensitivity, size, grid)
        units = places.euclidean(parameters.rational("sensitivity", sensitivity))
        dimensions = min(size, int(units * units))
        given = only_one(epsilon=epsilon, rho=rho, sigma=sigma)
        if delta is not None and given != "epsilon":
            raise parameters.refuse("delta", f"left out when {given} is given", delta, "It goes with epsilon.")
        if given == "epsilon":
            target = parameters.positive("epsilon", epsilon)
            missed = parameters.open_probability("delta", delta, "Gaussian noise needs one; Laplace noise does not.")
            spread = calibrate.discrete_gaussian_sigma(units, target, missed, dimensions)
        elif given == "rho":
            spread = sqrt_up(units * units / (2 * parameters.positive("rho", rho)))
        else:
            spread = parameters.positive("sigma", sigma) / places.unit
        ordinary(given, spread * places.unit, {"epsilon": epsilon, "rho": rho, "sigma": sigma}[given])
        if ordinary("sensitivity", spread, sensitivity) < _SMALLEST_SIGMA:
            raise parameters.refuse("sigma", "at least 1e-100 of a unit", float(spread))
        object.__setattr__(self, "event", DiscreteGaussian(units, spread, dimensions))
        object.__setattr__(self, "lattice", places.for_euclidean(units, size))
        object.__setattr__(self, "_variance", spread * spread)

    @property
    def scale(self) -> float:
        """Sigma in the unit of the values."""
        return float(self.event.sigma * self.lattice.unit)

    def error(self, confidence: Number) -> int | float:
        """A t that one number's noise exceeds with probability at most 1 - confidence: the smallest, up to rounding."""
        level = 1 - parameters.open_probability("confidence", confidence)
        if level < _SMALLEST_LEVEL:
            raise parameters.refuse("confidence", "at most 1 - 1e-290", confidence)
        summed = self.event.sigma <= _LARGEST_SUMMED_SIGMA
        find = _summed_quantile if summed else _integrated_quantile
        return self.lattice.error(find(self.event.sigma, float_down(level)))

    def release(self, values: Any, *, bits: noise.BitSource | None = None) -> Any:
        """`values` with noise: integers for integers, multiples of the grid's step for reals."""
        source = noise.secure() if bits is None else bits
        variance = self._variance
        return self.lattice.release(values, lambda size: noise.discrete_gaussian(variance, size, source))


def _summed_quantile(sigma: Fraction, level: float) -> int:
    """The smallest t whose tail, summed term by term and rounded up, is at most `level`."""
    spread = float(sigma)
    points = np.arange(1, math.ceil(40 * spread) + 3, dtype=np.float64)
    with np.errstate(under="ignore", over="ignore"):
        weights = np.exp(-np.square(points / spread) / 2)
        # tails[t] = sum over k > t, smallest terms first; beyond the last point they are below exp(-800) < 1e-340
        tails = np.cumsum(weights[::-1])[::-1]
        exceeding = 2 * tails / (1 + 2 * tails[0]) * (1 + 1e-11)
    return int(np.count_nonzero(exceeding > level))


def _integrated_quantile(sigma: Fraction, level: float) -> int:
    """The smallest t with erfc(t/(sigma sqrt 2)), rounded up, at most `level`."""
    denominator = sigma * sqrt_up(Fraction(2))

    def small_enough(t: int) -> bool:
        return math.erfc(float_down(t / denominator)) * (1 + 1e-13) <= level

    too_small, enough = 0, math.ceil(sigma)
    while not small_enough(enough):
        too_small, enough = enough, 2 * enough
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        too_small, enough = (too_small, middle) if small_enough(middle) else (middle, enough)
    return enough
