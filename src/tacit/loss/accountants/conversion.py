"""From Renyi divergence to (epsilon, delta), both ways round.

Theorem (Canonne, Kamath and Steinke 2020, Proposition 12; Asoodeh et al. 2020; re-derived). If the Renyi divergence of
order a > 1 is at most D, then for every epsilon >= 0

    delta <= exp((a - 1)(D - epsilon)) / a * (1 - 1/a)^(a - 1).

Proof: with the loss L under P, delta = E(1 - exp(epsilon - L))_+ and E exp((a-1) L) <= exp((a-1) D); the largest
value of (1 - exp(-y)) exp(-(a-1) y) over y > 0 is at exp(-y) = 1 - 1/a, and is (1/a)(1 - 1/a)^(a-1): `log_constant`.
Every order gives a valid bound, so a search over orders needs no guarantee of its own.
"""

from __future__ import annotations

import numpy as np

from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, Real


def log_constant(gap: Real) -> Real:
    """log of (1/a)(1 - 1/a)^(a-1) at a - 1 = gap, rounded up by a relative 2^-48; it falls with a.

    In c = a - 1 it is -c log(1 + 1/c) - log(1 + c): two terms of one sign, so that nothing cancels. A logarithm that is
    cut where 1/c would overflow makes it larger.
    """
    value: Real = -(gap * np.log1p(1 / np.maximum(gap, 1e-300)) + np.log1p(gap))
    return value * (1 - 16 * STEP_AT_ONE)


def log_deltas(divergence: Floats, order: Floats, epsilon: float | Floats) -> Floats:
    """log delta at epsilon, one bound for each (divergence, order)."""
    gap = order - 1
    with np.errstate(over="ignore", invalid="ignore"):
        value = gap * (divergence - epsilon) + log_constant(gap)
        value = value + 8 * STEP_AT_ONE * (gap * (divergence + epsilon) + np.abs(value))
    return np.where(np.isfinite(divergence), np.minimum(value, 0.0), 0.0)


def epsilons(divergence: Floats, order: Floats, log_delta: float) -> Floats:
    """The epsilon at which the bound is exp(log_delta), one for each (divergence, order); at least 0."""
    gap = order - 1
    with np.errstate(over="ignore", invalid="ignore"):
        rest = log_constant(gap) - log_delta
        value = divergence + rest / gap
        value = value + 8 * STEP_AT_ONE * (divergence + np.abs(rest / gap) + (np.abs(log_delta) + np.abs(rest)) / gap)
    return np.where(np.isfinite(divergence), np.maximum(value, 0.0), np.inf)


def left_after(aside: float, delta: float) -> float | None:
    """What of `delta` remains once `aside` is spent: aside + (1 - aside) left <= delta."""
    if delta >= 1:
        return 1.0
    left = (delta - aside) / (1 - aside) * (1 - 8 * STEP_AT_ONE) - 4 * STEP_AT_ONE * aside if aside < 1 else 0.0
    return left if left > 0 else (0.0 if aside == 0 and delta == 0 else None)
