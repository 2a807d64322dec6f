"""Public numbers, read exactly, and the one sentence in which a wrong one is refused.

Promise: every reader here returns an exact value (`int` or `Fraction`) that equals what the caller
wrote, or raises `ParameterError`. Only *public* parameters pass through here: private values never
do, because an error message may quote what it was given.

A float is read in one of two ways. Where a mechanism is given its parameters, as the binary rational
that it is: the number *is* the noise that will be drawn. Where a person writes a price, a level or a
weight (`price`, `slip`, `level`, `as_written`), as the decimal that was written: `epsilon=0.1` is one
tenth, and ten of them are one. Those who take prices (questions, studies, publications) read them
here and nowhere else.
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

from tacit.errors import ParameterError

Number: TypeAlias = int | float | Fraction | Decimal | str
"""What a caller may write for a public number; text such as "0.1" or "1/3" is read as written."""

LEVEL: Final = "0.95"
"""The confidence level of intervals where the caller gives none."""

ROUNDOFF: Final = 2.0**-53
"""The largest relative error of one operation on doubles, rounded to nearest: error bounds count in it."""

_RATIO = re.compile(r"Fraction\((-?\d+), (\d+)\)")
_BARE = re.compile(r"\b(?:Decimal\('([^']*)'\)|np\.\w+\(([-+\w.]+)\))")
_LARGEST_EXPONENT = 10_000
_LONGEST_TEXT = 20_000
_LONGEST_WRITTEN = 1_024  # bits
_LEAST_PRICE, _LARGEST_PRICE = Fraction(1, 10**30), Fraction(10**30)
_LEAST_SLIP = Fraction(1, 10**300)


def refuse(name: str, allowed: str, found: object, hint: str = "") -> ParameterError:
    """The house's sentence for a bad parameter: what, what is allowed, what was found, how to fix it."""
    try:
        shown = as_said(found)
    except ValueError:  # Python writes out no whole number of more than some thousand digits
        shown = "a number of thousands of digits"
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return ParameterError(f"The {name!r} parameter must be {allowed}. Got {shown} instead.{' ' + hint if hint else ''}")


def rational(name: str, value: Any, allowed: str = "a finite number") -> Fraction:
    """`value` as the exact rational it is.

    >>> rational("scale", 0.5), rational("scale", 0.1) == Fraction(1, 10)
    (Fraction(1, 2), False)
    """
    if type(value) is Fraction:
        return value
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, bool):
        raise refuse(name, allowed, value)
    try:
        if isinstance(value, numbers.Integral):
            return Fraction(int(value))
        if isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational):
            if not math.isfinite(value):
                raise refuse(name, allowed, value)
            return Fraction(float(value))
        if isinstance(value, (Decimal, str)):
            return Fraction(_of_readable_size(value))
        if isinstance(value, numbers.Rational):  # made anew: nothing of a class of the caller's own is kept
            return Fraction(int(value.numerator), int(value.denominator))
    except (ValueError, ZeroDivisionError, OverflowError) as bad:
        if isinstance(bad, ParameterError):
            raise
        raise refuse(name, allowed, value) from None
    raise refuse(name, allowed, value)


def _of_readable_size(written: Decimal | str) -> Decimal | str:
    """What was written, unless a few characters of it stand for more digits than anyone means: "1e999999999"."""
    if isinstance(written, str):
        exponent = written.lower().partition("e")[2]
        if len(written) > _LONGEST_TEXT or (exponent and abs(int(exponent)) > _LARGEST_EXPONENT):
            raise ValueError
    elif written.is_finite() and abs(written.adjusted()) > _LARGEST_EXPONENT:
        raise ValueError
    return written


def written(value: Any) -> Any:
    """A float as the decimal a person wrote (its shortest text); anything else as it is."""
    if isinstance(value, numbers.Real) and not isinstance(value, (numbers.Rational, bool)):
        return repr(float(value))
    return value


def as_written(name: str, value: Any, allowed: str = "a finite number") -> Fraction:
    """A number as a person wrote it: a float is its shortest decimal text, so 0.1 is exactly a tenth.

    Refused where it has more digits than anyone means, which would make everything computed from it slow.
    """
    if isinstance(value, (str, Decimal)) and len(str(value)) > 100:
        raise refuse(name, f"{allowed}, of at most 100 characters", value)
    exact = rational(name, written(value), allowed)
    if max(abs(exact.numerator), exact.denominator).bit_length() > _LONGEST_WRITTEN:
        raise refuse(name, f"{allowed}, of at most 300 digits", value)
    return exact


