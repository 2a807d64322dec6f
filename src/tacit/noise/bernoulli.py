"""Coins with an exact probability: a rational, or exp(-x) for a rational x.

Theorem. With U uniform in [0, 1), U < p has probability p. The first 64 bits decide unless they equal those of p;
then further bits of U are compared with p itself (a rational exactly, exp(-x) by enclosures). Of many coins with a
rational p, eight bits each are drawn at first: with 256 p = k + r, they decide unless they are k, and then what follows
them is uniform and below r with probability r: a coin of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource, Words
from tacit.noise.reals import Enclosure, LazyUniform, exp_enclosure

_MODERATE = 600
_MANY = 1_024  # from here on, drawing eight bits at first is faster


@overload
def bernoulli(p: Any, size: None, bits: BitSource) -> bool: ...
@overload
def bernoulli(p: Any, size: int, bits: BitSource) -> NDArray[np.bool_]: ...
def bernoulli(p: Any, size: int | None, bits: BitSource) -> bool | NDArray[np.bool_]:
    """True with probability p, a rational from 0 to 1.

    >>> from tacit.noise import secure
    >>> bernoulli(1, 3, secure()).tolist()
    [True, True, True]
    """
    exact = parameters.probability("p", p)
    return _bernoulli(exact, size, bits) if size is None or size < _MANY else _by_bytes(exact, size, bits)


def _by_bytes(exact: Fraction, size: int, bits: BitSource) -> NDArray[np.bool_]:
    """Many coins, from a byte each."""
    top = int(256 * exact)  # 256 for a certain coin, which no byte reaches
    first = bits.words(-(-size // 8)).view(np.uint8)[:size]
    below = first < top
    open_ = np.flatnonzero(first == top)
    below[open_] = _bernoulli(256 * exact - top, len(open_), bits)
    return below


@overload
def _bernoulli(exact: Fraction, size: None, bits: BitSource) -> bool: ...
@overload
def _bernoulli(exact: Fraction, size: int, bits: BitSource) -> NDArray[np.bool_]: ...
def _bernoulli(exact: Fraction, size: int | None, bits: BitSource) -> bool | NDArray[np.bool_]:
    """Coins from a word each."""

    def continues(uniform: LazyUniform) -> bool:
        while True:
            unit = 1 << uniform.known
            if uniform.numerator + 1 <= exact * unit:
                return True
            if uniform.numerator >= exact * unit:
                return False
            uniform.refine()

    first_bits = exact.numerator * 2**64 // exact.denominator
    drawn = decide(bits.words(1 if size is None else size), 64, first_bits, continues, bits)
    return bool(drawn[0]) if size is None else drawn


@overload
def bernoulli_exp(exponent: Any, size: None, bits: BitSource) -> bool: ...
@overload
def bernoulli_exp(exponent: Any, size: int, bits: BitSource) -> NDArray[np.bool_]: ...
def bernoulli_exp(exponent: Any, size: int | None, bits: BitSource) -> bool | NDArray[np.bool_]:
    """True with probability exp(-exponent), a rational of at least 0.

    >>> from tacit.noise import secure
    >>> bernoulli_exp(0, None, secure())  # exp(0) is 1
    True
    """
    exact = parameters.non_negative("exponent", exponent)
    if exact == 0:
        return True if size is None else np.ones(size, dtype=np.bool_)

    def threshold(precision: int) -> Enclosure:
        return exp_enclosure(-exact, precision)

    if size is None and exact < _MODERATE:
        # the float is off by less than 2**-42 of itself, its exponent's rounding included; near it the digits decide
        word, near = int(bits.words(1)[0]), math.exp(-float(exact)) * 2.0**64
        if word < near * (1 - 2.0**-40) - 1:
            return True
        return word <= near * (1 + 2.0**-40) and LazyUniform(bits, word, 64).is_below(threshold)
    first_bits = first_bits_of(threshold, 64)
    drawn = decide(
        bits.words(1 if size is None else size), 64, first_bits, lambda uniform: uniform.is_below(threshold), bits
    )
    return bool(drawn[0]) if size is None else drawn


def first_bits_of(threshold: Callable[[int], Enclosure], known: int) -> int:
    """The first `known` bits of an irrational number in (0, 1)."""
    precision = 12 + known // 3
    while True:
        low, high = (int(Fraction(end) * 2**known) for end in threshold(precision))
        if low == high:
            return low
        precision += 20


def decide(
    words: Words, known: int, first_bits: int, continues: Callable[[LazyUniform], bool], bits: BitSource
) -> NDArray[np.bool_]:
    """U < p for each U whose first `known` bits stand at the top of a word, p having `first_bits`."""
    if first_bits >= 2**known:
        return np.ones(words.shape, dtype=np.bool_)
    edge = np.uint64(first_bits << (64 - known))
    below = words < edge
    for place in np.flatnonzero(words == edge):
        below[place] = continues(LazyUniform(bits, first_bits, known))
    return below
