"""When an answer leaves: as soon as it is there, or, with `timing = "steps"` in the policy, at public points in time.

A clock is something sent. With steps, what comes of a charge (an answer or a failure) is stored and sent at one of the
points of a ladder, counted from the charge: s, 4 s, 16 s, 64 s and 256 s, with s a quarter of a second for each query
that the plan pushes down; a study, of which no plan tells the length, goes on to 4,096 s. Nothing but the plan chooses
the ladder. What is not there at the last point is the one fixed failure, charged like any other, which leaves at the
next whole multiple of the last point.

Promise. While the work ends between two points, when it ended is not told to anybody: not by the reply, not by the
ledger, whose entry is written at the point, not to those who ask the same, who wait for their turn, and not to those
who ask something else of this curator, who wait until the point as well: one piece of work at a time is begun. At which
point it left is told. The work that one unit's rows can cause is bounded by the plan (`plan.work`), to a few
milliseconds, so one unit can change the point only if all other work ends within that time of it.
Not covered: what else runs on the machine, another process that opens the same policy, and the machine's own noise.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

_STEP: Final = 0.25
_FACTOR: Final = 4
_QUESTION, _STUDY = 5, 8


@dataclass(frozen=True, slots=True)
class Ladder:
    """The points, in seconds after the charge."""

    points: tuple[float, ...]

    @classmethod
    def of(cls, queries: int | None) -> Ladder:
        """For a question with this many queries; without a number, for a study."""
        first, count = (_STEP, _STUDY) if queries is None else (_STEP * max(queries, 1), _QUESTION)
        return cls(tuple(first * _FACTOR**place for place in range(count)))

    def point_after(self, elapsed: float) -> tuple[float, bool]:
        """The next point, and whether what is there now may leave at it; beyond the last point it may not."""
        for point in self.points:
            if elapsed <= point:
                return point, True
        last = self.points[-1]
        return (int(elapsed // last) + 1) * last, False


class Clock:
    """The clock of one till. Without steps it holds nobody up."""

    def __init__(self, timing: str) -> None:
        self.steps = timing == "steps"
        self._one = threading.Lock()

    @contextmanager
    def work(self) -> Iterator[None]:
        """With steps, one piece of work at a time: from before its charge until what came of it is stored."""
        if not self.steps:
            yield
            return
        with self._one:
            yield

    def wait(self, began: float, queries: int | None) -> bool:
        """Wait for the next point after `began`; whether what is there may leave."""
        if not self.steps:
            return True
        point, may_leave = Ladder.of(queries).point_after(time.monotonic() - began)
        while (left := began + point - time.monotonic()) > 0:
            time.sleep(left)
        return may_leave
