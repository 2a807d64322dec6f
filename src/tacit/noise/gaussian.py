"""Discrete Gaussian noise: mass proportional to exp(-x**2 / (2 variance)) on the integers, exact at every variance.

Theorem (Canonne, Kamath, Steinke 2020, Algorithm 3). With t = floor(sigma) + 1, a discrete Laplace draw y of scale t
that is kept with probability exp(-(|y| - variance/t)**2 / (2 variance)) is discrete Gaussian: the product of the two
masses is proportional to exp(-y**2 / (2 variance)). At least every second draw is kept for sigma >= 1.

Keeping is decided in float64 with a band. Let x be the exponent. With u = 2**-53, |y| and r = variance/t carry a
relative u each, so their difference d an absolute u(|d| + 2r) + u|d|; as r <= sigma, x = d**2 / (2 variance) carries
at most u(8x + 4 sqrt(2x)) <= 2**-48 (x + 1). Hence exp(-x), with a float exponential within 8 units in the last place,
is off by at most exp(-x)(x + 1) 2**-48 + 2**-50 < 2**-47. A uniform number further than 2**-44 from the float value is
decided; the rest compare with exp(-x) itself, x an exact rational.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource, Words
from tacit.noise.laplace import CHUNK, Integers, discrete_laplace
from tacit.noise.reals import LazyUniform, exp_enclosure

_FLOAT_BAND = 2.0**-44
_KEPT_SHARE = 0.5  # a little below the true share, so that one round of drawing is nearly always enough
_LARGEST_VECTORISED_VARIANCE = 1 << 112
_SMALLEST_VARIANCE = Fraction(1, 10**200)


@overload
def discrete_gaussian(variance: Any, size: None, bits: BitSource) -> int: ...
@overload
def discrete_gaussian(variance: Any, size: int, bits: BitSource) -> Integers: ...
def discrete_gaussian(variance: Any, size: int | None, bits: BitSource) -> int | Integers:
    """Whole numbers x with mass proportional to exp(-x**2 / (2 variance)).

    >>> from tacit.noise import secure
    >>> discrete_gaussian(9, 1000, secure()).shape
    (1000,)
    """
    exact = parameters.positive("variance", variance)
    if exact < _SMALLEST_VARIANCE:
        raise parameters.refuse("variance", "at least 1e-200", float(exact))
    if size is None:
        return _one(exact, bits)
    if size <= CHUNK // 2:
        return _chunk(exact, size, bits)
    half = CHUNK // 2
    return np.concatenate([_chunk(exact, min(half, size - start), bits) for start in range(0, size, half)])


def laplace_scale(variance: Fraction) -> int:
    """t = floor(sigma) + 1."""
    return math.isqrt(math.floor(variance)) + 1


@lru_cache(maxsize=256)
def _float_constants(variance: Fraction) -> tuple[float, float]:
    """The floats nearest variance/t and -1/(2 variance)."""
    return float(variance / laplace_scale(variance)), -float(1 / (2 * variance))


def _chunk(variance: Fraction, size: int, bits: BitSource) -> Integers:
    scale = laplace_scale(variance)
    kept: list[Integers] = [np.empty(0, dtype=np.int64)]
    missing = size
    while missing > 0:
        drawn = discrete_laplace(scale, int(missing / _KEPT_SHARE) + 8, bits)
        keep = kept_by(drawn, bits.words(drawn.size), variance, bits)
        kept.append(drawn[keep])
        missing -= kept[-1].size
    return np.concatenate(kept)[:size]


def kept_by(drawn: Integers, words: Words, variance: Fraction, bits: BitSource, known: int = 64) -> NDArray[np.bool_]:
    """Which draws are kept, by uniform numbers whose first `known` bits stand at the top of `words`."""
    if drawn.dtype == object or variance > _LARGEST_VECTORISED_VARIANCE:
        return np.array(
            [one_kept(int(y), int(word), variance, bits, known) for y, word in zip(drawn, words, strict=True)]
        )
    centre, rate = _float_constants(variance)
    distance = np.abs(drawn).astype(np.float64)
    distance -= centre
    np.square(distance, out=distance)
    distance *= rate
    np.exp(distance, out=distance)
    distance -= words * 2.0**-64
    keep: NDArray[np.bool_] = distance > 0
    # U lies in [v, v + 2**-known]; v itself is rounded by at most 2**-53
    for place in np.flatnonzero(np.abs(distance) <= _FLOAT_BAND + 2.0**-known):
        keep[place] = _settle(int(drawn[place]), int(words[place]), variance, bits, known)
    return keep


def _one(variance: Fraction, bits: BitSource) -> int:
    scale = Fraction(laplace_scale(variance))
    while True:
        drawn = discrete_laplace(scale, None, bits)
        if one_kept(drawn, int(bits.words(1)[0]), variance, bits):
            return drawn


def one_kept(drawn: int, word: int, variance: Fraction, bits: BitSource, known: int = 64) -> bool:
    """`kept_by` for a single draw, at any variance."""
    if variance > _LARGEST_VECTORISED_VARIANCE:
        return _settle(drawn, word, variance, bits, known)
    centre, rate = _float_constants(variance)
    distance = math.exp((abs(drawn) - centre) ** 2 * rate) - word * 2.0**-64
    if abs(distance) <= _FLOAT_BAND + 2.0**-known:
        return _settle(drawn, word, variance, bits, known)
    return distance > 0


def _settle(drawn: int, word: int, variance: Fraction, bits: BitSource, known: int) -> bool:
    """Whether the uniform number that begins with `word` is below the probability of keeping, exactly."""
    exponent = (abs(drawn) - variance / laplace_scale(variance)) ** 2 / (2 * variance)
    uniform = LazyUniform(bits, word >> (64 - known), known)
    return exponent == 0 or uniform.is_below(partial(exp_enclosure, -exponent))