def price(name: str, value: Any) -> Fraction:
    """An epsilon or a rho, as a person wrote it.

    >>> price("epsilon", 0.1)
    Fraction(1, 10)
    """
    allowed = "a number above 0, from 1e-30 to 1e30"
    exact = as_written(name, value, allowed)
    if not _LEAST_PRICE <= exact <= _LARGEST_PRICE:
        raise refuse(name, allowed, value)
    return exact


def slip(name: str, value: Any) -> Fraction:
    """A delta, as a person wrote it: 0, or a probability that a float can hold."""
    allowed = "0, or a number from 1e-300 to below 1"
    exact = as_written(name, value, allowed)
    if exact != 0 and not _LEAST_SLIP <= exact < 1:
        raise refuse(name, allowed, value)
    return exact


def budget(epsilon: Any, delta: Any) -> tuple[Fraction, Fraction]:
    """An epsilon and its delta, as a person wrote them.

    >>> budget(0.1, 0)
    (Fraction(1, 10), Fraction(0, 1))
    """
    chance = slip("delta", delta)
    return price("epsilon", epsilon), chance


def level(name: str, value: Any) -> Fraction:
    """A confidence level, as a person wrote it."""
    allowed = "a number strictly between 0 and 1"
    exact = as_written(name, value, allowed)
    if not 0 < exact < 1 or not 0 < float(exact) < 1:
        raise refuse(name, f"{allowed}, at least 1e-16 from 1", value)
    return exact


def positive(name: str, value: Any, hint: str = "") -> Fraction:
    """A finite number above zero."""
    allowed = "a finite number above 0"
    exact = rational(name, value, allowed)
    if exact <= 0:
        raise refuse(name, allowed, value, hint)
    return exact


def non_negative(name: str, value: Any, hint: str = "") -> Fraction:
    """A finite number of at least zero."""
    allowed = "a finite number of at least 0"
    exact = rational(name, value, allowed)
    if exact < 0:
        raise refuse(name, allowed, value, hint)
    return exact


def probability(name: str, value: Any) -> Fraction:
    """A number from 0 to 1, both included."""
    allowed = "a number from 0 to 1"
    exact = rational(name, value, allowed)
    if not 0 <= exact <= 1:
        raise refuse(name, allowed, value)
    return exact


def open_probability(name: str, value: Any, hint: str = "") -> Fraction:
    """A number strictly between 0 and 1, such as a delta or a confidence level."""
    allowed = "a number strictly between 0 and 1"
    exact = rational(name, value, allowed)
    if not 0 < exact < 1:
        raise refuse(name, allowed, value, hint)
    return exact


def whole(name: str, value: Any, *, least: int = 0) -> int:
    """A whole number of at least `least`. A float with a whole value is refused: it may have been rounded."""
    allowed = f"a whole number of at least {least}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        if isinstance(value, Fraction) and value.denominator == 1:
            value = value.numerator
        else:
            raise refuse(name, allowed, value)
    exact = int(value)
    if exact < least:
        raise refuse(name, allowed, value)
    return exact


def as_said(found: object) -> str:
    """A value as it stands in an error: as Python writes it, but a number as a person would have written it."""
    ratios = _RATIO.sub(lambda ratio: as_digits(Fraction(int(ratio[1]), int(ratio[2]))), repr(found))
    return _BARE.sub(lambda bare: bare[1] or bare[2], ratios)


def as_digits(exact: Fraction) -> str:
    """A number for people, at most six digits, rounded up: 1/10 is 0.1, 1/3 is 0.333334; also beyond all floats."""
    upward = Context(prec=6, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
    short = upward.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(upward)
    if short == 0 or Decimal("1e-4") <= abs(short) < Decimal("1e16"):
        return f"{short:f}"
    return f"{float(short):.6g}" if Decimal("1e-300") < abs(short) < Decimal("1e300") else f"{short:.5e}"


def as_text(exact: Fraction) -> str:
    """Canonical text of a rational: "3" or "1/3". Read back by `rational` without loss."""
    return str(exact.numerator) if exact.denominator == 1 else f"{exact.numerator}/{exact.denominator}"
