"""Basic composition: epsilons add and deltas add, also when each mechanism is chosen after seeing the last answer.

Theorem (Dwork et al. 2006). Mechanisms that satisfy (epsilon_i, delta_i) satisfy (sum, sum) together. What each event
satisfies on its own is in `guarantees`. An event without a finite epsilon of its own (Gaussian noise, a bare rho) has
one at every delta > 0: what the other events leave of the target delta is shared equally among such releases, and each
takes its exact curve's epsilon at its share (`priced`). At a target epsilon the same is done the other way round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.loss.accountants import event_curve
from tacit.loss.events import Event
from tacit.loss.guarantees import Pair, basic_sum, guarantee
from tacit.loss.numbers.outward import float_down, float_up, sum_up
from tacit.loss.simplify import Entries

__all__ = ["Priced", "delta", "epsilon", "guarantee", "priced", "told_by_guarantee", "unbounded"]


@dataclass(frozen=True, slots=True)
class Priced:
    """`count` releases that satisfy (epsilon, delta) each."""

    epsilon: Fraction | float
    delta: Fraction
    count: int


def unbounded(entries: Entries) -> int:
    """How many releases have no finite epsilon of their own."""
    return sum(count for event, count in entries.items() if not _is_finite(guarantee(event)))


def told_by_guarantee(entries: Entries) -> Fraction:
    """The deltas of the releases that have a finite epsilon, summed."""
    return sum((count * guarantee(event)[1] for event, count in entries.items()), start=Fraction(0))


def priced(entries: Entries, share: float) -> list[Priced]:
    """Every entry as (epsilon, delta), those without an epsilon of their own at delta `share` for each release."""
    return [_priced(event, count, share) for event, count in entries.items() if count]


def _is_finite(pair: Pair) -> bool:
    return isinstance(pair[0], Fraction)


def _priced(event: Event, count: int, share: float) -> Priced:
    found, told = guarantee(event)
    if isinstance(found, Fraction):
        return Priced(found, told, count)
    at_share = event_curve.smallest_epsilon(event, share) if share > 0 else math.inf
    return Priced(Fraction(at_share) if math.isfinite(at_share) else math.inf, Fraction(share), count)


def epsilon(entries: Entries, delta: float) -> float:
    """The sum of epsilons at `delta`; infinity where the deltas alone pass it."""
    spare = Fraction(min(max(delta, 0.0), 1.0)) - told_by_guarantee(entries)
    if delta >= 1:
        return 0.0
    if spare < 0:
        return math.inf
    share = float_down(spare / max(1, unbounded(entries)))
    total, _ = basic_sum([(part.epsilon, part.delta, part.count) for part in priced(entries, share)])
    return float_up(total) if isinstance(total, Fraction) else math.inf


def delta(entries: Entries, epsilon: float) -> float:
    """The sum of deltas where the epsilons fit into `epsilon`, else 1."""
    told = told_by_guarantee(entries)
    finite = [(*guarantee(event), count) for event, count in entries.items() if _is_finite(guarantee(event))]
    spent, _ = basic_sum(finite)
    if not isinstance(spent, Fraction) or not math.isfinite(epsilon):
        return 1.0 if epsilon < math.inf else min(1.0, float_up(told))
    spare = Fraction(epsilon) - spent
    if spare < 0:
        return 1.0
    each = np.array([float_down(spare / max(1, unbounded(entries)))])
    rest = [
        count * max(float(event_curve.delta_curve(event, each, side)[0]) for side in ("remove", "add"))
        for event, count in entries.items()
        if count and not _is_finite(guarantee(event))
    ]
    return min(1.0, sum_up([float_up(told), *(term * (1 + 2.0**-52) for term in rest)]))
