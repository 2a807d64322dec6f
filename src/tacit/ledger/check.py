"""The check of a ledger: is this the history that was sealed?

Promise: with `head` true, an entry that was edited, removed, added in the middle or moved is found; so are an older
copy, a cut tail, a copy at another place, another ledger, changed triggers, damaged pages, a changed stored answer, a
charge with both an answer and a failure, and sums that do not follow from the amounts. Every `Ledger.open` makes this
check in full: it reads the whole table. Prices are taken as recorded: a later version may price the same event lower,
and the recorded price stays what was paid.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from tacit.errors import LedgerError
from tacit.ledger.entry import BEFORE_ALL, OUTCOMES, Entry, Kind, canonical
from tacit.ledger.head import Head, Place
from tacit.ledger.rules import total
from tacit.ledger.store import Site, Store
from tacit.loss.spent import NOTHING, Spent

MOST_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found: how many entries there are, how many were sealed, and every fault in a sentence.

    >>> Report(2, 2, ()).sound, Report(2, 2, ("Entry 2 was changed.",)).sound
    (True, False)
    """

    entries: int
    sealed: int
    findings: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def examine(site: Site, store: Store, head: Head, place: Place) -> Report:
    """The check. `head` must have been read before: it may lag behind the present table."""
    scan = _Scan(store, head)
    try:
        with site.failures(), store.reading():
            findings = tuple(islice((*wrong_place(head, place), *scan.findings()), MOST_FINDINGS))
    except LedgerError as failure:
        findings = (str(failure),)
    return Report(scan.entries, head.sequence, findings)


def wrong_place(head: Head, place: Place) -> Iterator[str]:
    """Whether it lies where the head says."""
    if place.file != head.file:
        yield (
            f"This is a copy: the ledger lives at {head.file}, not at {place.file}. If the owner moved it there, "
            "and no copy is left at the old place, call Ledger.adopt."
        )
    elif place.inode != head.inode:
        yield (
            f"What is at {place.file} was put in the place of the ledger: it is another one. If the owner did so and "
            "it is complete, call Ledger.adopt."
        )


def wrong_history(head: Head, first: Entry | None, sealed: Entry | None, last: Entry | None) -> Iterator[str]:
    """Whether the table continues what was sealed, given its first and last entries and that of the head's number."""
    if last is None or last.sequence < head.sequence:
        yield (
            f"The ledger ends at entry {last.sequence if last else 0}; entry {head.sequence} was sealed. It is an "
            "older copy, or its tail was cut. Put the newest one back; what was spent must not be forgotten."
        )
    elif first is None or first.kind != Kind.REGISTERED or first.details.get("ledger") != head.ledger:
        yield "This ledger is another one than that of its head."
    elif head.sequence and (sealed is None or sealed.hash != head.hash):
        yield f"Entry {head.sequence} is not the one that was sealed: the ledger has another history than its head."


class _Scan:
    """One pass over the whole table."""

    def __init__(self, store: Store, head: Head) -> None:
        self._store = store
        self._head = head
        self._first: Entry | None = None
        self._sealed: Entry | None = None
        self._last: Entry | None = None
        self.entries = 0

    def findings(self) -> Iterator[str]:
        if self._store.is_empty():
            if self._head.sequence:
                yield f"The ledger is empty; its head says that it has {self._head.sequence} entries."
            return
        faults = tuple(self._store.faults())
        yield from faults
        if not faults:
            yield from self._wrong_entries()
            yield from wrong_history(self._head, self._first, self._sealed, self._last)

    def _wrong_entries(self) -> Iterator[str]:
        sums = _Sums()
        for entry, payload in self._store.rows():
            expected, previous = (self._last.sequence + 1, self._last.hash) if self._last else (1, BEFORE_ALL)
            if entry.sequence != expected:
                yield f"{_missing(expected, entry.sequence - 1)} missing."
            if entry.true_hash() != entry.hash:
                yield f"Entry {entry.sequence} was edited: its hash does not fit its content."
            elif entry.previous != previous and entry.sequence == expected:
                yield f"Entry {entry.sequence} does not follow the one before it: entries were replaced or reordered."
            else:
                yield from _unreadable(entry, payload, sums)
                yield from self._two_outcomes(entry)
            self._remember(entry)

    def _two_outcomes(self, entry: Entry) -> Iterator[str]:
        """Two outcomes conflict only if one is a failure. Failures are rare, so only their keys are checked."""
        if entry.kind not in (Kind.FAILED, Kind.INTERRUPTED):
            return
        if any(self._store.find(each, entry.key or "") for each in OUTCOMES if each != entry.kind):
            yield f"What came of the charge of entry {entry.sequence} is recorded twice."

    def _remember(self, entry: Entry) -> None:
        self.entries += 1
        self._first = self._first or entry
        self._last = entry
        if entry.sequence == self._head.sequence:
            self._sealed = entry


def _unreadable(entry: Entry, payload: bytes | None, sums: _Sums) -> Iterator[str]:
    try:
        yield from _wrong_payload(entry, payload)
        yield from sums.wrong(entry)
    except (KeyError, TypeError, ValueError):
        yield f"Entry {entry.sequence} cannot be read."


def _missing(first: int, last: int) -> str:
    return f"Entry {first} is" if first == last else f"Entries {first} to {last} are"


def _wrong_payload(entry: Entry, payload: bytes | None) -> Iterator[str]:
    if entry.kind == Kind.ANSWERED:
        if payload is None or hashlib.sha256(payload).hexdigest() != entry.details["sha256"]:
            yield f"The answer stored at entry {entry.sequence} was edited."
    elif payload is not None:
        yield f"Entry {entry.sequence} holds an answer that was not recorded."
    if entry.kind in OUTCOMES and not 0 < entry.details["charge"] < entry.sequence:
        yield f"Entry {entry.sequence} speaks of no charge before it."


class _Sums:
    """Adds up the recorded amounts along the chain and compares them with the recorded sums."""

    def __init__(self) -> None:
        self._spent: dict[str | None, Spent] = {}

    def wrong(self, entry: Entry) -> Iterator[str]:
        if entry.kind != Kind.CHARGED:
            return
        details = entry.details
        for payer, name in ((None, "dataset"), (entry.analyst, "analyst")):
            if details["cost"][name] is not None:
                self._spent[payer] = total(self._spent.get(payer, NOTHING), _amount(canonical(details["cost"][name])))
                if self._spent[payer].to_dict() != details["spent"][name]:
                    yield f"The sum at entry {entry.sequence} does not follow from the amounts."


@lru_cache(maxsize=1024)
def _amount(text: str) -> Spent:
    """A recorded amount; most are recorded many times over."""
    return Spent.from_dict(json.loads(text))
