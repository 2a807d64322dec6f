"""Membership from statistics: many means over few people reveal who was among them.

The release is the number of people with each of d attributes (a panel of genes, say). The attacker knows one person's
attributes x and the shares p in the population, and scores (x - p) . (means - p): for members it is d times the
attributes' variance over n higher than for others (Homer et al. 2008; Dwork et al. 2015). A threshold half-way decides.

The private release adds Gaussian noise: one person changes each of d numbers by at most 1, so the L2 sensitivity is
sqrt(d). A coin decided for every candidate whether they are in.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.audit.attacks.attempt import Attempt, Rates, attempted
from tacit.mechanisms import Gaussian
from tacit.parameters import Number


def membership_in_means(
    epsilon: Number = 1, delta: Number = "1e-9", *, candidates: int = 200, attributes: int = 2_500, seed: int = 1
) -> Attempt:
    """Find out who was among those whose attributes were averaged. `attributes` is a square, such as 2,500.

    >>> done = membership_in_means(epsilon=1, candidates=40, attributes=400)
    >>> round(done.ceiling, 2), done.naive > done.ceiling
    (0.73, True)
    """
    root = isqrt(parameters.whole("attributes", attributes, least=1))
    if root * root != attributes:
        raise parameters.refuse("attributes", "a square number, so that the L2 sensitivity is whole", attributes)

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        shares = rng.uniform(0.05, 0.5, attributes)
        people = (rng.random((candidates, attributes)) < shares).astype(np.int64)
        members = rng.integers(0, 2, candidates) == 1
        counts = people[members].sum(axis=0)
        noisy = Gaussian(sensitivity=root, epsilon=epsilon, delta=delta, size=attributes).release(counts)
        naive, private = (_right(people, members, shares, each) for each in (counts, noisy))
        words = f"{attributes} numbers about {int(members.sum())} people."
        return Rates(naive, private, 0.5, candidates, words)

    return attempted(
        "membership in means", "tell whether a person was among those counted", run, epsilon=epsilon, delta=delta
    )


def _right(
    people: NDArray[np.int64], members: NDArray[np.bool_], shares: NDArray[np.float64], counts: NDArray[np.int64]
) -> float:
    """How often the score is on the right side of half-way; about half of the candidates are in."""
    scores = (people - shares) @ (counts - len(people) / 2 * shares)
    return float(np.mean((scores > np.sum(shares * (1 - shares)) / 2) == members))
