"""Real numbers known to as many digits as a decision needs.

A sampler decides nearly all draws in float64 with a band of error around them. What falls inside the band
comes here: the uniform number behind the draw is given further random bits, and the threshold it is
compared with is enclosed ever more tightly, until the two are apart. The decision is then exact: it
is the one that infinitely many bits and infinitely many digits would have given.

Enclosures rest on Python's `decimal`, whose `exp` and `ln` are correctly rounded at any precision; every
other step is a rounded operation with an explicit allowance. With precision p digits the relative
error of one rounded operation is at most 10**(1-p); the allowances below are at least twice the sum of them. Nothing
here reads the thread's own decimal context, which an application may have changed: operators on decimals (even a
minus sign) round to it, so only methods of a context of ours and exact methods (`copy_negate`, `copy_abs`) are used.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from tacit.noise.bits import BitSource

Enclosure: TypeAlias = tuple[Decimal, Decimal]
"""Two decimals with the true real number between them (both ends included)."""


def digits(precision: int) -> decimal.Context:
    """A context of this many digits that neither traps nor runs out of exponents on the way."""
    return decimal.Context(prec=precision, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


class LazyUniform:
    """A uniform real number in [0, 1) whose first bits are known and whose further bits are drawn when asked for.

    It lies in [numerator, numerator + 1] / 2**known.
    """

    __slots__ = ("_bits", "known", "numerator")

    def __init__(self, bits: BitSource, numerator: int = 0, known: int = 0) -> None:
        self._bits = bits
        self.numerator = numerator
        self.known = known

    def refine(self, count: int = 64) -> None:
        """Draw `count` further bits."""
        self.numerator = (self.numerator << count) | self._bits.bits(count)
        self.known += count

    def is_below(self, threshold: Callable[[int], Enclosure]) -> bool:
        """Whether it lies below a real threshold, given enclosures of it by number of digits."""
        while True:
            low, high = threshold(20 + self.known // 3)
            unit = 1 << self.known
            if Fraction(self.numerator + 1, unit) <= Fraction(low):
                return True
            if Fraction(self.numerator, unit) >= Fraction(high):
                return False
            self.refine()


def power_of_ten(exponent: int) -> Decimal:
    """10**exponent, exactly."""
    return Decimal((0, (1,), exponent))


def widened(value: Decimal, allowance: Decimal, context: decimal.Context) -> Enclosure:
    """`value` give or take `allowance` of its size."""
    margin = context.multiply(value.copy_abs(), allowance)
    return context.subtract(value, margin), context.add(value, margin)


def quotient(exact: Fraction, context: decimal.Context) -> Decimal:
    """The rational, rounded once."""
    return context.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def exp_enclosure(exponent: Fraction, precision: int) -> Enclosure:
    """exp(exponent) to about `precision` digits.

    Rounding the exponent x moves the result by a relative |x| * 10**(1-p), so p grows with the size of x.
    """
    if exponent < -24 * precision:
        # for this many digits it is enough to know that it is tiny: exp(-24) < 10**-10
        return Decimal(0), power_of_ten(-10 * precision)
    size = len(str(abs(exponent.numerator) // exponent.denominator))
    context = digits(precision + size + 3)
    value = context.exp(quotient(exponent, context))
    return widened(value, power_of_ten(1 - precision), context)


def log_enclosure(argument: Fraction, precision: int) -> Enclosure:
    """ln(argument) within 10**-precision, argument > 0. The allowance is absolute: ln is small near 1."""
    context = digits(precision + 12)
    value = context.ln(quotient(argument, context))
    # Rounding the argument moves ln by at most 2 * 10**(1-p) absolutely; the rounding of ln is relative to it.
    margin = context.multiply(power_of_ten(-precision - 8), max(Decimal(1), value.copy_abs()))
    return context.subtract(value, margin), context.add(value, margin)


def log_of_uniform(uniform: LazyUniform, precision: int) -> Enclosure:
    """ln of the uniform number, as far as its known bits tell; they must not all be zero."""
    unit = 1 << uniform.known
    return (
        log_enclosure(Fraction(uniform.numerator, unit), precision)[0],
        log_enclosure(Fraction(uniform.numerator + 1, unit), precision)[1],
    )


def settled_floor(uniform: LazyUniform, value: Callable[[LazyUniform, int], Enclosure]) -> int:
    """floor(value(uniform)), refining until both ends of the enclosure have the same floor."""
    while uniform.numerator == 0:
        uniform.refine()
    while True:
        low, high = value(uniform, 20 + uniform.known // 3)
        floor = int(low.to_integral_value(rounding=decimal.ROUND_FLOOR))
        if floor == int(high.to_integral_value(rounding=decimal.ROUND_FLOOR)):
            return floor
        uniform.refine()
