"""Picks are drawn here: the exact ranks of every cell go in, one chosen value for each comes out.

Promise: what leaves is chosen by the pick's mechanism from its public grid, in every cell that is shown, even in empty
ones. The ranks near the wanted ones are read first, in leaves of some rows each, and the rows of those that are likely
to be chosen from (`leaves`); where a choice needs to know more it asks, and the questions of all cells are answered
together. Which questions are asked depends on the rows; that is part of what was paid for, and never leaves. Whether
any is asked does not: where no choice needs to know more, one question is asked anyway, so that the time does not show
it. A second round depends on chance: it happens where a choice falls outside of what is likely.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tacit.answer.leaves import NOTHING, Near, ReadRows, Run, read, split
from tacit.engines.exact import Columns, Keys
from tacit.mechanisms import Mode
from tacit.mechanisms.quantiles import Choosing
from tacit.mechanisms.ranks import Found, Lookup
from tacit.noise import BitSource
from tacit.plan.columns import RawKey
from tacit.plan.picks.rank_probe import AFTER, AT, BEFORE, UNDER, Probe
from tacit.plan.picks.rank_query import ROWS, SMALL_GRID
from tacit.plan.plan import Pick

_MOST_PROBES = 10_000


def picked(pick: Pick, run: Run, cells: Keys, bits: BitSource) -> list[list[RawKey]]:
    """For each of the pick's columns the value in every cell."""
    if isinstance(pick.mechanism, Mode):
        chosen = run(pick.query).open_for(lambda keys, columns: _modes(pick, keys, columns, cells, bits))
    else:
        chosen = run(pick.query).open_for(lambda keys, columns: _ranked(pick, run, split(keys, columns), cells, bits))
    return [[pick.raw(points[place]) for points in chosen] for place in range(len(pick.columns))]


def _ranked(pick: Pick, run: Run, near: Near, cells: Keys, bits: BitSource) -> list[list[int]]:
    assert not isinstance(pick.mechanism, Mode)
    chosen: list[list[int]] = [[] for _ in cells]
    answers: dict[int, list[Found] | None] = dict.fromkeys(range(len(cells)))
    near, shelves = read(pick, run, near, cells)
    choosing = [pick.mechanism.choosing(*near.get(cell, (NOTHING, 0)), bits=bits) for cell in cells]
    quiet = pick.mechanism.points > SMALL_GRID and bool(cells)  # on a small grid every leaf is a point: none ever asks
    while answers:
        asked: dict[int, list[Lookup]] = {}
        for cell, found in answers.items():
            try:
                asked[cell] = _next(choosing[cell], found, shelves.get(cell))
            except StopIteration as done:
                chosen[cell] = done.value
        quiet = quiet and not asked
        answers = dict(_found(pick, run, cells, asked))
    if quiet:
        run(pick.probe(cells, [Probe(0, 0, 0, 0)])).open_for(lambda _, __: None)
    return chosen


def _next(choosing: Choosing, found: list[Found] | None, rows: ReadRows | None) -> list[Lookup]:
    """The next question that the rows read so far cannot answer."""
    asked = next(choosing) if found is None else choosing.send(found)
    while rows is not None:
        known = [each for each in map(rows.find, asked) if each is not None]
        if len(known) < len(asked):
            break
        asked = choosing.send(known)
    return asked


def _found(pick: Pick, run: Run, cells: Keys, asked: dict[int, list[Lookup]]) -> dict[int, list[Found]]:
    """What all the cells asked for, in as few queries as possible."""
    probes = [Probe(cell, each.first, each.last, each.point) for cell, listed in asked.items() for each in listed]
    found: list[Found] = []
    for start in range(0, len(probes), _MOST_PROBES):
        some = probes[start : start + _MOST_PROBES]
        found += run(pick.probe(cells, some)).open_for(partial(_read, len(some)))
    left = iter(found)
    return {cell: [next(left) for _ in listed] for cell, listed in asked.items()}


def _read(size: int, keys: Keys, columns: Columns) -> list[Found]:
    """The answers in the order of the questions; a leaf without rows is not in the result."""
    found = [Found(0, 0, None, None)] * size
    listed = [columns[name].tolist() for name in (UNDER, AT, BEFORE, AFTER)]
    for (number,), under, at, before, after in zip(keys, *listed, strict=True):
        assert isinstance(number, int)
        found[number] = Found(under, at, before - 1 if before else None, after or None)
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
