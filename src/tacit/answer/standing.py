"""How a budget stands, in words: which share of it is spent.

The committed filter counts in a unit of its own (a divergence, say), of which only shares mean something to a person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.answer.shown import readable
from tacit.loss.budget import Budget
from tacit.loss.filters import Filter
from tacit.loss.spent import Spent
from tacit.parameters import as_text


@dataclass(frozen=True, slots=True, repr=False)
class Standing:
    """What one payer has spent of a budget. Prints as a sentence."""

    payer: str
    budget: Budget
    share: Fraction
    failed: int | None = None
    """The entry of a failure that stops the payer, or someone who asks, until the owner has looked at it."""

    @classmethod
    def of(cls, payer: str, committed: Filter, spent: Spent, failed: int | None = None) -> Standing:
        """The standing under a committed filter."""
        return cls(payer, committed.budget, share_of(spent, committed.limit), failed)

    @property
    def left(self) -> Fraction:
        """The share that is left."""
        return 1 - self.share

    def __str__(self) -> str:
        # rounded against the asker: spending is never shown too small
        spent, left = math.ceil(self.share * 1000) / 10, math.floor(self.left * 1000) / 10
        epsilon, delta = readable(as_text(self.budget.epsilon)), readable(as_text(self.budget.delta))
        told = f"{self.payer}: {spent:.1f} % of epsilon {epsilon}, delta {delta} is spent, {left:.1f} % is left."
        if self.failed is None:
            return told
        return f"{told} Stopped: an answer failed (entry {self.failed}). Look at it, then: tacit ledger resume."

    __repr__ = __str__


def share_of(amount: Spent, limit: Spent) -> Fraction:
    """The share of a limit: of the loss or of the deltas, whichever is used up sooner. May exceed 1 for a price.

    Of several rules the one that leaves most counts: it is the one that admits the next release.
    """
    return min(
        max(
            part / whole if whole else Fraction(2 if part else 0)
            for part, whole in ((spent.loss, most.loss), (spent.delta, most.delta))
        )
        for spent, most in zip(amount.each, limit.each, strict=False)
        if spent is not None and most is not None
    )
