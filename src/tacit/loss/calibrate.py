"""The smallest noise for a target: closed forms and bracketed roots that never return too little.

Promise: every scale or sigma returned meets its target by the exact condition of its mechanism, evaluated at the value
returned with rounding against the caller; it is exact (a `Fraction`), a double except for the pure Laplace scale, and a
few parts in a billion above the least possible unless its function says otherwise. Numbers are read exactly as
written (a float is the binary rational it is).

The classic Gaussian formula sigma = S sqrt(2 log(1.25/delta))/eps holds only for eps < 1 and is not used.
Runs of many steps are calibrated in `calibrate_runs` (re-exported here), over the tight accountant.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit import parameters
from tacit.loss.calibrate_runs import noise_multiplier, sampling_rate, steps
from tacit.loss.curves import discrete_gaussian, gaussian, laplace
from tacit.loss.numbers.rounding import dyadic_up, float_down, float_up, fraction_log_down, noise_scale, sqrt_up
from tacit.parameters import Number

__all__ = [
    "discrete_gaussian_delta",
    "discrete_gaussian_sigma",
    "discrete_laplace_scale_for",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "gaussian_sigma_for_rho",
    "laplace_scale",
    "laplace_scale_for",
    "noise_multiplier",
    "sampling_rate",
    "steps",
]

_DELTA_HINT = "Gaussian noise never meets delta 0; take Laplace noise for that."
_PURE_HINT = "A delta of 1 promises nothing."


def laplace_scale(sensitivity: Number, epsilon: Number) -> Fraction:
    """The least scale of Laplace noise (continuous or on the integers) for pure epsilon: exactly S/epsilon."""
    exact = parameters.positive("sensitivity", sensitivity) / parameters.positive("epsilon", epsilon)
    return noise_scale("sensitivity / epsilon", exact)


def laplace_scale_for(sensitivity: Number, epsilon: Number, delta: Number) -> Fraction:
    """The least scale of *continuous* Laplace noise for (epsilon, delta): S/(epsilon - 2 log(1 - delta)).

    Integer noise needs more: see `discrete_laplace_scale_for`.
    """
    exact_sensitivity = parameters.positive("sensitivity", sensitivity)
    exact_epsilon, exact_delta = parameters.positive("epsilon", epsilon), _below_one(delta)
    if exact_delta == 0:
        return laplace_scale(exact_sensitivity, exact_epsilon)
    ratio = laplace.largest_ratio(exact_epsilon, exact_delta)
    return noise_scale("scale", min(dyadic_up(exact_sensitivity / ratio), exact_sensitivity / exact_epsilon))


def discrete_laplace_scale_for(sensitivity: int, epsilon: Number, delta: Number) -> Fraction:
    """The least scale of integer Laplace noise on integers of this L1 sensitivity for (epsilon, delta)."""
    shift = parameters.whole("sensitivity", sensitivity, least=1)
    exact_epsilon, exact_delta = parameters.positive("epsilon", epsilon), _below_one(delta)
    if exact_delta == 0:
        return laplace_scale(shift, exact_epsilon)
    rate = laplace.largest_rate(shift, exact_epsilon, exact_delta)
    return noise_scale("scale", min(dyadic_up(1 / rate), shift / exact_epsilon))


def gaussian_sigma(sensitivity: Number, epsilon: Number, delta: Number) -> Fraction:
    """The least sigma of Gaussian noise for (epsilon, delta), by the exact condition; any epsilon > 0."""
    exact_sensitivity = parameters.positive("sensitivity", sensitivity)
    target_epsilon, log_target = _target(epsilon, delta)
    mu = gaussian.largest_mu(target_epsilon, log_target)
    return noise_scale("sigma", dyadic_up(exact_sensitivity / Fraction(mu)))


def gaussian_sigma_for_rho(sensitivity: Number, rho: Number) -> Fraction:
    """The least sigma of Gaussian noise (continuous or on the integers) for rho-zCDP: S/sqrt(2 rho), rounded up."""
    exact_sensitivity, exact_rho = parameters.positive("sensitivity", sensitivity), parameters.positive("rho", rho)
    return noise_scale("sigma", sqrt_up(exact_sensitivity**2 / (2 * exact_rho)))


def gaussian_delta(sensitivity: Number, sigma: Number, epsilon: Number) -> float:
    """An upper bound of the delta of Gaussian noise at epsilon, within a few parts in 10^10 of the exact one."""
    mu = float_up(parameters.positive("sensitivity", sensitivity) / parameters.positive("sigma", sigma))
    return _probability_up(gaussian.log_delta(mu, float_down(parameters.non_negative("epsilon", epsilon))))


def gaussian_epsilon(sensitivity: Number, sigma: Number, delta: Number) -> float:
    """An upper bound of the least epsilon of Gaussian noise at delta; 0 where delta covers the total variation."""
    mu = float_up(parameters.positive("sensitivity", sensitivity) / parameters.positive("sigma", sigma))
    return gaussian.smallest_epsilon(mu, fraction_log_down(parameters.open_probability("delta", delta, _DELTA_HINT)))


def discrete_gaussian_sigma(sensitivity: Number, epsilon: Number, delta: Number, dimensions: int = 1) -> Fraction:
    """A sigma of integer Gaussian noise on `dimensions` integers of this L2 sensitivity for (epsilon, delta).

    The least one where a single coordinate can change (one dimension, or sensitivity below sqrt 2) and sigma is at most
    256, or the sensitivity at most 4 and sigma at most 8; elsewhere sigma^2 is above the continuous least sigma^2 by
    about one at most.
    """
    squared = _integer_distance(sensitivity)
    target_epsilon, log_target = _target(epsilon, delta)
    width = parameters.whole("dimensions", dimensions, least=1)
    return noise_scale("sigma", discrete_gaussian.smallest_sigma(squared, target_epsilon, log_target, width))


def discrete_gaussian_delta(sensitivity: Number, sigma: Number, epsilon: Number, dimensions: int = 1) -> float:
    """An upper bound of the delta of integer Gaussian noise at epsilon."""
    _integer_distance(sensitivity)
    return _probability_up(
        discrete_gaussian.log_delta(
            parameters.positive("sensitivity", sensitivity),
            parameters.positive("sigma", sigma),
            parameters.positive("epsilon", epsilon),
            parameters.whole("dimensions", dimensions, least=1),
        )
    )


def _below_one(delta: Number) -> Fraction:
    exact = parameters.probability("delta", delta)
    if exact == 1:
        raise parameters.refuse("delta", "a number of at least 0 and below 1", delta, _PURE_HINT)
    return exact


def _target(epsilon: Number, delta: Number) -> tuple[float, float]:
    """Epsilon and log delta as doubles, both rounded down: a harder target."""
    exact_epsilon = parameters.positive("epsilon", epsilon)
    exact_delta = parameters.open_probability("delta", delta, _DELTA_HINT)
    target = float_down(exact_epsilon)
    if target < 1e-300 or target > 1e12:
        raise parameters.refuse("epsilon", "a number from 1e-300 to 1e12", epsilon)
    return target, fraction_log_down(exact_delta)


def _integer_distance(sensitivity: Number) -> int:
    squared = discrete_gaussian.integer_distance(parameters.positive("sensitivity", sensitivity))
    if squared == 0:
        raise parameters.refuse("sensitivity", "at least 1: integers that differ, differ by 1 or more", sensitivity)
    return squared


def _probability_up(log_probability: float) -> float:
    return min(1.0, math.nextafter(math.exp(log_probability), 1.0) * (1 + 2.0**-50))
