"""Float arithmetic that is rounded outward.

Promise: a name that ends in `_up` never returns less than the true value at exactly the floats it was given, one that
ends in `_down` never more. Sums, products, quotients and square roots of IEEE doubles are correctly rounded, so one
step to the next double is enough for them. The elementary functions of the C library and of numpy are granted `ULPS`
steps (their published errors are below 4; the tests measure them against arbitrary precision).
Functions on arrays accept scalars too. Borders between exact rationals and doubles are in `rounding`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.loss.numbers.rounding import STEP_AT_ONE, float_down, float_up

__all__ = [
    "STEP_AT_ONE",
    "ULPS",
    "Floats",
    "Real",
    "down",
    "exp_down",
    "exp_up",
    "expm1_down",
    "expm1_up",
    "float_down",
    "float_up",
    "log1p_up",
    "log_down",
    "log_up",
    "product_up",
    "special",
    "sum_up",
    "up",
]

Floats: TypeAlias = NDArray[np.float64]
Real = TypeVar("Real", float, Floats)
"""One number, or an array of them: the same formula for both."""

ULPS = 8
"""Steps of one double granted to exp, log, expm1, log1p and tanh."""


@cache
def special() -> Any:
    """`scipy.special`, loaded on first use: importing it takes longer than the rest of the room."""
    import scipy.special

    return scipy.special


def up(value: float, steps: int = 1) -> float:
    """The double `steps` above `value`; infinity stays."""
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


def down(value: float, steps: int = 1) -> float:
    """The double `steps` below `value`."""
    return -up(-value, steps)


def exp_up(value: float) -> float:
    """At least exp(value); infinity where that overflows."""
    try:
        return up(math.exp(value), ULPS)
    except OverflowError:
        return math.inf


def exp_down(value: float) -> float:
    """At most exp(value), and never negative."""
    try:
        return max(0.0, down(math.exp(value), ULPS))
    except OverflowError:
        return down(math.inf)


def expm1_up(value: float) -> float:
    """At least exp(value) - 1."""
    try:
        return up(math.expm1(value), ULPS)
    except OverflowError:
        return math.inf


def expm1_down(value: float) -> float:
    """At most exp(value) - 1."""
    try:
        return max(-1.0, down(math.expm1(value), ULPS))
    except OverflowError:
        return down(math.inf)


def log_up(value: float) -> float:
    """At least log(value), for value >= 0."""
    return up(math.log(value), ULPS) if value > 0 else -math.inf


def log_down(value: float) -> float:
    """At most log(value), for value >= 0."""
    return down(math.log(value), ULPS) if value > 0 else -math.inf


def log1p_up(value: float) -> float:
    """At least log(1 + value), for value >= -1."""
    return up(math.log1p(value), ULPS) if value > -1 else -math.inf


def sum_up(terms: Iterable[float]) -> float:
    """At least the exact sum (`fsum` rounds once); infinity where a term is or the sum overflows."""
    listed = list(terms)
    if math.inf in listed:
        return math.inf
    try:
        return up(math.fsum(listed)) if any(listed) else 0.0
    except OverflowError:
        return math.inf


def product_up(first: float, second: float) -> float:
    """At least the product of two numbers that are not negative; zero times infinity is zero."""
    return 0.0 if first == 0 or second == 0 else up(first * second)
