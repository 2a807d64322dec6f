"""Binomial and multinomial counts, exact for every rational probability.

Fair coins: the set bits among n random ones, counted a word at a time. Any p: n uniform reals are compared with p bit
by bit, all at once. In each round the trials still undecided have agreed with p so far; their next bits are fair
coins, so how many are ones is a fair binomial. Where p's bit is one, the zeros are below p (successes) and the ones go
on; where it is zero, the ones are above p (failures) and the zeros go on. About log2(n) + 2 rounds, half as many bits
in each: about 2n bits in all. Where p's bits end, what is undecided is not below p. Multinomial: each count is
binomial given those before it, with its probability's share of what is left.

At most 2**16 words are held at a time, whatever n.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource, Words

Counts: TypeAlias = NDArray[np.int64]

_BLOCK = 1 << 16
_LARGEST_COUNT = 1 << 40


@overload
def binomial(n: int, p: Any, size: None, bits: BitSource) -> int: ...
@overload
def binomial(n: int, p: Any, size: int, bits: BitSource) -> Counts: ...
def binomial(n: int, p: Any, size: int | None, bits: BitSource) -> int | Counts:
    """How many of n independent trials succeed, each with probability p.

    >>> from tacit.noise import secure
    >>> binomial(10, 1, 3, secure()).tolist()
    [10, 10, 10]
    """
    exact = parameters.probability("p", p)
    trials = np.full(1 if size is None else size, _count(n), dtype=np.int64)
    drawn = successes(trials, exact, bits)
    return int(drawn[0]) if size is None else drawn


def multinomial(n: int, probabilities: Sequence[Any], size: int | None, bits: BitSource) -> Counts:
    """How n independent choices fall; one row of counts for each draw (a single row for size None).

    >>> from tacit.noise import secure
    >>> int(multinomial(10, ["1/2", "1/3", "1/6"], None, secure()).sum())
    10
    """
    exact = [parameters.probability("probabilities", p) for p in probabilities]
    if sum(exact) != 1:
        hint = 'Write them as fractions or as text such as "0.1": floats rarely add up to 1 exactly.'
        raise parameters.refuse("probabilities", "a list of numbers that add up to exactly 1", probabilities, hint)
    left = np.full(1 if size is None else size, _count(n), dtype=np.int64)
    out = np.zeros((left.size, len(exact)), dtype=np.int64)
    rest = Fraction(1)
    for column, p in enumerate(exact):
        drawn = successes(left, p / rest if rest else Fraction(0), bits)
        out[:, column] = drawn
        left = left - drawn
        rest -= p
    return out[0] if size is None else out


def _count(n: Any) -> int:
    whole = parameters.whole("n", n)
    if whole > _LARGEST_COUNT:
        raise parameters.refuse("n", "a whole number from 0 to 2**40", n)
    return whole


def successes(trials: Counts, p: Fraction, bits: BitSource) -> Counts:
    """For each number of trials, how many succeed."""
    if p == 1:
        return trials.copy()
    won = np.zeros_like(trials)
    places, undecided = np.arange(trials.size), trials
    rest = p
    while rest:
        busy = undecided > 0
        places, undecided = places[busy], undecided[busy]
        if not places.size:
            break
        ones = fair(undecided, bits)
        rest *= 2
        if rest >= 1:
            rest -= 1
            won[places] += undecided - ones
            undecided = ones
        else:
            undecided = undecided - ones
    return won


def fair(trials: Counts, bits: BitSource) -> Counts:
    """For each number of trials, how many fair coins come up one."""
    ends = np.cumsum((trials + 63) >> 6)
    out = np.zeros_like(trials)
    start = 0
    while start < trials.size:
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _BLOCK, side="right")))
        if int(ends[stop - 1]) - before > _BLOCK:
            out[start] = _one_long(int(trials[start]), bits)
        else:
            out[start:stop] = _block(trials[start:stop], bits)
        start = stop
    return out


def _one_long(trials: int, bits: BitSource) -> int:
    """A single count whose words do not fit into one block."""
    full, left = divmod(trials, 64 * _BLOCK)
    total = sum(int(np.bitwise_count(bits.words(_BLOCK)).sum(dtype=np.int64)) for _ in range(full))
    return total + int(_block(np.array([left]), bits)[0])


def _block(trials: Counts, bits: BitSource) -> Counts:
    """Each number of trials takes whole words of its own; the surplus bits of its last word are shifted out."""
    lengths = (trials + 63) >> 6
    busy = lengths > 0
    out = np.zeros_like(trials)
    if not busy.any():
        return out
    ends = np.cumsum(lengths[busy])
    words: Words = bits.words(int(ends[-1]))
    words[ends - 1] >>= (-trials[busy] % 64).astype(np.uint64)
    out[busy] = np.add.reduceat(np.bitwise_count(words), ends - lengths[busy], dtype=np.int64)
    return out
