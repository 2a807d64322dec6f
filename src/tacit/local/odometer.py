"""A person's own ledger: what their device has told, and to whom; it tells each thing once. Standard library only.

    odometer = Odometer("told.json", limit=3)
    Client(survey.to_json(), odometer).answer("yes")     # drawn, kept, sent
    Client(survey.to_json(), odometer).answer("yes")     # the same report again: nothing new is told

Promise: a report is on the disk before it leaves, so a crash never draws a second one. What all surveys together may
tell stays within `limit`: epsilons add up (basic composition), exactly. A survey that was answered gets the
report that was kept, whatever the answer is now: a changed answer is not sent, because two reports tell more than one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.local.checks import Refused


class Odometer:
    """A file of reports that were sent, and the most that may be told in all.

    >>> import pathlib, tempfile
    >>> odometer = Odometer(pathlib.Path(tempfile.mkdtemp()) / "told.json", limit=3)
    >>> odometer.spent == 0
    True
    """

    def __init__(self, path: str | os.PathLike[str], limit: Any) -> None:
        self.path = Path(path)
        self.limit = Fraction(str(limit))
        if self.limit <= 0:
            raise Refused(f"The limit of an odometer must be above 0. Got {limit!r} instead.")

    @property
    def spent(self) -> Fraction:
        """What all reports so far tell at most."""
        return self._sum(self._read())

    def once(
        self, survey: str, epsilon: Fraction, draw: Callable[[], tuple[str, tuple[int, ...]]]
    ) -> tuple[str, tuple[int, ...]]:
        """The report that was kept for this survey, or a new one, kept before it is given."""
        with self._alone():
            return self._once(survey, epsilon, draw)

    def _once(
        self, survey: str, epsilon: Fraction, draw: Callable[[], tuple[str, tuple[int, ...]]]
    ) -> tuple[str, tuple[int, ...]]:
        told = self._read()
        if survey not in told:
            left = self.limit - self._sum(told)
            if epsilon > left:
                of_all = f"{float(left):g} is left of {float(self.limit):g}"
                raise Refused(f"Answering would tell epsilon {float(epsilon):g}; {of_all}. Nothing was sent.")
            ticket, numbers = draw()
            told[survey] = {"epsilon": str(epsilon), "ticket": ticket, "report": [str(each) for each in numbers]}
            self._write(told)
        kept = told[survey]
        return kept["ticket"], tuple(int(each) for each in kept["report"])

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Two programs of one person take turns; the lock goes away with its process."""
        with open(self.path.with_name(self.path.name + ".lock"), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _sum(self, told: dict[str, Any]) -> Fraction:
        return sum((Fraction(each["epsilon"]) for each in told.values()), Fraction(0))

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        return found

    def _write(self, told: dict[str, Any]) -> None:
        beside = self.path.with_name(self.path.name + ".new")
        with open(beside, "w") as file:
            json.dump(told, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
