"""Counts, histograms, sums and means of a stream, released after every step and paid for once.

    visits = RunningCount(365, epsilon=1, delta=1e-6, path="visits.stream")
    visits.within(365)                    # free: how far the last total will be off at most, 95 times of 100
    visits.step(rows_of_today)            # the running total after one more day

Promise: what `step` is given is the rows of one step; a row adds at most what the stream's `change` says, whatever it
is: values are clamped to the bounds and put on a grid of whole numbers, labels that are not listed count nowhere, and
nothing about a row raises. So a row, added or removed, moves a step's vector by at most `change`, and
`mechanisms.continual` does the rest. `protects` says who is hidden: one row (the default), a window of steps, or a
user who comes several times.

With a `path` the stream is kept in a file (`Journal`); steps are numbered from 1, and a step that is over keeps what
was sent for it. Without one it ends with the process.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.ledger.journal import Journal
from tacit.loss.events import Event
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms.continual import Change, Course, Protects, RunningTotals
from tacit.parameters import Number

_GRID: Final = 1 << 20
"""Steps between the middle of the bounds and an end."""


class Stream:
    """What all running statistics share: where the noise comes from, how far it reaches, and where it is kept."""

    def __init__(
        self,
        steps: int | None,
        width: int,
        change: Change,
        *,
        epsilon: Number | None,
        delta: Number,
        rho: Number | None,
        protects: Protects | None,
        path: str | Path | None,
        largest: int | None = None,
    ) -> None:
        self.totals = RunningTotals(
            steps,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            width=width,
            protects=protects,
            change=change,
            largest=largest,
        )
        self._kept: Journal | Course = self.totals.begin() if path is None else Journal(path, self.totals)

    @property
    def event(self) -> Event:
        """What the whole stream costs, for `tacit.loss`."""
        return self.totals.event

    @property
    def time(self) -> int:
        """How many steps are over."""
        return self._kept.time

    def deviation(self, step: int) -> float:
        """The standard deviation of a total's noise after `step` steps, in the unit of the answers. Free."""
        return self.totals.deviation(step) * self._unit

    def within(self, step: int, confidence: Number = "0.95") -> float:
        """How far a total is off after `step` steps at most, with this confidence. Free."""
        return self.totals.within(step, confidence) * self._unit

    _unit: float = 1.0

    def _sent(self, row: list[int], number: int | None) -> list[float]:
        """The totals after this step, drawn now or before."""
        if isinstance(self._kept, Journal):
            return self._kept.step(self._kept.time + 1 if number is None else number, row)
        if number is not None and number != self._kept.time + 1:
            raise parameters.refuse("number", f"the next step, {self._kept.time + 1}, without a path", number)
        return self._kept.step(row)

    def close(self) -> None:
        """Close the file, where there is one."""
        if isinstance(self._kept, Journal):
            self._kept.close()


class RunningCount(Stream):
    """How many rows there were since the beginning.

    >>> visits = RunningCount(365, epsilon=1, delta="1e-6")
    >>> round(visits.deviation(365), 1), visits.event.kind
    (12.6, 'discrete-gaussian')
    """

    def __init__(
        self,
        steps: int | None,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        protects: Protects | None = None,
        path: str | Path | None = None,
    ) -> None:
        super().__init__(
            steps,
            1,
            Change(),
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            protects=protects,
            path=path,
            largest=1 << 25,
        )

    def step(self, rows: int | Iterable[Any], *, number: int | None = None) -> float:
        """The running count after one more step, given its rows or how many there are."""
        count = rows if isinstance(rows, (int, np.integer)) else sum(1 for _ in rows)
        return self._sent([int(count)], number)[0]


class RunningHistogram(Stream):
    """How many rows had each of the listed values since the beginning.

    >>> wards = RunningHistogram(["A", "B"], 365, epsilon=1, delta="1e-6")
    >>> list(wards.step(["A", "A", "B"]))
    ['A', 'B']
    """

    def __init__(
        self,
        values: Sequence[Any],
        steps: int | None,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        protects: Protects | None = None,
        path: str | Path | None = None,
    ) -> None:
        self.values = tuple(values)
        self._places = {value: place for place, value in enumerate(self.values)}
        if not self.values or len(self._places) != len(self.values):
            raise parameters.refuse("values", "different values, at least one", values)
        super().__init__(
            steps,
            len(self.values),
            Change(),
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            protects=protects,
            path=path,
            largest=1 << 25,
        )

    def step(self, rows: Iterable[Any], *, number: int | None = None) -> dict[Any, float]:
        """The running counts by value after one more step. Rows with other values count nowhere."""
        found = Counter(map(self._place, rows))
        sent = self._sent([found[place] for place in range(len(self.values))], number)
        return dict(zip(self.values, sent, strict=True))

    def _place(self, row: Any) -> int | None:
        try:
            return self._places.get(row)
        except TypeError:  # a list, or something with a list inside: no listed value
            return None


class RunningSum(Stream):
    """The sum of all rows' values since the beginning, each clamped to the bounds.

    >>> spent = RunningSum((0, 100), 365, epsilon=1, delta="1e-6")
    >>> spent.deviation(1) < spent.deviation(365)
    True
    """

    def __init__(
        self,
        bounds: tuple[Number, Number],
        steps: int | None,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        protects: Protects | None = None,
        path: str | Path | None = None,
    ) -> None:
        self.low, self.high = ends(bounds)
        self._largest = max(abs(self.low), abs(self.high))
        self._unit = self._largest / _GRID
        change = Change(_GRID, Fraction(_GRID), 1)
        super().__init__(steps, 1, change, epsilon=epsilon, delta=delta, rho=rho, protects=protects, path=path)

    def step(self, rows: Iterable[Any], *, number: int | None = None) -> float:
        """The running sum after one more step."""
        values = clamped(rows, self.low, self.high) / self._largest
        return self._sent([_whole(values)], number)[0] * self._unit


