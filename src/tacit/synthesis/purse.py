"""What a release that chooses its noise on the way may spend: a filter in Gaussian differential privacy.

Theorem. Every step, whatever was released before it, is at least as hard to tell apart on neighbours as two normal
laws of deviation 1 whose means are mu_i apart (it is mu_i-GDP). A step is made only if the sum of all mu_i**2 so far
stays at most mu**2; its parameters follow from released numbers. Then all steps together are mu-GDP, so that they cost
what Gaussian noise of deviation 1/mu costs on a number that a unit moves by 1: that event is charged.
Proof, by induction over the steps that are left. The steps still to come cost, at any threshold, at most as much as a
pair of normal laws whose means are sqrt(left) apart, left being mu**2 less what was spent. A step of mu_i before it
gives at most the product of both pairs, and the product of normal pairs mu_i and sqrt(left - mu_i**2) apart is one
sqrt(left) apart (turn the plane so that the line between both means is an axis). Spending less is post-processing of
spending all.

A table. Whole counts of L2 sensitivity r, with normal noise of deviation s that is rounded to whole numbers: the same
as counts with normal noise, rounded afterwards, so mu_i = r/s exactly, in any number of cells.

A choice. The exponential mechanism of range eta has losses in an interval [t - eta, t], so it is no easier to tell
apart than two coins with chances p and q of loss t, for which log(p/q) = t and log((1-p)/(1-q)) = t - eta: their
log-odds are eta apart. Two coins are mu-GDP if the one corner of their trade-off curve is not below the normal one,
which means mu >= Phi^-1(p) - Phi^-1(q). Along log-odds, Phi^-1 rises by Phi(1 - Phi)/phi, which is at most
sqrt(2 pi)/4: a square of half side u holds the disc of radius u, so (2 Phi(u) - 1)**2 >= 1 - exp(-u**2/2), and that is
4 Phi(1 - Phi) <= exp(-u**2/2). So mu_i = eta sqrt(2 pi)/4, and the choice costs pi eta**2/8.

Neighbours: one unit's rows, added or removed. Assumptions: the caller's sensitivities hold.
Source: Dong, Roth, Su 2022 (Gaussian differential privacy); Koskela, Tobaben, Honkela 2023, and Smith, Thakurta 2022
(the filter); Durfee, Rogers 2019 (bounded range). What a choice costs is argued here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss import events
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Exponential
from tacit.noise import BitSource, rounded_normal
from tacit.synthesis import scoring
from tacit.synthesis.spending import tightened

_PI: Final = Fraction(355, 113)  # a little more
CHOOSING: Final = Fraction(7, 100)  # of a round: for the choice
_ROUNDING: Final = Fraction(1, 12)  # what rounding adds to the variance, at most and nearly


@dataclass(frozen=True, slots=True)
class TableNoise:
    """Rounded normal noise on a table of whole counts."""

    sensitivity: int
    sigma: Fraction

    @classmethod
    def of(cls, share: Fraction, rows: int) -> TableNoise:
        """The noise for a share of mu**2, where a unit has this many rows."""
        return cls(rows, rows * sqrt_up(1 / share))

    @property
    def cost(self) -> Fraction:
        """The part of mu**2 that it spends."""
        return (self.sensitivity / self.sigma) ** 2

    @property
    def scale(self) -> float:
        """The deviation of a count."""
        return math.sqrt(float(self.sigma**2 + _ROUNDING))

    def release(self, counts: Any, bits: BitSource) -> NDArray[np.int64]:
        """The table with noise in every cell."""
        exact = np.asarray(counts, dtype=np.int64)
        return exact + np.asarray(rounded_normal(self.sigma, exact.size, bits), dtype=np.int64).reshape(exact.shape)


def choice_of(share: Fraction, rows: int, weight: int) -> tuple[Exponential, Fraction]:
    """The choice for a share of mu**2, and what it costs: roots are rounded so that it is at most the share."""
    eta = 1 / sqrt_up(_PI / (8 * share))
    return Exponential(sensitivity=scoring.sensitivity(rows, weight), epsilon=eta), _PI * eta**2 / 8


@dataclass(frozen=True, slots=True)
class Round:
    """One choice and one table: the noise for a share of mu**2, and what it costs."""

    choice: Exponential
    table: TableNoise
    cost: Fraction

    @classmethod
    def of(cls, share: Fraction, rows: int, weight: int) -> Round:
        """At most the share."""
        choice, cost = choice_of(share * CHOOSING, rows, weight)
        table = TableNoise.of(share * (1 - CHOOSING), rows)
        return cls(choice, table, cost + table.cost)


class Purse:
    """How much of mu**2 may be spent, and how much was: exact, and never more."""

    def __init__(self, total: Fraction) -> None:
        self.total, self.spent = total, Fraction(0)

    @property
    def left(self) -> Fraction:
        """What is left."""
        return self.total - self.spent

    @property
    def used(self) -> float:
        """The share that is spent."""
        return float(self.spent / self.total)

    def pay(self, cost: Fraction) -> None:
        """Spend, or refuse."""
        if cost < 0 or self.spent + cost > self.total:
            raise parameters.refuse("mu**2", f"at most {float(self.left):g}, what is left", float(cost))
        self.spent += cost


def filled(
    rho: Fraction, epsilon: Fraction, delta: Fraction, before: Sequence[events.Event] = ()
) -> tuple[Fraction, events.Event]:
    """How much mu**2 there is, and the event that is charged, together with what was bought `before`.

    rho: the one of zero-concentrated privacy, which is always safe: mu**2 = 2 rho. The accountant finds more.
    """

    def charged(sigma: Fraction) -> events.Event:
        alone = events.Gaussian(Fraction(1), sigma)
        return events.Composed((*before, alone)) if before else alone

    enough = sqrt_up(1 / (2 * rho))
    sigma = tightened(lambda factor: enough * factor, charged, epsilon, delta)
    return 1 / sigma**2, charged(sigma)
