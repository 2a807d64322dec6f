"""A watch behind a server: paid for there once, counted there, shown here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from tacit import parameters
from tacit.curator.watching import Period
from tacit.doors.remote.line import Line


class RemoteWatch:
    """A question that was paid for, and its periods. The server's clock says which are over."""

    def __init__(self, line: Line, said: Mapping[str, Any]) -> None:
        self._line, self._said = line, said
        self._told = self._ask()  # this pays for it, as making a watch next to the files does

    @property
    def periods(self) -> int:
        """How many periods there are."""
        return int(self._told["in_all"])

    @property
    def counted(self) -> int:
        """How many of them were counted."""
        return int(self._told["over"])

    def catch_up(self, now: Any = None) -> list[Period]:
        """All periods that are over by now: the same numbers for ever, and what is new."""
        if now is not None:
            raise parameters.refuse("now", "left out: behind a server its clock says what is over", now)
        self._told = self._ask()
        return [_period(each) for each in self._told["periods"]]

    def each(self, now: Any = None) -> Iterator[Period]:
        """The same, one by one."""
        yield from self.catch_up(now)

    def close(self) -> None:
        """Nothing to close: nothing is held here."""

    def _ask(self) -> Any:
        return self._line.post("/v1/watch", self._said)


def _period(content: Mapping[str, Any]) -> Period:
    start, end = (dt.datetime.fromisoformat(content[name]) for name in ("start", "end"))
    rows = {name: tuple(map(tuple, content[name])) for name in ("keys", "totals", "new", "within_95")}
    return Period(content["number"], start, end, tuple(content["names"]), **rows)
