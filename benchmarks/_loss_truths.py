"""Exact privacy curves to hold totals against: binomial sums, the analytic Gaussian, convolutions of lattices.

A curve is delta as a function of epsilon. Binomial and lattice sums have positive terms only and err by less than a
relative 1e-11; the Gaussian is evaluated with 40 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Curve = Callable[[float], float]


def response(epsilon: float, count: int) -> Curve:
    """`count` randomised responses, which is what any `count` mechanisms with this pure epsilon may cost."""
    lies = np.arange(count + 1)
    log_ways = math.lgamma(count + 1) - np.array([math.lgamma(i + 1) + math.lgamma(count - i + 1) for i in lies])
    if count > 60:
        # lgamma loses digits for large counts: sum the logarithms of the ratios of successive binomials instead
        ratios = np.log((count - lies[:-1]) / (lies[:-1] + 1.0))
        log_ways = np.concatenate([[0.0], np.array([math.fsum(ratios[:i]) for i in range(1, count + 1)])])
    log_masses = log_ways - lies * epsilon - count * math.log1p(math.exp(-epsilon))
    losses = epsilon * (count - 2 * lies)
    seen = log_masses > -690
    masses, losses = np.exp(log_masses[seen]), losses[seen]
    return lambda at: float((masses * np.maximum(0.0, -np.expm1(np.minimum(at - losses, 1.0)))).sum())


def gaussian(mu: float) -> Curve:
    """Gaussian noise at sensitivity/sigma = mu (Balle and Wang, 2018)."""
    import mpmath

    def curve(at: float) -> float:
        with mpmath.workdps(40):
            m, e = mpmath.mpf(mu), mpmath.mpf(at)
            return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))

    return curve


def lattice(parts: list[tuple[np.ndarray, int]], unit: float) -> Curve:
    """Losses unit * (-s .. s) of the masses given, `count` times each."""
    total = np.array([1.0])
    for masses, count in parts:
        for _ in range(count):
            total = np.convolve(total, masses)
    losses = (np.arange(len(total)) - len(total) // 2) * unit
    return lambda at: float((total * np.maximum(0.0, -np.expm1(np.minimum(at - losses, 1.0)))).sum())


def discrete_laplace_losses(shift: int, step: float) -> np.ndarray:
    """Masses of the losses -shift .. shift, in units of `step`, of discrete Laplace noise."""
    r = math.exp(-step)
    masses = np.zeros(2 * shift + 1)
    masses[2 * shift] = 1 / (1 + r)
    masses[0] = r**shift / (1 + r)
    for i in range(1, shift):
        masses[2 * shift - 2 * i] = (1 - r) / (1 + r) * r**i
    return masses


def response_losses(multiple: int, step: float, options: int) -> np.ndarray:
    """Masses of the losses -multiple .. multiple, in units of `step`, of k-ary randomised response."""
    truth = math.exp(multiple * step)
    masses = np.zeros(2 * multiple + 1)
    masses[2 * multiple] = truth / (truth + options - 1)
    masses[0] = 1 / (truth + options - 1)
    masses[multiple] = (options - 2) / (truth + options - 1)
    return masses


def least_epsilon(curve: Curve, delta: float, top: float) -> float:
    """The epsilon at which the curve is delta, by bisection."""
    if curve(0.0) <= delta:
        return 0.0
    low, high = 0.0, top
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return high
