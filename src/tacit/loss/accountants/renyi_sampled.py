"""Renyi divergence of a mechanism that saw a sample of the data.

Theorem (Mironov, Talwar and Zhang 2019; Zhu and Wang 2019; re-derived). Let every unit stand in the sample with
probability q, and write R for the likelihood ratio of the mechanism with and without the unit. Removing the unit, at a
whole order n,

    exp((n-1) D_n) = E_Q (1 - q + q R)^n = 1 + sum over j = 2..n of C(n,j) (1-q)^(n-j) q^j (exp((j-1) D_j) - 1),

with the mechanism's own D_j in it, and every term grows with D_j, so upper bounds may be put in. (a-1) D_a is a
cumulant generating function, convex in a, so orders between two whole ones are interpolated, from 0 at order 1.

Adding the unit. Where the law of the loss mirrors itself (its law under P is that of -L under Q: all added noise,
randomised response) the divergence is no larger than for removing: pairing R with 1/R, with masses m and R m under Q,
it remains to see that  x^n - x^(1-n) >= R (y^(1-n) - y^n)  for x = 1 - q + q R, y = 1 - q + q/R, R >= 1 (Mironov et
al., Theorem 5; checked on a grid in the tests). Elsewhere it is at most the unsampled divergence, by joint
quasi-convexity, and at most -log(1-q), because Q <= P'/(1-q).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit.loss import events
from tacit.loss.events import Event
from tacit.loss.guarantees import inside
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, special

_HIGHEST = 512  # whole orders above this one are not summed: the caller has the unsampled divergence for them

_MIRRORED = (
    events.Pure,
    events.Laplace,
    events.DiscreteLaplace,
    events.Gaussian,
    events.DiscreteGaussian,
    events.RandomizedResponse,
)


def is_mirrored(event: Event) -> bool:
    """Whether `event` is dominated by a pair whose loss has the same law in both directions."""
    if isinstance(event, (events.Composed, events.Repeated)):
        return all(is_mirrored(part) for part in inside(event))
    return isinstance(event, _MIRRORED)


def removing(own: Callable[[Floats], Floats], rate: float, orders: Floats) -> Floats:
    """The divergence for removing a unit that was sampled at `rate`; `own` is the mechanism's own curve."""
    lower = np.floor(orders)
    whole = np.unique(np.concatenate([lower, lower + 1])).astype(np.int64)
    whole = whole[(whole >= 2) & (whole <= _HIGHEST)]
    moments = {1: 0.0}
    if len(whole):
        steps = np.arange(2, whole[-1] + 1, dtype=np.float64)
        exponents = (steps - 1) * own(steps)
        moments.update({int(order): _log_moment(int(order), rate, exponents[: order - 1]) for order in whole})
    at_floor = np.array([moments.get(int(order), math.inf) for order in lower])
    at_next = np.array([moments.get(int(order) + 1, math.inf) for order in lower])
    part = orders - lower
    with np.errstate(invalid="ignore"):
        between = np.where(part > 0, (1 - part) * at_floor + part * at_next, at_floor)
    return between / (orders - 1) * (1 + 16 * STEP_AT_ONE)


def adding(own: Floats, rate: float) -> Floats:
    """The divergence for adding a unit, whatever the mechanism: its own, or -log(1 - rate)."""
    return np.minimum(own, -math.log1p(-rate) * (1 + 16 * STEP_AT_ONE)) if rate < 1 else own


def _log_moment(order: int, rate: float, exponents: Floats) -> float:
    """log of the moment at a whole order; `exponents` are (j-1) D_j for j = 2..order."""
    j = np.arange(2, order + 1, dtype=np.float64)
    factorial = special().gammaln
    parts = [factorial(order + 1.0), factorial(j + 1), factorial(order - j + 1)]
    logs = parts[0] - parts[1] - parts[2] + j * math.log(rate)
    # Where rate rounds to 1 only the last term is left: 0 * log 0 counts as 0.
    logs = logs + np.where(j < order, (order - j) * (math.log1p(-rate) if rate < 1 else -math.inf), 0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        gains = exponents + np.log(-np.expm1(-exponents))
    logs = logs + gains
    peak = float(np.max(logs))
    if not math.isfinite(peak):
        return math.inf if peak > 0 else 0.0
    size = 3 * float(parts[0]) + order * abs(math.log(rate)) + float(np.max(np.abs(exponents)))
    log_sum = peak + math.log(math.fsum(np.exp(logs - peak))) + 16 * STEP_AT_ONE * (size + order + 8)
    return (
        float(np.logaddexp(0.0, log_sum)) * (1 + 8 * STEP_AT_ONE)
        if log_sum > -30
        else math.exp(log_sum) * (1 + 16 * STEP_AT_ONE)
    )
