"""Rounded Gaussian noise: round(scale * Z) for a standard normal Z, exact at every rational scale and fast in bulk.

Rounding is post-processing, so the privacy of this noise on whole numbers is that of continuous Gaussian noise, to the
last digit. Its mass at k is Phi((k + 1/2) / scale) - Phi((k - 1/2) / scale): close to the discrete Gaussian, which is
proportional to exp(-k**2 / (2 scale**2)), but not the same.

Theorem (inversion). With S(z) = P(|Z| >= z) and U uniform, z(U) = S^-1(U) has the law of |Z|, and |round(scale * Z)|
that of floor(W), W = scale * z(U) + 1/2; the sign is a fair coin. W is computed in float64 from the first 63 bits of U.
Where it stays further from every whole number than its error, all U that begin with these bits have the same floor.
The rest are settled exactly, with further bits (`heavy.settle`).

Error of W, for bits of U that are at least 2**-20 (z is then below 4.9); u = 2**-53. As z'(U) U = -Mills(z) with the
ratio Mills = (1 - Phi) / phi at most sqrt(pi/2), a relative change r < 2**-10 of U moves z by at most 1.256 r. The bits
not yet drawn are such a change of 2**-43, rounding to float64 one of u. Inverting Phi in float64 is taken to be within
2**-46 of the truth for arguments in [2**-27, 1/2]; the tests measure below 2**-49 (`scipy.special.ndtri`, of the Cephes
library). The products and the sum add less than 5 scale * 4u + u. In all below scale * 2**-42 + u; the band is twice
that. For smaller U down to 2**-26 (z is between 4.7 and 5.9, Mills below 1/4.7) the bits not yet drawn are a relative
change of 2**-37 and move z by less than 2**-39; with the rest that is below scale * 2**-38, their band. Still smaller
U, one in 67 million, are all settled exactly, and nothing is assumed of the float inverse there.

Large scales are split as in `heavy`: floor(W) = m Q + R. The normal density is not of bounded steepness; up to z = 10
it falls by at most 10 h over a step h, and cells beyond are always looked at exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource, Words
from tacit.noise.functions import Interval, pi
from tacit.noise.heavy import completed, with_remainders
from tacit.noise.laplace import CHUNK, Integers
from tacit.noise.laws import Floats, Law
from tacit.noise.reals import Enclosure

_SCALE_BITS = 21  # quotients have a scale below 2**21: about one draw in 500,000 is left undecided by the band
IN_ONE_PIECE = 1 << _SCALE_BITS
"""Below this scale a draw follows from U alone; from it on, remainders are drawn apart."""
_RELATIVE_BAND = 2.0**-41
_ABSOLUTE_BAND = 2.0**-52
_SMALL_UNIFORM = 2.0**-20
_SMALL_BAND = 2.0**-38  # of these, relative too
_SMALLEST_UNIFORM = 2.0**-26
_GUARD_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Normal(Law):
    """The standard normal law: S(z) = 2 Phi(-z)."""

    @property
    def steepness(self) -> Fraction:
        return Fraction(10)  # -f'/f is z itself

    @property
    def reach(self) -> Fraction:
        return Fraction(10)

    def survival(self, z: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(2 * ndtr(-z))

    def guess(self, u: Floats) -> Floats:
        from scipy.special import ndtri

        return np.asarray(-ndtri(u / 2))

    def survival_enclosure(self, z: Fraction, precision: int) -> Enclosure:
        return _survival(z, precision)

    def density_ratio(self, nearer: Fraction, z: Fraction, precision: int) -> Enclosure:
        exponent = (nearer * nearer - z * z) / 2
        p = precision + _GUARD_DIGITS + len(str(abs(exponent.numerator) // exponent.denominator))
        return Interval.of(exponent, p).exp().enclosure


def _survival(z: Fraction, precision: int) -> Enclosure:
    """P(|Z| >= z), to about `precision` digits after the point.

    1 - S(z) = sqrt(2/pi) exp(-z**2/2) (z + z**3/3 + z**5/(3*5) + ...): all terms are positive, and once a term is at
    most half of the one before it, the rest is below it. Far out, S(z) <= exp(-z**2/2) is enough.
    """
    square = z * z
    p = precision + _GUARD_DIGITS + len(str(math.ceil(square)))
    one = Interval.of(1, p)
    bell = Interval.of(-square / 2, p).exp()
    if square > 8 * precision:  # exp(-4 precision) < 10**-(1.7 precision)
        return (one - one).low, bell.high
    term = total = Interval.of(z, p)
    step, odd = Interval.of(square, p), 1
    while True:
        odd += 2
        term = term * step / Interval.of(odd, p)
        total = total + term
        if 2 * square <= odd and term.high <= _last_digit(p):
            break
    rest = Interval((one - one).low, term.high, p)
    inside = (Interval.of(2, p) / pi(p)).sqrt() * bell * (total + rest)
    return (one - inside).enclosure


def _last_digit(precision: int) -> Any:
    return Interval.of(Fraction(1, 10**precision), precision).low


_NORMAL = Normal()


@overload
def rounded_normal(scale: Any, size: None, bits: BitSource) -> int: ...
@overload
def rounded_normal(scale: Any, size: int, bits: BitSource) -> Integers: ...
def rounded_normal(scale: Any, size: int | None, bits: BitSource) -> int | Integers:
    """round(scale * Z), Z standard normal: Gaussian noise on whole numbers at the price of the continuous one.

    >>> from tacit.noise import secure
    >>> rounded_normal(10, 1000, secure()).shape
    (1000,)
    """
    exact = parameters.positive("scale", scale)
    if size is None:
        return int(_chunk(exact, 1, bits)[0])
    if size <= CHUNK:
        return _chunk(exact, size, bits)
    return np.concatenate([_chunk(exact, min(CHUNK, size - start), bits) for start in range(0, size, CHUNK)])


def _chunk(scale: Fraction, size: int, bits: BitSource) -> Integers:
    """The first bit of a word is the sign, the other 63 are those of U."""
    words = bits.words(size)
    minus = words.view(np.int64) >> 63  # -1 or 0, and x ^ -1 is -x - 1
    signed: Integers = (magnitudes(words << np.uint64(1), scale, bits) ^ minus) - minus
    return signed


def magnitudes(words: Words, scale: Fraction, bits: BitSource) -> Integers:
    """|round(scale * Z)| for each U whose first 63 bits stand at the top of a word; `bits` are for those to come."""
    step, small, offset = _split(scale)
    k, undecided = kernel(words, *_floats(small, offset))
    if step == 1 and not undecided.size:
        return k.astype(np.int64)
    found = completed(k, undecided, words, 63, _NORMAL, small, offset, bits)
    return found if step == 1 else with_remainders(found, _NORMAL, scale, step, bits)


@lru_cache(maxsize=256)
def _split(scale: Fraction) -> tuple[int, Fraction, Fraction]:
    """m, and the scale and the offset of the quotient."""
    step = 1 << max(0, math.floor(scale).bit_length() - _SCALE_BITS)
    return step, scale / step, Fraction(1, 2 * step)


@lru_cache(maxsize=256)
def _floats(scale: Fraction, offset: Fraction) -> tuple[float, float]:
    return float(scale), float(offset)


def kernel(words: Words, scale: float, offset: float) -> tuple[Floats, NDArray[np.intp]]:
    """floor(scale * |Z| + offset) as floats, and the places that the 63 bits of a word leave open."""
    from scipy.special import ndtri  # imported here, because that takes longer than everything else in this room

    # half of U: the argument of Phi's inverse. Processors turn signed words into floats three times as fast
    u = np.asarray((words >> np.uint64(1)).view(np.int64) * 2.0**-64)
    with np.errstate(all="ignore"):
        k = ndtri(u)
        k *= -scale
        k += offset
        away = k - np.rint(k)
        np.floor(k, out=k)
        np.abs(away, out=away)
        undecided: NDArray[np.bool_] = away <= scale * _RELATIVE_BAND + _ABSOLUTE_BAND
        undecided |= u < _SMALL_UNIFORM / 2
        places = np.flatnonzero(undecided)  # there are few, so the steps for small U cost almost nothing
        decided = (u[places] < _SMALL_UNIFORM / 2) & (away[places] > scale * _SMALL_BAND + _ABSOLUTE_BAND)
        decided &= u[places] >= _SMALLEST_UNIFORM / 2
    return k, places[~decided]
