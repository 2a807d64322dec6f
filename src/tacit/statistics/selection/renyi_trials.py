"""What the best of a random number of runs costs, when the runs are bounded in Renyi divergence, not by a pure epsilon.

Theorem (Papernot, Steinke 2022, Theorem 2). Let a run have Renyi divergence at most D(a) at every order a > 1, and let
K have the truncated negative binomial law of `trials` with its shape > -1 and stop. The best of K runs has divergence
at most

    D(a) + (1 + shape) ((1 - 1/b) D(b) + ln(1/stop)/b) + ln(E K)/(a - 1)

at order a, for every b >= 1; E K = shape (1 - stop)/(stop (1 - stop**shape)), for shape 0 (1/stop - 1)/ln(1/stop).
A run that draws one of several candidates first has at most the largest of their divergences at each order: the draw
does not depend on the data. Every pair (a, b) gives a valid bound, so a search over a grid needs no guarantee.

The tests compare the bound with exact divergences of laws that are enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.loss.accountants import conversion
from tacit.loss.accountants.renyi import curve
from tacit.loss.events import Event
from tacit.loss.numbers.outward import Floats
from tacit.statistics.selection.trials import NegativeBinomial

_ORDERS: Floats = np.unique(np.concatenate([1 + np.geomspace(1e-3, 1e5, 161), np.arange(2.0, 65.0)]))
_UP = 1 + 1e-9  # far more than the error of the arithmetic below


def divergences(number: NegativeBinomial, runs: Sequence[Event], orders: Floats = _ORDERS) -> Floats:
    """A bound on the divergence of the best at each order, over runs that are one of these events; infinite where one
    of them sets a delta aside."""
    curves = [curve(each, orders) for each in set(runs)]
    if any(aside > 0 for _, aside in curves):
        return np.full_like(orders, math.inf)
    each = np.max([found for found, _ in curves], axis=0)
    shape, log = float(number.shape), -math.log(float(number.stop))
    second = float(((1 - 1 / orders) * each + log / orders).min())
    found = each + (1 + shape) * second + math.log(mean_trials(number)) / (orders - 1)
    return np.asarray(found * _UP)


def mean_trials(number: NegativeBinomial) -> float:
    """E K: the mean number of runs."""
    shape, stop = float(number.shape), float(number.stop)
    if shape == 0:
        return (1 / stop - 1) / -math.log(stop)
    return shape * (1 - stop) / (stop * -math.expm1(shape * math.log(stop)))


def epsilon_of_best(number: NegativeBinomial, runs: Sequence[Event], delta: Fraction) -> float:
    """The epsilon of the best of K runs at this delta."""
    found = divergences(number, runs)
    told = conversion.epsilons(found, _ORDERS, math.log(float(delta)) * _UP)
    return float(told.min()) * _UP
