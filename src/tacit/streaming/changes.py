"""Watch a count step by step and speak up when it is high: paid once, for the few times it may speak.

    alarm = Alarm(threshold=100, epsilon=1, fires=3)
    alarm.step(rows_of_today)           # True or False

Theorem. `AboveThreshold` (sparse vector): however many steps there are, the whole sequence of answers up to the last
paid yes is epsilon-differentially private, if neighbours move every asked count by at most `sensitivity`, all in one
direction. With `last=w` a count is the number of rows of the last w steps: one row, added or removed, moves at most w
of them, each by 1 and all the same way. With `against=w` it is the number of rows of this step minus the mean of the
w steps before, times w: one row moves it by w at most, up in one step and down in others, so the noise is that for
values which are not monotone.

The session lives in this process: it is not kept in a file, and a session that was killed is lost, though paid for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit import parameters
from tacit.loss.events import Event
from tacit.mechanisms import AboveThreshold
from tacit.noise import BitSource
from tacit.parameters import Number


class Alarm:
    """Whether a step's count, the count of the `last` steps, or its rise `against` the mean of earlier ones is high.

    >>> alarm = Alarm(threshold=1_000_000, epsilon=1)
    >>> alarm.step(3), alarm.left
    (False, 1)
    """

    def __init__(
        self,
        *,
        threshold: int,
        epsilon: Number,
        fires: int = 1,
        last: int = 1,
        against: int | None = None,
        bits: BitSource | None = None,
    ) -> None:
        self._last = parameters.whole("last", last, least=1)
        self._against = None if against is None else parameters.whole("against", against, least=1)
        if self._against is not None and self._last != 1:
            raise parameters.refuse("last", "left out where `against` is given", last)
        scale = self._against or 1
        exact = parameters.whole("threshold", threshold)
        price = parameters.price("epsilon", epsilon)
        self._session = AboveThreshold(scale, price, exact * scale, fires=fires, monotone=against is None, bits=bits)
        self._counts: list[int] = []

    @property
    def event(self) -> Event:
        """What the whole session costs."""
        return self._session.event

    @property
    def left(self) -> int:
        """How many times it may still say yes."""
        return self._session.left

    def error(self, confidence: Number = "0.95", steps: int = 1) -> float:
        """With this confidence, this many counts at least this far from the threshold are all answered right."""
        return self._session.error(confidence, steps) / (self._against or 1)

    def step(self, rows: int | Iterable[Any]) -> bool:
        """Whether it is high now, give or take the noise."""
        self._session.check()
        self._counts.append(int(rows) if isinstance(rows, int) else sum(1 for _ in rows))
        if self._against is None:
            self._counts = self._counts[-self._last :]
            return self._session.ask(sum(self._counts))
        self._counts = self._counts[-self._against - 1 :]
        before = self._counts[:-1]
        # with fewer steps than asked for, the missing ones count like the present, so that nothing rises at the
        # beginning
        missing = (self._against - len(before)) * self._counts[-1]
        return self._session.ask(self._against * self._counts[-1] - sum(before) - missing)
