"""Advanced composition: many small epsilons add up like their squares.

Theorem (Kairouz, Oh and Viswanath 2015, Theorem 3.5; re-derived), `unequal`. Mechanisms (e_i, d_i), adaptively chosen,
satisfy, for every slack s > 0, delta = 1 - (1 - s) prod (1 - d_i) at
    epsilon = sum of e_i tanh(e_i/2) + sqrt(2 log(1/s) sum of e_i^2).
Proof: outside the d_i each is dominated by a coin with loss +-e_i of mean e_i tanh(e_i/2); Hoeffding's inequality
bounds the probability of a larger total, which bounds delta. The plain sum is taken where that is less. It is never
worse than what was first known for K mechanisms (e, d) (Dwork, Rothblum and Vadhan 2010), delta = K d + s at
sqrt(2 K log(1/s)) e + K e (exp(e) - 1), as tanh(e/2) <= exp(e) - 1.

Events without an epsilon of their own get half of what is left of delta, in equal shares; the slack gets the other
half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from tacit.loss.accountants import basic
from tacit.loss.accountants.basic import Priced
from tacit.loss.accountants.conversion import left_after
from tacit.loss.curves.repeated_response import all_told
from tacit.loss.numbers.outward import STEP_AT_ONE, ULPS, exp_up, float_up, log_down, product_up, sum_up, up
from tacit.loss.simplify import Entries

SHARES = tuple(10.0**-power for power in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30))
"""Total deltas tried for events that need one, when the target is an epsilon."""


def unequal(parts: Sequence[Priced], slack: float) -> float:
    """The epsilon of all `parts` together at slack in (0, 1], the parts' own deltas set aside."""
    exact = [(part.epsilon, part.count) for part in parts if isinstance(part.epsilon, Fraction)]
    if len(exact) < len(parts):
        return math.inf
    sizes = [(float_up(size), count) for size, count in exact]
    plain = float_up(sum((count * size for size, count in exact), start=Fraction(0)))
    if slack <= 0:
        return plain
    drift = sum_up(product_up(float(count), product_up(size, _tanh_up(size / 2))) for size, count in sizes)
    squares = sum_up(product_up(float(count), product_up(size, size)) for size, count in sizes)
    level = max(0.0, -log_down(min(slack, 1.0)))
    return min(plain, sum_up([drift, up(math.sqrt(product_up(up(2 * level), squares)))]))


def _tanh_up(value: float) -> float:
    return min(1.0, up(math.tanh(value), ULPS))


def epsilon(entries: Entries, delta: float) -> float:
    """The unequal theorem at `delta`."""
    if delta >= 1:
        return 0.0
    parts, left = parted(entries, delta)
    return math.inf if left is None else unequal(parts, left)


def delta(entries: Entries, epsilon: float) -> float:
    """The unequal theorem at `epsilon`: exp of minus the squared excess over the mean, over twice the squares."""
    return best_delta(entries, epsilon, _delta_of)


def best_delta(entries: Entries, epsilon: float, left_of: Callable[[Sequence[Priced], float], float]) -> float:
    """The least delta at `epsilon` over the total deltas tried for those events that need one.

    `left_of` prices what remains of the parts at `epsilon` once their own deltas are set aside.
    """
    found = 1.0
    released = basic.unbounded(entries)
    for share in SHARES if released else (0.0,):
        parts = basic.priced(entries, share / max(1, released))
        aside = told(parts)
        found = min(found, (aside + (1 - aside) * left_of(parts, epsilon)) * (1 + 8 * STEP_AT_ONE))
    return found


def parted(entries: Entries, delta: float) -> tuple[list[Priced], float | None]:
    """The events as (epsilon, delta), and what they leave of `delta`; None where they alone pass it.

    Events without an epsilon of their own get half of what the others leave of `delta`, in equal shares.
    """
    released = basic.unbounded(entries)
    spare = Fraction(max(delta, 0.0)) - basic.told_by_guarantee(entries)
    share = float(spare / (2 * released)) if released and spare > 0 else 0.0
    parts = basic.priced(entries, share)
    return parts, left_after(told(parts), delta)


def told(parts: Sequence[Priced]) -> float:
    """The probability that any of the parts' set-aside events happens, rounded up."""
    spared = sum_up(-part.count * math.log1p(-float_up(part.delta)) if part.delta < 1 else math.inf for part in parts)
    return all_told(-math.expm1(-spared), 1)


def _delta_of(parts: Sequence[Priced], epsilon: float) -> float:
    if unequal(parts, 0.0) <= epsilon:
        return 0.0
    slack = 1.0
    drift = unequal(parts, 1.0)
    sizes = [(float_up(part.epsilon), part.count) for part in parts if isinstance(part.epsilon, Fraction)]
    squares = sum_up(product_up(float(count), size * size) for size, count in sizes)
    if drift < epsilon:
        guess = (epsilon - drift) ** 2 / (2 * squares)
        slack = exp_up(-guess * (1 - 2.0**-40))
        while slack < 1 and unequal(parts, slack) > epsilon:
            slack = min(1.0, slack * (1 + 2.0**-30))
    return slack
