"""The till: the one place where something is charged, run, released and stored. Everything that costs passes here.

    stored, repeated = till.buy(purchase, compute, analyst)     ask, ask_all, united answers, studies, publish, suggest
    session = till.open(purchase, analyst)                         studies that pay once and go on asking

Promise
- What is stored under a purchase's key is sent, for nothing: an answer, or the one fixed sentence of a failure.
- Else it is charged, and only then computed; what was computed is stored, and what the ledger stored first is sent.
- A charge is drawn for once. Whatever happens after it (an engine that fails, a disk that is full, memory that runs
  out, a killed process) ends in one stored failure, is never drawn again, and says one fixed sentence.
- Of those who ask the same at once, one works and the others wait. So a charge that has no outcome, found while its
  turn is ours, belongs to an asker who was cut off: it failed, and it is not known whether noise was drawn.
- After a failure the analyst is charged for nothing more until the owner has looked (`ledger.charge`).

An interrupt (Ctrl-C, the end of the program) is stored as well, and what was interrupted is not drawn again. It does
not stop the analyst: a person or the owner's machine chose its moment, not a row. The moment only shows whether the
answer was ready by then, which the asker sees anyway. A killed process does stop the analyst: the system kills
processes that need too much memory, and rows decide how much is needed.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from tacit.answer.leaves import Run
from tacit.curator.clock import Clock
from tacit.engines.engine import STALE, Engine
from tacit.engines.exact import Exact
from tacit.engines.process import FAILED
from tacit.errors import EngineError, LedgerError, TacitError
from tacit.ledger import Entry, Failed, Ledger, Receipt
from tacit.loss.events import Event
from tacit.plan import Query

Compute: TypeAlias = Callable[[Run, Receipt], bytes]
Made = TypeVar("Made")

INTERRUPTED: Final = (
    "This was interrupted before it was answered, and is not drawn again. What was charged stays charged. "
    "Ask at another price."
)
AWAY: Final = "The database did not begin to answer. Nothing was charged. Ask again."
OTHER_HOST: Final = 60.0
"""Seconds to wait for another host that paid for the same."""
_PAUSE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Purchase:
    """What is bought: the key that stands for it and for everything that shapes its answer, its text, its event."""

    key: str
    text: str
    event: Event
    asked: Mapping[str, str | None] | None = None
    """The price as it was asked for, for readers of the ledger: an epsilon (None where a rho was) and a delta."""


def _go_on() -> None:
    """The usual last word: no purchase is taken back."""


class Till:
    """The ledger and the engine of one curator, and the name of the asker.

    `last_word` is called right before a charge: an exception from it ends the purchase, and nothing is charged, read or
    stored. After it nothing can be taken back.
    """

    last_word: Callable[[], None] = staticmethod(_go_on)

    def __init__(
        self, ledger: Ledger, engine: Engine, tables: Sequence[str], enrolled: bool, timing: str = "open"
    ) -> None:
        self.ledger, self.engine, self.clock = ledger, engine, Clock(timing)
        self._tables, self._enrolled = list(tables), enrolled
        if not ledger.shared:
            ledger.settle()  # for processes that were killed since

    @property
    def stated(self) -> tuple[str, ...]:
        """Which tables are meant, whatever their state."""
        return tuple(self._tables)

    def unless(self, last_word: Callable[[], None]) -> Till:
        """The same till for one purchase that may be taken back until it is charged."""
        own = copy.copy(self)
        own.last_word = last_word
        return own

    def data(self) -> list[str]:
        """Which tables are meant, in which state: part of every key, which does not give the state away."""
        return [*self._tables, self.ledger.blinded(self.engine.fingerprint())]

    def buy(
        self, purchase: Purchase, compute: Compute, asker: str, queries: Sequence[Query] | None = None
    ) -> tuple[bytes, bool]:
        """What `compute` makes once the purchase is paid, as bytes; or what is stored of it, and that it was (True).

        `queries` are those that the plan pushes down, where there is a plan: their number decides when the answer may
        leave. While the ledger writes, the engine reads the text of the first, and no row.
        """
        self._known(asker)
        with self.ledger.turn(purchase.key), self._working(purchase.key):
            stored = self.ledger.answer(purchase.key)
            if stored is not None:
                return _sent(stored), True
            if self.engine.is_stale():
                raise EngineError(STALE)
            with ExitStack() as opened:
                run = self._begun(opened)
                if queries:
                    self.engine.expect(queries[0])
                try:
                    receipt = self._charged(purchase, asker)
                except TacitError:
                    opened.close()  # the moment itself is sound: a refusal ends it as it should end
                    raise
                if not receipt.repeated:
                    count = None if queries is None else len(queries)
                    return _sent(self._made(receipt, compute, run, opened.pop_all(), count)), False
            return _sent(self._cut_off(receipt)), True

    def sent(self, key: str) -> bytes:
        """What is stored under a key, sent again; the one fixed error where it failed, or nothing is stored."""
        return _sent(self.ledger.answer(key))

    def open(self, purchase: Purchase, asker: str) -> Session:
        """A charge of its own, for a study that takes its questions one by one. Nothing of it is stored.

        A key that was paid for before is not charged again, and one that failed stays failed.
        """
        self._known(asker)
        self.fresh()
        stored = self.ledger.answer(purchase.key)
        if stored is not None:
            _sent(stored)
        return Session(self, self._charged(purchase, asker, goes_on=True))

    def go_on(self, receipt: Receipt) -> Session:
        """The session of a charge that goes on, unless it failed, here or in another process."""
        stored = self.ledger.answer(receipt.key)
        if stored is not None:
            _sent(stored)
        return Session(self, receipt)

    def fresh(self) -> None:
        """Refuse where the tables have changed since they were copied; nothing is charged, read or stored."""
        if self.engine.is_stale():
            raise EngineError(STALE)

    def failed(self, key: str) -> bytes | Failed | None:
        """Store a failure; returns what is stored now. Where not even that works, the next look finds the charge."""
        with suppress(Exception):
            return self.ledger.store_failure(key)
        return None

    def interrupted(self, key: str) -> None:
        """The asker ended it: store that."""
        with suppress(Exception):
            self.ledger.store_failure(key, interrupted=True)

    def resume(self, analyst: str | None, entry: int | None = None) -> tuple[Entry, ...]:
        """The owner has looked at what failed, and at what was cut off, which is recorded here for the first time."""
        self.ledger.settle()
        return self.ledger.resume(analyst, entry)

    def _known(self, asker: str) -> None:
        """Refuse a name that may not ask, whether or not the answer is stored."""
        if self._enrolled:
            self.ledger.filter(asker)

    def _begun(self, opened: ExitStack) -> Run:
        """The moment whose rows are asked, begun before the charge, which reads no row.

        What is certain to fail is reported here free of charge, such as a copy that was removed since the check.
        """
        try:
            return opened.enter_context(self.engine.snapshot())
        except EngineError:
            pass
        raise EngineError(STALE if self.engine.is_stale() else AWAY)

    def _charged(self, purchase: Purchase, asker: str, *, goes_on: bool = False) -> Receipt:
        self.last_word()
        try:
            return self.ledger.charge(
                asker, purchase.key, purchase.text, purchase.event, goes_on=goes_on, asked=purchase.asked
            )
        except TacitError:
            raise
        except BaseException:  # nothing was drawn, but it may be paid for: then it must not look like a killed process
            self.interrupted(purchase.key)
            raise

    @contextmanager
    def _working(self, key: str) -> Iterator[None]:
        """Stored results do not wait; a computation waits for its turn at the clock."""
        if not self.clock.steps or self.ledger.answer(key) is not None:
            yield
            return
        with self.clock.work():
            yield

    def _made(
        self, receipt: Receipt, compute: Compute, run: Run, opened: ExitStack, queries: int | None
    ) -> bytes | Failed | None:
        kept: bytes | Failed | None = None
        began = time.monotonic()
        try:
            payload = _computed(compute, run, receipt, opened)
            if self.clock.wait(began, queries) and payload is not None:
                kept = self.ledger.store_answer(receipt, payload)
        except Exception:  # noqa: BLE001, S110  # its kind and its words may depend on a row
            pass
        except BaseException:
            self.interrupted(receipt.key)
            raise
        return self.failed(receipt.key) if kept is None else kept

    def _cut_off(self, receipt: Receipt) -> bytes | Failed | None:
        """What is stored of an earlier charge whose turn is now ours."""
        if not self.ledger.shared:
            return self.failed(receipt.key)
        deadline = time.monotonic() + OTHER_HOST
        while True:  # another host, which we cannot see, may hold its turn
            stored = self.ledger.answer(receipt.key)
            if stored is not None:
                return stored
            if time.monotonic() > deadline:
                raise LedgerError(
                    f"This was paid for at entry {receipt.sequence} and has no answer yet: another host works at it, "
                    "or was cut off. Nothing was charged. Ask again later; if it stays so, the owner settles it: "
                    "tacit ledger resume POLICY."
                )
            time.sleep(_PAUSE)


class Session:
    """Paid for once: runs all questions that the study then asks. The first failure is stored, and ends it."""

    def __init__(self, till: Till, receipt: Receipt) -> None:
        self._till, self.receipt = till, receipt
        self._ended = False

    def run(self, query: Query) -> Exact:
        """The exact result of one query."""
        return self.guarded(lambda: self._till.engine.run(query))

    def guarded(self, compute: Callable[[], Made]) -> Made:
        """What `compute` makes of exact numbers, or the one fixed error, now and on every repeat."""
        if self._ended:
            raise EngineError(FAILED)
        try:
            with self._till.clock.work():
                return self._timed(compute)
        except Exception:  # noqa: BLE001, S110  # as above
            pass
        except BaseException:  # it may have drawn, so going on would be a second draw
            self._ended = True
            self._till.interrupted(self.receipt.key)
            raise
        raise self.failed()

    def failed(self) -> EngineError:
        """It is over: one stored failure. Returns the one fixed error, to be raised."""
        self._ended = True
        self._till.failed(self.receipt.key)
        return EngineError(FAILED)

    def _timed(self, compute: Callable[[], Made]) -> Made:
        """The outcome, even a failure, at a point of the clock."""
        began, made = time.monotonic(), list[Made]()
        with suppress(Exception):
            made.append(compute())
        if not self._till.clock.wait(began, None) or not made:
            raise EngineError(FAILED)
        return made[0]


def _computed(compute: Compute, run: Run, receipt: Receipt, opened: ExitStack) -> bytes | None:
    """What was made, or None after any failure: until the clock's next point the two look the same."""
    try:
        with opened:
            return compute(run, receipt)
    except Exception:  # noqa: BLE001  # as above
        return None


def _sent(stored: bytes | Failed | None) -> bytes:
    """The stored answer; a failure is sent as one fixed sentence, the same for every cause."""
    if isinstance(stored, bytes):
        return stored
    raise EngineError(INTERRUPTED if stored is not None and stored.interrupted else FAILED)
