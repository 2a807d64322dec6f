"""Geometric and discrete Laplace noise cut to a range, exact at every scale.

With a = exp(-1/scale):
truncated geometric: mass proportional to a**k on k = 0, ..., count - 1;
truncated discrete Laplace: mass proportional to a**|x| on the integers low <= x <= high.

Theorem. If count >= 3/4 scale, a geometric draw falls into the range with probability 1 - a**count >= 1 - exp(-3/4) >
1/2: draw until it does. Otherwise a uniform number k below count, kept with probability a**k >= exp(-3/4) > 0.47, has
the law: draw until one is kept. Either way a fixed share of draws is kept, whatever the range and the scale. A range
on both sides of zero is its two one-sided parts, the negative one (x <= -1) chosen with probability (a - a**(1-low)) /
(1 + a - a**(1-low) - a**(1+high)), which is compared with further bits and enclosures. It is irrational, as a is
transcendental and the quotient is no constant: it vanishes at a = 0.

Float error of keeping: k / scale <= 3/4 carries a relative 3u (u = 2**-53) and exp 8 units in the last place, so 20u
in all.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bernoulli import decide, first_bits_of
from tacit.noise.bits import BitSource, Words
from tacit.noise.functions import Interval
from tacit.noise.laplace import CHUNK, LARGEST_INT, Integers, geometric
from tacit.noise.reals import Enclosure, LazyUniform, exp_enclosure
from tacit.noise.uniform import uniform_below

_FLOAT_BAND = 2.0**-47
_LARGEST_FLOAT_SCALE = 1 << 1000
_NARROW = Fraction(3, 4)


@overload
def truncated_geometric(scale: Any, count: int, size: None, bits: BitSource) -> int: ...
@overload
def truncated_geometric(scale: Any, count: int, size: int, bits: BitSource) -> Integers: ...
def truncated_geometric(scale: Any, count: int, size: int | None, bits: BitSource) -> int | Integers:
    """Whole numbers 0 <= k < count with mass proportional to exp(-k/scale).

    >>> from tacit.noise import secure
    >>> set(truncated_geometric(2, 3, 1000, secure()).tolist()) <= {0, 1, 2}
    True
    """
    exact = parameters.positive("scale", scale)
    whole = parameters.whole("count", count, least=1)
    drawn = _geometric(exact, whole, 1 if size is None else size, bits)
    return int(drawn[0]) if size is None else drawn


@overload
def truncated_discrete_laplace(scale: Any, low: int, high: int, size: None, bits: BitSource) -> int: ...
@overload
def truncated_discrete_laplace(scale: Any, low: int, high: int, size: int, bits: BitSource) -> Integers: ...
def truncated_discrete_laplace(scale: Any, low: int, high: int, size: int | None, bits: BitSource) -> int | Integers:
    """Whole numbers low <= x <= high with mass proportional to exp(-|x|/scale).

    >>> from tacit.noise import secure
    >>> set(truncated_discrete_laplace(2, -1, 1, 1000, secure()).tolist()) <= {-1, 0, 1}
    True
    """
    exact = parameters.positive("scale", scale)
    first, last = _whole("low", low), _whole("high", high)
    if first > last:
        raise parameters.refuse("high", f"at least the 'low' parameter, {first}", high)
    drawn = _laplace(exact, first, last, 1 if size is None else size, bits)
    return int(drawn[0]) if size is None else drawn


def _whole(name: str, value: Any) -> int:
    exact = parameters.rational(name, value, "a whole number")
    if exact.denominator != 1 or isinstance(value, float):
        raise parameters.refuse(name, "a whole number", value)
    return exact.numerator


def _geometric(scale: Fraction, count: int, size: int, bits: BitSource) -> Integers:
    parts = [
        _wide(scale, count, min(CHUNK, size - start), bits)
        if count >= _NARROW * scale
        else _narrow(scale, count, min(CHUNK, size - start), bits)
        for start in range(0, size, CHUNK)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _wide(scale: Fraction, count: int, size: int, bits: BitSource) -> Integers:
    """Geometric draws, redrawn where they leave the range."""
    out = geometric(scale, size, bits)
    missing = np.flatnonzero(out >= count)
    while missing.size:
        drawn = geometric(scale, missing.size, bits)
        if drawn.dtype == object:
            out = out.astype(object)
        out[missing] = drawn
        missing = missing[drawn >= count]
    return out.astype(np.int64) if count <= LARGEST_INT else out


def _narrow(scale: Fraction, count: int, size: int, bits: BitSource) -> Integers:
    """Uniform draws, redrawn where they are not kept."""
    out: Integers = uniform_below(count, size, bits)
    missing = np.arange(size)
    while missing.size:
        missing = missing[~kept_by(out[missing], bits.words(missing.size), scale, bits)]
        out[missing] = uniform_below(count, missing.size, bits)
    return out


def kept_by(drawn: Integers, words: Words, scale: Fraction, bits: BitSource, known: int = 64) -> NDArray[np.bool_]:
    """Whether U < exp(-k/scale), k/scale <= 3/4, for each U whose first `known` bits stand at the top of a word."""
    if scale < _LARGEST_FLOAT_SCALE:
        distance = np.exp(drawn.astype(np.float64) / -float(scale)) - words * 2.0**-64
    else:
        distance = np.zeros(words.shape)
    keep: NDArray[np.bool_] = distance > 0
    # U lies in [v, v + 2**-known]
    for place in np.flatnonzero(np.abs(distance) <= _FLOAT_BAND + 2.0**-known):
        exponent = int(drawn[place]) / scale
        uniform = LazyUniform(bits, int(words[place]) >> (64 - known), known)
        keep[place] = exponent == 0 or uniform.is_below(partial(exp_enclosure, -exponent))
    return keep


def _laplace(scale: Fraction, low: int, high: int, size: int, bits: BitSource) -> Integers:
    if low >= 0:
        return _shifted(_geometric(scale, high - low + 1, size, bits), 1, low, high)
    if high <= 0:
        return _shifted(_geometric(scale, high - low + 1, size, bits), -1, high, low)
    negative = decide(
        bits.words(size),
        64,
        _first_bits(scale, low, high),
        lambda uniform: uniform.is_below(partial(negative_share, scale, low, high)),
        bits,
    )
    below = _shifted(_geometric(scale, -low, int(negative.sum()), bits), -1, -1, low)
    above = _geometric(scale, high + 1, size - below.size, bits)
    out = np.zeros(size, dtype=np.result_type(below, above))
    out[negative], out[~negative] = below, above
    return out


def _shifted(drawn: Integers, sign: int, nearest: int, farthest: int) -> Integers:
    """nearest + sign * drawn, which lies between `nearest` and `farthest`."""
    if max(abs(nearest), abs(farthest)) > LARGEST_INT:
        drawn = drawn.astype(object)
    shifted: Integers = sign * drawn + nearest
    return shifted


def negative_share(scale: Fraction, low: int, high: int, precision: int) -> Enclosure:
    """The probability of x <= -1. All its parts may be as small as 1/scale, so the digits grow with the scale."""
    size = len(str(scale.numerator // scale.denominator))
    p = precision + size + 12

    def decay(steps: int) -> Interval:
        return Interval.of(-steps / scale, p).exp()

    below = decay(1) - decay(1 - low)
    above = Interval.of(1, p) - decay(1 + high)
    return (below / (below + above)).enclosure


@lru_cache(maxsize=256)
def _first_bits(scale: Fraction, low: int, high: int) -> int:
    return first_bits_of(partial(negative_share, scale, low, high), 64)
