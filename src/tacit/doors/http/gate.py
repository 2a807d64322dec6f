"""Limits at the door: how many questions one person may have open, and how often a wrong token may be tried.

Promise: a request that is refused here was not read, planned or charged. Counting happens on the event loop alone, so
that no lock is needed. Nothing counted here depends on a row.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from tacit.doors.http.problems import Problem

_WINDOW: Final = 60.0
_MOST_FAILURES: Final = 10
_MOST_KEPT: Final = 10_000


class Gate:
    """How many requests are open: at most `each` of one person, at most `most` in all."""

    def __init__(self, each: int, most: int) -> None:
        self._each, self._most = each, most
        self._open: Counter[str] = Counter()

    def enter(self, who: str) -> Callable[[], None]:
        """Count one more of this person's; refused with 429 where it is one too many. Call the result at its end."""
        if self._open[who] >= self._each:
            raise _too_many(f"You have {self._each} open questions, which is the most. Wait for one of them.")
        if self._open.total() >= self._most:
            raise _too_many("The server has as many open questions as it takes. Ask again soon.")
        self._open[who] += 1
        return lambda: self._leave(who)

    def _leave(self, who: str) -> None:
        self._open[who] -= 1
        if not self._open[who]:
            del self._open[who]


class Throttle:
    """Wrong tokens and log-ins: after ten within a minute from one place for one token, the next ones wait."""

    def __init__(self) -> None:
        self._failures: dict[str, list[float]] = {}

    def check(self, place: str) -> None:
        """Refuse with 429 where it was tried too often."""
        recent = self._recent(place)
        if len(recent) >= _MOST_FAILURES:
            wait = max(1, round(_WINDOW - (time.monotonic() - recent[0])))
            raise Problem(
                429, "too many attempts", f"Too many wrong attempts. Try again in {wait} s.", {"Retry-After": str(wait)}
            )

    def failed(self, place: str) -> None:
        """One more wrong one."""
        if len(self._failures) >= _MOST_KEPT:  # the oldest are forgotten; they are the first in the dict
            self._failures.pop(next(iter(self._failures)))
        self._failures[place] = [*self._recent(place), time.monotonic()]

    def _recent(self, place: str) -> list[float]:
        since = time.monotonic() - _WINDOW
        return [each for each in self._failures.get(place, []) if each > since]


def _too_many(sentence: str) -> Problem:
    return Problem(429, "too many open questions", sentence, {"Retry-After": "1"})
