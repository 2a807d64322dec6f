"""The privacy curve of shuffled binary randomised response, over all that the others may hold; rounded up.

Setting. Each of n units reports its bit truly with probability p = 1/(1 + exp(-e)), else (q = 1 - p) the other one;
only the number of ones is seen. The first unit's bit is 1 (law P) or 0 (law Q); k of the N = n - 1 others hold a 1.

Theorem 1 (given k). S, the ones among the others, is Bin(k, p) + Bin(N - k, q): with h(j) = P(S = j), H(j) = P(S >= j),
    P(j) = p h(j-1) + q h(j),   Q(j) = q h(j-1) + p h(j).
h is log-concave (a sum of independent bits), so h(j-1)/h(j) and with it P(j)/Q(j) grows with j, the best test is "at
least j", and
    delta_k(x) = max over j of (p - exp(x) q) h(j-1) - (exp(x) - 1) H(j),
where the best j is the first with h(j-1)/h(j) > (exp(x) p - q)/(p - exp(x) q). Telling zeros for ones turns k into
N - k and P into Q, so that the largest of delta_k over all k holds for both directions.

Theorem 2 (all k from some). Showing the reports of some others in the clear can only reveal more. For k in c, ...,
c+s-1 show those of k - c ones and of c + s - 1 - k zeros (all there are, if fewer): the rest to hide among has at least
c ones and N - c - s + 1 zeros (or N - s + 1 ones, if that is fewer than c). So
    max over k of delta_k on N others <= max over c = 0, s, 2 s, ... of delta on N - s + 1 others.
s is 1 up to 100 others, where the curve is exact, and about N/100 beyond, which costs 0.6 % of epsilon; from 10,000
others on, whose laws are long, it is N/32, at a cost of 2 %.

Numbers. Each binomial law is cut 14 deviations and 70 from its mean: by Bernstein's inequality less than exp(-97) is
lost on either side, which is added to delta. Laws are convolved term by term (relative error) or, where they are long,
by a Fourier transform of L terms, whose error in the L2 norm is granted 16 log2(L) units times the norms of both.
Source: the two laws are in Cheu, Smith, Ullman, Zeber, Zhilyaev 2019; the largest of all k is argued here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.loss.numbers.outward import STEP_AT_ONE, Floats, special

_MOST_OTHERS = 10**6
_BLOCKS, _FEW_BLOCKS, _MANY_OTHERS = 100, 32, 10**4
_DEVIATIONS, _MORE = 14, 70
_LOST = 1e-40
_SHORT = 1 << 20  # products of terms up to which laws are convolved term by term


@dataclass(frozen=True, slots=True)
class Crowd:
    """The ones among the others, given how many hold a one: h from the first j on, and how far it may be off."""

    masses: Floats  # h(j), with a zero before and behind
    above: Floats  # H(j)
    steps: Floats  # h(j-1)/h(j), never falling
    relative: float
    absolute: float  # of each mass
    absolute_above: float  # of each sum of masses


def shuffled_bits(local: float, population: int, epsilon: Floats) -> Floats:
    """The curve of the shuffled binary responses of `population` units, each with odds exp(local)."""
    found = np.zeros_like(epsilon)
    inside = epsilon < local
    at = np.where(inside, epsilon, 0.0)
    for crowd in _crowds(local, min(population - 1, _MOST_OTHERS)):
        found = np.maximum(found, _given(crowd, local, at))
    return np.where(inside, np.clip(found + 4 * _LOST, 0.0, 1.0), 0.0)


def _given(crowd: Crowd, local: float, epsilon: Floats) -> Floats:
    truth = 1 / (1 + math.exp(-local))
    gain = truth * -np.expm1(epsilon - local)  # p - exp(x) q
    more = np.expm1(epsilon)
    odds = (more + 1 - math.exp(-local)) / -np.expm1(epsilon - local)  # (exp(x) p - q)/(p - exp(x) q)
    best = np.searchsorted(crowd.steps, odds, side="right")
    # a rounding error in the ratio misses by one place
    j = np.clip(best + np.array([[-1], [0], [1]]), 1, crowd.masses.size - 1)
    gained, lost = gain * crowd.masses[j - 1], more * crowd.above[j]
    value = (gained * (1 + crowd.relative) - lost * (1 - crowd.relative)).max(axis=0)
    return np.asarray(value + crowd.absolute * gain + crowd.absolute_above * more)


@lru_cache(maxsize=4)
def _crowds(local: float, others: int) -> tuple[Crowd, ...]:
    return tuple(_crowd(local, ones, zeros) for ones, zeros in _blocks(others))


def _blocks(others: int) -> Iterator[tuple[int, int]]:
    """Ones and zeros among the others that are left to hide among, for all k together."""
    blocks = _BLOCKS if others <= _MANY_OTHERS else _FEW_BLOCKS
    step = math.ceil((others + 1) / blocks) if others > blocks else 1
    left = others - (step - 1)
    for first in range(0, others + 1, step):
        ones = min(first, left)
        yield ones, left - ones


def _crowd(local: float, ones: int, zeros: int) -> Crowd:
    one, other = _binomial(local, ones), _binomial(local, zeros)[::-1]  # Bin(zeros, q) is zeros - Bin(zeros, p)
    absolute = absolute_above = 0.0
    if one.size * other.size <= _SHORT:
        masses = np.convolve(one, other)
    else:
        size = one.size + other.size - 1
        length = 1 << (size - 1).bit_length()
        masses = np.maximum(np.fft.irfft(np.fft.rfft(one, length) * np.fft.rfft(other, length), length)[:size], 0.0)
        absolute = 16 * math.log2(length) * STEP_AT_ONE * float(np.linalg.norm(one) * np.linalg.norm(other))
        absolute_above = absolute * math.sqrt(size)
    masses = np.concatenate([[0.0], masses, [0.0]])
    above = np.cumsum(masses[::-1])[::-1]
    # where the transform's error is larger than the masses, ratios mean nothing: only masses that stand out are used
    shown = np.flatnonzero(masses > max(64 * absolute, 1e-280))
    steps = np.zeros(masses.size)
    steps[shown[-1] + 1 :] = np.inf
    steps[shown[1:]] = masses[shown[1:] - 1] / masses[shown[1:]]
    factorials = 3 * float(special().gammaln(ones + zeros + 2.0)) + (ones + zeros) * (local + 1)
    relative = 8 * STEP_AT_ONE * (factorials + masses.size + 64)
    return Crowd(masses, above, np.maximum.accumulate(steps), relative, absolute, absolute_above)


def _binomial(local: float, count: int) -> Floats:
    """The masses of Bin(count, p) around its mean."""
    log_truth = -math.log1p(math.exp(-local))
    mean = count * math.exp(log_truth)
    reach = _DEVIATIONS * math.sqrt(mean * math.exp(log_truth - local)) + _MORE
    points = np.arange(max(0, math.floor(mean - reach)), min(count, math.ceil(mean + reach)) + 1, dtype=np.float64)
    factorial = special().gammaln
    ways = factorial(count + 1.0) - factorial(points + 1) - factorial(count - points + 1)
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(ways + count * log_truth - (count - points) * local))
