"""The ledger: what has been spent, by whom, for what; durable before anything is released.

    ledger = Ledger.open("clinic.ledger", head="/var/lib/tacit/clinic.head", budget=Budget(3, 1e-6),
                         analysts={"ana": Budget(1, 1e-7)})    # or "postgresql://...": several hosts charge at once
    receipt = ledger.charge("ana", key, question, event)       # refused, or on disk when it returns
    payload = ledger.store_answer(receipt, payload)            # on disk before it is sent; send what this returns
    ledger.store_failure(key)                                  # instead, where there is no answer: never drawn again
    ledger.answer(key)                                         # the next time: the stored answer, nothing charged

Promises
- A charge that returned survives every crash. A charge that failed may stay spent; it never hides a release.
- The dataset's committed filter, and the analyst's own, admit every charge. The sum is read inside the transaction that
  adds to it, so concurrent threads, processes and hosts cannot overspend together.
- A key is charged once, and then answered or failed, whichever is stored first. A second charge returns the first
  receipt, even to another analyst (analysts may talk to each other); a second answer is dropped, and the stored one is
  returned. A receipt that says `repeated` is no right to draw: the first asker may have drawn and been cut off before
  anything was stored, and a second draw would not be paid for. `turn` and `settle` show who was cut off.
- After a failure the analyst (all, where none are enrolled) is charged for nothing new until the owner resumes.
- Budgets are committed when first named and never change. With analysts enrolled, only they may ask; with none, anyone.
- A ledger that is not what its head says is refused when it is opened, and again at every charge.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self, TypeAlias

from tacit.errors import LedgerError
from tacit.ledger import export
from tacit.ledger.charge import (
    Charge,
    Enrol,
    Resume,
    StoreAnswer,
    StoreFailure,
    analyst_spent,
    committed_filter,
    dataset_spent,
    open_failures,
    outcome,
    same_budget,
    what_is_kept,
)
from tacit.ledger.check import Report
from tacit.ledger.entry import Entry, Failed, Kind, Receipt
from tacit.ledger.rules import Rule
from tacit.ledger.sites import vault_at
from tacit.ledger.store import Store
from tacit.ledger.turns import Turns
from tacit.ledger.vault import Vault
from tacit.ledger.writer import Writer
from tacit.loss.budget import Budget
from tacit.loss.events import Event
from tacit.loss.filters import Filter, choose_filter
from tacit.loss.spent import Spent
from tacit.parameters import refuse

LONGEST_NAME = 256
LONGEST_QUESTION = 1 << 20
LONGEST_EVENT = 1 << 20
LONGEST_TURN = 900.0
"""Seconds that an asker waits for another who asks the same."""
FilePath: TypeAlias = str | os.PathLike[str]


class Ledger:
    """An open ledger. Safe to share between threads, and to carry through a fork.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tacit.loss.events import Pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = {"path": Path(folder) / "spent", "head": Path(folder) / "head"}
    ...     with Ledger.open(**place, budget=Budget(1)) as ledger:
    ...         receipt = ledger.charge("ana", "key", "SELECT 1", Pure("0.1"))
    ...         [entry.kind for entry in ledger.entries()]
    ['registered', 'charged']
    """

    def __init__(self, vault: Vault) -> None:
        """Use `Ledger.open` instead."""
        self._vault = vault
        self._writer = Writer(vault)
        self._turns = Turns(vault.head.path.with_name(vault.head.path.name + ".turns"), LONGEST_TURN)
        self._rules: dict[str, Rule] = {}
        registered, self._anyone = self._writer.read(lambda store: (store.at(1), not store.any_of(Kind.ENROLLED)))
        if registered is None:
            raise LedgerError(f"The ledger {vault.name} was never registered. Open it with a budget.")
        self._dataset = Rule.of("the dataset", committed_filter(registered))
        self._identity = str(registered.details.get("ledger") or secrets.token_hex(16))

    @classmethod
    def open(
        cls,
        path: FilePath,
        *,
        head: FilePath,
        budget: Budget | Filter | None = None,
        analysts: Mapping[str, Budget | Filter] | None = None,
        patience: float = 30.0,
    ) -> Ledger:
        """The ledger at `path`, registered with `budget` if there is none yet, and checked in full.

        `path` is a file, or the address of a PostgreSQL database ("postgresql://...") that several hosts may charge to
        at once. `head` is a file kept apart from it, one a host. A budget stands for the default filter of that budget.
        Without a budget the ledger must exist, and what it committed to holds. Analysts not yet known are enrolled.
        Waits for other processes at most `patience` seconds.
        """
        vault = vault_at(path, head, patience)
        enrolments = [Enrol(_name("analyst", name), _filter(own)) for name, own in sorted((analysts or {}).items())]
        committed = None if budget is None else _filter(budget)
        vault.register(None if committed is None else lambda identity: _first_entries(identity, committed, enrolments))
        ledger = cls(vault)
        try:
            if committed is not None:
                same_budget("the dataset", ledger._dataset.filter, committed)
            ledger._enrol(enrolments)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @classmethod
    def adopt(cls, path: FilePath, *, head: FilePath, patience: float = 30.0) -> Ledger:
        """The owner's word that the ledger now lives at `path` and that no other copy is in use.

        The ledger must hold everything that was sealed. The move is recorded, and a copy at the old place is refused.
        """
        vault = vault_at(path, head, patience)
        vault.adopt()
        return cls(vault)

    @classmethod
    def vouch(cls, path: FilePath, *, head: FilePath, patience: float = 30.0) -> Ledger:
        """The owner's word that no entry of the ledger at `path` is missing, after its head was lost for good.

        An older copy would pass, and then what was spent since could be spent again. So this is never done
        automatically, and an entry says for ever that it was done, when, and at how many entries.
        """
        vault = vault_at(path, head, patience)
        vault.vouch()
        return cls(vault)

    # -- spending --------------------------------------------------------------------------------------

    def charge(
        self,
        analyst: str,
        key: str,
        question: str,
        event: Event,
        *,
        goes_on: bool = False,
        asked: Mapping[str, str | None] | None = None,
    ) -> Receipt:
        """Pay for `event`; on disk and sealed when it returns. Too much raises BudgetExceeded and charges nothing.

        `key` stands for the question and everything that shapes its answer: two questions with one key get one answer.
        `goes_on`: it pays for a study that asks one thing after another, so that no one answer will be stored.
        `asked` is the price in the asker's words (epsilon and delta), kept for readers; only the event counts.
        """
        _name("analyst", analyst)
        _name("key", key)
        if not isinstance(question, str) or len(question) > LONGEST_QUESTION:
            raise refuse("question", f"a text of at most {LONGEST_QUESTION} characters", question)
        _recordable(event)
        rule = self._rule_of(analyst)
        own = None if rule is None else rule.price(event)
        charge = Charge(analyst, key, question, event, self._dataset.price(event), own, goes_on, asked)
        return self._writer.submit(charge.record, key)

    def store_answer(self, receipt: Receipt, payload: bytes) -> bytes | Failed:
        """Keep the answer that `receipt` paid for, before it is sent. Send what this returns: the first one stored."""
        if not isinstance(payload, bytes):
            raise refuse("payload", "bytes", type(payload).__name__)
        return self._writer.submit(StoreAnswer(receipt, payload).record, receipt.key)

    def store_failure(self, key: str, *, interrupted: bool = False) -> bytes | Failed | None:
        """Record that the charge of this key has no answer; returns what is kept. None if the key was not paid for.

        The analyst is stopped, unless the asker `interrupted` it.
        """
        return self._writer.submit(StoreFailure(_name("key", key), interrupted).record, key)

    def answer(self, key: str) -> bytes | Failed | None:
        """The stored answer of a question, or that it failed; None where neither is stored."""
        _name("key", key)

        def look(store: Store) -> tuple[Entry, bytes | Failed] | None:
            kept = outcome(store, key)
            return None if kept is None else (kept, what_is_kept(store, kept))

        found = self._writer.read(look)
        if found is None:
            return None
        self._writer.seal(found[0])  # otherwise a cut tail could undo an answer that was sent
        return found[1]

    def blinded(self, state: str) -> str:
        """A digest of facts about the data's files and tables, for keys; the same on every host of this ledger.

        Analysts see the keys of their charges. Without the 128 random bits in the first entry, an analyst could guess
        the size of a file, or a server's count of rows, and test the guess.
        """
        return hmac.new(self._identity.encode(), state.encode(), "sha256").hexdigest()

    # -- who works on what, and what was cut off -----------------------------------------------------------

    @property
    def shared(self) -> bool:
        """Whether other hosts may charge to this ledger, whose turns are not visible here."""
        return self._vault.shared

    def turn(self, key: str) -> AbstractContextManager[None]:
        """Hold it while looking for an answer, charging, computing and storing: others on this host wait."""
        return self._turns.of(_name("key", key))

    def settle(self) -> tuple[Entry, ...]:
        """Store a failure for each charge without an outcome on which no one on this host works; returns those charges.

        Where other hosts charge too, only the owner can know that none of them still works on one. A charge of an
        earlier version is left alone: it took no turn, so a free turn says nothing, and its maker may still answer it.
        """
        settled = []
        unanswered = self._writer.read(lambda store: list(store.unanswered()))
        for charge in (each for each in unanswered if each.holds_a_turn and not each.goes_on):
            assert charge.key is not None
            with self._turns.of_free(charge.key) as ours:
                if ours and isinstance(self.store_failure(charge.key), Failed):
                    settled.append(charge)
        return tuple(settled)

    def failures(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """The failures that stop this analyst, or anyone, until the owner resumes: the newest for each."""
        return self._writer.read(lambda store: tuple(open_failures(store, analyst)))

    def resume(self, analyst: str | None = None, entry: int | None = None) -> tuple[Entry, ...]:
        """The owner's word that a failure was looked at, for one analyst or for all; the entries that record it.

        `entry` is the last failure that was looked at: if one came after it, nothing is resumed.
        """
        if analyst is not None:
            if self._anyone:
                raise LedgerError(
                    f"Nobody is enrolled in this ledger, so that a failure stops everyone, and not {analyst!r} alone. "
                    "Resume without the name of an analyst."
                )
            self._enrolled(analyst)
        return self._writer.submit(Resume(analyst, entry).record, analyst or "")

    # -- looking ---------------------------------------------------------------------------------------

    def spent(self, analyst: str | None = None) -> Spent:
        """The sum so far, in the filter's own unit: of the dataset, or of one analyst's own budget."""
        if analyst is None:
            return self._writer.read(dataset_spent)
        self._enrolled(analyst)
        return self._writer.read(lambda store: analyst_spent(store, analyst))

    def remaining(self, analyst: str | None = None) -> Spent:
        """What is left, in the filter's own unit. An analyst's share is also bounded by what the dataset has left."""
        rule = self._dataset if analyst is None else self._enrolled(analyst)
        return rule.filter.remaining(self.spent(analyst))

    def filter(self, analyst: str | None = None) -> Filter:
        """The committed rule: of the dataset, or of one analyst."""
        return self._dataset.filter if analyst is None else self._enrolled(analyst).filter

    def entries(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """Every entry for the owner; an analyst's own charges and answers for that analyst."""
        return self._writer.read(lambda store: tuple(store.entries(analyst)))

    def export(self, form: str, analyst: str | None = None) -> str:
        """The entries as text: "json" (complete) or "csv" (for looking at)."""
        return export.export(self.entries(analyst), form)

    def verify(self) -> Report:
        """Check the whole ledger against the head again."""
        return self._vault.report()

    # -- coming and going --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the ledger. Every charge is already durable."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._vault.name!r}, budget={self._dataset.filter.budget!r})"

    # -- analysts ----------------------------------------------------------------------------------------

    def _enrol(self, enrolments: Iterable[Enrol]) -> None:
        for enrolment in enrolments:
            rule = self._committed(enrolment.analyst)
            if rule is None:
                self._writer.submit(enrolment.record, enrolment.analyst)
                self._anyone = False
            else:
                same_budget(rule.payer, rule.filter, enrolment.filter)

    def _rule_of(self, analyst: str) -> Rule | None:
        """The analyst's own rule; None where anyone may ask (the charge makes sure of that)."""
        return None if self._anyone else self._enrolled(analyst)

    def _enrolled(self, analyst: str) -> Rule:
        rule = self._committed(analyst)
        if rule is None:
            how = f"Where a policy lists analysts, everyone who asks needs a section: [analysts.{analyst}]."
            raise refuse("analyst", "the name of someone with a budget of their own in this ledger", analyst, how)
        return rule

    def _committed(self, analyst: str) -> Rule | None:
        """Rules never change, so each is read once."""
        if analyst not in self._rules:
            entry = self._writer.read(lambda store: store.find(Kind.ENROLLED, analyst))
            if entry is None:
                return None
            self._rules[analyst] = Rule.of(f"analyst {analyst!r}", committed_filter(entry))
        return self._rules[analyst]


