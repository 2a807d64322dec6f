"""A curator's budget: what was spent, by whom, what is left, and who may go on asking. Nothing here costs anything.

Promise: an analyst sees their own entries and failures; the owner sees everything.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

from tacit import parameters
from tacit.answer import Answer, Standing
from tacit.answer.standing import charges_of, share_of
from tacit.curator.planner import Planner
from tacit.curator.till import Till
from tacit.ledger import Entry, Ledger, Report
from tacit.loss.events import Event
from tacit.loss.spent import Spent
from tacit.loss.worth import how_many_like


class Purse(Planner):
    """A planner with a ledger: what its answers cost, and how the budget stands."""

    analyst: str
    _ledger: Ledger
    _till: Till

    def budget(self, analyst: str | None = None) -> Standing:
        """How the dataset's budget stands, or one analyst's own: which share is spent and which is left.

        >>> clinic.budget().budget
        Budget(epsilon=5)
        """
        payer = "The dataset" if analyst is None else f"Analyst {analyst!r}"
        charges, failures = charges_of(self._ledger.entries(analyst)), self._failures(analyst)
        failed = failures[-1].sequence if failures else None
        committed, spent = self._ledger.filter(analyst), self._ledger.spent(analyst)
        standing = Standing.of(payer, committed, spent, charges, failed, "dataset" if analyst is None else "analyst")
        if analyst is None or standing.more is None:
            return standing
        # an analyst's own budget lies within the dataset's, which may run out first
        whole, price = self._ledger.filter(), charges[-1].cost
        rest = None if price is None else how_many_like(self._ledger.spent(), price, whole.limit)
        return standing if rest is None else replace(standing, more=min(standing.more, rest))

    def afford(self, event: Event) -> tuple[Fraction | None, int | None]:
        """The share of the whole budget that an event would take, and how many like it the rest covers. Free."""
        committed = self._ledger.filter()
        price = committed.price(event)
        if price is None:
            return None, 0
        return share_of(price, committed.limit), how_many_like(self._ledger.spent(), price, committed.limit)

    def number_of(self, sequence: object) -> int | None:
        """The number of an entry's question: 1, 2, 3, ... among those that are visible here."""
        for number, each in enumerate(charges_of(self.ledger()), start=1):
            if str(each.sequence) == str(sequence):
                return number
        return None

    def spent(self, analyst: str | None = None) -> Spent:
        """What has been spent, in the unit of the committed filter."""
        return self._ledger.spent(analyst)

    def remaining(self, analyst: str | None = None) -> Spent:
        """What is left, in the unit of the committed filter."""
        return self._ledger.remaining(analyst)

    def ledger(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """Who asked what, when, and what it cost: everything for the owner, an analyst's own for an analyst.

        >>> clinic.ledger()[0].kind
        'registered'
        """
        if self.analyst != "owner":
            if analyst not in (None, self.analyst):
                raise parameters.refuse("analyst", f"{self.analyst!r}, who is asking", analyst)
            analyst = self.analyst
        return self._ledger.entries(analyst)

    def stored(self, entry: int) -> Answer:
        """The answer that an entry of the ledger paid for, once more and free: any for the owner, else one's own.

        Its columns have the names under which it is stored. What was asked together, and studies, are asked again.
        """
        for charge in charges_of(self.ledger()):
            if charge.sequence == entry and charge.key is not None and _is_question(charge):
                return Answer.from_bytes(self._till.sent(charge.key), repeated=True)
        raise parameters.refuse("entry", "the number of an entry to be seen here that paid for one question", entry)

    def verify(self) -> Report:
        """Whether the ledger is as it was sealed. For the owner, whose ledger it is.

        >>> clinic.verify().sound
        True
        """
        if self.analyst != "owner":
            raise parameters.refuse("analyst", "the owner, who alone checks the whole ledger", self.analyst)
        return self._ledger.verify()

    def resume(self, analyst: str | None = None, *, entry: int | None = None) -> tuple[Entry, ...]:
        """The owner's recorded word that failures were looked at: one analyst, or all, may go on asking.

        `entry` is the last failure that was looked at: if one came after it, nothing is resumed.
        """
        if self.analyst != "owner":
            raise parameters.refuse("analyst", "the owner, who alone resumes", self.analyst)
        return self._till.resume(analyst, entry)

    def _failures(self, analyst: str | None) -> tuple[Entry, ...]:
        """The failures that stop analysts; for an analyst, only their own."""
        if self.analyst != "owner" and analyst not in (None, self.analyst):
            return ()
        return self._ledger.failures(analyst if self.analyst == "owner" else self.analyst)

    def _asker(self, analyst: str | None) -> str:
        """Who pays. Only the owner may ask in the name of others."""
        if self.analyst != "owner" and analyst not in (None, self.analyst):
            raise parameters.refuse("analyst", f"{self.analyst!r}, who is asking", analyst)
        return self.analyst if analyst is None else analyst


def _is_question(charge: Entry) -> bool:
    """Whether one answer is stored for this charge, and not several together, or a study's result."""
    content = json.loads(charge.question or "null")
    return isinstance(content, dict) and content.get("is") == "Question"
