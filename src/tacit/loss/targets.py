"""What a target (epsilon, delta) leaves room for: the largest Renyi divergence of an order, the largest rho.

The theorem of `conversion` (a divergence D of order a implies (eps, delta) when
delta >= exp((a - 1)(D - eps)) C, with its constant C = (1 - 1/a)^(a - 1)/a), solved for D at a target:
    D <= eps + (log delta - log C) / (a - 1).
For rho-zCDP, D = a rho at every order, so any order gives a bound, and the search for the best one cannot do harm.

Promise: a divergence or rho is never above what the theorem allows at its order, an epsilon never below.
Everything but one logarithm is exact rational arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tacit.loss.accountants.conversion import log_constant
from tacit.loss.numbers.outward import Floats, down
from tacit.loss.numbers.rounding import dyadic_up, float_down, float_up, fraction_log_down

_LEAST, _MOST = -14.0, 34.0  # the range searched for log(a - 1); an end is as sound as the middle


def divergence_within(order: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest Renyi divergence of this order that implies (epsilon, delta > 0), rounded down; may be negative."""
    gain = down(fraction_log_down(delta) - log_constant(float_down(order - 1)))
    return epsilon + Fraction(gain) / (order - 1)


def epsilon_of_divergence(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """The epsilon that a Renyi divergence of this order implies at delta > 0, rounded up; at least 0."""
    return max(Fraction(0), divergence - divergence_within(order, Fraction(0), delta))


def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order at which (epsilon, delta > 0) leaves most room for zCDP: it maximises divergence_within / order.

    Any order above 1 is sound; this one is a short dyadic, close enough to the best to lose less than a millionth.
    """
    target, log_delta = float_down(epsilon), fraction_log_down(delta)
    return _short(_highest(lambda x: (target + (log_delta - log_constant(x)) / x) / (1 + x)))


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho whose zCDP implies (epsilon, delta), rounded down; 0 when delta is 0."""
    if delta == 0 or epsilon == 0:
        return Fraction(0)
    order = best_order(epsilon, delta)
    return max(Fraction(0), divergence_within(order, epsilon, delta) / order)


def epsilon_of_concentrated(rho: Fraction, delta: Fraction) -> Fraction:
    """The epsilon that rho-zCDP implies at delta > 0, rounded up to a double."""
    if rho == 0:
        return Fraction(0)
    above, log_delta = float_up(rho), fraction_log_down(delta)
    order = _short(_highest(lambda x: (log_delta - log_constant(x)) / x - (1 + x) * above))
    implied = epsilon_of_divergence(order, order * rho, delta)
    return dyadic_up(implied) if implied else implied


def _highest(room: Callable[[Floats], Floats]) -> float:
    """The a - 1 at which `room` is highest, by a coarse and then a fine look."""
    coarse = np.linspace(_LEAST, _MOST, 481)
    best = float(coarse[int(np.argmax(room(np.exp(coarse))))])
    fine = np.linspace(best - 0.1, best + 0.1, 401)
    return math.exp(float(fine[int(np.argmax(room(np.exp(fine))))]))


def _short(less_one: float) -> Fraction:
    """The order with a - 1 rounded to 16 binary digits, so that it is short to store."""
    unit = Fraction(2) ** (math.frexp(less_one)[1] - 16)
    return 1 + round(Fraction(less_one) / unit) * unit
