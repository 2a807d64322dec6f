"""What is known of the ranks of a cell's rows: a step function over a public grid, exact where it matters.

A grid has the points 0, 1, ..., points - 1. Each point is a stretch of K = `split` steps on a line of points * K steps,
and a row at point x is spread evenly over its stretch. F(y) is the mass left of the place y, in units of 1/K rows, so
F(x K) = K * (rows below x), and F grows by (rows at x) a step inside the stretch of x. Cutting the line at any place
cuts the rows in two parts without a quarrel about ties.

Not all values need be listed. Where the rows between two listed values are missing, the ranks there are known to lie
between the two, which is enough for whoever reads them only up to a clamp: `TooNarrow` says where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Listed: TypeAlias = tuple[Any, Any, Any]
"""Values in ascending order, the rows below each, the rows at each."""

Wider: TypeAlias = Callable[[], Listed]


class TooNarrow(Exception):
    """A rank is needed that was not fetched. Only the release that fetches more may see this."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Stretches of the line in order. In each F rises from `least` by `slope` a step, or lies in [least, most]."""

    starts: Whole
    stops: Whole
    least: Whole
    most: Whole
    slopes: Whole

    def between(self, first: int, last: int) -> Pieces:
        """The pieces that hold the places first, ..., last, cut to them."""
        low = int(np.searchsorted(self.stops, first, side="right"))
        high = int(np.searchsorted(self.starts, last, side="right"))
        part = slice(low, high)
        starts = np.maximum(self.starts[part], first)
        stops = np.minimum(self.stops[part], last + 1)
        moved = np.asarray(self.slopes[part] * (starts - self.starts[part]), dtype=np.int64)
        return Pieces(starts, stops, self.least[part] + moved, self.most[part] + moved, self.slopes[part])

    def merged(self, low: int, high: int) -> Pieces:
        """The pieces from `low` up to `high`, with those before them as one piece and those after them as one."""
        size = self.starts.size
        if low <= 1 and high >= size - 1:
            return self
        kept = [slice(0, 1 if low else 0), slice(low, high), slice(high, high + 1)]

        def of(column: Whole) -> Whole:
            return np.concatenate([column[part] for part in kept])

        starts, least, most, slopes = of(self.starts), of(self.least), of(self.most), of(self.slopes)
        stops = np.append(starts[1:], self.stops[-1])
        if low:
            most[0], slopes[0] = self._end(low - 1), 0
        if high < size:
            most[-1], slopes[-1] = self._end(size - 1), 0
        return Pieces(starts, stops, least, most, slopes)

    def _end(self, place: int) -> int:
        return int(self.most[place] + self.slopes[place] * (self.stops[place] - self.starts[place]))

    def cut_at(self, places: Sequence[int]) -> Pieces:
        """The same function, with a piece beginning at each of these places that lies inside."""
        inside = sorted({place for place in places if self.starts[0] < place < self.stops[-1]})
        if not inside:
            return self
        starts = np.unique(np.concatenate([self.starts, np.array(inside, dtype=np.int64)]))
        owners = np.searchsorted(self.starts, starts, side="right") - 1
        moved = np.asarray(self.slopes[owners] * (starts - self.starts[owners]), dtype=np.int64)
        stops = np.append(starts[1:], self.stops[-1])
        return Pieces(starts, stops, self.least[owners] + moved, self.most[owners] + moved, self.slopes[owners])


def pieces(points: int, split: int, values: Any, below: Any, counts: Any, total: int) -> Pieces:
    """The whole line, from the listed values (ascending), the rows below each and at each, and the number of rows."""
    at, lower, rows = (np.asarray(column, dtype=np.int64) for column in (values, below, counts))
    size = 2 * at.size + 1
    starts, stops = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    least, most, slopes = (np.zeros(size, dtype=np.int64) for _ in range(3))
    starts[1::2], stops[1::2] = at * split, (at + 1) * split
    starts[0], starts[2::2] = 0, stops[1::2]
    # the last place is the line's end itself, where everything lies to the left
    stops[:-1:2], stops[-1] = starts[1::2], points * split + 1
    least[1::2] = most[1::2] = lower * split
    slopes[1::2] = rows
    least[0], least[2::2] = 0, (lower + rows) * split
    most[:-1:2], most[-1] = lower * split, total * split
    kept = stops > starts
    return Pieces(starts[kept], stops[kept], least[kept], most[kept], slopes[kept])


def mass_at(place: int, line: Pieces) -> int:
    """F(place)."""
    found = line.between(place, place)
    if found.least[0] != found.most[0]:
        raise TooNarrow
    return int(found.least[0])


class Known:
    """The line of one cell as far as it is known, and how to know all of it."""

    def __init__(self, points: int, split: int, total: int, listed: Listed, wider: Wider | None) -> None:
        self._size = (points, split)
        self._total = total
        self._line = pieces(points, split, *listed, total)
        self._wider = wider

    def ask(self, about: Callable[[Pieces], int]) -> int:
        """What `about` makes of the line. It raises `TooNarrow` before it draws a bit, so asking again is the same."""
        try:
            return about(self._line)
        except TooNarrow:
            if self._wider is None:
                raise
        self._line = pieces(*self._size, *self._wider(), self._total)
        return about(self._line)
