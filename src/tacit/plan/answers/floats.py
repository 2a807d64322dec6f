"""Released numbers as floats: nothing here raises, warns or depends on how large the noise was.

Promise: every exact number has a float, the nearest one or the largest there is. Nothing beyond `LARGEST` may be asked
for: a question with larger constants or columns is refused while it is planned, before anything is charged.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import QuestionError

LARGEST: Final = 10**100
"""The largest constant in an answer, and the largest value of a column or of an expression that is measured."""
_MOST: Final = sys.float_info.max
_WHOLE: Final = 2**63 - 1


def as_float(exact: int | float | Fraction) -> float:
    """The nearest float, or the largest."""
    try:
        return float(exact)
    except OverflowError:
        return _MOST if exact > 0 else -_MOST


def as_floats(column: Any) -> NDArray[np.float64]:
    """Released numbers, even those beyond every float."""
    numbers = np.asarray(column)
    if numbers.dtype != object:
        return np.asarray(numbers, dtype=np.float64)
    found = np.array([as_float(each) for each in numbers.reshape(-1)], dtype=np.float64)
    return found.reshape(numbers.shape)


def as_whole(value: Any) -> int | None:
    """A released number as a whole number of 64 bits; None where it is not one."""
    if isinstance(value, int):
        return max(-_WHOLE, min(_WHOLE, value))
    number = as_float(value)
    if number != number:
        return None
    return _WHOLE if number >= _WHOLE else -_WHOLE if number <= -_WHOLE else round(number)


def as_real(value: Any) -> float | None:
    """A released number as a finite float; None where it is not one."""
    number = as_float(value)
    return number if abs(number) <= _MOST else None


def of_allowed_size(what: str, exact: object, largest: int = LARGEST) -> None:
    """Refuse numbers whose squares, added up, floats could not hold."""
    if isinstance(exact, (int, Fraction)) and not -largest <= exact <= largest:
        digits = len(str(largest)) - 1
        raise QuestionError(
            f"{what} is larger than 1e{digits}, the largest that is computed with. Use another unit, or bound it: "
            "least(greatest(x, low), high)."
        )
