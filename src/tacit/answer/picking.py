"""Picks are drawn here: the exact ranks of every cell go in, one chosen value for each comes out.

Promise: what leaves is chosen by the pick's mechanism from its public grid, in every cell that is shown, also empty
ones. The ranks near the wanted ones are read first; in the rare case that a choice needs others, all are read, so that
the mechanism is exactly the one that was paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from tacit.engines.exact import Columns, Exact, Key, Keys
from tacit.mechanisms import Mode
from tacit.mechanisms.ranks import Listed
from tacit.noise import BitSource
from tacit.plan.columns import RawKey
from tacit.plan.plan import Pick, Query
from tacit.plan.rank_query import BELOW, POINT, ROWS, TOTAL

Cells = dict[Key, tuple[Listed, int]]


def picked(pick: Pick, run: Callable[[Query], Exact], cells: Keys, bits: BitSource) -> list[list[RawKey]]:
    """For each of the pick's columns the value in every cell."""
    if isinstance(pick.mechanism, Mode):
        chosen = run(pick.query).open_for(lambda keys, columns: _modes(pick, keys, columns, cells, bits))
    else:
        chosen = run(pick.query).open_for(lambda keys, columns: _ranked(pick, run, _split(keys, columns), cells, bits))
    return [[pick.raw(points[place]) for points in chosen] for place in range(len(pick.columns))]


def _ranked(pick: Pick, run: Callable[[Query], Exact], near: Cells, cells: Keys, bits: BitSource) -> list[list[int]]:
    mechanism, wide = pick.mechanism, pick.wide
    assert not isinstance(mechanism, Mode)
    assert wide is not None

    @cache
    def everything() -> Cells:
        return run(wide).open_for(_split)

    found = []
    for cell in cells:
        listed, total = near.get(cell, (_NOTHING, 0))
        found.append(mechanism.choose(*listed, total, wider=partial(_all_of, everything, cell), bits=bits))
    return found


def _all_of(everything: Callable[[], Cells], cell: Key) -> Listed:
    return everything()[cell][0]


_NOTHING: Listed = (np.zeros(0, dtype=np.int64),) * 3


def _split(keys: Keys, columns: Columns) -> Cells:
    """The rows of each cell, by value."""
    numbers: dict[Key, int] = {}
    cell = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    order = np.lexsort((columns[POINT], cell))
    ends = np.searchsorted(cell[order], np.arange(len(numbers) + 1))
    sorted_columns = [columns[name][order] for name in (POINT, BELOW, ROWS, TOTAL)]
    found: Cells = {}
    for key, number in numbers.items():
        part = slice(int(ends[number]), int(ends[number + 1]))
        point, below, rows, total = (column[part] for column in sorted_columns)
        found[key] = ((point, below, rows), int(total[0]))
    return found


def _modes(pick: Pick, keys: Keys, columns: Columns, cells: Keys, bits: BitSource) -> list[list[int]]:
    assert isinstance(pick.mechanism, Mode)
    assert pick.values is not None
    places = {value: place for place, value in enumerate(pick.values)}
    counts: dict[Any, tuple[list[int], list[int]]] = {}
    for row, (*cell, value) in enumerate(keys):
        if value in places:
            listed = counts.setdefault(tuple(cell), ([], []))
            listed[0].append(places[value])
            listed[1].append(int(columns[ROWS][row]))
    return [pick.mechanism.choose(*counts.get(cell, ([], [])), bits=bits) for cell in cells]
