"""The contract that all mechanisms share, and the few things they all need.

Promise of a mechanism: it is a frozen value built from public parameters alone, and building it refuses every parameter
that cannot be honoured. From then on nothing about private values raises: `release` reads any value of the
right type and shape, whatever its size, and answers with exactly the law that its `event` states. Types, shapes and
lengths are public facts, and wrong ones are refused; contents are private, and never quoted.

What a caller promises: the sensitivity, under the caller's neighbour relation (add or remove one privacy unit unless
the caller says otherwise), of the values *as they are read*: `whole_numbers`, `grid` and `scores` say how.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from tacit import noise, parameters
from tacit.loss.events import Event
from tacit.noise.functions import Interval
from tacit.noise.reals import Enclosure

Draw: TypeAlias = Callable[[int | None], Any]
"""Noise on demand: `size` draws as an array, or one Python int for None."""

Tail: TypeAlias = Callable[[int, int], Enclosure]
"""(t, digits) -> an enclosure of Pr[|noise| > t], tighter with more digits."""


class Mechanism(Protocol):
    """Noise added to numbers.

    >>> from tacit.mechanisms import Laplace
    >>> mechanism: Mechanism = Laplace(1, "0.5")
    >>> mechanism.event.to_json()
    '{"kind":"discrete-laplace","scale":"2","sensitivity":1}'
    """

    @property
    def event(self) -> Event:
        """What a release is, as an exact fact for the ledger and the accountants."""

    @property
    def scale(self) -> float:
        """The size of the noise in the unit of the values, for people; the exact one stands in the event."""

    def error(self, confidence: parameters.Number) -> int | float:
        """The smallest t such that one released number is off by more with probability at most 1 - confidence."""

    def release(self, values: Any, *, bits: noise.BitSource | None = None) -> Any:
        """`values` with noise. `bits` is the source of randomness: this thread's secure one, but for tests."""


def ordinary(name: str, exact: Fraction, found: object) -> Fraction:
    """`exact`, a scale of noise; refused where a float cannot hold it; the error names the parameter."""
    if not sys.float_info.min <= exact <= sys.float_info.max:
        raise parameters.refuse(
            name,
            "a number of ordinary size, so that the scale of the noise stays between 2.3e-308 and 1.7e308",
            found,
            "Compare it with the sensitivity: their quotient is the scale.",
        )
    return exact


def only_one(**given: object) -> str:
    """The name of the one parameter that was given; none or several are refused."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        allowed = f"given as exactly one of {', '.join(given)}"
        raise parameters.refuse(" or ".join(given), allowed, " and ".join(names) or "none of them")
    return names[0]


def quantile(tail: Tail, level: Fraction, near: int = 0) -> int:
    """The smallest t >= 0 with tail(t) <= level, exactly: every comparison is made with as many digits as it takes.

    `tail` falls to zero and never equals `level`, a rational. The search starts at a guess.
    """

    def small_enough(t: int) -> bool:
        precision = 25
        while True:
            low, high = tail(t, precision)
            level_low, level_high = Interval.of(level, precision).enclosure
            if high <= level_low:
                return True
            if low > level_high:
                return False
            precision *= 2

    step = 1
    if small_enough(near):
        too_small, enough = near - 1, near
        while too_small >= 0 and small_enough(too_small):
            enough, step = too_small, 2 * step
            too_small = max(enough - step, -1)
    else:
        too_small, enough = near, near + 1
        while not small_enough(enough):
            too_small, step = enough, 2 * step
            enough = too_small + step
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        if small_enough(middle):
            enough = middle
        else:
            too_small = middle
    return enough
