"""How many people gave each answer: unbiased shares from supports, their intervals, and shares that add up to one.

Theorem. Given everyone's answers, the support of an option that m of n people have is the sum of m coins of
probability p and n - m of probability q, all independent. So (support/n - q)/(p - q) has the share m/n as its mean, and
(f p (1 - p) + (1 - f) q (1 - q))/(n (p - q)**2) as its variance at f = m/n (`laws`).

The interval. Let r = q + (p - q) m/n be the mean of support/n. The exact interval of Clopper and Pearson (1934) for the
success probability of n equal coins covers r here too: coins of different probabilities are spread less than equal ones
of the same mean, so both tails beyond one report from the mean are lighter (Hoeffding 1956). Its ends become shares by
the same line as the estimate. It covers the share among those who answered; and, because equal coins are what a random
sample of a population gives, the population's share too, where those who answered are such a sample.

`consistent` moves the estimates to the nearest point of the simplex (norm-sub: Wang et al. 2020): what is negative
becomes 0, and the rest is shifted by one number until the sum is 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from tacit.local.laws import Law, supports
from tacit.mechanisms.simplex import nearest

Reals = NDArray[np.float64]


def shares(law: Law, support: NDArray[np.int64], people: int, level: float) -> tuple[Reals, Reals, Reals]:
    """For every option the unbiased share, and the ends of its interval."""
    p, q = (float(each) for each in supports(law))
    estimate = (support / people - q) / (p - q)
    low, high = (np.clip((end - q) / (p - q), 0.0, 1.0) for end in exact_ends(support, people, level))
    return estimate, low, high


def exact_ends(support: NDArray[np.int64], people: int, level: float) -> tuple[Reals, Reals]:
    """Clopper and Pearson's interval of a probability, for each number of ones."""
    tail = (1 - level) / 2
    low = np.where(support > 0, betaincinv(np.maximum(support, 1), people - support + 1, tail), 0.0)
    high = np.where(support < people, betaincinv(support + 1, np.maximum(people - support, 1), 1 - tail), 1.0)
    return low, high


def consistent(estimate: Reals) -> Reals:
    """The shares as a distribution: the projection onto the simplex."""
    return nearest(estimate, 1.0)


def falling(estimate: Reals) -> Reals:
    """The nearest shares that do not grow from one option to the next: pooled neighbours, then non-negative."""
    blocks: list[list[float]] = []
    for each in estimate.tolist():
        blocks.append([each, 1.0])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (left, many), (right, more) = blocks[-2], blocks.pop()
            blocks[-1] = [(left * many + right * more) / (many + more), many + more]
    return np.asarray(np.maximum(np.repeat([mean for mean, _ in blocks], [int(many) for _, many in blocks]), 0.0))
