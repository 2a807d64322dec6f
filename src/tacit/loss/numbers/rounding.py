"""Outward rounding between exact rationals and floats.

Promise: a name that ends in `_up` never returns less than its argument's true value, one that ends in `_down`
never more. Accountants and calibration use these at the border of exact parameters and float arithmetic, so
that rounding can only make a reported loss larger and noise stronger.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from tacit.parameters import ROUNDOFF, refuse

STEP_AT_ONE = 2 * ROUNDOFF
"""One step of a double near 1."""


def float_up(exact: Fraction) -> float:
    """The smallest double that is at least `exact` (infinity above the largest one)."""
    try:
        near = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -sys.float_info.max
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def float_down(exact: Fraction) -> float:
    """The largest double that is at most `exact` (minus infinity below the smallest one)."""
    return -float_up(-exact)


def fraction_log_down(exact: Fraction) -> float:
    """A double at most log(exact), for any positive rational, also those far below the smallest double."""
    value, error = _log(exact)
    return value - error


def fraction_log_up(exact: Fraction) -> float:
    """A double at least log(exact)."""
    value, error = _log(exact)
    return value + error


def _log(exact: Fraction) -> tuple[float, float]:
    if 2 * exact > 1 and exact < 2:
        # Near one the difference of two logarithms would cancel.
        value = math.log1p(float(exact - 1))
        return value, 8 * STEP_AT_ONE * abs(value)
    top, bottom = math.log(exact.numerator), math.log(exact.denominator)
    return top - bottom, 4 * STEP_AT_ONE * (top + bottom + 1)


def dyadic_up(exact: Fraction, bits: int = 53) -> Fraction:
    """The least number of `bits` binary digits that is at least `exact` > 0; so it is a double, and short to store."""
    shift = bits - (exact.numerator.bit_length() - exact.denominator.bit_length())
    unit = Fraction(2) ** -shift
    return math.ceil(exact / unit) * unit


def dyadic_down(exact: Fraction, bits: int = 53) -> Fraction:
    """The greatest number of `bits` binary digits that is at most `exact` > 0."""
    shift = bits - (exact.numerator.bit_length() - exact.denominator.bit_length())
    unit = Fraction(2) ** -shift
    return math.floor(exact / unit) * unit


def sqrt_up(exact: Fraction) -> Fraction:
    """A dyadic rational at least the square root of `exact` > 0, above it by less than one part in 2^52."""
    shift = 108 - (exact.numerator.bit_length() - exact.denominator.bit_length())
    shift += shift % 2
    scaled = math.ceil(exact * Fraction(2) ** shift)
    root = math.isqrt(scaled)
    root += root * root < scaled
    return dyadic_up(root * Fraction(2) ** (-shift // 2))


def noise_scale(name: str, exact: Fraction) -> Fraction:
    """`exact` again, refused where it leaves the range of doubles (samplers and error bars need it inside)."""
    if not sys.float_info.min <= exact <= sys.float_info.max:
        raise refuse(
            name,
            "a number between 2.3e-308 and 1.7e308",
            f"about 2^{exact.numerator.bit_length() - exact.denominator.bit_length()}",
            "Choose an epsilon and a sensitivity of ordinary size.",
        )
    return exact
