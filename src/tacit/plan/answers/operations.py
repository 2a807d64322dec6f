"""The operations of two noisy numbers: the value, and its slope in the left and in the right one.

Promise: nothing raises. Dividing by zero gives NaN, a value that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _divided(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    divisor = np.where(b == 0, np.nan, b)
    return a / divisor, 1 / divisor, -a / (divisor * divisor)


def _whole_divided(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    value, by_left, by_right = _divided(a, b)
    return np.trunc(value), by_left, by_right


def _remainder(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    divisor = np.where(b == 0, np.nan, b)
    return np.fmod(a, divisor), np.ones_like(a), -np.trunc(a / divisor)


OPERATIONS: Mapping[str, Callable[[Floats, Floats], tuple[Floats, Floats, Floats]]] = MappingProxyType(
    {
        "+": lambda a, b: (a + b, np.ones_like(a), np.ones_like(a)),
        "-": lambda a, b: (a - b, np.ones_like(a), -np.ones_like(a)),
        "*": lambda a, b: (a * b, b, a),
        "/": _divided,
        "//": _whole_divided,
        "%": _remainder,
    }
)
