"""Amplification by shuffling, computed from the clones reduction; for epsilon >= 0, rounded up.

Theorem (Feldman, McMillan and Talwar 2021, re-derived). Let R be a local randomiser with pure epsilon e, and let the
first of n units change from x0 to x1. R(x0) = p Q0 + q Q1 and R(x1) = q Q0 + p Q1 with p = 1/(1 + exp(-e)), q = 1 - p,
where Q0 = (exp(e) R(x0) - R(x1))/(exp(e) - 1) and Q1 likewise are distributions. For every other unit
R(x) >= exp(-e)(R(x0) + R(x1))/2 = exp(-e)(Q0 + Q1)/2, so with probability r = exp(-e) it reports a clone, Q0 or
Q1 by a fair coin. The shuffled reports are a post-processing of how many of the n reports came from Q0 and Q1:
    C ~ Binomial(n - 1, r),  A ~ Binomial(C, 1/2),  and one more for Q0 with probability p (q), else for Q1.
For randomised response among m options Q0 and Q1 are the two answers themselves: r = 2/(exp(e) + m - 1), and the first
unit gives one of these two with probability (exp(e) + 1)/(exp(e) + m - 1) only. (Two options: see `shuffled_bits`.)

Given C the likelihood ratio grows with u, the number from Q0, so the best test is a threshold and delta needs two
binomial tails. More clones can only help (they can be simulated), so C is rounded down to one of some 200 values;
the weight below each is rounded up. Fair binomial tails of scipy are granted a relative error of 2^-33, others 2^-26
(both tested). Beyond a million the others are not counted: reports that are shown in the clear can only reveal more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, special

_TAIL = 2.0**-33
_UNFAIR_TAIL = 2.0**-26
_MOST_OTHERS = 10**6
_BLOCKS = 200
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Clones:
    """What is known of the local randomiser: its pure epsilon, and how often others report a clone."""

    epsilon: float
    rate: float  # rounded down
    involved: float = 1.0  # probability that the first unit's report tells anything, rounded up

    @classmethod
    def of_pure(cls, epsilon: float) -> Clones:
        return cls(epsilon, math.exp(-epsilon) * (1 - 4 * STEP_AT_ONE))

    @classmethod
    def of_response(cls, epsilon: float, options: int) -> Clones:
        # Both quantities are monotone in epsilon, so the same rounded-up epsilon serves both.
        weight = math.exp(epsilon) + options - 1
        if not math.isfinite(weight):
            return cls.of_pure(epsilon)
        return cls(
            epsilon,
            2 / weight * (1 - 16 * STEP_AT_ONE),
            min(1.0, (math.exp(epsilon) + 1) / weight * (1 + 16 * STEP_AT_ONE)),
        )


def shuffled(clones: Clones, population: int, epsilon: Floats) -> Floats:
    """The curve of the shuffled reports of `population` units."""
    counts, weight_up_to = _blocks(min(population - 1, _MOST_OTHERS), clones.rate)
    curves = np.stack([_given_clones(clones.epsilon, count, epsilon) for count in counts])
    # Abel summation: delta falls with the number of clones, and every weight below a value was rounded up.
    falls = np.maximum(curves[:-1] - curves[1:], 0.0)
    total = curves[-1] + np.tensordot(weight_up_to, falls, axes=1)
    bound: Floats = np.clip(clones.involved * total * (1 + 4 * _BLOCKS * STEP_AT_ONE) + _TINY, 0.0, 1.0)
    return bound


def _blocks(others: int, rate: float) -> tuple[Floats, Floats]:
    """Values of C to round down to, and for each but the last the probability of lying below the next."""
    spread = math.sqrt(others * rate * (1 - rate))
    levels = others * rate + spread * np.linspace(-9.0, 5.0, _BLOCKS)
    counts = np.unique(np.concatenate([[0.0], np.clip(np.floor(levels), 0, others)]))
    weight = np.array([float(special().bdtr(value - 1, others, rate)) for value in counts[1:]])
    return counts, np.minimum(1.0, weight * (1 + _UNFAIR_TAIL) + _TINY)


def _given_clones(local: float, count: float, epsilon: Floats) -> Floats:
    truth = 1 / (1 + math.exp(-local))
    lie = math.exp(-local) * truth
    inside = epsilon < local
    at = np.where(inside, epsilon, 0.0)
    # u counts for the first value when u (exp(local) - exp(eps)) > v (exp(local + eps) - 1), u + v = C + 1.
    odds = np.exp(at - local)
    share = (np.exp(at) - math.exp(-local)) / ((1 - odds) + (np.exp(at) - math.exp(-local)))
    # All values from the first one on count for it, whatever the rounding of the share was. Rounding may also move the
    # least u by one, past a term with a tiny gain that may still outweigh all terms beyond it: so one less is tried as
    # well.
    least = np.minimum(np.floor((count + 1) * share) + 1, count + 1)
    factor = np.exp(at)
    value = np.zeros_like(at)
    for first in (least, least - 1):
        tail, one_less = _at_least(first, count), _at_least(first - 1, count)
        gained = one_less * truth + tail * lie
        lost = factor * (one_less * lie + tail * truth)
        value = np.maximum(value, gained - lost + (2 * _TAIL) * (gained + lost))
    return np.where(inside, np.clip(value, 0.0, 1.0), 0.0)


def _at_least(least: Floats, count: float) -> Floats:
    """P(A >= least) for A ~ Binomial(count, 1/2)."""
    within = np.clip(least, 1, count) if count >= 1 else np.ones_like(least)
    tail = special().betainc(within, count - within + 1, 0.5) if count >= 1 else np.zeros_like(least)
    return np.where(least <= 0, 1.0, np.where(least > count, 0.0, tail))
