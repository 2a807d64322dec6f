"""Choosing greedily, with exponential weights: what k such choices cost together.

Setting. F(S) = sum over rows of f(S), f of each row monotone and submodular with values in [0, 1] (in whole numbers:
from 0 to STEPS). k candidates are chosen one after the other, each time j with probability proportional to
exp(e gain(j)), gain(j) = F(S + j) - F(S), among those that are left. A unit has r rows; gains are divided by r, so that
one unit's f, the sum of its rows', lies in [0, 1] as well.

Theorem 1 (pure). Adding a unit moves all gains of a round up, by at most 1: a monotone score, so a round costs e
(`tacit.mechanisms.exponential`) and k rounds k e.
Theorem 2 (epsilon, delta), whatever k is: for every t > 0 the whole costs
(exp(e) - 1) (t + ln(1/delta))/(1 - exp(-t)) at delta.
Proof. Let A have one unit more than B, g its gains. For any outcome, P_A/P_B is the product of exp(e g(chosen)), which
is at most exp(e f(S)) <= exp(e), times quotients Z_B/Z_A <= 1. And P_B/P_A is at most the product over rounds of
Z_A/Z_B = E_B exp(e g) <= exp((exp(e) - 1) p), p = E_B g given the past, since exp(e x) <= 1 + (exp(e) - 1) x on [0, 1].
Under B, E exp(-t g) <= exp(-(1 - exp(-t)) p), so exp(sum of (1 - exp(-t)) p - t g) has mean at most 1, and as the
gains add up to f(S) <= 1, the sum of p is above (t + ln(1/delta))/(1 - exp(-t)) with probability at most delta.
Theorem 3. k rounds are k exponential choices of range e: an accountant composes them.
The largest e for the budget is taken; which theorem gives it depends on public numbers alone.

Utility. Without noise greedy is within 1 - 1/e of the best S; a round falls short of the best gain by more than
r (ln(candidates) + u)/e rows with probability at most exp(-u).

Neighbours: one unit's rows, added or removed. Each choice is exact (`tacit.noise.exponential_race`).
Source: Gupta, Ligett, McSherry, Roth, Talwar 2010 (theorem 2, with other constants; re-derived here).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.curator import Price
from tacit.loss import compose, events
from tacit.mechanisms import Exponential
from tacit.noise import BitSource
from tacit.statistics.source import Whole

STEPS = 1 << 16
"""What stands for a worth of 1."""
_DOWN = 1 - 1e-9  # far more than the arithmetic below can be off
_TIMES = [0.25 * each for each in range(1, 61)]


@dataclass(frozen=True, slots=True)
class Rounds:
    """k choices, each with this mechanism, and the price of all of them."""

    count: int
    each: Exponential
    price: Price

    def choose(self, candidates: int, gains: Callable[[Sequence[int]], Whole], bits: BitSource) -> list[int]:
        """Candidates by number, in the order of choice. `gains` says what each would add to those chosen so far."""
        chosen: list[int] = []
        for _ in range(self.count):
            left = [place for place in range(candidates) if place not in set(chosen)]
            found = gains(chosen)
            chosen.append(int(self.each.choose(left, scores=found[left], bits=bits)))
        return chosen


def plan_greedy(
    count: int,
    rows_per_unit: int,
    epsilon: Fraction,
    delta: Fraction,
    *,
    most: int = STEPS,
    submodular: bool = True,
) -> Rounds:
    """k choices for a budget; one row moves a score by at most `most`. Theorem 2 is for submodular f alone."""
    own, price = _pure(count, epsilon)
    for better in (_composed, _telescoped) if submodular else (_composed,):
        found, other = better(count, epsilon, delta) if delta > 0 else (own, price)
        if found > own:
            own, price = found, other
    return Rounds(count, Exponential(sensitivity=rows_per_unit * most, epsilon=own, monotone=True), price)


def _pure(count: int, epsilon: Fraction) -> tuple[Fraction, Price]:
    own = epsilon / count
    return own, Price(events.Repeated(events.Exponential(own), count), epsilon)


def _composed(count: int, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Price]:
    """The largest e, up to a part in a hundred, that the accountant accepts."""
    low, high = epsilon / count, epsilon
    while high > low * Fraction(101, 100):
        middle = Fraction(math.sqrt(low * high)).limit_denominator(1 << 30)
        fits = compose([events.Repeated(events.Exponential(middle), count)]).delta(epsilon) <= delta
        low, high = (middle, high) if fits else (low, middle)
    return low, Price(events.Repeated(events.Exponential(low), count), epsilon, delta)


def _telescoped(count: int, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Price]:
    """Theorem 2 solved for e."""
    own = math.log1p(float(epsilon) / telescoped_factor(delta))
    # the other direction costs e itself
    return Fraction(min(own, float(epsilon)) * _DOWN), Price(events.Approximate(epsilon, delta), epsilon, delta)


def telescoped_factor(delta: Fraction) -> float:
    """The least (t + ln(1/delta))/(1 - exp(-t)) over some t."""
    log = math.log(1 / float(delta))
    return min((t + log) / -math.expm1(-t) for t in _TIMES)


def best_worths(worths: Whole, counts: Whole, chosen: Sequence[int]) -> Whole:
    """What each candidate adds, where a row's f is the largest of its worths: sums over the values rows may have.

    `worths` has a line for each candidate, `counts` the number of rows for each value.
    """
    had = worths[list(chosen)].max(axis=0) if len(chosen) else np.zeros(worths.shape[1], dtype=np.int64)
    return np.asarray(np.maximum(worths - had, 0) @ counts)
