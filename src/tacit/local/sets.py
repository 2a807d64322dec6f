"""Sets of a fixed number of options, many at once, in words of 64 bits.

A report of the subset protocol is the truth or not, by one coin, and a uniform set of a fixed number of the other
options.

Theorem. Let every option be in a set by a coin of any one probability, and force the truth to what its own coin said.
Of several such sets take the one that needs the fewest draws to mend. While the others in it are too few (too many)
draw an option uniformly, and put it in (take it out) if it is not the truth and is not (is) in. The set of others is
then uniform among those of its size.
Proof. Coins, sizes and draws treat all other options alike: permuting them leaves the law of the whole course as it is.
So the last set has a law that no permutation changes, and its size is fixed: it is uniform. The number of draws is
independent of the true option.

So the probability of the coins is free: sixteenths, which four words of random bits make for 64 options at once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.noise import BitSource, bernoulli, uniform_below

Whole = NDArray[np.int64]
Words = NDArray[np.uint64]
_WORDS_AT_ONCE: Final = 1 << 15
_TRIES: Final = 5


def encode_subset(law: dict[str, Any], truths: Whole, bits: BitSource) -> NDArray[np.uint8]:
    """Reports of these true answers, one a row of packed bytes."""
    options, size = law["options"], law["size"]
    weight = law["keep"] * size
    chance = Fraction(weight, weight + law["other"] * (options - size))
    step = max(1, _WORDS_AT_ONCE // -(-options // 64))
    found = np.empty((len(truths), -(-options // 8)), dtype=np.uint8)
    for start in range(0, len(truths), step):
        own = truths[start : start + step]
        chosen = _chosen(own, options, size, bernoulli(chance, len(own), bits), bits)
        rows = np.ascontiguousarray(chosen.T).view(np.uint8).reshape(len(own), -1)
        found[start : start + step] = rows[:, : found.shape[1]]
    return found


def _chosen(truths: Whole, options: int, size: int, inside: Any, bits: BitSource) -> Words:
    """Sets of `size` options, with the truth where `inside` says so: a column for each, a row for each 64 options."""
    across, rows = -(-options // 64), len(truths)
    bit = np.uint64(1) << (truths & 63).astype(np.uint64)
    own = np.where(np.arange(across)[:, None] == truths >> 6, bit, np.uint64(0))
    told, others = np.where(inside, own, np.uint64(0)), ~own
    if options % 64:
        others[-1] &= np.uint64((1 << options % 64) - 1)
    coin = _sixteenths(options, size)
    best, missing, cost = told, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for tried in range(_TRIES if coin else 1):
        words = (_coins(across * rows, coin, bits).reshape(across, rows) & others) | told
        wanted = size - np.bitwise_count(words).sum(axis=0, dtype=np.int64)
        draws = np.where(wanted > 0, wanted * coin, wanted * (coin - 16))  # the number of draws needed, up to a factor
        if tried == 0:
            best, missing, cost = words, wanted, draws
            continue
        better = draws < cost
        best = np.where(better, words, best)
        missing, cost = np.where(better, wanted, missing), np.minimum(cost, draws)
    _correct(best, missing, truths, options, bits)
    return best


def _correct(words: Words, missing: Whole, truths: Whole, options: int, bits: BitSource) -> None:
    """Put options in, or take them out, until each set has its size."""
    flat, rows = words.reshape(-1), len(truths)
    for sign in (1, -1):
        left = np.flatnonzero(missing * sign > 0)
        wanted, own = missing[left] * sign, truths[left]
        while left.size:
            places = uniform_below(options, left.size, bits)
            at, bit = (places >> 6) * rows + left, np.uint64(1) << (places & 63).view(np.uint64)
            now = flat[at]
            moves = (((now & bit) == 0) == (sign > 0)) & (places != own)
            flat[at] = now ^ (bit * moves)
            wanted -= moves
            more = np.flatnonzero(wanted)
            left, wanted, own = left[more], wanted[more], own[more]


def _coins(many: int, sixteenths: int, bits: BitSource) -> Words:
    """Words whose bits are 1 with this probability: from the last binary digit on, OR for a 1 and AND for a 0."""
    found = np.zeros(many, dtype=np.uint64)
    for digit in range(4):
        if sixteenths >> digit & 1:
            found |= bits.words(many)
        elif sixteenths & ((1 << digit) - 1):
            found &= bits.words(many)
    return found


@lru_cache(maxsize=64)
def _sixteenths(options: int, size: int) -> int:
    """The probability that leaves the fewest draws to correct, as a normal count has it."""

    def draws(p: float) -> float:
        spread = math.sqrt(options * p * (1 - p))
        off = size - options * p
        if spread == 0:
            return abs(off) / (1 - p)
        z = off / spread
        above = spread * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - off * math.erfc(z / math.sqrt(2)) / 2
        return (above + off) / (1 - p) + above / p

    return min(range(16), key=lambda each: draws(each / 16))