class RunningMean(Stream):
    """The mean of all rows' values since the beginning, each clamped to the bounds.

    One release of two totals: rows, and distances from the middle of the bounds, both in half widths, so that a row
    moves the pair by at most sqrt(2) half widths. The mean is the middle plus their quotient, within the bounds.

    >>> cost = RunningMean((0, 100), 365, epsilon=1, delta="1e-6")
    >>> 0 <= cost.step([20, 30]) <= 100
    True
    """

    def __init__(
        self,
        bounds: tuple[Number, Number],
        steps: int | None,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        protects: Protects | None = None,
        path: str | Path | None = None,
    ) -> None:
        self.low, self.high = ends(bounds)
        self._half = (self.high - self.low) / 2
        self._unit = self._half / _GRID
        change = Change(2 * _GRID, sqrt_up(Fraction(2 * _GRID**2)), 2)
        super().__init__(steps, 2, change, epsilon=epsilon, delta=delta, rho=rho, protects=protects, path=path)

    def step(self, rows: Iterable[Any], *, number: int | None = None) -> float:
        """The running mean after one more step; the middle of the bounds while there are hardly any rows."""
        middle = (self.low + self.high) / 2
        values = (clamped(rows, self.low, self.high) - middle) / self._half
        count, distance = self._sent([len(values) * _GRID, _whole(values)], number)
        share = distance / count if count > _GRID / 2 else 0.0
        return middle + self._half * min(max(share, -1.0), 1.0)

    def off_by(self, step: int, rows: int, confidence: Number = "0.95") -> float:
        """How far the mean of this many rows is off at most: both totals are, and the mean lies within the bounds.

        In half widths, with m the mean's distance from the middle, |m| <= 1, and t the answer: it is off by more than
        t only if the noise of distances less (m + t) or (m - t) times the noise of rows passes t * rows, upwards or
        downwards. Gaussian noise of one total is within r * rows, so t = r sqrt(1 + (1 + t)^2) is enough. Other
        noise is bounded total by total: r + r (1 + t) = t.
        """
        level = parameters.level("confidence", confidence)
        half = self._half * parameters.whole("rows", rows, least=1)
        if self.totals.gaussian:
            r = self.within(step, level) / half
            off = (r * r + r * math.sqrt(max(2 - r * r, 0.0))) / (1 - r * r) if r < 1 else 2.0
        else:
            r = self.within(step, (1 + level) / 2) / half
            off = 2 * r / (1 - r) if r < 1 else 2.0
        return self._half * min(off, 2.0)


class Sliding:
    """The sum over the last `last` steps, of a running count or sum: the difference of two totals that were sent.

    It costs nothing beyond the stream. It remembers what was sent in the last steps.

    >>> week = Sliding(RunningCount(365, epsilon=1, delta="1e-6"), last=7)
    >>> isinstance(week.step(3), float)
    True
    """

    def __init__(self, stream: RunningCount | RunningSum, last: int) -> None:
        if stream.time:
            raise parameters.refuse("stream", "one that has not begun", f"one with {stream.time} steps")
        self.stream, self.last = stream, parameters.whole("last", last, least=1)
        self._before: list[float] = []

    def step(self, rows: Any) -> float:
        """The sum over the last steps, after one more of them."""
        now = self.stream.step(rows)
        self._before.append(now)
        if len(self._before) <= self.last:
            return now
        return now - self._before.pop(0)

    def deviation(self, step: int) -> float:
        """The standard deviation after `step` steps; exact for Gaussian noise of known length, otherwise a bound."""
        totals = self.stream.totals
        if step <= self.last:
            return self.stream.deviation(step)
        if not totals.gaussian or totals.steps is None:
            return self.stream.deviation(step) + self.stream.deviation(step - self.last)
        part = totals.stretch(0)
        weights = part.matrix.poles.error_below(np.arange(step, dtype=np.float64))
        weights[self.last :] -= weights[: -self.last].copy()
        one = self.stream.deviation(1)  # the first weight is 1
        return one * math.sqrt(float(weights @ weights))


def ends(bounds: tuple[Number, Number]) -> tuple[float, float]:
    low, high = (float(parameters.as_written("bounds", end)) for end in bounds)
    if not low < high:
        raise parameters.refuse("bounds", "a lower and an upper end, the lower one below", bounds)
    return low, high


def clamped(rows: Iterable[Any], low: float, high: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values within the bounds; what is not a number counts as the end nearest 0, and as the middle where 0 is
    inside.
    """
    nothing = min(max(0.0, low), high)
    read = np.array([_number(row, nothing) for row in rows], dtype=np.float64)
    return np.clip(read, low, high)


def _number(row: Any, nothing: float) -> float:
    try:
        value = float(row)
    except (TypeError, ValueError, OverflowError):
        return nothing
    return nothing if math.isnan(value) else value


def _whole(shares: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """The sum of shares in [-1, 1], each rounded to the grid first: a row adds at most the grid's size."""
    return int(np.clip(np.rint(shares * _GRID), -_GRID, _GRID).astype(np.int64).sum())
