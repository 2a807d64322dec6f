"""Entries: what the ledger holds, one frozen value each, chained by their hashes.

Promise: an entry's hash covers every other field of it and the hash of the entry before, so the last hash is enough to
detect whether any earlier entry was changed, removed, added or moved. The text that is hashed is canonical (ASCII JSON,
no white space): equal entries have equal hashes on every machine and in every version. Amounts stand in it as exact
rationals ("1/10"), so ten times a tenth is one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.loss import events
from tacit.loss.events import Event
from tacit.loss.spent import Spent
from tacit.loss.worth import Asked

BEFORE_ALL = "0" * 64
"""The hash before the first entry."""


class Kind(StrEnum):
    """What an entry records. The names are stored for ever."""

    REGISTERED = "registered"  # the first entry: the ledger's identity and the dataset's filter
    ENROLLED = "enrolled"  # an analyst's own filter; the key is the analyst's name
    CHARGED = "charged"  # a question was paid for
    ANSWERED = "answered"  # its answer was stored, before it was sent
    FAILED = "failed"  # instead of an answer: it will never be drawn again, and the analyst is stopped
    INTERRUPTED = "interrupted"  # the same, where the asker ended it: the analyst is not stopped
    RESUMED = "resumed"  # the owner looked at a failure; its key is the failure's
    MOVED = "moved"  # the owner said that the file now lives elsewhere
    VOUCHED = "vouched"  # the owner said that nothing is missing, although the head was lost


OUTCOMES = (Kind.ANSWERED, Kind.FAILED, Kind.INTERRUPTED)
"""The outcomes of a charge. It has one of them, and never two."""


def canonical(value: object) -> str:
    """The one JSON text of `value`: ASCII, sorted keys, no white space."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger. `content` is canonical JSON; its fields depend on the kind.

    >>> entry = Entry.after(None, Kind.MOVED, {"to": "here"})
    >>> entry.true_hash() == entry.hash, replace(entry, content='{"to":"there"}').true_hash() == entry.hash
    (True, False)
    """

    sequence: int
    kind: str
    when: str
    analyst: str | None
    key: str | None
    content: str
    previous: str
    hash: str

    @classmethod
    def after(
        cls,
        last: Entry | None,
        kind: Kind,
        content: Mapping[str, Any],
        analyst: str | None = None,
        key: str | None = None,
    ) -> Entry:
        """The entry that follows `last`, written now."""
        when = datetime.now(UTC).isoformat(timespec="microseconds")
        sequence, previous = (last.sequence + 1, last.hash) if last else (1, BEFORE_ALL)
        text = canonical(content)
        return cls(
            sequence,
            kind,
            when,
            analyst,
            key,
            text,
            previous,
            _hash(sequence, kind, when, analyst, key, text, previous),
        )

    def true_hash(self) -> str:
        """The hash that these fields have; it equals `hash` unless something was edited."""
        return _hash(self.sequence, self.kind, self.when, self.analyst, self.key, self.content, self.previous)

    @property
    def details(self) -> dict[str, Any]:
        """The content, read."""
        content: dict[str, Any] = json.loads(self.content)
        return content

    @property
    def question(self) -> str | None:
        """The canonical question of a charge; None for other kinds."""
        question: str | None = self.details.get("question")
        return question

    @property
    def event(self) -> Event | None:
        """What a charge paid for; None for other kinds."""
        content = self.details.get("event")
        return None if content is None else _event_of(canonical(content))

    @property
    def cost(self) -> Spent | None:
        """What a charge added to the dataset's sum, in the unit of its filter; None for other kinds."""
        content = self.details.get("cost")
        return None if content is None else Spent.from_dict(content["dataset"])

    @property
    def asked(self) -> Asked | None:
        """The price of a charge as it was asked for; None for other kinds.

        Earlier versions did not record it; then, and where a rho was asked for, it follows from the event.
        """
        details = self.details
        if "event" not in details:
            return None
        said = details.get("asked") or {}
        if said.get("epsilon") is None:
            own = _asked_of(canonical(details["event"]))
            return replace(own, delta=Fraction(said["delta"])) if "delta" in said else own
        return Asked(Fraction(said["epsilon"]), None, Fraction(said["delta"]))

    @property
    def goes_on(self) -> bool:
        """Whether a charge is for a study that asks one thing after another, so that no answer is stored at the end."""
        content = self.details
        if "goes_on" in content:
            return bool(content["goes_on"])
        return '"opened": "' in content.get("question", "") and '"is": "Study"' in content["question"]  # older ledgers

    @property
    def holds_a_turn(self) -> bool:
        """Whether the maker of this charge holds its turn until it has an outcome. Earlier versions took no turn."""
        return "goes_on" in self.details

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; the chain can be checked from them alone."""
        return {
            "sequence": self.sequence,
            "kind": str(self.kind),
            "when": self.when,
            "analyst": self.analyst,
            "key": self.key,
            "content": self.details,
            "previous": self.previous,
            "hash": self.hash,
        }


@lru_cache(maxsize=1024)
def _event_of(text: str) -> Event:
    """A recorded event; most are recorded many times over."""
    return events.from_dict(json.loads(text))


@lru_cache(maxsize=1024)
def _asked_of(text: str) -> Asked:
    return Asked.of(_event_of(text))


@lru_cache(maxsize=256, typed=True)  # by type: 1.0 in place of 1 is an edit
def _hash(*fields: object) -> str:
    """The hash of these fields. The entries about a charge and about the end of the chain are read several times."""
    return hashlib.sha256(canonical(fields).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Failed:
    """What is stored instead of an answer, at this entry: the question was paid for and is never drawn again.

    >>> Failed(7).interrupted
    False
    """

    sequence: int
    interrupted: bool = False
    """Whether the asker ended it."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a charge, which an answer carries. `cost` is in `unit`, the unit of the dataset's filter.

    >>> receipt = Receipt(2, "key", events.Pure("0.1"), Spent(Fraction(1, 10)), "epsilon", BEFORE_ALL)
    >>> receipt.repeated
    False
    """

    sequence: int
    key: str
    event: Event
    cost: Spent
    unit: str
    hash: str
    repeated: bool = False
    """Whether the key had been charged before, so that this call cost nothing."""

    @classmethod
    def of(cls, charge: Entry, unit: str, repeated: bool) -> Receipt:
        """The receipt of a `charged` entry."""
        event, cost = charge.event, charge.cost
        if charge.key is None or event is None or cost is None:
            raise ValueError("only a charge has a receipt")
        return cls(charge.sequence, charge.key, event, cost, unit, charge.hash, repeated)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: rationals as text."""
        return {
            "sequence": self.sequence,
            "key": self.key,
            "event": self.event.to_dict(),
            "cost": self.cost.to_dict(),
            "unit": self.unit,
            "hash": self.hash,
            "repeated": self.repeated,
        }
