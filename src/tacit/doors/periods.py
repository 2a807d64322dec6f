"""The periods of a watch as JSON, and a watch behind a server.

Promise: what a period tells is the same at every door. A server counts the periods that are over by its own clock;
nobody who asks can make it count one that is not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tacit import parameters
from tacit.curator.watching import Period


def periods_content(periods: Sequence[Period]) -> list[dict[str, Any]]:
    """What was told so far, as JSON values: a key is a text where JSON has no other word for it."""
    return [
        {
            "number": each.number,
            "start": each.start.isoformat(),
            "end": each.end.isoformat(),
            "keys": [[_plain(part) for part in key] for key in each.keys],
            "names": list(each.names),
            "totals": each.totals,
            "new": each.new,
            "within_95": each.within_95,
        }
        for each in periods
    ]


def _plain(part: Any) -> Any:
    return part if part is None or isinstance(part, (bool, int, float, str)) else str(part)


class RemoteWatch:
    """A question that was paid for, and its periods, counted by a server."""

    def __init__(self, post: Callable[[], Mapping[str, Any]], keys: tuple[tuple[Any, ...], ...]) -> None:
        self._post, self._keys = post, keys
        self._last = post()

    @property
    def periods(self) -> int:
        """How many periods were paid for."""
        return int(self._last["of"])

    @property
    def over(self) -> int:
        """How many of them have been counted."""
        return int(self._last["over"])

    def catch_up(self, now: Any = None) -> list[Period]:
        """All periods that are over by the server's clock."""
        return list(self.each(now))

    def each(self, now: Any = None) -> Iterator[Period]:
        """As `catch_up`, one period after the other."""
        if now is not None:
            raise parameters.refuse("now", "left out: a server goes by its own clock", now)
        self._last = self._post()
        for told in self._last["periods"]:
            start, end = (dt.datetime.fromisoformat(told[name]) for name in ("start", "end"))
            totals, new, off = (tuple(map(tuple, told[name])) for name in ("totals", "new", "within_95"))
            yield Period(int(told["number"]), start, end, tuple(told["names"]), self._keys, totals, new, off)

    def close(self) -> None:
        """Nothing is held here."""

    def __repr__(self) -> str:
        return f"RemoteWatch({self.over} of {self.periods} periods counted)"
