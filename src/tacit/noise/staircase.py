"""Staircase noise on the integers, for integer answers of sensitivity D: exact at every epsilon.

Law (Geng and Viswanath 2014, discrete case). With b = exp(-epsilon) and an inner width 1 <= r <= D,

    p(x) = a(r) * b**k           where |x| = k D + i,  0 <= i < r        (inner part of step k)
    p(x) = a(r) * b**(k + 1)     where |x| = k D + i,  r <= i < D        (outer part)

and a(r) = (1 - b) / (2r + 2b(D - r) - (1 - b)), as the masses of x >= 0 add up to a (r + b(D - r)) / (1 - b) and zero
is not to be counted twice. |x| grows by at most D between neighbours, so at most one factor of b separates them:
epsilon-differential privacy. At D = 1 it is the geometric mechanism.

Theorem (optimal width). E|X| = Db/c + (c(q**2 - 1)/4 + b D**2) / (2bD + cq), with c = 1 - b and q = 2r - 1.
Cross-multiplying, E|X| at r + 1 is no smaller than at r exactly where c r**2 + 2bDr - bD**2 >= 0, that is r >= D / (1
+ exp(epsilon/2)). So the best r is the smallest whole number at or above D / (1 + exp(epsilon/2)), which is never
whole itself.

Sampling: k is geometric, the part inner with probability r / (r + b(D - r)), i uniform in it, the sign fair, and (-,
0) drawn again. That succeeds with probability above 1/2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, overload

import numpy as np

from tacit import parameters
from tacit.noise.bernoulli import decide, first_bits_of
from tacit.noise.bits import BitSource
from tacit.noise.functions import Interval
from tacit.noise.laplace import CHUNK, LARGEST_INT, Integers, geometric
from tacit.noise.reals import Enclosure, LazyUniform
from tacit.noise.uniform import uniform_below


@overload
def staircase(sensitivity: int, epsilon: Any, size: None, bits: BitSource, inner: int | None = None) -> int: ...
@overload
def staircase(sensitivity: int, epsilon: Any, size: int, bits: BitSource, inner: int | None = None) -> Integers: ...
def staircase(
    sensitivity: int, epsilon: Any, size: int | None, bits: BitSource, inner: int | None = None
) -> int | Integers:
    """Staircase noise; `inner` is the width r, by default the one of least expected magnitude.

    >>> from tacit.noise import secure
    >>> staircase(10, 5, 1000, secure()).shape
    (1000,)
    """
    width = parameters.whole("sensitivity", sensitivity, least=1)
    exact = parameters.positive("epsilon", epsilon)
    chosen = optimal_inner_width(width, exact) if inner is None else parameters.whole("inner", inner, least=1)
    if chosen > width:
        raise parameters.refuse("inner", f"a whole number from 1 to the sensitivity, {width}", inner)
    if size is None:
        return _one(width, exact, chosen, bits)
    if size <= CHUNK:
        return _chunk(width, exact, chosen, size, bits)
    return np.concatenate(
        [_chunk(width, exact, chosen, min(CHUNK, size - start), bits) for start in range(0, size, CHUNK)]
    )


def optimal_inner_width(sensitivity: int, epsilon: Any) -> int:
    """The r of least expected magnitude: D / (1 + exp(epsilon/2)), rounded up.

    >>> optimal_inner_width(10, 5)  # 10 / (1 + exp(2.5)) is 0.76
    1
    """
    whole = parameters.whole("sensitivity", sensitivity, least=1)
    return _optimal_inner_width(whole, parameters.positive("epsilon", epsilon))


@lru_cache(maxsize=256)
def _optimal_inner_width(sensitivity: int, epsilon: Fraction) -> int:
    precision = 20 + len(str(sensitivity))
    while True:
        decay = Interval.of(-epsilon / 2, precision).exp()
        share = decay / (decay + Interval.of(1, precision)) * Interval.of(sensitivity, precision)
        low, high = (math.ceil(Fraction(end)) for end in share.enclosure)
        if low == high or high == 1:
            return high
        precision *= 2


def _chunk(sensitivity: int, epsilon: Fraction, inner: int, size: int, bits: BitSource) -> Integers:
    out: Integers = np.zeros(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        magnitudes = _magnitudes(sensitivity, epsilon, inner, missing.size, bits)
        negative = bits.words(missing.size) >> np.uint64(63) == 1
        if magnitudes.dtype == object:
            out = out.astype(object)
        out[missing] = np.where(negative, -magnitudes, magnitudes)
        missing = missing[negative & (magnitudes == 0)]
    return out


def _one(sensitivity: int, epsilon: Fraction, inner: int, bits: BitSource) -> int:
    """The same steps for a single draw, without the cost of arrays."""
    while True:
        step = geometric(1 / epsilon, None, bits)
        chosen, sign = bits.words(2).tolist()
        within = uniform_below(inner, None, bits)
        if inner < sensitivity:
            far = uniform_below(sensitivity - inner, None, bits)
            edge = _first_bits(sensitivity, epsilon, inner)
            share = partial(outer_share, sensitivity, epsilon, inner)
            if chosen < edge or (chosen == edge and LazyUniform(bits, chosen, 64).is_below(share)):
                within = far + inner
        magnitude = step * sensitivity + within
        negative = sign >> 63 == 1
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def _magnitudes(sensitivity: int, epsilon: Fraction, inner: int, size: int, bits: BitSource) -> Integers:
    """k D + i, for x >= 0."""
    steps = geometric(1 / epsilon, size, bits)
    within = _places(sensitivity, epsilon, inner, size, bits)
    if steps.dtype == object or (int(steps.max(initial=0)) + 1) * sensitivity > LARGEST_INT:
        steps = steps.astype(object)
    return np.asarray(steps * sensitivity + within)


def _places(sensitivity: int, epsilon: Fraction, inner: int, size: int, bits: BitSource) -> Integers:
    """i: uniform in the inner part, or in the outer one."""
    if inner == sensitivity:
        return uniform_below(inner, size, bits)
    # the outer part is the one that may be very rare: its probability, unlike that of the inner one, is small
    # rather than close to 1 then, and its first bits are found at once
    is_outer = decide(
        bits.words(size),
        64,
        _first_bits(sensitivity, epsilon, inner),
        lambda uniform: uniform.is_below(partial(outer_share, sensitivity, epsilon, inner)),
        bits,
    )
    # both are drawn for every place, so that the number of draws does not depend on the result
    near: Integers = uniform_below(inner, size, bits)
    far: Integers = uniform_below(sensitivity - inner, size, bits)
    return np.where(is_outer, far + inner, near)


def outer_share(sensitivity: int, epsilon: Fraction, inner: int, precision: int) -> Enclosure:
    """b(D - r) / (r + b(D - r)), irrational for r < D as b is."""
    p = precision + 8
    weight = Interval.of(inner, p)
    rest = Interval.of(sensitivity - inner, p) * Interval.of(-epsilon, p).exp()
    return (rest / (weight + rest)).enclosure


@lru_cache(maxsize=256)
def _first_bits(sensitivity: int, epsilon: Fraction, inner: int) -> int:
    return first_bits_of(partial(outer_share, sensitivity, epsilon, inner), 64)
