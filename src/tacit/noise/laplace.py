"""Geometric and discrete Laplace noise on the integers, exact at every scale.

Geometric: mass (1 - a) a**k on k = 0, 1, ... with a = exp(-1/scale); P(X >= k) = a**k, so X = floor(-scale * ln U).
Discrete Laplace: mass (1 - a)/(1 + a) * a**|x|; P(|X| >= k) = 2 a**k / (1 + a) for k >= 1, so
|X| = floor(scale * (c - ln U)) with c = ln(2 / (1 + a)), and a fair sign. Both are `exponential.floors`.

Above scale 2**20 float64 would leave too many draws undecided, so the geometric variable is split: with m a power of
two, X = m * Q + R where Q is geometric of scale `scale / m` and, independently, R has mass proportional to a**r on
0 <= r < m (the geometric law has no memory). R is a uniform number kept with probability a**r, which is above
1 - 2**-19. A discrete Laplace variable is then a geometric one with a fair sign, (-, 0) redrawn so that zero is not
counted twice. Sources: Canonne, Kamath, Steinke 2020 (the split); inversion is classical.

Results are int64. A draw too large for it (possible at any scale, though with probability below exp(-60) for scales up
to 2**56) turns the array into one of Python integers rather than being cut off; beyond 2**56 arrays always are.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise import exponential
from tacit.noise.bits import BitSource
from tacit.noise.reals import LazyUniform, exp_enclosure
from tacit.noise.uniform import uniform_below

Integers = NDArray[Any]
"""int64, or Python integers where int64 is too small."""

LARGEST_INT = (1 << 63) - 1
"""The largest int64."""

CHUNK = 1 << 14  # samples at a time: the working arrays stay in the processor's cache
_LARGEST_VECTORISED_SCALE = 1 << 56
_ALL_ONES = (1 << 64) - 1
_KEEP_AT_ONCE = 2**64 - 2**45


@overload
def geometric(scale: Any, size: None, bits: BitSource) -> int: ...
@overload
def geometric(scale: Any, size: int, bits: BitSource) -> Integers: ...
def geometric(scale: Any, size: int | None, bits: BitSource) -> int | Integers:
    """Whole numbers k >= 0 with mass proportional to exp(-k/scale).

    >>> from tacit.noise import secure
    >>> int(geometric(2, 1000, secure()).min()) >= 0
    True
    """
    exact = parameters.positive("scale", scale)
    return _sample(exact, size, bits, two_sided=False)


@overload
def discrete_laplace(scale: Any, size: None, bits: BitSource) -> int: ...
@overload
def discrete_laplace(scale: Any, size: int, bits: BitSource) -> Integers: ...
def discrete_laplace(scale: Any, size: int | None, bits: BitSource) -> int | Integers:
    """Whole numbers x with mass proportional to exp(-|x|/scale).

    >>> from tacit.noise import secure
    >>> discrete_laplace("1/2", 1000, secure()).shape
    (1000,)
    """
    exact = parameters.positive("scale", scale)
    return _sample(exact, size, bits, two_sided=True)


def _sample(scale: Fraction, size: int | None, bits: BitSource, two_sided: bool) -> int | Integers:
    if size is None:
        return _one(scale, two_sided, bits)
    if scale > _LARGEST_VECTORISED_SCALE:
        out = np.empty(size, dtype=object)
        for place in range(size):
            out[place] = _one(scale, two_sided, bits)
        return out
    one_chunk = _small if scale <= exponential.LARGEST_SCALE else _large
    if size <= CHUNK:
        return one_chunk(scale, size, bits, two_sided)
    return np.concatenate(
        [one_chunk(scale, min(CHUNK, size - start), bits, two_sided) for start in range(0, size, CHUNK)]
    )


@lru_cache(maxsize=256)
def float_constants(scale: Fraction, two_sided: bool) -> tuple[float, float]:
    """The floats nearest `scale` and, within 4 units in the last place, ln(2 / (1 + exp(-1/scale))) (one side: 0)."""
    if not two_sided:
        return float(scale), 0.0
    # beyond 10**6 the exponential is zero in float64 and far below one unit in the last place of ln 2
    return float(scale), -math.log1p(math.expm1(-float(min(1 / scale, Fraction(10**6)))) / 2)


def _small(scale: Fraction, size: int, bits: BitSource, two_sided: bool) -> Integers:
    words = bits.words(size)
    return from_words(words, 64, scale, two_sided, bits)


def from_words(words: NDArray[np.uint64], width: int, scale: Fraction, two_sided: bool, bits: BitSource) -> Integers:
    """One draw for each word, of which the top `width` bits are random: for two sides a sign bit, then those of U."""
    known = width
    uniform_bits = words
    if two_sided:
        known -= 1
        uniform_bits = words << np.uint64(1)
    floor, undecided = exponential.floors(uniform_bits, *float_constants(scale, two_sided), known)
    if undecided.size:
        floor[undecided] = 0.0
    if two_sided:
        # the sign of a float is its top bit: the word's first bit signs the draw, and -0.0 becomes 0
        np.copysign(floor, words.view(np.float64), out=floor)
    out: Integers = floor.astype(np.int64)
    for place in undecided:
        value = exponential.settle(int(uniform_bits[place]), known, scale, two_sided, bits)
        out = _put(out, int(place), -value if two_sided and int(words[place]) >> 63 else value)
    return out


def _large(scale: Fraction, size: int, bits: BitSource, two_sided: bool) -> Integers:
    out: Integers = np.zeros(size, dtype=np.int64)
    missing = np.arange(size)
    width, quotient_scale = _split(scale)
    step = 1 << width
    while missing.size:
        quotients = _small(quotient_scale, missing.size, bits, two_sided=False)
        magnitudes = _combine(quotients, step, _remainders(scale, step, missing.size, bits))
        if two_sided:
            negative = (bits.words(missing.size) >> np.uint64(63)).astype(np.bool_)
            magnitudes = np.where(negative, -magnitudes, magnitudes)
            again = negative & (magnitudes == 0)
        else:
            again = np.zeros(missing.size, dtype=np.bool_)
        if magnitudes.dtype == object:
            out = out.astype(object)
        out[missing] = magnitudes
        missing = missing[again]
    return out


def _combine(quotients: Integers, step: int, remainders: NDArray[np.int64]) -> Integers:
    """step * quotients + remainders, in Python integers where int64 might overflow."""
    if quotients.dtype == object or (int(quotients.max(initial=0)) + 1) * step > LARGEST_INT:
        return quotients.astype(object) * step + remainders
    combined: Integers = quotients * np.int64(step) + remainders
    return combined


def _remainders(scale: Fraction, step: int, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Numbers r below `step` with mass proportional to exp(-r/scale); step/scale is below 2**-19."""
    out = np.zeros(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        drawn = uniform_below(step, missing.size, bits)
        out[missing] = drawn
        # exp(-r/scale) > 1 - 2**-19, so a uniform number below that keeps r without looking at it
        words = bits.words(missing.size)
        again = np.zeros(missing.size, dtype=np.bool_)
        for place in np.flatnonzero(words >= np.uint64(_KEEP_AT_ONCE)):
            again[place] = not _kept(int(drawn[place]), int(words[place]), scale, bits)
        missing = missing[again]
    return out


def _kept(remainder: int, word: int, scale: Fraction, bits: BitSource) -> bool:
    """Whether the uniform number that begins with `word` is below exp(-remainder/scale)."""
    return remainder == 0 or LazyUniform(bits, word, 64).is_below(partial(exp_enclosure, -remainder / scale))


def _one(scale: Fraction, two_sided: bool, bits: BitSource) -> int:
    """One draw as a Python integer, at any scale; the same steps as for arrays without the cost of arrays."""
    if scale <= exponential.LARGEST_SCALE:
        return one_from_word(int(bits.words(1)[0]), 64, scale, two_sided, bits)
    width, quotient_scale = _split(scale)
    while True:
        first, keep, sign = bits.words(3).tolist()
        quotient = one_from_word(first, 64, quotient_scale, False, bits)
        remainder = bits.bits(width)
        if keep >= _KEEP_AT_ONCE and not _kept(remainder, keep, scale, bits):
            continue
        magnitude = (quotient << width) + remainder
        negative = two_sided and sign >> 63 == 1
        if magnitude or not negative:
            return -magnitude if negative else magnitude


@lru_cache(maxsize=256)
def _split(scale: Fraction) -> tuple[int, Fraction]:
    """The width of the remainder in bits and the scale of the quotient, which lies in [2**19, 2**20)."""
    width = math.floor(scale).bit_length() - 20
    return width, scale / (1 << width)


def one_from_word(word: int, width: int, scale: Fraction, two_sided: bool, bits: BitSource) -> int:
    """`from_words` for a single word."""
    known, uniform_bits = (width - 1, (word << 1) & _ALL_ONES) if two_sided else (width, word)
    magnitude = exponential.floor_of_one(uniform_bits, *float_constants(scale, two_sided), known)
    if magnitude is None:
        magnitude = exponential.settle(uniform_bits, known, scale, two_sided, bits)
    return -magnitude if two_sided and word >> 63 else magnitude


def _put(out: Integers, place: int, value: int) -> Integers:
    """out[place] = value, making room for Python integers where int64 has none."""
    if abs(value) >= 1 << 62 and out.dtype != object:
        out = out.astype(object)
    out[place] = value
    return out
