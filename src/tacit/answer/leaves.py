"""What is known of every cell's ranks before anything is drawn: leaves, and all rows of those likely to be drawn from.

Promise: the result says about the rows exactly what the engine counted. It decides no choice, only how often a choice
must ask the engine for more. Rows are read where a choice is likely to need some of them and they are few, so that most
choices are answered from these.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.engines.exact import Columns, Exact, Key, Keys
from tacit.mechanisms import Mode
from tacit.mechanisms.quantiles import Nearby
from tacit.mechanisms.ranks import Found, Leaves, Lookup, Whole, with_values
from tacit.plan.picks.rank_probe import VALUES, Probe
from tacit.plan.picks.rank_query import LEAF
from tacit.plan.plan import Pick, Query

Run: TypeAlias = Callable[[Query], Exact]
"""Runs one of the plan's queries, all of which have been paid for."""
Near: TypeAlias = dict[Key, tuple[Leaves, int]]
NOTHING: Leaves = (np.zeros(0, dtype=np.int64),) * 4
_MOST_ROWS, _MOST_STRETCHES = 2_000_000, 10_000
_MOST_OF_A_COLUMN, _MOST_IN_ALL = 4_000, 10_000_000
_FINER = 8


@dataclass(frozen=True, slots=True)
class _Opened:
    """The leaves of a cell whose rows are read, and the stretches of leaves side by side that they make."""

    cell: int
    leaves: NDArray[np.bool_] = field(repr=False)
    stretches: list[Probe] = field(repr=False)
    rows: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReadRows:
    """All rows of some stretches of a cell, in order."""

    values: Whole = field(repr=False)
    stretches: list[Probe] = field(repr=False)

    def find(self, asked: Lookup) -> Found | None:
        """The answer to a question, if all rows of that leaf are here."""
        if not any(each.first <= asked.first and asked.last <= each.last for each in self.stretches):
            return None
        ends = (
            self.values.searchsorted((asked.first, asked.point)),
            self.values.searchsorted((asked.point, asked.last), side="right"),
        )
        (low, start), (stop, high) = (each.tolist() for each in ends)
        before = int(self.values[start - 1]) if start > low else None
        after = int(self.values[stop]) if stop < high else None
        return Found(start - low, stop - start, before, after)


def split(keys: Keys, columns: Columns) -> Near:
    """The leaves of each cell in order, and its rows in all."""
    numbers: dict[Key, int] = {}
    cell = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    order = np.lexsort((columns[LEAF[0]], cell))
    ends = np.searchsorted(cell[order], np.arange(len(numbers) + 1))
    sorted_columns = [columns[name][order] for name in LEAF]
    found: Near = {}
    for key, number in numbers.items():
        part = slice(int(ends[number]), int(ends[number + 1]))
        first, last, below, rows, total = (column[part] for column in sorted_columns)
        found[key] = ((first, last, below, rows), int(total[0]))
    return found


def read(pick: Pick, run: Run, near: Near, cells: Keys) -> tuple[Near, dict[int, ReadRows]]:
    """The same with likely leaves in much smaller ones, and the rows of these by the cells' numbers."""
    assert not isinstance(pick.mechanism, Mode)
    found, shelves = dict(near), {}
    nearby, most = pick.mechanism.nearby(), _MOST_OF_A_COLUMN * len(pick.columns)
    opened, held = [], 0
    for number, cell in enumerate(cells):
        if cell in near and (each := _opened(nearby, most, number, *near[cell])):
            opened.append(each)
            held += each.rows
        if held > _MOST_IN_ALL:
            break  # this process holds no more rows: other cells ask point by point for what they need
    if not opened and cells:
        # one person's rows must not decide whether there is one more query, as the time would show it
        run(pick.reading(cells, [Probe(0, 0, 0, 0)])).open_for(lambda _, __: None)
    grain = max(1, pick.mechanism.grain // _FINER)
    for some in _batches(opened):
        stretches = [stretch for each in some for stretch in each.stretches]
        values = iter(run(pick.reading(cells, stretches)).open_for(partial(_values, stretches, pick.mechanism.points)))
        for each in some:
            rows = ReadRows(np.concatenate([next(values) for _ in each.stretches]), each.stretches)
            leaves, total = near[cells[each.cell]]
            found[cells[each.cell]] = with_values(leaves, each.leaves, rows.values, grain), total
            shelves[each.cell] = rows
    return found, shelves


def _opened(nearby: Nearby, most: int, cell: int, leaves: Leaves, total: int) -> _Opened | None:
    first, last, below, rows = leaves
    # one that is larger is counted again by the query, unless it lies so far away that it is hardly ever drawn from
    wanted = nearby(below, rows, total) & (first < last) & (rows <= most // 4)
    held = int(rows[wanted].sum())
    if not 0 < held <= most:
        return None
    places = np.flatnonzero(wanted)
    # two leaves make one stretch where no other leaf, and no row outside of leaves, lies between them
    apart = (np.diff(places) > 1) | (below[places[1:]] > (below + rows)[places[:-1]])
    starts, stops = places[np.append(True, apart)].tolist(), places[np.append(apart, True)].tolist()
    stretches = [
        Probe(cell, int(first[low]), int(last[high]), int(first[low])) for low, high in zip(starts, stops, strict=True)
    ]
    return _Opened(cell, wanted, stretches, held)


def _batches(opened: list[_Opened]) -> list[list[_Opened]]:
    """Cells whose rows are read at once."""
    found: list[list[_Opened]] = []
    rows = stretches = 0
    for each in opened:
        rows, stretches = rows + each.rows, stretches + len(each.stretches)
        if not found or rows > _MOST_ROWS or stretches > _MOST_STRETCHES:
            found.append([])
            rows, stretches = each.rows, len(each.stretches)
        found[-1].append(each)
    return found


def _values(stretches: list[Probe], points: int, _: Keys, columns: Columns) -> list[Whole]:
    """The rows of each stretch, in order."""
    packed: Whole = columns[VALUES]
    packed.sort()
    ends = packed.searchsorted(np.arange(len(stretches) + 1) * points).tolist()
    return [packed[start:stop] - number * points for number, (start, stop) in enumerate(itertools.pairwise(ends))]
