"""The coordinator of a federation: it calls rounds, passes messages on, and learns one noisy sum a round.

    coordinator = Coordinator(federation, identity, folder, ledger)      # charged, or resumed after a crash
    coordinator.call(client)                  # bytes for a client: the round that it may enter now
    coordinator.say(message)                  # a client's message
    coordinator.hear(client, round, step)     # the answer to its message of a step, or None while others are missing
    coordinator.tick()                        # ends steps whose time is over; call it again and again
    coordinator.result                        # at the end

Promise
- All rounds that may be begun are charged to the ledger, in one entry, before the first client is called.
- What an answer follows from is on the disk before the answer leaves. So after a crash the coordinator gives the same
  answers, no round is opened twice, and a round goes on where it was.
- A step ends when every expected client has come, or when its time is over. Where too few are left the round ends
  without a sum and the next begins; after `attempts` of them the federation has failed, the ledger keeps that, and
  nothing is drawn again. A federation whose record is lost does not go on, because it is not known what was opened. The
  coordinator is trusted with the answer alone: what a lying coordinator can learn is in `aggregation.setup`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tacit.federated.aggregation.keys import Identity
from tacit.federated.aggregation.messages import sender_of
from tacit.federated.aggregation.server import Server
from tacit.federated.refusals import Ended, Refused
from tacit.federated.running.calls import Call, called
from tacit.federated.running.federation import Federation
from tacit.federated.running.record import Record
from tacit.ledger import Failed, Ledger

_SAID: Final = b"S"  # a message of the present step
_CLOSED: Final = b"C"  # the step ended with those who had come
_OPENED: Final = b"O"  # the round ended with a sum: the state after it, as JSON
_LOST: Final = b"L"  # the round ended without one
_PAID: Final = b"P"  # the entry of the ledger that paid
LAST_STEP: Final = 6


class Coordinator:
    """A federation while it runs. Safe to use from several threads."""

    def __init__(
        self,
        federation: Federation,
        identity: Identity,
        folder: Path,
        ledger: Ledger,
        *,
        wait: float = 30.0,
        gather: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if federation.server != identity.public:
            raise Refused("The identity is not the one that the federation's description has for its server.")
        self.federation, self.wait, self.gather = federation, wait, gather
        self.result: dict[str, Any] | None = None
        self.failed = False
        self.round, self.step, self.opened = 1, 1, 0
        self.lost: list[str] = []  # why each round without a sum ended
        self._identity, self._ledger, self._clock = identity, ledger, clock
        self._mutex = threading.RLock()
        self._state = federation.job.begin()
        self._said: dict[int, bytes] = {}
        self._answers: dict[int, bytes] = {}
        self._key = f"federation:{federation.id}"
        self._record = Record(folder / "record", federation.id.encode())
        try:
            self._pay()
            self._begin(1)
            self._replay()
            self._settle()
        except BaseException:
            self._record.close()
            raise

    # -- what clients ask ----------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether it is over, with or without a result."""
        return self.result is not None or self.failed

    def call(self, client: int) -> bytes:
        """The present round, for one client."""
        with self._mutex:
            if not 0 <= client < len(self.federation.clients):
                raise Refused(f"There is no client {client}.")
            return called(self.federation, self._identity, client, Call(self.round, self._state))

    def say(self, message: bytes) -> None:
        """Take a client's message. The same one again changes nothing: the first may have got lost."""
        with self._mutex:
            if self.is_over:
                raise Refused("The federation is over.")
            sender = sender_of(message)
            if self._said.get(sender) != message:
                self._server.receive(message)
                self._said[sender] = message
                self._record.add(_SAID, message)
            if not self._server.waiting_for:
                self._close()

    def hear(self, client: int, number: int, step: int) -> bytes | None:
        """The answer to a client's message of a step, counted from 1; None until the step ends.

        Refused if there will be none. `Missing` where the client must send its message again: it was lost with a killed
        process.
        """
        with self._mutex:
            if number != self.round or self.is_over:
                raise Refused(f"Round {number} is over.")
            if step == self.step - 1:
                if client not in self._answers:
                    raise Refused(f"Round {number} goes on without this client: it came too late.")
                return self._answers[client]
            if step != self.step:
                raise Refused(f"Round {number} is at step {self.step}, not at step {step}.")
            if client not in self._said:
                raise Missing("The message of this step is not here. Say it again.")
            return None

    # -- time ----------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """End the present step if its time is over."""
        with self._mutex:
            if not self.is_over and self._clock() >= self._until:
                self._close()

    @property
    def waiting_for(self) -> int:
        """How many clients are expected and have not come."""
        with self._mutex:
            return 0 if self.is_over else len(self._server.waiting_for)

    # -- rounds --------------------------------------------------------------------------------------------

    def _begin(self, number: int) -> None:
        self.round, self.step = number, 1
        self._server = Server(self.federation.setup(number), self._identity)
        self._said, self._answers = {}, {}
        self._until = self._clock() + (self.gather if self.opened == 0 and number == 1 else self.wait)

    def _close(self) -> None:
        self._record.add(_CLOSED, b"")
        self._record.flush()  # before any answer can leave
        self._ended()
        self._settle()

    def _ended(self) -> None:
        """The present step is over."""
        try:
            answers = self._server.close()
        except Ended as why:
            self._lose(str(why))
            return
        self._answers, self._said = answers, {}
        self.step, self._until = self.step + 1, self._clock() + self.wait
        if self.step > LAST_STEP:
            total = self._server.total
            assert total is not None
            found = self.federation.asked.finding(total.tolist(), len(self._server.survivors))
            state = self.federation.job.after(self._state, found)
            text = json.dumps(state, allow_nan=False).encode()
            self._record.add(_OPENED, text)
            self._record.flush()
            self._open(text)

    def _lose(self, why: str) -> None:
        self._record.add(_LOST, why.encode())
        self._record.flush()
        self._lost(why)

    def _open(self, text: bytes) -> None:
        self.opened, self._state = self.opened + 1, json.loads(text)
        if self.opened < self.federation.job.rounds:
            self._begin(self.round + 1)
        else:
            self.result = self.federation.job.result(self._state)

    def _lost(self, why: str) -> None:
        self.lost.append(why)
        needed = self.federation.job.rounds - self.opened
        if self.round + needed > self.federation.attempts:
            self.failed = True
        else:
            self._begin(self.round + 1)

    # -- what lasts ----------------------------------------------------------------------------------------

    def _pay(self) -> None:
        told = f"federation {self.federation.name!r}: {self.federation.job.kind}"
        receipt = self._ledger.charge("federated", self._key, told, self.federation.event, goes_on=True)
        paid = f"{receipt.sequence} {receipt.hash}".encode()
        kept = next((content for kind, content in self._record.entries if kind == _PAID), None)
        if kept is None and receipt.repeated:
            raise Refused(
                f"The federation {self.federation.name!r} was begun before, and its record is not here. What its "
                "rounds opened is not known, so that it cannot go on. Begin another one, under another name."
            )
        if kept is None:
            self._record.add(_PAID, paid)
            self._record.flush()
        elif kept != paid:
            raise Refused("This record belongs to a federation that another ledger paid for.")
        self._receipt = receipt

    def _replay(self) -> None:
        """Go through the record after a crash. The sum that a round opened is read, not computed again."""
        entries = self._record.entries
        for place, (kind, content) in enumerate(entries):
            if kind == _SAID:
                self._server.receive(content)
                self._said[sender_of(content)] = content
            elif kind == _CLOSED:
                after = entries[place + 1][0] if place + 1 < len(entries) else b""
                if after not in (_OPENED, _LOST):  # otherwise that entry says how the step ended
                    self._ended()
            elif kind == _OPENED:
                self._open(content)
            elif kind == _LOST:
                self._lost(content.decode())

    def _settle(self) -> None:
        """Store the result in the ledger, or that there is none."""
        if self.result is not None:
            payload = json.dumps(self.result, sort_keys=True, allow_nan=False).encode()
            kept = self._ledger.store_answer(self._receipt, payload)
            if isinstance(kept, Failed):
                self.result, self.failed = None, True
            else:
                self.result = json.loads(kept)
        elif self.failed:
            self._ledger.store_failure(self._key)

    def close(self) -> None:
        """Close the record."""
        with self._mutex:
            self._record.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class Missing(Refused):
    """The message whose answer is asked for is not here: the client must send it again."""
