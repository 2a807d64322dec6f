"""The exact privacy curve of Gaussian noise, free of cancellation, rounded up.

Theorem (Balle and Wang, 2018; re-derived). Let mu = S / sigma. The pair N(0, 1), N(mu, 1) dominates Gaussian
noise, and its curve is  delta(eps) = Phi(-a) - exp(eps) Phi(-b)  with  a = eps/mu - mu/2,  b = a + mu.
Since b^2 - a^2 = 2 eps, exp(eps) phi(b) = phi(a), and with the Mills ratio M(x) = Phi(-x)/phi(x)

    delta = phi(a) (M(a) - M(b)),      d delta / d mu = phi(a),      d delta / d eps = -phi(a) M(b).

delta grows with mu and falls with eps. M(x) is the integral of exp(-x t - t^2/2) over t > 0, so -M' =: g is completely
monotone, in particular convex, and the trapezoid bounds the difference from above: M(a) - M(b) <= mu (g(a) + g(b))/2.
That form is used for small mu, where the difference would cancel (its relative excess is below mu^2/6 as
g''(x) <= 2 g(x) for x >= 0). g(x) = 1 - x M(x), and g(x) <= 1/(1 + x^2) for x > 0.

Promise: `log_delta` is at least the logarithm of the true delta at exactly the doubles it is given, `delta_curve` at
least the true delta at each of many epsilons. The stated error of scipy's erfcx and ndtr (below 1e-13, taken as 2^-43;
tested against arbitrary precision) and of every rounding here is added to the result. The two differ in speed only:
one number takes microseconds in plain floats, many of them take arrays; their parts are written once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, Real, special

UNDERFLOW = 1e-300
"""Added to a curve: covers what became zero in it."""

_SPECIAL = 2.0**-43  # relative error granted to erfcx and ndtr
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_SMALL_MU = 1e-4  # below it the trapezoid is tighter than the difference
_FAR = 37  # delta <= phi(a)/a is below 1e-299 beyond it


def mills(x: Real) -> Real:
    """Phi(-x)/phi(x)."""
    value: Real = math.sqrt(math.pi / 2) * special().erfcx(x / math.sqrt(2))
    return value


def log_delta(mu: float, epsilon: float) -> float:
    """An upper bound of log delta(epsilon), for mu > 0 and epsilon >= 0."""
    centre = epsilon / mu
    a = centre - mu / 2
    if a > 1e7:
        # delta <= Phi(-a) <= phi(a)/a, and nothing finer is of use for such small values.
        return -a * a / 2 * (1 - 16 * STEP_AT_ONE * (1 + mu / a))
    b = a + mu
    slack = _slack(a, centre, mu)
    log_phi = -a * a / 2 - _LOG_ROOT_TWO_PI
    if mu < _SMALL_MU:
        return log_phi + math.log(_trapezoid_up(a, b, mu)) + slack
    if a < 0:
        at_least_half = float(special().ndtr(-a))
        swapped = math.exp(log_phi) * float(mills(b))
        return min(0.0, math.log(_difference_up(at_least_half, swapped)) + slack)
    return min(0.0, log_phi + math.log(_difference_up(mills(a), mills(b))) + slack)


def delta_curve(mu: float, epsilons: Floats) -> Floats:
    """Upper bounds of delta at each of `epsilons` >= 0; `mu` may have been rounded up, as delta grows with it."""
    centre = epsilons / mu
    a = centre - mu / 2
    b = a + mu
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        density = np.exp(-a * a / 2 - _LOG_ROOT_TWO_PI)
        if mu < _SMALL_MU:
            value = density * _trapezoid_up(a, b, mu)
        else:
            far = mills(b)
            above = density * _difference_up(mills(np.maximum(a, 0.0)), far)
            value = np.where(a >= 0, above, _difference_up(special().ndtr(-a), density * far))
        value = value * (1 + _slack(a, centre, mu)) + UNDERFLOW
    far_away = np.minimum(np.nan_to_num(value, nan=UNDERFLOW), 1e-290)
    return np.where(a > _FAR, far_away, np.clip(value, 0.0, 1.0))


def _slack(a: Real, centre: Real, mu: float) -> Real:
    """The relative error of delta by what was rounded on the way to a = centre - mu/2, and after it.

    |d log delta / d a| <= 2 |a| + 2, because delta is the integral of phi(a + t)(1 - exp(-mu t)) over t > 0.
    """
    return 4 * STEP_AT_ONE * ((2 * abs(a) + 2) * (centre + mu) + a * a + 16)


def _difference_up(larger: Real, smaller: Real) -> Real:
    """The difference of two values of special functions."""
    return larger - smaller + _SPECIAL * (larger + smaller)


def _trapezoid_up(a: Real, b: Real, mu: float) -> Real:
    """An upper bound of M(a) - M(b), for a above -1."""
    return mu * (_slope_up(a) + _slope_up(b)) / 2


def _slope_up(x: Real) -> Real:
    """An upper bound of g(x) = 1 - x M(x), for x above -1. For large x it cancels, and 1/(1 + x^2) is above it."""
    product = x * mills(x)
    computed = 1 - product + _SPECIAL * (1 + abs(product))
    least: Any = np.where(x > 0, np.minimum(computed, 1 / (1 + x * x) * (1 + 4 * STEP_AT_ONE)), computed)
    bound: Real = least
    return bound


def largest_mu(epsilon: float, log_target: float) -> float:
    """A mu whose delta(epsilon) is at most exp(log_target), as large as the slack of `log_delta` allows.

    Newton's method in log mu, from below: concentrated privacy gives a mu that is small enough, and
    log delta is increasing and concave in log mu, so the steps grow towards the root without passing it.
    Whatever the search did, the value returned has been verified.
    """
    level = max(-log_target, 0.0)
    mu = math.sqrt(2) * epsilon / (math.sqrt(level + epsilon) + math.sqrt(level))
    for _ in range(100):
        value = log_delta(mu, epsilon)
        a = epsilon / mu - mu / 2
        gain = mu * math.exp(min(700.0, -a * a / 2 - _LOG_ROOT_TWO_PI - value))
        step = min(1.0, (log_target - value) / gain) if gain > 0 else 1.0
        if abs(step) < 1e-13:
            break
        mu *= math.exp(step)
    retreat = 2.0**-50
    while log_delta(mu, epsilon) > log_target:
        mu *= 1 - retreat
        retreat = min(2 * retreat, 0.5)
    return mu


def smallest_epsilon(mu: float, log_target: float) -> float:
    """An epsilon with delta(epsilon) at most exp(log_target), as small as the slack of `log_delta` allows.

    Newton's method from above: log delta is decreasing and concave in epsilon, so the steps never pass the root.
    """
    if log_target >= 0 or log_delta(mu, 0.0) <= log_target:
        return 0.0
    rho = mu * mu / 2
    epsilon = rho + 2 * math.sqrt(rho * -log_target)
    for _ in range(100):
        value = log_delta(mu, epsilon)
        a = epsilon / mu - mu / 2
        fall = float(mills(a + mu)) * math.exp(min(700.0, -a * a / 2 - _LOG_ROOT_TWO_PI - value))
        step = (log_target - value) / fall if fall > 0 else 0.0
        if abs(step) <= 1e-14 * epsilon:
            break
        epsilon = max(epsilon - step, epsilon / 2)
    advance = 2.0**-50
    while log_delta(mu, epsilon) > log_target:
        epsilon *= 1 + advance
        advance *= 2
    return epsilon
