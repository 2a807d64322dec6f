"""Optimal composition: the best that can be said when all that is known of each mechanism is its (epsilon, delta).

Equal epsilons (Kairouz, Oh and Viswanath 2015): the exact binomial sum of `repeated_response`, with
delta = 1 - prod (1 - d_i)(1 - sum).
Unequal epsilons (Murtagh and Vadhan 2016): the exact value is #P-hard, but a sum over a grid bounds it arbitrarily
tightly. They round each epsilon up to the grid; here each coin's two losses are split between the neighbouring grid
points so that the curve lies just above (`discretise`), which is sound in the same way and errs by the square of the
cell only, and the sum over all outcomes is a Fourier transform with its errors counted (`lattice`). The cost is
bounded: above 1,024 different epsilons they are first rounded up to ten binary digits.

Events without an epsilon of their own get half of what is left of delta, in equal shares, as in `advanced`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.loss import events
from tacit.loss.accountants import pld
from tacit.loss.accountants.advanced import best_delta, parted
from tacit.loss.accountants.basic import Priced
from tacit.loss.curves.repeated_response import RepeatedResponse
from tacit.loss.events import Event
from tacit.loss.numbers.outward import float_up
from tacit.loss.numbers.rounding import dyadic_up
from tacit.loss.simplify import Entries

_DIFFERENT = 1024


def epsilon(entries: Entries, delta: float) -> float:
    """The least epsilon at `delta`, from the events' (epsilon, delta) alone."""
    if delta >= 1:
        return 0.0
    parts, left = parted(entries, delta)
    coins = _coins(parts)
    if left is None or coins is None:
        return math.inf
    if not coins:
        return 0.0
    plain = float_up(sum((count * size for size, count in coins.items()), start=Fraction(0)))
    if left == 0:
        return plain
    if len(coins) == 1:
        size, count = next(iter(coins.items()))
        return min(plain, RepeatedResponse.of(float_up(size), count).epsilon(left))
    return min(plain, pld.epsilon(_pure(coins), left))


def delta(entries: Entries, epsilon: float) -> float:
    """The least delta at `epsilon`, from the events' (epsilon, delta) alone."""
    return best_delta(entries, epsilon, _delta_of)


def _delta_of(parts: Sequence[Priced], epsilon: float) -> float:
    coins = _coins(parts)
    if coins is None:
        return 1.0
    at_least = max(epsilon, 0.0)
    if len(coins) == 1:
        size, count = next(iter(coins.items()))
        return float(RepeatedResponse.of(float_up(size), count).delta(np.array([at_least]))[0])
    return pld.delta(_pure(coins), at_least) if coins else 0.0


def _coins(parts: Sequence[Priced]) -> dict[Fraction, int] | None:
    """How many coins of each epsilon remain once deltas are set aside; None where one has no finite epsilon."""
    coins: dict[Fraction, int] = {}
    many = len({part.epsilon for part in parts}) > _DIFFERENT
    for part in parts:
        if not isinstance(part.epsilon, Fraction):
            return None
        if part.epsilon:
            size = dyadic_up(part.epsilon, 10) if many else part.epsilon
            coins[size] = coins.get(size, 0) + part.count
    return coins


def _pure(coins: dict[Fraction, int]) -> dict[Event, int]:
    return {events.Pure(size): count for size, count in coins.items()}
