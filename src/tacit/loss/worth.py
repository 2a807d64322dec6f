"""What was released so far, as one figure that a person can read: the tight epsilon at the budget's delta.

Promise: the figure is an upper bound of what the events lose together at that delta, taken as releases with fixed
parameters (see `compose`): exactly the sum of their epsilons while that is the least, and the tight total of the loss
room once that is lower. It is a reading of the account and admits nothing: what may still be spent is decided by the
committed filter alone, whose promise also holds when parameters were chosen by earlier answers. So where everything was
admitted by a filter, the budget's own epsilon bounds the figure too.

Equal events are priced once, so ten thousand entries cost as much as the few different ones among them. Beyond
MOST_DIFFERENT the total is not composed but bounded, by the sums of rho and of epsilon, which stay quick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.errors import ParameterError
from tacit.loss import guarantees
from tacit.loss.accountants import zcdp
from tacit.loss.budget import Budget
from tacit.loss.compose import compose
from tacit.loss.events import Event, Repeated
from tacit.loss.numbers.rounding import float_down
from tacit.loss.simplify import simplify
from tacit.loss.spent import Spent

MOST_DIFFERENT = 200


def worth(events: Iterable[tuple[Event, int]], budget: Budget) -> Fraction:
    """The epsilon that these events, each this many times, are worth at the budget's delta; at most its epsilon.

    For events that a filter of this budget has admitted. Rounded up, never down.
    """
    return _worth(frozenset(events), budget.epsilon, budget.delta)


@lru_cache(maxsize=64)
def _worth(counted: frozenset[tuple[Event, int]], most: Fraction, delta: Fraction) -> Fraction:
    released = [Repeated(event, count) for event, count in counted]
    leaves = simplify(released)
    summed, told = guarantees.basic_sum([(*guarantees.guarantee(leaf), count) for leaf, count in leaves.items()])
    found = [most]
    if isinstance(summed, Fraction) and told <= delta:
        found.append(summed)
    if 0 < delta < 1:
        if len(leaves) > MOST_DIFFERENT:
            tight = zcdp.epsilon(leaves, float_down(delta))
        else:
            try:
                tight = compose(released).epsilon(delta)
            except ParameterError:  # promises about different neighbours have no total but the filter's own
                tight = math.inf
        if math.isfinite(tight):
            found.append(Fraction(tight))
    return min(found)


def how_many_like(spent: Spent, price: Spent, limit: Spent) -> int | None:
    """How many more releases of this price a filter admits after `spent`; None where the number is not limited.

    A filter admits while some rule's sums stay within that rule's limit, and prices add: rule k admits the next n if
    n prices fit into what it has left, and the filter as long as one of them does.
    """
    counts = []
    for before, each, most in zip(_like(spent, price), price.each, limit.each, strict=True):
        if before is None or each is None or most is None:
            continue
        rooms = [
            (room - used) // part if part else None
            for used, part, room in ((before.loss, each.loss, most.loss), (before.delta, each.delta, most.delta))
            if part or used > room
        ]
        if before.loss > most.loss or before.delta > most.delta:
            counts.append(0)
        elif not rooms:
            return None
        else:
            counts.append(min(room for room in rooms if room is not None))
    return max(counts, default=0)


def _like(spent: Spent, price: Spent) -> tuple[Spent | None, ...]:
    """The state rule by rule; the one before the first release has no rules yet."""
    return spent.each if len(spent.each) == len(price.each) else (Spent(),) * len(price.each)


@dataclass(frozen=True, slots=True)
class AskedPrice:
    """What one release was asked for, in the asker's own terms: an epsilon or a rho, and a delta."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction

    @classmethod
    def of(cls, event: Event) -> AskedPrice:
        """What an event is worth by itself: its epsilons and deltas added up; a rho where it has no finite epsilon."""
        leaves = simplify([event])
        summed, told = guarantees.basic_sum([(*guarantees.guarantee(leaf), count) for leaf, count in leaves.items()])
        if isinstance(summed, Fraction):
            return cls(summed, None, told)
        rho, aside = zcdp.total(leaves)
        return cls(None, Fraction(rho) if math.isfinite(rho) else None, Fraction(aside))
