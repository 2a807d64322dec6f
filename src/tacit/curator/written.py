"""Numbers as a person wrote them, exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from tacit import parameters
from tacit.loss.budget import written
from tacit.parameters import Number

_HUGE = re.compile(r"[eE][+-]?\d{4,}")


def as_written(name: str, value: Number) -> Fraction:
    """A number as a person wrote it (0.1 is a tenth), refused where writing it out would take all memory."""
    if isinstance(value, (str, Decimal)) and (len(str(value)) > 100 or _HUGE.search(str(value))):
        raise parameters.refuse(name, "a number of at most 100 characters and 3 digits of exponent", value)
    return parameters.rational(name, written(value))
