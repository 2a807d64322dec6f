"""Window functions over the rows of an answer, evaluated on noisy numbers and released keys: they cost nothing.

A sum over several rows carries the noise of all of them: `Estimate.far` holds the squared slopes in other rows.
The time grows in proportion to the rows of the answer; only a sum over a moving frame takes one pass over the frame for
each row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.formulas import Cells, Estimate, Floats, Formula, as_it_reads, off_at_most
from tacit.question import tree

RANKS = ("row_number", "rank", "dense_rank", "count")
Places = NDArray[np.int64]
Slopes = dict[int, Floats]
_PLACES = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")


@dataclass(frozen=True, slots=True)
class Sorting:
    """One sort key of a window."""

    formula: Formula
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Window:
    """function(argument) OVER (PARTITION BY ... ORDER BY ... ROWS ...)."""

    function: str
    argument: Formula | None
    offset: int
    partition: tuple[Formula, ...]
    order: tuple[Sorting, ...]
    frame: tree.Frame | None

    @property
    def measures(self) -> frozenset[int]:
        parts = [*([] if self.argument is None else [self.argument]), *(each.formula for each in self.order)]
        return frozenset().union(*(part.measures for part in parts))

    @property
    def by_noise(self) -> bool:
        """Whether noisy values decide which rows it uses."""
        return any(each.formula.measures for each in self.order) or any(each.measures for each in self.partition)

    def of(self, cells: Cells) -> Estimate:
        inner = Estimate(np.ones(cells.size)) if self.argument is None else self.argument.of(cells)
        plain = inner.value.dtype != object
        value = np.full(cells.size, np.nan) if plain else np.full(cells.size, None, dtype=object)
        slopes = {measure: np.zeros(cells.size) for measure in inner.slopes}
        far = {measure: np.zeros(cells.size) for measure in {*inner.slopes, *inner.far}}
        spreads = inner.deviation(cells.spreads) if cells.spreads and plain else np.zeros(cells.size)
        for listed, peers in self._partitions(cells):
            rows = np.array(listed, dtype=np.int64)
            if self.function in _PLACES:
                value[rows] = _ranks(self.function, peers)
                continue
            starts, ends = self._frames(len(rows), peers)
            value[rows] = _totals(self.function, inner.value[rows], starts, ends)
            if self.function in ("min", "max"):
                self._carry_one(inner, rows, starts, ends, spreads, far)
            elif cells.chosen or self.by_noise:
                self._carry_together(inner, rows, starts, ends, far)
            else:
                self._carry(inner, rows, starts, ends, slopes, far)
        return Estimate(value, slopes, far)

    def _carry_one(
        self, inner: Estimate, rows: Places, starts: Places, ends: Places, spreads: Floats, far: Slopes
    ) -> None:
        """The greatest or least moves with the row that has it, or with one that may truly be greater."""
        reached: dict[tuple[int, int], tuple[int, float] | None] = {}
        for place, frame in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            if frame not in reached:  # most frames are those of many rows
                reached[frame] = self._top(inner, rows[frame[0] : frame[1]], spreads)
            found = reached[frame]
            if found is None:
                continue
            top, wider = found
            for measure in far:
                own, beyond = inner.slopes.get(measure), inner.far.get(measure)
                squares = (0.0 if own is None else own[top] ** 2) + (0.0 if beyond is None else beyond[top])
                far[measure][rows[place]] = np.square(wider) * squares

    def _top(self, inner: Estimate, chosen: Places, spreads: Floats) -> tuple[int, float] | None:
        """The row with the greatest or least value, and by how many of its deviations it may be off."""
        present = [row for row in chosen.tolist() if _plain(inner.value[row]) is not None]
        if not present:
            return None
        top = (min if self.function == "min" else max)(present, key=inner.value.__getitem__)
        return top, off_at_most(inner.value, spreads, present, top, greatest=self.function == "max")

    def _carry(
        self, inner: Estimate, rows: Places, starts: Places, ends: Places, slopes: dict[int, Floats], far: Slopes
    ) -> None:
        """How the noise of the used rows reaches each row."""
        at = np.arange(len(rows))
        share = 1.0 / np.maximum(ends - starts, 1) if self.function == "avg" else np.ones(len(rows))
        inside = (starts <= at) & (at < ends)
        for measure in far:
            own = inner.slopes[measure][rows] if measure in inner.slopes else np.zeros(len(rows))
            beyond = inner.far[measure][rows] if measure in inner.far else np.zeros(len(rows))
            if measure in slopes:
                slopes[measure][rows] = np.where(inside, own * share, 0.0)
            squares = np.square(own)
            others = _sums(squares, starts, ends) - np.where(inside, squares, 0.0)
            far[measure][rows] = np.square(share) * (np.maximum(others, 0.0) + _sums(beyond, starts, ends))

    def _carry_together(self, inner: Estimate, rows: Places, starts: Places, ends: Places, far: Slopes) -> None:
        """The same where noise chose the used rows: then all of it may have one sign, and adds up."""
        share = 1.0 / np.maximum(ends - starts, 1) if self.function == "avg" else np.ones(len(rows))
        for measure in far:
            moved = np.abs(inner.slopes[measure][rows]) if measure in inner.slopes else np.zeros(len(rows))
            if measure in inner.far:
                moved = moved + np.sqrt(inner.far[measure][rows])
            far[measure][rows] = np.square(share * _sums(moved, starts, ends))

    def _frames(self, size: int, peers: Places) -> tuple[Places, Places]:
        """For each row, the half-open range of places in its frame: from the first on, up to before the second."""
        at = np.arange(size)
        if self.function in ("lag", "lead"):
            # an offset is any whole number; no row is further away than there are rows
            offset = max(-size, min(size, self.offset))
            other = at - offset if self.function == "lag" else at + offset
            there = (other >= 0) & (other < size)
            return np.where(there, other, 0), np.where(there, other + 1, 0)
        starts, ends = np.zeros(size, dtype=np.int64), np.full(size, size)
        if self.frame is not None:
            if self.frame.start is not None:
                starts = np.clip(at + max(-size, min(size, self.frame.start)), 0, size)
            if self.frame.end is not None:
                ends = np.clip(at + max(-size - 1, min(size, self.frame.end)) + 1, 0, size)
        elif self.order:
            ends = np.searchsorted(peers, peers, side="right")
        ends = np.maximum(starts, ends)
        if self.function == "first_value":
            ends = np.minimum(ends, starts + 1)
        if self.function == "last_value":
            starts = np.maximum(starts, ends - 1)
        return starts, ends

    def _partitions(self, cells: Cells) -> Iterator[tuple[list[int], Places]]:
        """The rows of each partition in order, and for each row the number of its group of equal rows."""
        columns = [as_it_reads(each, cells) for each in self.partition]
        groups: dict[tuple[Any, ...], list[int]] = {}
        for row in range(cells.size):
            groups.setdefault(tuple(_plain(column[row]) for column in columns), []).append(row)
        sorts = [(as_it_reads(each.formula, cells), each) for each in self.order]
        for rows in groups.values():
            for values, each in reversed(sorts):
                present = [row for row in rows if _plain(values[row]) is not None]
                absent = [row for row in rows if _plain(values[row]) is None]
                present.sort(key=lambda row, values=values: values[row], reverse=each.descending)  # type: ignore[misc]
                rows = absent + present if each.nulls_first else present + absent
            peers, group = [], -1
            for place, row in enumerate(rows):
                keys = [_plain(values[row]) for values, _ in sorts]
                if place == 0 or keys != [_plain(values[rows[place - 1]]) for values, _ in sorts]:
                    group += 1
                peers.append(group)
            yield rows, np.array(peers, dtype=np.int64)


def _plain(value: Any) -> Any:
    return None if value is None or (isinstance(value, float) and np.isnan(value)) else value


def _ranks(function: str, peers: Places) -> Floats:
    """The rank of each row, given the number of its group of equal rows."""
    size = len(peers)
    first = np.searchsorted(peers, peers, side="left")
    if function == "row_number":
        ranks: NDArray[Any] = np.arange(size) + 1
    elif function == "rank":
        ranks = first + 1
    elif function == "dense_rank":
        ranks = peers + 1
    elif function == "percent_rank":
        ranks = first / max(size - 1, 1)
    else:
        ranks = np.searchsorted(peers, peers, side="right") / size
    return ranks.astype(np.float64)


def _totals(function: str, values: NDArray[Any], starts: Places, ends: Places) -> NDArray[Any] | list[Any]:
    """What the function gives for each row, from the values between two places."""
    present = np.array([_plain(value) is not None for value in values], dtype=np.float64)
    if function == "count":
        return _sums(present, starts, ends)
    nothing = None if values.dtype == object else np.nan
    if function in ("lag", "lead", "first_value", "last_value"):
        return [values[start] if start < end else nothing for start, end in zip(starts, ends, strict=True)]
    if function in ("min", "max"):
        return _extremes(function == "max", values, starts, ends, nothing)
    some = _sums(present, starts, ends)
    total = np.where(some > 0, _sums(values, starts, ends), np.nan)
    return total / np.maximum(some, 1.0) if function == "avg" else total


def _sums(parts: Floats, starts: Places, ends: Places) -> Floats:
    """The sum of those that exist, between each two places."""
    known = np.where(np.isnan(parts), 0.0, parts)
    if not starts.any():  # added one after the other, as each sum would be
        return np.concatenate([[0.0], np.cumsum(known)])[ends]
    return np.array([known[start:end].sum() for start, end in zip(starts, ends, strict=True)])


def _extremes(greatest: bool, values: NDArray[Any], starts: Places, ends: Places, nothing: Any) -> list[Any]:
    """The least or greatest between each two places. Both only move forward: each value comes and goes once."""
    found: list[Any] = []
    best: deque[int] = deque()  # places of values of which each is better than all that follow
    taken = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        for place in range(taken, end):
            if _plain(values[place]) is None:
                continue
            while best and not (values[best[-1]] >= values[place] if greatest else values[best[-1]] <= values[place]):
                best.pop()
            best.append(place)
        taken = max(taken, end)
        while best and best[0] < start:
            best.popleft()
        found.append(values[best[0]] if best and start < end else nothing)
    return found
