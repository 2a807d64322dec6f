"""A client's own record of what it took part in: each round once, and never beyond its budget.

    odometer = Odometer("told.json", Budget(3, 1e-6))
    sent = odometer.once("round 1", event, draw)     # priced, drawn and written to disk before it is returned
    sent = odometer.once("round 1", event, draw)     # the same text again: nothing new is told
    odometer.enter("round 2", event)                 # priced and written to disk; a second time it is refused

Promise. What a round makes a client send is on the disk before it leaves, with the event that prices it, so neither a
crash nor a coordinator that asks again makes the client send anything new. The whole conversation stays within the
budget whatever the coordinator asks next: a filter that the file commits to decides (`tacit.loss.filters`).

`once` is for what is counted once however often it is sent: a report with its nonce. `enter` is for rounds of secure
aggregation. There even the same vector must not be sent twice: a server that opens one sum with it and one without it
has the vector as their difference, under the noise of one client alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tacit.federated.refusals import Refused
from tacit.ledger import disk
from tacit.loss import events
from tacit.loss.budget import Budget
from tacit.loss.events import Event
from tacit.loss.filters import Filter, choose_filter
from tacit.loss.spent import NOTHING, Spent


class Odometer:
    """A file of rounds, and the most that all of them together may tell.

    >>> import pathlib, tempfile
    >>> from tacit import Budget
    >>> Odometer(pathlib.Path(tempfile.mkdtemp()) / "told.json", Budget(3, "1e-6")).rounds
    ()
    """

    def __init__(self, path: str | os.PathLike[str], budget: Budget) -> None:
        self.path, self.filter = Path(path), choose_filter(budget)
        self._read()  # a file of another budget is refused now

    @property
    def rounds(self) -> tuple[str, ...]:
        """The rounds that this client took part in."""
        return tuple(self._read())

    def once(self, name: str, event: Event, draw: Callable[[], str]) -> str:
        """What was sent in the round of this name, or a new text, kept before it is given.

        Refused where the event is more than is left, or is not that of the round that was kept under this name.
        """
        with self._alone():
            told = self._read()
            if name not in told:
                self.filter.charge(self._spent(told), event)
                told[name] = {"event": event.to_dict(), "sent": draw()}
                self._write(told)
            if told[name]["event"] != event.to_dict():
                raise Refused(f"The round {name!r} was answered before at another price. Nothing was sent.")
            sent: str = told[name]["sent"]
            return sent

    def enter(self, name: str, event: Event) -> None:
        """Take part in the round of this name, for the first and last time; on the disk when it returns."""
        with self._alone():
            told = self._read()
            if name in told:
                raise Refused(f"This client took part in the round {name!r} before. Nothing was sent.")
            self.filter.charge(self._spent(told), event)
            told[name] = {"event": event.to_dict(), "sent": ""}
            self._write(told)

    def _spent(self, told: dict[str, Any]) -> Spent:
        state = NOTHING
        for each in told.values():
            state = self.filter.charge(state, events.from_dict(each["event"]))
        return state

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Two programs of one client take turns; the lock goes away with its process."""
        beside = self.path.with_name(self.path.name + ".lock")
        descriptor = disk.open_file(beside, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _read(self) -> dict[str, Any]:
        try:
            kept: dict[str, Any] = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError:
            raise Refused(f"The file {self.path.name!r} is not a client's record. Nothing was sent.") from None
        if kept.get("filter") != _plain(self.filter):
            raise Refused(
                f"The file {self.path.name!r} belongs to another budget. Open it with the budget it was made with."
            )
        rounds: dict[str, Any] = kept["rounds"]
        return rounds

    def _write(self, rounds: dict[str, Any]) -> None:
        beside = self.path.with_name(self.path.name + ".new")
        text = json.dumps({"filter": _plain(self.filter), "rounds": rounds}).encode()
        descriptor = disk.open_file(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        try:
            disk.write(descriptor, text, 0)
            disk.sync(descriptor)
        finally:
            os.close(descriptor)
        disk.rename(beside, self.path)
        disk.sync_folder(self.path.parent)


def _plain(rule: Filter) -> Any:
    return json.loads(rule.to_json())
