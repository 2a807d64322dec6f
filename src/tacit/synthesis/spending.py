"""How a budget becomes noise: the smallest for which the whole release is (epsilon, delta)-private.

A release whose parameters are fixed beforehand (`mst`) is charged as the composed event that it is, priced tightly by
`tacit.loss.compose`; its noise is found by bisection between what zero-concentrated privacy allows, which is enough,
and a fifth less. A release that chooses its parameters on the way (`aim`) is charged as `Concentrated(rho)`, with the
largest rho that implies (epsilon, delta).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from tacit import parameters
from tacit.loss import Budget, compose
from tacit.loss.events import Event

Made = TypeVar("Made")
_STEPS = 10
_LEAST = Fraction(4, 5)


def rho_of(method: str, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho whose zCDP implies the budget."""
    if delta == 0:
        hint = "independent has a pure guarantee."
        raise parameters.refuse("delta", f"above 0: {method} uses Gaussian noise", 0, hint)
    return Budget(epsilon, delta).rho()


def tightened(
    made: Callable[[Fraction], Made], event: Callable[[Made], Event], epsilon: Fraction, delta: Fraction
) -> Made:
    """`made(factor)` with the least factor on all noise for which its event is within the budget; 1 always is."""
    low, high = _LEAST, Fraction(1)
    best = made(high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        tried = made(middle)
        if compose([event(tried)]).delta(epsilon) <= delta:
            high, best = middle, tried
        else:
            low = middle
    return best
