"""The standard deviation of a mechanism's noise, in units of its integers."""

from __future__ import annotations

import math

from tacit.mechanisms import Gaussian, KeySelection, Laplace


def deviation(mechanism: Laplace | Gaussian | KeySelection) -> float:
    """Laplace: sqrt(2 a)/(1 - a) with a = exp(-1/scale), exactly; Gaussian: sigma, which is never less than the truth.

    (The discrete Gaussian has a variance of at most sigma**2.) The noise of a count that the rule for unknown keys
    releases is Laplace noise cut off where hardly any of it lies, so its deviation is slightly less than that.
    """
    if isinstance(mechanism, Gaussian):
        return float(mechanism.event.sigma)
    if isinstance(mechanism, KeySelection):
        rate = float(mechanism.key_epsilon)
    else:
        rate = 1 / float(mechanism.event.scale)
    return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)
