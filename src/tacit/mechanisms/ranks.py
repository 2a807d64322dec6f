"""What is known of the ranks of a cell's rows: a step function over a public grid, and how to know more of it.

A grid has the points 0, 1, ..., points - 1. Each point is a stretch of K = `split` steps on a line of points * K steps,
and a row at point x is spread evenly over its stretch. F(y) is the mass left of the place y, in units of 1/K rows, so
F(x K) = K * (rows below x), and F grows by (rows at x) a step inside the stretch of x. Cutting the line at any place
cuts the rows in two parts, and ties need no rule.

Leaves say what is known: stretches of points with the rows below each and in each. Between two leaves nothing lies, or
rows whose number follows from the ranks. Inside a leaf of several points F is known at its ends only; a choice that
needs it at a place inside asks (`Lookup`), and the `Line` learns from what was `Found`: the leaf falls apart at that
point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Leaves: TypeAlias = tuple[Any, Any, Any, Any]
"""First points (ascending), last points, the rows below each leaf, the rows in each."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """How many rows of a leaf (its points `first` to `last`) lie below `point`, and at it? `rank` rows lie below it."""

    first: int
    last: int
    point: int
    rank: int


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of the leaf below the point and at it, and the nearest values of rows in the leaf on either side of it."""

    below: int
    at: int
    before: int | None
    after: int | None


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
        inside = np.array(
            sorted({place for place in places if self.starts[0] < place < self.stops[-1]}), dtype=np.int64
        )
        after = self.starts.searchsorted(inside)
        new = self.starts[np.minimum(after, self.starts.size - 1)] != inside
        if not new.any():
            return self
        inside, after = inside[new], after[new]
        owners = after - 1
        moved = self.slopes[owners] * (inside - self.starts[owners])

        def spliced(column: Whole, cut: Whole) -> Whole:
            parts, done = [], 0
            for place, index in enumerate(after.tolist()):
                parts += [column[done:index], cut[place : place + 1]]
                done = index
            return np.concatenate([*parts, column[done:]])

        starts = spliced(self.starts, inside)
        return Pieces(
            starts,
            np.append(starts[1:], self.stops[-1]),
            spliced(self.least, self.least[owners] + moved),
            spliced(self.most, self.most[owners] + moved),
            spliced(self.slopes, self.slopes[owners]),
        )


