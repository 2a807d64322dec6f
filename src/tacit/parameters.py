"""Public numbers, read exactly, and the one sentence in which a wrong one is refused.

Promise: every reader here returns an exact value (`int` or `Fraction`) that equals what the caller
wrote, or raises `ParameterError`. A float is read as the binary rational it is, so no rounding ever
happens between a caller's number and a mechanism's noise. Only *public* parameters pass through
here: private values never do, because an error message may quote what it was given.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from tacit.errors import ParameterError

Number: TypeAlias = int | float | Fraction | Decimal | str
"""What a caller may write for a public number; text such as "0.1" or "1/3" is read as written."""


_LARGEST_EXPONENT = 10_000
_LONGEST_TEXT = 20_000


def refuse(name: str, allowed: str, found: object, hint: str = "") -> ParameterError:
    """The house's sentence for a bad parameter: what, what is allowed, what was found, how to fix it."""
    shown = repr(found)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return ParameterError(f"The {name!r} parameter must be {allowed}. Got {shown} instead.{' ' + hint if hint else ''}")


def rational(name: str, value: Any, allowed: str = "a finite number") -> Fraction:
    """`value` as the exact rational it is."""
    if isinstance(value, Fraction):
        return value
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
        if isinstance(value, numbers.Rational):
            return Fraction(value)
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
    if value < least:
        raise refuse(name, allowed, value)
    return int(value)


def as_text(exact: Fraction) -> str:
    """Canonical text of a rational: "3" or "1/3". Read back by `rational` without loss."""
    return str(exact.numerator) if exact.denominator == 1 else f"{exact.numerator}/{exact.denominator}"
