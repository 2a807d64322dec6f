"""The standard deviation of a mechanism's noise, in units of its integers."""

from __future__ import annotations

import math

from tacit.mechanisms import Gaussian, Laplace


def deviation(mechanism: Laplace | Gaussian) -> float:
    """Laplace: sqrt(2 a)/(1 - a) with a = exp(-1/scale), exactly; Gaussian: sigma, which is never less than the truth.

    (The discrete Gaussian has a variance of at most sigma**2.)
    """
    if isinstance(mechanism, Gaussian):
        return float(mechanism.event.sigma)
    rate = 1 / float(mechanism.event.scale)
    return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)