class Line:
    """The line of one cell, as far as it is known."""

    def __init__(self, points: int, split: int, leaves: Leaves, total: int) -> None:
        self._points, self._split, self._total = points, split, total
        firsts, lasts, below, rows = (np.asarray(column, dtype=np.int64) for column in leaves)
        # what the leaves leave out is a leaf as well: all rows between two of them
        ends, starts = np.append(0, lasts + 1), np.append(firsts, points)
        upto, ranks = np.append(0, below + rows), np.append(below, total)
        missing = ranks - upto
        room = starts - ends
        if min(missing.min(), room.min(), (room - (missing > 0)).min(), total) < 0:
            raise _contradiction()
        if firsts.size and min((lasts - firsts).min(), rows.min() - 1) < 0:
            raise _contradiction()
        gaps = missing > 0
        order = np.argsort(np.concatenate([firsts, ends[gaps]]), kind="stable")
        columns = (
            np.concatenate([firsts, ends[gaps]]),
            np.concatenate([lasts, starts[gaps] - 1]),
            np.concatenate([below, upto[gaps]]),
            np.concatenate([rows, missing[gaps]]),
        )
        self._firsts, self._lasts, self._below, self._rows = (column[order] for column in columns)
        self._pieces: Pieces | None = None

    @property
    def pieces(self) -> Pieces:
        """The whole line."""
        if self._pieces is None:
            self._pieces = self._laid_out()
        return self._pieces

    def knows(self, point: int) -> bool:
        """Whether F is known over the point's stretch."""
        index = self._before(point)
        return bool(index < 0 or point > self._lasts[index] or self._firsts[index] == self._lasts[index])

    def interval(self, point: int) -> tuple[int, int]:
        """F at the two ends of the stretch of a point that is known."""
        assert self.knows(point)
        index = self._before(point)
        if index < 0:
            return 0, 0
        below, rows = int(self._below[index]) * self._split, int(self._rows[index]) * self._split
        upto = below + rows
        return (upto, upto) if point > self._lasts[index] else (below, upto)

    def interval_by(self, asked: Lookup, found: Found) -> tuple[int, int]:
        """The same for a point that was asked for."""
        below = (asked.rank + found.below) * self._split
        return below, below + found.at * self._split

    def mass(self, place: int) -> int:
        """F(place), where it is known."""
        point, inside = divmod(place, self._split)
        low, high = self.interval(point)
        return low + (high - low) // self._split * inside

    def asked(self, point: int) -> Lookup:
        """The question about a point inside a leaf of several."""
        index = self._before(point)
        return Lookup(int(self._firsts[index]), int(self._lasts[index]), point, int(self._below[index]))

    def learn(self, asked: Lookup, found: Found) -> None:
        """Let the leaf fall apart at the point: the rows on either side of it, with no empty points in between."""
        point = asked.point
        if self.knows(point):
            return  # another answer has said this already
        index = self._before(point)
        first, last = int(self._firsts[index]), int(self._lasts[index])
        rank, rows = int(self._below[index]), int(self._rows[index])
        below = asked.rank + found.below
        left, right = below - rank, rank + rows - below - found.at
        if min(left, found.at, right) < 0:
            raise _contradiction()
        parts = []
        if left:
            if found.before is None or not first <= found.before < point:
                raise _contradiction()
            # a single row lies where the nearest one does
            parts.append((found.before if left == 1 else first, found.before, rank, left))
        if found.at:
            parts.append((point, point, below, found.at))
        if right:
            if found.after is None or not point < found.after <= last:
                raise _contradiction()
            parts.append((found.after, found.after if right == 1 else last, below + found.at, right))
        new = np.array(parts, dtype=np.int64).T
        self._firsts, self._lasts, self._below, self._rows = (
            np.concatenate([column[:index], part, column[index + 1 :]])
            for column, part in zip((self._firsts, self._lasts, self._below, self._rows), new, strict=True)
        )
        self._pieces = None

    def _before(self, point: int) -> int:
        """The leaf that begins at the point or last before it, or -1."""
        return int(self._firsts.searchsorted(point, side="right")) - 1

    def _laid_out(self) -> Pieces:
        split = self._split
        first, last, below, rows = self._firsts, self._lasts, self._below, self._rows
        size = 2 * first.size + 1
        starts, stops = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        least, slopes = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        starts[1::2], stops[1::2] = first * split, (last + 1) * split
        starts[0], starts[2::2] = 0, stops[1::2]
        # the last place is the line's end itself, where everything lies to the left
        stops[:-1:2], stops[-1] = starts[1::2], self._points * split + 1
        least[1::2] = below * split
        least[2::2] = (below + rows) * split
        most = least.copy()
        single = first == last
        slopes[1::2] = np.where(single, rows, 0)
        most[1::2] += np.where(single, 0, rows * split)
        kept = stops > starts
        return Pieces(starts[kept], stops[kept], least[kept], most[kept], slopes[kept])


def with_values(leaves: Leaves, opened: NDArray[np.bool_], values: Whole, grain: int) -> Leaves:
    """The leaves with those that are `opened` fallen apart: `values` are all their rows', in order.

    They fall into leaves of at most 2 * grain - 1 rows, and of single points that have more than grain rows.
    """
    firsts, lasts, below, rows = (np.asarray(column, dtype=np.int64) for column in leaves)
    owners = np.repeat(np.flatnonzero(opened), rows[opened])
    ordered = bool((values[1:] >= values[:-1]).all())
    if values.size != owners.size or not ordered or ((values < firsts[owners]) | (values > lasts[owners])).any():
        raise _contradiction()
    starts = np.cumsum(np.append(0, rows[opened]))[:-1]  # where each opened leaf's values begin
    inside = np.arange(values.size) - np.repeat(starts, rows[opened])
    points = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: values.size])
    many = np.diff(np.append(points, values.size)) > grain
    number, owner = inside[points] // grain, owners[points]
    new = (number[1:] != number[:-1]) | (owner[1:] != owner[:-1]) | many[1:] | many[:-1]
    heads = points[np.append(True, new)[: points.size]]
    tails = np.append(heads[1:], values.size)[: heads.size] - 1
    kept = ~opened
    order = np.argsort(np.concatenate([firsts[kept], values[heads]]), kind="stable")
    pairs = (
        (firsts, values[heads]),
        (lasts, values[tails]),
        (below, below[owners[heads]] + inside[heads]),
        (rows, tails - heads + 1),
    )
    first, last, under, held = (np.concatenate([old[kept], parts])[order] for old, parts in pairs)
    return first, last, under, held


def _contradiction() -> ValueError:
    return ValueError("ranks that contradict each other")
