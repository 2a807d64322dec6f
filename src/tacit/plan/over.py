"""Window functions over the rows of an answer, evaluated on noisy numbers and released keys: they cost nothing.

A sum over several rows carries the noise of all of them: `Estimate.far` holds the squared slopes in other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.plan.formulas import Cells, Estimate, Floats, Formula, as_it_reads, off_at_most
from tacit.question import tree

RANKS = ("row_number", "rank", "dense_rank", "count")
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
        """Whether noisy values decide which rows it looks at."""
        return any(each.formula.measures for each in self.order) or any(each.measures for each in self.partition)

    def of(self, cells: Cells) -> Estimate:
        inner = Estimate(np.ones(cells.size)) if self.argument is None else self.argument.of(cells)
        plain = inner.value.dtype != object
        value = np.full(cells.size, np.nan) if plain else np.full(cells.size, None, dtype=object)
        slopes = {measure: np.zeros(cells.size) for measure in inner.slopes}
        far = {measure: np.zeros(cells.size) for measure in {*inner.slopes, *inner.far}}
        spreads = inner.deviation(cells.spreads) if cells.spreads and plain else np.zeros(cells.size)
        for rows, peers in self._partitions(cells):
            for place, row in enumerate(rows):
                if self.function in _PLACES:
                    value[row] = _rank(self.function, place, peers)
                    continue
                chosen = self._chosen(rows, place, peers)
                value[row] = _total(self.function, inner.value, chosen)
                if self.function in ("min", "max"):
                    self._carry_one(inner, row, chosen, spreads, far)
                else:
                    self._carry(inner, row, chosen, slopes, far, together=cells.chosen or self.by_noise)
        return Estimate(value, slopes, far)

    def _carry_one(self, inner: Estimate, row: int, chosen: list[int], spreads: Floats, far: dict[int, Floats]) -> None:
        """The greatest or least moves with the one row that is it, or with what may be greater in truth."""
        present = [each for each in chosen if _plain(inner.value[each]) is not None]
        if not present or not far:
            return
        top = (min if self.function == "min" else max)(present, key=inner.value.__getitem__)
        wider = off_at_most(inner.value, spreads, present, top, greatest=self.function == "max")
        for measure in far:
            own, beyond = inner.slopes.get(measure), inner.far.get(measure)
            squares = (0.0 if own is None else own[top] ** 2) + (0.0 if beyond is None else beyond[top])
            far[measure][row] = wider**2 * squares

    def _carry(
        self,
        inner: Estimate,
        row: int,
        chosen: list[int],
        slopes: dict[int, Floats],
        far: dict[int, Floats],
        *,
        together: bool,
    ) -> None:
        """How the noise of the chosen rows reaches this one: `together` if noise chose them, so that it adds up."""
        share = 1.0 / len(chosen) if self.function == "avg" and chosen else 1.0
        for measure in far:
            if together:
                moved = np.abs(inner.slopes.get(measure, np.zeros(len(inner.value))))
                moved = moved + np.sqrt(inner.far.get(measure, np.zeros(len(inner.value))))
                far[measure][row] = np.square(share * moved[chosen].sum())
                continue
            own = inner.slopes.get(measure, np.zeros(len(inner.value)))
            beyond = inner.far.get(measure, np.zeros(len(inner.value)))
            if row in chosen and measure in slopes:
                slopes[measure][row] = own[row] * share
            others = [each for each in chosen if each != row]
            far[measure][row] = share**2 * (np.square(own[others]).sum() + beyond[chosen].sum())

    def _chosen(self, rows: list[int], place: int, peers: list[int]) -> list[int]:
        """The rows that the function looks at, for the row at this place."""
        if self.function in ("lag", "lead"):
            other = place - self.offset if self.function == "lag" else place + self.offset
            return [rows[other]] if 0 <= other < len(rows) else []
        start, end = 0, len(rows)
        if self.frame is not None:
            start = 0 if self.frame.start is None else max(place + self.frame.start, 0)
            end = len(rows) if self.frame.end is None else max(place + self.frame.end + 1, 0)
        elif self.order:
            end = max(at for at in range(len(rows)) if peers[at] == peers[place]) + 1
        chosen = rows[start:end]
        if self.function == "first_value":
            return chosen[:1]
        return chosen[-1:] if self.function == "last_value" else chosen

    def _partitions(self, cells: Cells) -> Iterator[tuple[list[int], list[int]]]:
        """The rows of each partition in order, and for each the number of the group of equals it is in."""
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
            yield rows, peers


def _plain(value: Any) -> Any:
    return None if value is None or (isinstance(value, float) and np.isnan(value)) else value


def _rank(function: str, place: int, peers: list[int]) -> float:
    first = peers.index(peers[place])
    if function == "row_number":
        return place + 1.0
    if function == "rank":
        return first + 1.0
    if function == "dense_rank":
        return peers[place] + 1.0
    if function == "percent_rank":
        return first / (len(peers) - 1) if len(peers) > 1 else 0.0
    return sum(peer <= peers[place] for peer in peers) / len(peers)


def _total(function: str, values: NDArray[Any], chosen: list[int]) -> Any:
    present = [values[row] for row in chosen if _plain(values[row]) is not None]
    if function == "count":
        return float(len(present))
    if not present:
        return None if values.dtype == object else np.nan
    if function in ("lag", "lead", "first_value", "last_value"):
        return present[0] if _plain(values[chosen[0]]) is not None else (None if values.dtype == object else np.nan)
    functions: dict[str, Callable[[list[Any]], Any]] = {
        "sum": sum,
        "min": min,
        "max": max,
        "avg": lambda numbers: sum(numbers) / len(numbers),
    }
    return functions[function](present)
