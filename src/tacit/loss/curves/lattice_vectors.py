"""The exact privacy curve of discrete Gaussian noise on several integers, for narrow noise; rounded up.

Setting. Each of d integers gets noise of mass proportional to exp(-x^2/(2 sigma^2)); neighbours differ by an integer
vector v with |v|^2 at most n.

Theorem. Given v the privacy loss at the noise x is (2 t + |v|^2)/(2 sigma^2) with t = sum of v_i x_i, so t, a whole
number, is all that distinguishes the two, and
    delta_v(eps) = sum over t of P(t) (1 - exp(eps - (2 t + |v|^2)/(2 sigma^2)))_+ ,
P the convolution of the laws of v_i x_i. Noise is symmetric and the coordinates alike, so v stands for all vectors with
the same sizes in another order; the largest delta_v over the partitions of 1, ..., n into at most d squares is the
curve, in both directions (v and -v are alike). Nothing is assumed about which v is worst.

Numbers. Each coordinate's law is cut 14 sigma and 2 from 0, where by the integral of its tail less than exp(-96) is
lost on both sides; what is lost is added to delta. All terms are positive, so sums have the relative error of their
number of terms. Source: worked out here; for one coordinate Canonne, Kamath, Steinke 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.loss.numbers.outward import STEP_AT_ONE, Floats

MOST_SQUARED = 16
"""Squared distances up to which all vectors are tried: 57 of them."""
LEAST_SIGMA, MOST_SIGMA = 0.25, 8.0
"""Wider noise is within a few parts in a thousand of what the comparison with rounded Gaussian noise gives."""
_LOST = 1e-41


@dataclass(frozen=True, slots=True)
class Vector:
    """The law of t for one v."""

    squared: int  # |v|^2
    reach: int  # t goes from -reach to reach
    above: Floats  # P(t or more), from the least t on, and a zero behind
    relative: float  # error of these


def applies(squared: int, sigma: float) -> bool:
    """Whether the curve is worked out here."""
    return squared <= MOST_SQUARED and LEAST_SIGMA <= sigma <= MOST_SIGMA


def delta(squared: int, sigma: float, dimensions: int, epsilon: Floats) -> Floats:
    """The curve at each epsilon >= 0."""
    parts = min(dimensions, squared)
    found = np.zeros_like(epsilon)
    with np.errstate(over="ignore", invalid="ignore"):
        for each in _laws(squared, sigma, parts):
            # the first t with a loss above epsilon; rounding may move it past a term with a tiny gain
            first = np.floor(epsilon * sigma * sigma - each.squared / 2) + 1
            place = (np.clip(first, -each.reach, each.reach + 1) + each.reach).astype(np.int64)
            for start in (place, np.maximum(place - 1, 0)):
                # for the neighbour t is smaller by |v|^2
                there = each.above[np.minimum(start + each.squared, each.above.size - 1)]
                lost = np.where(there > 0, np.exp(epsilon) * there, 0.0)
                found = np.maximum(found, each.above[start] * (1 + each.relative) - lost * (1 - each.relative))
    return np.clip(found + parts * _LOST, 0.0, 1.0)


@lru_cache(maxsize=8)
def _laws(squared: int, sigma: float, parts: int) -> tuple[Vector, ...]:
    exponent = (14 * sigma + 3) ** 2 / (2 * sigma * sigma)  # the largest of one coordinate
    found = []
    for length, masses in _vectors(squared, sigma, parts):
        above = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        relative = 4 * STEP_AT_ONE * (64 + masses.size + parts * (2 * exponent + 64))
        found.append(Vector(length, (masses.size - 1) // 2, above, relative))
    return tuple(found)


def _vectors(squared: int, sigma: float, parts: int) -> Iterator[tuple[int, Floats]]:
    """Every v with sizes in descending order, and the law of t."""
    reach = math.ceil(14 * sigma) + 2
    points = np.arange(-reach, reach + 1)
    with np.errstate(under="ignore"):
        weights = np.exp(-(points**2) / (2 * sigma * sigma))
    one = weights / weights.sum()

    def further(left: int, most: int, parts: int, length: int, law: Floats) -> Iterator[tuple[int, Floats]]:
        for size in range(1, min(most, math.isqrt(left)) + 1):
            if parts == 0:
                return
            stretched = np.zeros(2 * reach * size + 1)
            stretched[::size] = one
            grown = np.convolve(law, stretched)
            yield length + size * size, grown
            yield from further(left - size * size, size, parts - 1, length + size * size, grown)

    yield from further(squared, squared, parts, 0, np.ones(1))
