"""How many gave each answer: unbiased shares from supports, their intervals, and shares that add up to one.

Theorem. Given everyone's answers, the support of an option that m of n people have is the sum of m coins of
probability p and n - m of probability q, all independent. So (support/n - q)/(p - q) has the share m/n as its mean, and
(f p (1 - p) + (1 - f) q (1 - q))/(n (p - q)**2) as its variance at f = m/n (`laws`).

The interval holds all shares f that a test at this level would not reject: those for which the support is at most
z deviations *at f* from its mean at f, half a report granted because supports are whole numbers. It covers the share
among those who answered, not the share of a wider population.

`consistent` moves the estimates to the nearest point of the simplex (norm-sub: Wang et al. 2020): what is negative
becomes 0, and the rest is shifted by one number until the sum is 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.local.laws import Law, supports

Reals = NDArray[np.float64]


def shares(law: Law, support: NDArray[np.int64], people: int, level: float) -> tuple[Reals, Reals, Reals]:
    """For every option the unbiased share, and the ends of its interval."""
    p, q = (float(each) for each in supports(law))
    estimate = (support / people - q) / (p - q)
    z = float(ndtri((1 + level) / 2))
    low = _end(support - 0.5, people, p, q, z, -1)
    high = _end(support + 0.5, people, p, q, z, +1)
    return estimate, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _end(support: NDArray[Any], people: int, p: float, q: float, z: float, side: int) -> Reals:
    """The root of (support - n q - n f D)**2 = z**2 n (f A + (1 - f) B) on this side."""
    width, own, other = p - q, p * (1 - p), q * (1 - q)
    away = support - people * q
    square = (people * width) ** 2
    linear = 2 * away * people * width + z * z * people * (own - other)
    constant = away**2 - z * z * people * other
    root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0.0))
    return np.asarray((linear + side * root) / (2 * square))


def consistent(estimate: Reals) -> Reals:
    """The shares as a distribution: the projection onto the simplex."""
    ordered = np.sort(estimate)[::-1]
    shifts = (np.cumsum(ordered) - 1.0) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered > shifts)[-1])
    return np.asarray(np.maximum(estimate - shifts[last], 0.0))


def falling(estimate: Reals) -> Reals:
    """The nearest shares that do not grow from one option to the next: pooled neighbours, then non-negative."""
    blocks: list[list[float]] = []
    for each in estimate.tolist():
        blocks.append([each, 1.0])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (left, many), (right, more) = blocks[-2], blocks.pop()
            blocks[-1] = [(left * many + right * more) / (many + more), many + more]
    return np.asarray(np.maximum(np.repeat([mean for mean, _ in blocks], [int(many) for _, many in blocks]), 0.0))
