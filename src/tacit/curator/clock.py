"""When an answer leaves: as soon as it is there, or, with `timing = "steps"` in the policy, at public points in time.

The time of an answer can be observed, so it is released too. With steps, the outcome of a charge (an answer or a
failure) is stored and sent at one of the points of a ladder, counted from the charge: s, 4 s, 16 s, 64 s and 256 s,
with s a quarter of a second for each query that the plan pushes down; a study, whose length no plan gives, goes on to
4,096 s. Nothing but the plan chooses the ladder. An answer that is not ready at the last point becomes the one fixed
failure, charged like any other, which leaves at the next whole multiple of the last point.

Promise. Between two points, the time at which work ended is hidden from everyone: the reply and the ledger's entry come
at the point; those who ask the same wait for their turn; and those who ask this curator something else wait until the
point as well, because only one piece of work is begun at a time. The point at which an answer left is visible. The work
that one unit's rows can cause is bounded by the plan (`plan.work`), to a few milliseconds, so one unit can change the
point only if all other work ends within that time of it.
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
        """The ladder for a question with this many queries; without a number, for a study."""
        first, count = (_STEP, _STUDY) if queries is None else (_STEP * max(queries, 1), _QUESTION)
        return cls(tuple(first * _FACTOR**place for place in range(count)))

    def point_after(self, elapsed: float) -> tuple[float, bool]:
        """The next point, and whether a result that is ready now may leave at it; after the last point it may not."""
        for point in self.points:
            if elapsed <= point:
                return point, True
        last = self.points[-1]
        return (int(elapsed // last) + 1) * last, False


class Clock:
    """The clock of one till. Without steps it delays no one."""

    def __init__(self, timing: str) -> None:
        self.steps = timing == "steps"
        self._one = threading.Lock()

    @contextmanager
    def work(self) -> Iterator[None]:
        """With steps, one piece of work at a time: from before its charge until its outcome is stored."""
        if not self.steps:
            yield
            return
        with self._one:
            yield

    def wait(self, began: float, queries: int | None) -> bool:
        """Wait for the next point after `began`; returns whether the result may leave."""
        if not self.steps:
            return True
        point, may_leave = Ladder.of(queries).point_after(time.monotonic() - began)
        while (left := began + point - time.monotonic()) > 0:
            time.sleep(left)
        return may_leave