def verify(path: FilePath, *, head: FilePath, patience: float = 30.0) -> Report:
    """Check a ledger that may be damaged, without using it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = {"path": Path(folder) / "spent", "head": Path(folder) / "head"}
    ...     Ledger.open(**place, budget=Budget(1)).close()
    ...     verify(**place)
    Report(entries=1, sealed=1, findings=())
    """
    return vault_at(path, head, patience).report()


def _first_entries(identity: str, committed: Filter, enrolments: Iterable[Enrol]) -> list[Entry]:
    entries = [Entry.after(None, Kind.REGISTERED, {"ledger": identity, "filter": committed.to_dict()})]
    for enrolment in enrolments:
        entries.append(enrolment.entry(entries[-1]))
    return entries


def _filter(budget: Budget | Filter) -> Filter:
    return budget if isinstance(budget, Filter) else choose_filter(budget)


def _recordable(event: object) -> None:
    """Refuse what cannot be recorded, before a transaction begins that others share."""
    if not isinstance(event, Event):
        raise refuse("event", "an event of tacit.loss", type(event).__name__, "Pass mechanism.event.")
    try:
        length = len(event.to_json())
    except ValueError:  # a number of more digits than Python will write
        length = LONGEST_EVENT + 1
    if length > LONGEST_EVENT:
        raise refuse("event", f"one that can be written in {LONGEST_EVENT} characters", type(event).__name__)


def _name(parameter: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME or not value.isprintable():
        raise refuse(parameter, f"a printable text of 1 to {LONGEST_NAME} characters", value)
    return value
