"""The curve of a total from its log moments on a line, with every error added: see `contour` for the theorem.

`Inverse.log_delta(epsilon)` promises an upper bound of log of the finite part of delta at that very float epsilon;
`Inverse.epsilon(log_delta)` promises a float at which that bound has been evaluated and is at most log_delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.loss.accountants.line import Line
from tacit.loss.log_moments.transforms import Array
from tacit.parameters import ROUNDOFF

_STEPS = 80
_CLOSE = 1e-8  # nats of delta left on the table
_NARROW = 1e-8  # relative width of a bracket that ends the search


@dataclass(frozen=True, slots=True)
class Rounding:
    """In units of 2^-53, the log moments on the line err by at most fixed + slope |z|; `additions` were summed."""

    fixed: float
    slope: float
    additions: int


@dataclass(frozen=True, slots=True, eq=False)
class Inverse:
    """One direction of a total on one line."""

    line: Line
    terms: Array  # quadrature terms without exp(-z epsilon), divided by exp(reference)
    reference: float
    truncation: float
    noise: tuple[float, float]  # rounding, divided by exp(reference): constant, and per unit of epsilon

    @classmethod
    def of(cls, line: Line, moments: Array, variance: float, rounding: Rounding) -> Inverse:
        """`moments`: the log moments on the line of all but the Gaussian factors, whose mu^2 sum to `variance`."""
        z, tilt = line.z, line.tilt
        total = variance + line.fiction
        exponents = moments + (total / 2.0) * z * (z + 1.0) + line.kernel
        reference = float(exponents[0].real)
        weight = line.step / math.pi
        with np.errstate(under="ignore"):
            terms = np.exp(exponents - reference) * weight
        terms[0] *= 0.5
        height = line.height
        # Sum over the nodes above the last <= (1/pi) integral from `height` of exp(-total t^2/2)/t^2.
        area = min(1.0 / height, 1.0 / (total * height**3) if total > 0.0 else math.inf)
        log_truncation = line.log_decay - total * height**2 / 2.0 + math.log(tilt * (tilt + 1.0) * area / math.pi)
        # Rounding: |M_i(z)| <= M_i(c), so an error of M_i(c) e in one factor moves the product by at most M(c) e; the
        # Gaussian factor's decay is kept.
        size = np.abs(z)
        with np.errstate(under="ignore"):
            envelope = np.exp(-(total / 2.0) * z.imag**2 + line.kernel.real - line.kernel[0].real) * weight
        passes = ROUNDOFF * (16.0 + rounding.additions)
        fixed = rounding.fixed + len(z) + 4.0 * abs(reference)
        constant = float(envelope @ (fixed + size * (rounding.slope + size * (4.0 * total)))) * passes
        # the phase t epsilon and the exponent c epsilon, each rounded a few times
        per_epsilon = float(envelope @ size) * 8.0 * ROUNDOFF
        truncation = math.exp(log_truncation) if log_truncation > -700.0 else 1e-300
        return cls(line, terms, reference, truncation, (constant, per_epsilon))

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """The bound and minus its derivative (not rigorous) at epsilon, both divided by exp(reference - c epsilon)."""
        turned = self.terms * np.exp((-1j * epsilon) * self.line.z.imag)
        constant, per_epsilon = self.noise
        pad = self.truncation + constant + per_epsilon * epsilon
        # The truth is positive, so the bound is never below the pad.
        return max(float(turned.real.sum()), 0.0) + pad, float((turned * self.line.z).real.sum())

    def log_delta(self, epsilon: float) -> float:
        """An upper bound of log delta(epsilon), for epsilon >= 0."""
        bound, _ = self._sums(epsilon)
        return self._rise(math.log(bound) + self.reference - self.line.tilt * epsilon, epsilon)

    def _rise(self, value: float, epsilon: float) -> float:
        return value + 8.0 * ROUNDOFF * (abs(self.reference) + self.line.tilt * epsilon + abs(value) + 1.0)

    def epsilon(self, log_delta: float, ceiling: float) -> float:
        """An epsilon at which the bound is at most log_delta; the finite `ceiling` when none is found below it."""
        low, high = 0.0, ceiling
        point, verified = 0.0, False
        for step in range(_STEPS):
            bound, fall = self._sums(point)
            excess = self._rise(math.log(bound) + self.reference - self.line.tilt * point, point) - log_delta
            before = high - low
            if excess <= 0.0:
                high, verified = point, True
            else:
                low = point
            if point == 0.0 and verified:
                return 0.0
            if low == ceiling or -_CLOSE < excess <= 0.0 or high - low <= _NARROW * high:
                break
            # log delta is nearly concave, so Newton's step lands on the safe side; where it has corners, halve.
            following = point + (excess + _CLOSE / 2.0) * bound / fall if fall > 0.0 else math.inf
            if step == 0:
                following = ceiling
            elif not low < following < high or (step > 2 and high - low > 0.5 * before):
                following = (low + high) / 2.0
            point = following
        return high
