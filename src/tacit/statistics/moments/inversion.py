"""An interval from a test: all the values that the test does not reject.

If the test of every value has the stated level, the interval holds the true one with that probability, however the
estimate behaves. Worked out from released numbers only.
"""

from __future__ import annotations

from collections.abc import Callable

_HALVINGS = 40


def not_rejected(
    chance: Callable[[float], float], level: float, estimate: float, low: float, high: float
) -> tuple[float, float]:
    """The ends, between `low` and `high`, of the values around the estimate whose p-value is at least 1 - level.

    chance: a value's p-value, which falls as the value moves away from the estimate.
    """
    start = min(max(estimate, low), high)
    return _end(chance, 1 - level, start, low), _end(chance, 1 - level, start, high)


def _end(chance: Callable[[float], float], least: float, inside: float, outside: float) -> float:
    if chance(outside) >= least:
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if chance(middle) >= least else (inside, middle)
    return outside
