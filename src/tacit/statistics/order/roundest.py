"""The roundest number of a stretch: where several codes stand for one chosen point, one of them must be shown.

Post-processing of a public stretch, so free. People's numbers are round more often than not, and a round number near
the middle is on average as far from a number of the stretch that is not round as any other is; the least one, always on
the same side, is twice as far.
"""

from __future__ import annotations

from fractions import Fraction


def roundest(low: int, high: int, step: Fraction) -> int:
    """The code from low to high (c stands for c * step) that is nearest to the number with the fewest digits.

    That is the multiple of the greatest power of ten in the stretch; of several multiples, the one nearest to the
    middle.
    """
    first, last = low * step, high * step
    power = Fraction(10) ** (len(str(int(max(abs(first), abs(last))))) + 1)
    while (found := _nearest(Fraction(low + high, 2) * step, power)) < first or found > last:
        power /= 10
        if power < step:  # finer than the codes are: the middle one will do
            return (low + high) // 2
    return min(max(_nearest(found / step, Fraction(1)).numerator, low), high)


def _nearest(number: Fraction, unit: Fraction) -> Fraction:
    """The multiple of the unit that is nearest; of two, the smaller."""
    return -((Fraction(1, 2) - number / unit) // 1) * unit
