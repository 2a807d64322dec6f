"""What happens inside the ledger's transaction: enrol, charge, store an answer.

Each is a value that was fully prepared outside (checked, priced, hashed) and whose `record` reads the present state,
refuses or appends. All of them refuse before they append, because a refusal must leave nothing behind.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tacit.errors import LedgerError
from tacit.ledger.entry import Entry, Kind, Receipt
from tacit.ledger.rules import Price
from tacit.ledger.store import Store
from tacit.loss import filters
from tacit.loss.events import Event
from tacit.loss.filters import Filter
from tacit.loss.spent import NOTHING, Spent


@dataclass(frozen=True, slots=True)
class Charge:
    """A question that is to be paid for, by the dataset and (where one is enrolled) by the analyst."""

    analyst: str
    key: str
    question: str
    event: Event
    dataset: Price
    own: Price | None

    def record(self, store: Store) -> Receipt:
        """The receipt of the new entry, or of the entry that paid for this key before."""
        unit = self.dataset.rule.filter.unit
        paid = store.find(Kind.CHARGED, self.key)
        if paid is not None:
            if paid.event != self.event:  # answering a larger event on the receipt of a smaller would be unpaid for
                raise LedgerError(f"The key {self.key!r} was charged for another event. A key stands for one question.")
            return Receipt.of(paid, unit, repeated=True)
        if self.own is None and store.any_of(Kind.ENROLLED):
            raise LedgerError(
                f"Analysts were enrolled meanwhile, and {self.analyst!r} was not known. Open the ledger again."
            )
        spent = {
            "dataset": self.dataset.after(dataset_spent(store)).to_dict(),
            "analyst": None if self.own is None else self.own.after(analyst_spent(store, self.analyst)).to_dict(),
        }
        cost = {
            "dataset": self.dataset.amount.to_dict(),
            "analyst": None if self.own is None else self.own.amount.to_dict(),
        }
        content = {"question": self.question, "event": self.event.to_dict(), "cost": cost, "spent": spent}
        entry = Entry.after(store.last(), Kind.CHARGED, content, self.analyst, self.key)
        store.append(entry)
        return Receipt.of(entry, unit, repeated=False)


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """An answer that is to be kept under the key that paid for it."""

    receipt: Receipt
    payload: bytes

    def record(self, store: Store) -> bytes:
        """The answer that is kept: this one, or the one that was stored before."""
        paid = store.find(Kind.CHARGED, self.receipt.key)
        if paid is None or (paid.sequence, paid.hash) != (self.receipt.sequence, self.receipt.hash):
            raise LedgerError(f"The receipt for the key {self.receipt.key!r} is not from this ledger.")
        kept = store.find(Kind.ANSWERED, self.receipt.key)
        if kept is not None:
            return kept_answer(store, kept)
        content = {"charge": paid.sequence, "sha256": hashlib.sha256(self.payload).hexdigest()}
        entry = Entry.after(store.last(), Kind.ANSWERED, content, paid.analyst, paid.key)
        store.append(entry, self.payload)
        return self.payload


@dataclass(frozen=True, slots=True)
class Enrol:
    """An analyst's own filter that is to be committed to; nothing happens if the same budget was committed before."""

    analyst: str
    filter: Filter

    def record(self, store: Store) -> None:
        """Append it, or refuse another budget than the one that was committed."""
        committed = store.find(Kind.ENROLLED, self.analyst)
        if committed is None:
            store.append(self.entry(store.last()))
        else:
            same_budget(f"analyst {self.analyst!r}", committed_filter(committed), self.filter)

    def entry(self, last: Entry | None) -> Entry:
        """The entry that commits to the filter."""
        return Entry.after(last, Kind.ENROLLED, {"filter": self.filter.to_dict()}, key=self.analyst)


def same_budget(payer: str, committed: Filter, asked: Filter) -> None:
    """Refuse a budget other than the committed one. The committed rule stays, whatever a later version would choose."""
    if committed.budget != asked.budget:
        raise LedgerError(
            f"The budget of {payer} was committed as {committed.budget} at registration. Got {asked.budget} instead. "
            "A committed budget does not change: what was promised to the people in the data stays promised."
        )


def committed_filter(entry: Entry) -> Filter:
    """The filter that a `registered` or `enrolled` entry committed to."""
    return filters.from_dict(entry.details["filter"])


def dataset_spent(store: Store) -> Spent:
    """The sum of all charges, in the unit of the dataset's filter."""
    return _spent(store.last_charge(), "dataset")


def analyst_spent(store: Store, analyst: str) -> Spent:
    """The sum of an analyst's charges, in the unit of the analyst's own filter."""
    return _spent(store.last_charge(analyst), "analyst")


def _spent(charge: Entry | None, payer: str) -> Spent:
    state = None if charge is None else charge.details["spent"][payer]
    return NOTHING if state is None else Spent.from_dict(state)


def kept_answer(store: Store, kept: Entry) -> bytes:
    """The payload of an `answered` entry, compared with what was recorded of it."""
    payload = store.payload(kept.sequence)
    if payload is None or hashlib.sha256(payload).hexdigest() != kept.details["sha256"]:
        raise LedgerError(f"The answer stored at entry {kept.sequence} was edited.")
    return payload
