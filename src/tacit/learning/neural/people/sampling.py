"""Who is in a step: a Poisson sample drawn from secure bits, in a uniformly random order.

Theorem. Each of the people is chosen independently with the exact rational probability `rate` (`noise.bernoulli`). The
order is that of 64 random bits each; where two are equal, both are drawn anew until all differ, which treats everyone
alike, so every order is equally likely. Whether a person is chosen does not depend on how many people there are.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.noise import BitSource, bernoulli


def poisson_sample(people: int, rate: Fraction, bits: BitSource) -> NDArray[np.int64]:
    """The places of those who are in, in random order; sometimes there are none."""
    chosen = np.flatnonzero(bernoulli(rate, people, bits)).astype(np.int64)
    return chosen[random_order(len(chosen), bits)]


def random_order(many: int, bits: BitSource) -> NDArray[np.intp]:
    """A uniformly random order of 0, 1, ... below `many`."""
    keys = bits.words(many) if many else np.zeros(0, dtype=np.uint64)
    while True:
        order = np.argsort(keys, kind="stable")
        in_order = keys[order]
        equal = in_order[1:] == in_order[:-1]
        if not equal.any():
            return order
        again = np.zeros(many, dtype=bool)
        again[order[1:][equal]] = again[order[:-1][equal]] = True
        keys[again] = bits.words(int(again.sum()))
