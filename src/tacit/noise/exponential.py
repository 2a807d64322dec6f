"""The step all exponential-tailed samplers share: floor(scale * (shift - ln U)) for a uniform real U, exactly.

Theorem. Let U be uniform in [0, 1) with first w bits u, so that U lies in [u, u + 1] / 2**w. In float64 let
v = u / 2**w, y = s * (c - log v) with s, c the floats nearest `scale` and `shift` (scale <= 2**20,
0 <= shift <= 1). Then the real scale * (shift - ln U) lies within

    e = s * (2**-42 + 2**-w / v)

of y, so where y is further than e from every integer, floor(y) is the answer whatever the bits
still undrawn. Elsewhere `settled_floor` draws them.

Proof. For w <= 64, ln U - ln(u/2**w) lies in [0, 1/u], which is 2**-w / v up to rounding. The rest is float error, with
x = 2**-53 and a logarithm within 8 units in the last place, so within 16x of its size (numpy's and math's are held to
that in the tests): v carries x, so log v an absolute x plus 16x|log v| <= 16x * 44.4; c and the subtraction carry
2x * 45.4; s and the product 2x * 45.4 more. The sum is below 900x < 2**-43; the quotient 2**-w / v is within 3x of its
value, which the doubled first term covers. u = 0 makes v = 0, e infinite, and the draw undecided.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.noise.bits import BitSource, Words
from tacit.noise.reals import Enclosure, LazyUniform, digits, log_of_uniform, quotient, settled_floor, widened

LARGEST_SCALE = 1 << 20
_FLOAT_BAND = 2.0**-42


def shift_enclosure(scale: Fraction, two_sided: bool, precision: int) -> Enclosure:
    """The constant c: ln(2 / (1 + exp(-1/scale))) for two sides, 0 for one side."""
    context = digits(precision + 12)
    if not two_sided:
        return context.create_decimal(0), context.create_decimal(0)
    decay = context.exp(quotient(-1 / scale, context))
    value = context.ln(context.divide(context.create_decimal(2), context.add(context.create_decimal(1), decay)))
    # exp is at most 1 and its argument is off by 10**(1-p)/scale relative to exp(-1/scale): at most 10**(1-p) in all.
    margin = context.power(context.create_decimal(10), -(precision + 8))
    return context.subtract(value, margin), context.add(value, margin)


def floors(words: Words, scale: float, shift: float, known: int = 64) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """floor(scale * (shift - ln U)) as floats, and the places that the known bits leave undecided.

    The first `known` bits of U stand at the top of each word, zeros below them; a narrowed word (`known` small)
    is how the tests enumerate every bit string.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        v = words * 2.0**-64
        y = np.log(v)
        np.subtract(shift, y, out=y)
        y *= scale
        floor = np.floor(y)
        # distance of y's fraction from 1/2, plus the band: decided where that stays below 1/2
        y -= floor
        y -= 0.5
        np.abs(y, out=y)
        np.divide(scale * 2.0**-known, v, out=v)
        v += scale * _FLOAT_BAND
        y += v
        if y.max(initial=0.0) < 0.5:
            return floor, _NONE
        return floor, np.flatnonzero(~(y < 0.5))


_NONE = np.empty(0, dtype=np.intp)


def floor_of_one(word: int, scale: float, shift: float, known: int = 64) -> int | None:
    """`floors` for a single word, None where undecided: the same arithmetic without the cost of arrays."""
    if word == 0:
        return None
    v = word * 2.0**-64
    y = scale * (shift - math.log(v))
    floor = math.floor(y)
    band = scale * 2.0**-known / v + scale * _FLOAT_BAND
    return floor if abs(y - floor - 0.5) + band < 0.5 else None


def settle(word: int, known: int, scale: Fraction, two_sided: bool, bits: BitSource) -> int:
    """The undecided draw whose first `known` bits are at the top of `word`, decided with further bits."""

    def value(uniform: LazyUniform, precision: int) -> Enclosure:
        context = digits(precision + 12)
        shift_low, shift_high = shift_enclosure(scale, two_sided, precision)
        log_low, log_high = log_of_uniform(uniform, precision)
        factor = quotient(scale, context)
        low = context.multiply(factor, context.subtract(shift_low, log_high))
        high = context.multiply(factor, context.subtract(shift_high, log_low))
        allowance = context.power(context.create_decimal(10), -(precision + 8))
        return widened(low, allowance, context)[0], widened(high, allowance, context)[1]

    return settled_floor(LazyUniform(bits, word >> (64 - known), known), value)
