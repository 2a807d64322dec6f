"""The edge of what passes: a bracketed search that only ever returns a value which has been seen to pass.

Promise: whatever the shape of the condition, the value returned satisfied it when it was tried; if the condition is
monotone, no value further inside by more than the tolerance does.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def least(excess: Callable[[float], float], guess: float, *, tolerance: float, stride: float) -> float:
    """The least positive x with excess(x) <= 0, for an excess that falls with x; relative `tolerance`.

    The bracket grows from `guess`, first by the factor 1 + `stride`, then faster. Infinite when nothing passes.
    """
    failing = passing = guess
    at_failing = at_passing = excess(guess)
    step = 1 + stride
    while at_passing > 0:
        failing, at_failing = passing, at_passing
        passing, step = passing * step, step * step
        if not math.isfinite(passing):
            return math.inf
        at_passing = excess(passing)
    while at_failing <= 0:
        passing, at_passing = failing, at_failing
        failing, step = failing / step, step * step
        if failing == 0:
            return passing
        at_failing = excess(failing)
    return _close(excess, failing, at_failing, passing, at_passing, tolerance)


def _close(
    excess: Callable[[float], float],
    failing: float,
    at_failing: float,
    passing: float,
    at_passing: float,
    tolerance: float,
) -> float:
    """False position with the Illinois correction: the value at an end that stays twice is halved."""
    stayed = 0
    while passing - failing > tolerance * passing:
        share = at_failing / (at_failing - at_passing) if math.isfinite(at_passing - at_failing) else 0.5
        # A step that lands on an end would close nothing; half the tolerance inwards finishes the bracket instead.
        margin = 0.4 * tolerance * passing
        middle = min(max(failing + share * (passing - failing), failing + margin), passing - margin)
        at_middle = excess(middle)
        if at_middle <= 0:
            passing, at_passing = middle, at_middle
            at_failing = at_failing / 2 if stayed > 0 else at_failing
            stayed = 1
        else:
            failing, at_failing = middle, at_middle
            at_passing = at_passing / 2 if stayed < 0 else at_passing
            stayed = -1
    return passing
