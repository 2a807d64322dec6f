"""A stream that outlives its process: every step is on the disk before its totals leave, and its noise is drawn once.

    journal = Journal("visits.stream", RunningTotals(365, epsilon=1, delta=1e-6))     # made, or resumed
    journal.step(1, [12])            # the running totals after step 1, counted from 1
    journal.step(1, [99])            # the same totals: step 1 is over, and new values for it are ignored

Promise. The totals that left for a step stay in the file for ever. A step's totals and all that the next step needs
are written in one transaction, down to the disk, before they leave; a process that is killed before that has sent
nothing, and the draws it made are forgotten with it. A killed process, a full disk or a loss of power can waste a draw;
none can send two for one step. One process at a time holds a journal.

A caller that reads private rows for a step calls `begin` first: the mark is on the disk before the rows are read, and
is removed with the step's totals. A journal that is opened with such a mark (`cut_off`) was in a process that ended on
the way; that may say something about the rows, which decide how much memory a step needs.

The file holds exact numbers: it is for the owner alone, as the data are (mode 600). With an older copy in its place,
steps would be drawn again: do not restore one from a backup.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np

from tacit import noise, parameters
from tacit.errors import LedgerError, ParameterError
from tacit.mechanisms.continual import Course, RunningTotals

_LAYOUT: Final = """
CREATE TABLE IF NOT EXISTS stream (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sent (step INTEGER PRIMARY KEY, totals TEXT NOT NULL);
"""
_PRIVATE: Final = 0o600


class Journal:
    """Running totals kept in a file.

    >>> import pathlib, tempfile
    >>> from tacit.streaming import RunningTotals
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "visits.stream"
    >>> with Journal(path, RunningTotals(365, epsilon=1, delta="1e-6")) as journal:
    ...     first = journal.step(1, [3])
    ...     list(journal.step(1, [5000])) == list(first)  # a step that is over is not drawn again
    True
    """

    def __init__(self, path: str | Path, totals: RunningTotals, *, bits: noise.BitSource | None = None) -> None:
        self.path = Path(path)
        self.totals = totals
        self._course: Course | None = None
        self.is_new = False
        """Whether this call made the file."""
        self.cut_off = False
        """Whether a step was begun that never ended."""
        self._process = os.getpid()
        self._lock = _locked(self.path)
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, _PRIVATE))
            self._file = sqlite3.connect(self.path, isolation_level=None)
        except BaseException:
            os.close(self._lock)
            raise
        try:
            self._file.execute("PRAGMA synchronous = EXTRA")
            self._file.executescript(_LAYOUT)
            course = totals.begin(bits=bits)
            described = description(totals)
            kept = dict(self._file.execute("SELECT name, content FROM stream"))
            self.is_new = "description" not in kept
            if self.is_new:
                self._file.execute("INSERT INTO stream VALUES ('description', ?)", (described,))
            elif kept["description"] != described:
                raise ParameterError(
                    f"The file {self.path.name!r} is of another stream: {kept['description']}. "
                    f"Open it with the same numbers, or take a new file for {described}."
                )
            self.cut_off = "begun" in kept
            if "state" in kept:
                course._resume(json.loads(kept["state"]))
            self._course = course
        except BaseException:
            self.close()
            raise

    @property
    def time(self) -> int:
        """How many steps are over."""
        return self._open().time

    @property
    def charge(self) -> str | None:
        """The charge that paid for the stream; None until `bind` names it."""
        found = self._file.execute("SELECT content FROM stream WHERE name = 'charge'").fetchone()
        return None if found is None else str(found[0])

    def bind(self, charge: str) -> None:
        """Say which charge pays for the stream: once, before its first step."""
        if self._open().time or self.charge is not None:
            raise LedgerError(f"The stream of {self.path.name!r} was paid for before, by charge {self.charge}.")
        self._file.execute("INSERT INTO stream VALUES ('charge', ?)", (charge,))

    def sent(self, step: int) -> list[float]:
        """The totals that left for a step that is over."""
        found = self._file.execute("SELECT totals FROM sent WHERE step = ?", (step,)).fetchone()
        if found is None:
            raise parameters.refuse("step", f"one that is over, 1 to {self.time:,}", step)
        totals: list[float] = json.loads(found[0])
        return totals

    def begin(self) -> None:
        """Mark that rows are about to be read for the next step."""
        self._open()
        self._file.execute("INSERT OR REPLACE INTO stream VALUES ('begun', '')")

    def step(self, number: int, values: Any) -> list[float]:
        """The running totals after step `number`: of the next one, or what was sent for one that is over."""
        return self.extend(number, [[values] if self.totals.width == 1 and not hasattr(values, "__len__") else values])[
            0
        ]

    def extend(self, first: int, rows: Sequence[Any]) -> list[list[float]]:
        """The running totals after steps `first`, `first` + 1, ...: one flush for all that are new."""
        course = self._open()
        start = parameters.whole("step", first, least=1)
        if start > course.time + 1:
            raise parameters.refuse("step", f"at most the next one, {course.time + 1:,}", first)
        old = [self.sent(step) for step in range(start, min(course.time, start + len(rows) - 1) + 1)]
        new = list(rows)[len(old) :]
        if not new:
            return old
        at = course.time
        try:
            totals: list[list[float]] = course.extend(np.array(new, dtype=object)).tolist()
            self._keep(at, totals, course._state())
        except BaseException as failure:
            if isinstance(failure, ParameterError) and course.time == at:
                raise  # before any noise was drawn
            self.close()  # memory is ahead of the file: the next opening goes on from the file
            raise
        return old + totals

    def _keep(self, at: int, totals: list[list[float]], state: dict[str, Any]) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        numbered = ((at + place, json.dumps(row)) for place, row in enumerate(totals, start=1))
        self._file.executemany("INSERT INTO sent VALUES (?, ?)", numbered)
        self._file.execute("INSERT OR REPLACE INTO stream VALUES ('state', ?)", (json.dumps(state),))
        self._file.execute("DELETE FROM stream WHERE name = 'begun'")
        self._file.execute("COMMIT")

    def _open(self) -> Course:
        if self._course is None:
            raise LedgerError(f"The stream of {self.path.name!r} is closed. Open it again: it goes on where it was.")
        if self._process != os.getpid():
            raise LedgerError(f"The stream of {self.path.name!r} belongs to another process. Open it there alone.")
        return self._course

    def close(self, *, forget: bool = False) -> None:
        """Close the file; `forget` removes one that was just made and never stepped."""
        unused = forget and self.is_new and self._course is not None and self._course.time == 0
        self._course = None
        self._file.close()
        if unused:
            self.path.unlink(missing_ok=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def description(totals: RunningTotals) -> str:
    """All public numbers of a stream in one text: two streams with the same text have the same noise."""
    protects, change = totals.protects, totals.change
    content = {
        "steps": totals.steps,
        "width": totals.width,
        "largest": totals.largest,
        "times": protects.times,
        "apart": protects.apart,
        "change": [change.l1, str(change.l2), change.cells],
        "event": totals.event.to_dict(),
    }
    return json.dumps(content, sort_keys=True)


def _locked(path: Path) -> int:
    """A descriptor of the lock file next to the file, which holds the lock."""
    held = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, _PRIVATE)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise LedgerError(
            f"Another process holds the stream of {path.name!r}. Wait for it, or end it; nothing was drawn."
        ) from None
    return held
