"""Exact privacy curves, delta as a function of epsilon, to hold totals against.

Sums have positive terms only and err by less than a relative 1e-11; the Gaussian is evaluated with 40 digits. An
epsilon is sound when the true delta at it is at most the delta asked for, and tight when a little below it is more.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np

from tacit.loss.accountants import contour
from tacit.loss.events import Event

Curve = Callable[[float], float]


def response_truth(epsilon: float, count: int, failure: float = 0.0) -> Curve:
    """Kairouz, Oh and Viswanath: a binomial sum over the number of lies."""
    log_keep, log_flip = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    lies = np.arange(count + 1)
    log_ways = np.array([mpmath.log(mpmath.binomial(count, int(i))) for i in lies], dtype=float)
    masses = np.exp(log_ways + (count - lies) * log_keep + lies * log_flip)
    losses = epsilon * (count - 2 * lies)
    survive = (1 - failure) ** count

    def truth(at: float) -> float:
        return float((masses * np.maximum(0.0, -np.expm1(at - losses))).sum()) * survive + (1 - survive)

    return truth


def gaussian_truth(mu: float) -> Curve:
    def truth(at: float) -> float:
        with mpmath.workdps(40):
            m, e = mpmath.mpf(mu), mpmath.mpf(at)
            return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))

    return truth


def lattice_truth(parts: list[tuple[dict[int, float], int]], unit: float) -> Curve:
    """Losses that are multiples of `unit`, convolved exactly."""
    total = {0: 1.0}
    for masses, count in parts:
        for _ in range(count):
            following: dict[int, float] = {}
            for loss, mass in total.items():
                for step, chance in masses.items():
                    following[loss + step] = following.get(loss + step, 0.0) + mass * chance
            total = following
    losses, masses_ = np.array([*total]) * unit, np.array([*total.values()])
    return lambda at: float((masses_ * np.maximum(0.0, -np.expm1(at - losses))).sum())


def discrete_laplace_lattice(shift: int, step: float) -> dict[int, float]:
    """Losses of discrete Laplace noise in units of `step`, from its mass function."""
    r = math.exp(-step)
    found: dict[int, float] = {}
    for x in range(-int(60 / step) - 1, int(60 / step) + shift + 2):
        loss = abs(x - shift) - abs(x)
        found[loss] = found.get(loss, 0.0) + (1 - r) / (1 + r) * r ** abs(x)
    return found


def assert_sound_and_tight(entries: dict[Event, int], truth: Curve, delta: float, slack: float = 1e-3) -> None:
    found = contour.epsilon(entries, delta)
    assert truth(found) <= delta * (1 + 1e-10)
    if found > 0:
        assert truth(found * (1 - slack)) > delta
    else:
        assert truth(0.0) <= delta
    for at in (0.5 * found, found):
        priced = contour.delta(entries, at)
        assert priced >= truth(at) * (1 - 1e-10)
        # at the very end of bounded losses delta falls to 0 too steeply for a relative bound
        assert priced <= max(truth(at) * 1.02, delta if at == found else 0.0)
