"""Laplace-log-normal noise on the integers: round(scale * X * exp(sigma * Y)), X Laplace, Y standard normal, exactly.

Source: Bun and Steinke 2019 (noise for smooth sensitivity under concentrated privacy). The law has no closed
distribution function, so it is built from three uniform reals U, V, T whose further bits are drawn when they matter:

    E = -ln U,    Y = sqrt(-2 ln V) cos(pi T) (Box and Muller 1958),    |result| = floor(scale exp(sigma Y) E + 1/2).

Theorem. Let b = scale * exp(sigma Y), j a whole number that depends on the drawn bits of V and T alone, m = 2**j.
Given V and T, W = b E + 1/2 is an exponential variable plus 1/2, which has no memory: Q = floor(W / m) is decided by
U, and, given Q, W is uniform in its cell kept with probability exp(-(W - m Q) / b), W below 1/2 never being kept. So
floor(W) = m Q + R with Q decided in float64 at the moderate scale b / m, and nearly every R kept unseen, as m / b <
2**-15.

Float error, u = 2**-53, w known bits, numpy's functions within 8 units in the last place (16u of their value; |ln| <=
44.4): E carries dE = 2**-w / v + 2**-43; the radius r = sqrt(-2 ln V) carries dr = 2 dE(V) / r + 4u r, as |sqrt a -
sqrt b| <= |a - b| / sqrt a; the cosine 2**-w pi + 2**-48; hence Y at most dY = dr + r (2**-w pi + 2**-48). The power t
= sigma Y / ln 2 carries dt = 1.5 sigma dY + 8u |t|; where dt < 1/16 the factor 2**t carries a relative 0.75 dt + 40u,
and W / m, below, the sum. Draws whose dt is larger, a property of V and T alone, are computed by enclosures from the
start.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource, Words
from tacit.noise.functions import Interval, cos_of_half_turns
from tacit.noise.laplace import CHUNK, LARGEST_INT, Integers
from tacit.noise.laws import Floats
from tacit.noise.reals import LazyUniform, log_of_uniform
from tacit.parameters import ROUNDOFF

_LARGEST_SIGMA = 100
_SCALE_BITS = 17
_KEEP_AT_ONCE = np.uint64(2**64 - 2**49)  # 1 - 2**-15


@overload
def laplace_log_normal(scale: Any, sigma: Any, size: None, bits: BitSource) -> int: ...
@overload
def laplace_log_normal(scale: Any, sigma: Any, size: int, bits: BitSource) -> Integers: ...
def laplace_log_normal(scale: Any, sigma: Any, size: int | None, bits: BitSource) -> int | Integers:
    """round(scale * X * exp(sigma * Y)), X with density exp(-|x|)/2 and Y standard normal.

    >>> from tacit.noise import secure
    >>> laplace_log_normal(10, "1/2", 1000, secure()).shape
    (1000,)
    """
    exact = parameters.positive("scale", scale)
    spread = parameters.positive("sigma", sigma, "Use rounded_laplace for sigma 0.")
    if spread > _LARGEST_SIGMA:
        raise parameters.refuse("sigma", f"a number above 0 and up to {_LARGEST_SIGMA}", sigma)
    if size is None:
        return int(_chunk(exact, spread, 1, bits)[0])
    if size <= CHUNK:
        return _chunk(exact, spread, size, bits)
    return np.concatenate([_chunk(exact, spread, min(CHUNK, size - start), bits) for start in range(0, size, CHUNK)])


class Coarse(NamedTuple):
    """What float64 says of a chunk: floor(W / 2**shift), which of these are undecided, which shifts are unknown."""

    quotients: Floats
    shifts: NDArray[np.int64]
    undecided: NDArray[np.bool_]
    unknown: NDArray[np.bool_]


@lru_cache(maxsize=256)
def _normalised(scale: Fraction) -> tuple[float, int]:
    """(c, e) with scale = c * 2**e up to the rounding of c, 1 <= c <= 2."""
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length()
    if scale < Fraction(2) ** exponent:
        exponent -= 1
    return float(scale / Fraction(2) ** exponent), exponent


def kernel(words: tuple[Words, Words, Words], known: int, scale: Fraction, sigma: Fraction) -> Coarse:
    """The float step, for U, V, T whose first `known` bits stand at the top of the three words."""
    mantissa, exponent = _normalised(scale)
    spread = float(sigma)
    resolution = 2.0**-known
    with np.errstate(all="ignore"):
        u, v, turns = (word * 2.0**-64 for word in words)
        radius = np.sqrt(-2 * np.log(v))
        cosine = np.cos(turns * math.pi)
        radius_error = 2 * (resolution / v + 2.0**-43) / radius + 4 * ROUNDOFF * radius
        normal_error = radius_error + radius * (resolution * 3.15 + 2.0**-48)
        power = radius * cosine * (spread / math.log(2))
        power_error = 1.5 * spread * normal_error + 8 * ROUNDOFF * np.abs(power)
        unknown = ~(power_error < 0.0625)
        power[unknown] = 0.0
        floor_power = np.floor(power)
        whole = floor_power.astype(np.int64) + exponent
        shifts = np.maximum(whole - (_SCALE_BITS - 1), 0)
        # exponents beyond float64 only ever mean a scale of nothing, or an offset of nothing
        factor = np.ldexp(mantissa * np.exp2(power - floor_power), np.maximum(whole - shifts, -2000).astype(np.int32))
        w = factor * -np.log(u) + np.ldexp(0.5, -np.minimum(shifts, 2000).astype(np.int32))
        error = 1.25 * factor * (resolution / u + 2.0**-43) + 1.25 * w * (0.75 * power_error + 64 * ROUNDOFF)
        quotients = np.floor(w)
        undecided = ~(np.abs(w - quotients - 0.5) + error < 0.5)
    return Coarse(quotients, shifts, undecided | unknown, unknown)


class Draw:
    """One draw computed by enclosures. Bits of its V and T that one decision has drawn are kept for the next."""

    def __init__(
        self, scale: Fraction, sigma: Fraction, words: tuple[int, int, int], known: int, bits: BitSource
    ) -> None:
        self._scale, self._sigma, self._bits = scale, sigma, bits
        self._u, self._v, self._turns = (LazyUniform(bits, word >> (64 - known), known) for word in words)

    def _factor(self, precision: int) -> Interval:
        """b = scale * exp(sigma * Y)."""
        while self._v.numerator == 0:
            self._v.refine()
        radius = (-_log(self._v, precision) * Interval.of(2, precision)).sqrt()
        normal = radius * cos_of_half_turns(self._turns, precision)
        return (Interval.of(self._sigma, precision) * normal).exp() * Interval.of(self._scale, precision)

    def _precision(self) -> int:
        return 30 + self._v.known // 3

    def _refine(self) -> None:
        self._v.refine()
        self._turns.refine()

    def shift(self) -> int:
        """The j of this draw where float64 could not tell it: it looks at V and T only."""
        while True:
            factor = self._factor(self._precision())
            if factor.high < 2 * factor.low:
                low = Fraction(factor.low)
                return max(0, low.numerator.bit_length() - low.denominator.bit_length() - _SCALE_BITS)
            self._refine()

    def quotient(self, shift: int) -> int:
        """floor(W / 2**shift)."""
        while self._u.numerator == 0:
            self._u.refine()
        while True:
            precision = self._precision()
            factor = self._factor(precision) * Interval.of(Fraction(1, 1 << shift), precision)
            w = factor * -_log(self._u, precision) + Interval.of(Fraction(1, 2 << shift), precision)
            floor = int(w.low.to_integral_value(rounding=decimal.ROUND_FLOOR))
            if floor == int(w.high.to_integral_value(rounding=decimal.ROUND_FLOOR)):
                return floor
            self._u.refine()
            self._refine()

    def keeps(self, chance: LazyUniform, fraction: LazyUniform, remainder: int, zero: bool) -> bool:
        """Whether chance < exp(-(remainder + fraction) / b); at zero the fraction must be at least 1/2."""
        if zero:
            fraction.refine()
            if fraction.numerator >> (fraction.known - 1) == 0:
                return False
        while True:
            precision = 20 + self._precision() + chance.known // 3
            unit = 1 << fraction.known
            near = Interval.of(remainder + Fraction(fraction.numerator, unit), precision)
            far = Interval.of(remainder + Fraction(fraction.numerator + 1, unit), precision)
            beyond = (-(Interval(near.low, far.high, precision) / self._factor(precision))).exp()
            whole = 1 << chance.known
            if Fraction(chance.numerator + 1, whole) <= Fraction(beyond.low):
                return True
            if Fraction(chance.numerator, whole) >= Fraction(beyond.high):
                return False
            chance.refine()
            fraction.refine()
            self._refine()


def _log(uniform: LazyUniform, precision: int) -> Interval:
    low, high = log_of_uniform(uniform, precision)
    return Interval(low, high, precision)


def _chunk(scale: Fraction, sigma: Fraction, size: int, bits: BitSource) -> Integers:
    signs = bits.words(size)
    return from_words(signs, (bits.words(size), bits.words(size), bits.words(size)), 64, scale, sigma, bits)


def from_words(
    signs: Words, words: tuple[Words, Words, Words], known: int, scale: Fraction, sigma: Fraction, bits: BitSource
) -> Integers:
    """One draw for each triple of words; the first bit of `signs` is the sign."""
    coarse = kernel(words, known, scale, sigma)
    settled: dict[int, Draw] = {}

    def draw(place: int) -> Draw:
        if place not in settled:
            triple = (int(words[0][place]), int(words[1][place]), int(words[2][place]))
            settled[place] = Draw(scale, sigma, triple, known, bits)
        return settled[place]

    quotients: Integers = np.where(coarse.undecided, 0.0, coarse.quotients).astype(np.int64)
    shifts = coarse.shifts
    for place in np.flatnonzero(coarse.unknown):
        shifts[place] = draw(int(place)).shift()
    for place in np.flatnonzero(coarse.undecided):
        value = draw(int(place)).quotient(int(shifts[place]))
        if value > LARGEST_INT >> 1 and quotients.dtype != object:
            quotients = quotients.astype(object)
        quotients[place] = value
    out = _with_remainders(quotients, shifts, draw, bits)
    return np.where(signs >> np.uint64(63) == 1, -out, out)


def _with_remainders(
    quotients: Integers, shifts: NDArray[np.int64], draw: Callable[[int], Draw], bits: BitSource
) -> Integers:
    """2**shift * Q + R for each Q, in Python integers where int64 might overflow."""
    kind = object if (int(quotients.max(initial=0)) + 1) << int(shifts.max(initial=0)) > LARGEST_INT else np.int64
    starts: Integers = np.left_shift(quotients.astype(kind), shifts.astype(kind))
    out = starts.copy()
    missing = np.flatnonzero(shifts > 0)
    while missing.size:
        remainders = _uniform_bits(shifts[missing], kind, bits)
        words = bits.words(missing.size)
        out[missing] = starts[missing] + remainders
        again = np.zeros(missing.size, dtype=np.bool_)
        # zero's cell is half as wide as the others, so it is always looked at
        for place in np.flatnonzero((words >= _KEEP_AT_ONCE) | (out[missing] == 0)):
            chance = LazyUniform(bits, int(words[place]), 64)
            zero = bool(out[missing[place]] == 0)
            again[place] = not draw(int(missing[place])).keeps(chance, LazyUniform(bits), int(remainders[place]), zero)
        missing = missing[again]
    return out


def _uniform_bits(widths: NDArray[np.int64], kind: type, bits: BitSource) -> Integers:
    """A uniform whole number below 2**width for each width of at least 1."""
    if kind is object:
        return np.array([*(bits.bits(int(width)) for width in widths), None], dtype=object)[:-1]
    return (bits.words(widths.size) >> (64 - widths).astype(np.uint64)).astype(np.int64)
