"""What happens inside the ledger's transaction: enrol, charge, store an answer or that it failed, resume.

Each is a value that was fully prepared outside (checked, priced, hashed) and whose `record` reads the present state,
refuses or appends. All of them refuse before they append, because a refusal must leave nothing behind.

A failure is something sent. Of one key there is one charge and then an answer or a failure, whichever is stored first;
so what failed is never drawn again. Whether something fails may depend on the rows, and a failure reveals that for the
price of one question: therefore the analyst is charged for nothing more until the owner has looked. Where no analysts
are enrolled anyone may use any name, so a failure stops everyone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import LedgerError, Stopped
from tacit.ledger.entry import OUTCOMES, Entry, Failed, Kind, Receipt
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
    goes_on: bool = False
    asked: Mapping[str, str | None] | None = None

    def record(self, store: Store) -> Receipt:
        """The receipt of the new entry, or of the entry that paid for this key before."""
        unit = self.dataset.rule.filter.unit
        paid = store.find(Kind.CHARGED, self.key)
        if paid is not None:
            if paid.event != self.event:  # an answer for a larger event on the receipt of a smaller one would be unpaid
                raise LedgerError(f"The key {self.key!r} was charged for another event. A key stands for one question.")
            return Receipt.of(paid, unit, repeated=True)
        if self.own is None and store.any_of(Kind.ENROLLED):
            raise LedgerError(
                f"Analysts were enrolled meanwhile, and {self.analyst!r} was not known. Open the ledger again."
            )
        failure = open_failure(store, None if self.own is None else self.analyst)
        if failure is not None:
            raise _stopped(failure, self.own is not None)
        spent = {
            "dataset": self.dataset.after(dataset_spent(store)).to_dict(),
            "analyst": None if self.own is None else self.own.after(analyst_spent(store, self.analyst)).to_dict(),
        }
        cost = {
            "dataset": self.dataset.amount.to_dict(),
            "analyst": None if self.own is None else self.own.amount.to_dict(),
        }
        content: dict[str, Any] = {
            "question": self.question,
            "event": self.event.to_dict(),
            "cost": cost,
            "spent": spent,
            "goes_on": self.goes_on,
        }
        if self.asked is not None:
            content["asked"] = dict(self.asked)
        entry = Entry.after(store.last(), Kind.CHARGED, content, self.analyst, self.key)
        store.append(entry)
        return Receipt(entry.sequence, self.key, self.event, self.dataset.amount, unit, entry.hash)


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """An answer to be kept under the key that paid for it."""

    receipt: Receipt
    payload: bytes

    def record(self, store: Store) -> bytes | Failed:
        """What is kept: this answer, or the answer or failure that was stored before."""
        paid = store.find(Kind.CHARGED, self.receipt.key)
        if paid is None or (paid.sequence, paid.hash) != (self.receipt.sequence, self.receipt.hash):
            raise LedgerError(f"The receipt for the key {self.receipt.key!r} is not from this ledger.")
        kept = outcome(store, self.receipt.key)
        if kept is not None:
            return what_is_kept(store, kept)
        content = {"charge": paid.sequence, "sha256": hashlib.sha256(self.payload).hexdigest()}
        entry = Entry.after(store.last(), Kind.ANSWERED, content, paid.analyst, paid.key)
        store.append(entry, self.payload)
        return self.payload


@dataclass(frozen=True, slots=True)
class StoreFailure:
    """A failure: a question that was paid for will never have an answer. Its words are the same for every cause."""

    key: str
    interrupted: bool

    def record(self, store: Store) -> bytes | Failed | None:
        """What is kept: the failure, or what was stored before; None if this key was never paid for."""
        paid = store.find(Kind.CHARGED, self.key)
        if paid is None:
            return None
        kept = outcome(store, self.key)
        if kept is None:
            kind = Kind.INTERRUPTED if self.interrupted else Kind.FAILED
            kept = Entry.after(store.last(), kind, {"charge": paid.sequence}, paid.analyst, paid.key)
            store.append(kept)
        return what_is_kept(store, kept)


@dataclass(frozen=True, slots=True)
class Resume:
    """The owner looked at failures, up to an entry or (None) at all: for one analyst, or (None) for everyone."""

    analyst: str | None
    entry: int | None = None

    def record(self, store: Store) -> tuple[Entry, ...]:
        """A new entry for each failure that stopped an analyst; none where no one was stopped."""
        failures = open_failures(store, self.analyst)
        newest = max((each.sequence for each in failures), default=0)
        if self.entry is not None and newest > self.entry:
            raise LedgerError(
                f"Entry {newest} failed as well, after entry {self.entry} that you looked at. Nothing was recorded. "
                f"Look at it, and then resume: tacit ledger resume POLICY --entry {newest}."
            )
        made = []
        for failure in failures:
            content = {"failed": failure.sequence}
            made.append(Entry.after(store.last(), Kind.RESUMED, content, failure.analyst, failure.key))
            store.append(made[-1])
        return tuple(made)


@dataclass(frozen=True, slots=True)
class Enrol:
    """An analyst's own filter, to be committed to; nothing happens if the same budget was committed before."""

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


def open_failure(store: Store, analyst: str | None) -> Entry | None:
    """The newest failure, of one analyst or of all, unless the owner has looked at it."""
    newest = store.newest(Kind.FAILED, analyst)
    if newest is None or newest.key is None or store.find(Kind.RESUMED, newest.key) is not None:
        return None
    return newest


def open_failures(store: Store, analyst: str | None) -> list[Entry]:
    """For each analyst (or one of them) the newest failure that the owner has not looked at; it covers older ones."""
    newest: dict[str | None, Entry] = {}
    enrolled = store.any_of(Kind.ENROLLED)
    for entry in store.all_of(Kind.FAILED):
        if not enrolled:
            newest[None] = entry  # one failure stops everyone, and one entry of the owner is enough
        elif analyst in (None, entry.analyst):
            newest[entry.analyst] = entry
    return [each for each in newest.values() if each.key and store.find(Kind.RESUMED, each.key) is None]


def _stopped(failure: Entry, enrolled: bool) -> Stopped:
    who = f"Analyst {failure.analyst!r} is stopped" if enrolled else "Every new question is stopped"
    whom, name = (f" --analyst {failure.analyst}", repr(failure.analyst)) if enrolled else ("", "")
    return Stopped(
        f"{who}: what was paid for at entry {failure.details['charge']} failed (entry {failure.sequence}), and that "
        f"may have to do with a row. Nothing was charged; stored answers can still be read. The owner looks, and then "
        f"resumes: tacit ledger resume POLICY{whom}, or curator.resume({name})."
    )


def outcome(store: Store, key: str) -> Entry | None:
    """The entry with the outcome of a charge, if there is one."""
    return store.find_one(OUTCOMES, key)


def what_is_kept(store: Store, kept: Entry) -> bytes | Failed:
    """The payload of an `answered` entry, compared with what was recorded of it; or that it failed."""
    if kept.kind != Kind.ANSWERED:
        return Failed(kept.sequence, kept.kind == Kind.INTERRUPTED)
    payload = store.payload(kept.sequence)
    if payload is None or hashlib.sha256(payload).hexdigest() != kept.details["sha256"]:
        raise LedgerError(f"The answer stored at entry {kept.sequence} was edited.")
    return payload
