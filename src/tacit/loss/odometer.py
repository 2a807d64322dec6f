"""A running bound on what has been lost so far, valid at every moment, with nothing fixed in advance but delta.

A filter stops at a budget; an odometer only reports. Its reading may be looked at, and acted on, after every release.

Theorem. For orders a_j > 1 with weights w_j that sum to 1, and parameters chosen adaptively, let S_j(t) be the sum of
the divergences of order a_j of the first t releases, and
    reading(t) = min over j of  S_j(t) + log(1/(w_j d)) / (a_j - 1).
Let L_t be the privacy loss log P/Q of the first t answers. Then P(L_t > reading(t) for some t) <= d.
Proof. Given the past, E_P[exp((a - 1)(loss of answer i))] <= exp((a - 1) D_i), and D_i is known before answer i. So
exp((a_j - 1)(L_t - S_j(t))) is a non-negative supermartingale that starts at 1, and by Ville's inequality it ever
passes 1/(w_j d) with probability at most w_j d. Add over j. (Feldman and Zrnic, 2021; Whitehouse et al., 2023.)
The sum of pure epsilons bounds L_t surely, so it joins the minimum without a weight while it is finite.

Events with a delta of their own are decomposed as in `filters`: their deltas may sum to at most the reserve, fixed in
advance, and the theorem is about the remaining parts P', Q'. What it says about the releases themselves, with
delta = d + reserve: for every stopping rule T, every fixed e and every set S of transcripts,
    P(S and reading(T) <= e) <= exp(e) Q(S) + delta.
(On S without the bad event P' <= exp(e) Q' <= exp(e) Q; the bad event has P'-mass d; P exceeds P' by the reserve.)
The same holds with P and Q exchanged, since prices cover both directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit import parameters
from tacit.errors import BudgetExceeded
from tacit.loss import guarantees
from tacit.loss.accountants import renyi
from tacit.loss.events import Event
from tacit.loss.filters import exact_delta
from tacit.loss.numbers.rounding import float_up, fraction_log_down
from tacit.loss.simplify import simplify
from tacit.parameters import refuse, written

_LOWEST, _HIGHEST = -6, 10
_GAPS = tuple(Fraction(2) ** j for j in range(_LOWEST, _HIGHEST + 1))  # a - 1; the best lies within a factor sqrt 2
_ORDERS = np.array([float(1 + gap) for gap in _GAPS])


@dataclass(frozen=True, slots=True)
class Travelled:
    """An odometer's state: divergences summed at each order, pure epsilons (None once one is infinite), own deltas.

    >>> Odometer(Fraction(1, 10**6)).reading(Travelled())
    0.0
    """

    divergences: tuple[Fraction | None, ...] = (Fraction(0),) * len(_GAPS)
    pure: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Odometer:
    """Running bounds at `delta`, of which the share `reserve` is kept for events with a delta of their own.

    Immutable: `advance` takes a state and returns the next; `reading` is the epsilon of a state.

    >>> from tacit.loss import Pure
    >>> odometer = Odometer(Fraction(1, 10**6))
    >>> odometer.reading(Travelled())
    0.0
    """

    delta: Fraction
    reserve: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        share = parameters.rational("reserve", written(self.reserve))
        if not 0 <= share < 1:
            raise refuse("reserve", "a share of delta, at least 0 and below 1", self.reserve)
        object.__setattr__(self, "reserve", share)
        object.__setattr__(self, "delta", parameters.open_probability("delta", written(self.delta)))

    def start(self) -> Travelled:
        """The state before the first release."""
        return Travelled()

    def advance(self, state: Travelled, event: Event) -> Travelled:
        """The state after `event`; refused when the events' own deltas would pass the reserve."""
        divergences, pure, delta = list(state.divergences), state.pure, state.delta
        for leaf, count in simplify([event]).items():
            prices, aside = renyi.curve(leaf, _ORDERS)
            epsilon, own = guarantees.guarantee(leaf)
            divergences = [_add(sum_, count, float(price)) for sum_, price in zip(divergences, prices, strict=True)]
            # One minimum may mix the two bounds only while they leave out the same part of the release.
            same = isinstance(epsilon, Fraction) and float_up(own) == aside
            pure = pure + count * Fraction(epsilon) if pure is not None and same else None
            delta += count * exact_delta(leaf, aside)
        limit = self.reserve * self.delta
        if delta > limit:
            raise BudgetExceeded(
                f"This release has delta {float(delta - state.delta):.6g} of its own; "
                f"{float(limit - state.delta):.6g} is left of the odometer's reserve.",
                asked=delta - state.delta,
                remaining=limit - state.delta,
            )
        return Travelled(tuple(divergences), pure, delta)

    def reading(self, state: Travelled) -> float:
        """An upper bound of the loss so far; infinite when no order has a finite sum."""
        level = Fraction(-fraction_log_down((1 - self.reserve) * self.delta / len(_GAPS)))
        bounds = [total + level / gap for total, gap in zip(state.divergences, _GAPS, strict=True) if total is not None]
        if state.pure is not None:
            bounds.append(state.pure)
        return float_up(min(bounds)) if bounds else math.inf


def _add(total: Fraction | None, count: int, price: float) -> Fraction | None:
    return total + count * Fraction(price) if total is not None and math.isfinite(price) else None
