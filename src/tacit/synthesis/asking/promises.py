"""Intervals for answers of a model: they cover the noise, wherever a measured table says something.

Theorem. A question's total over a group is sum_i v_i, over the rows i, where v_i is 1 for counts and the argument for
sums, and 0 outside the group. Let a measured table hold all columns that the question names, with exact counts n_c and
noisy counts y_c in its cells, and let lo_c <= v_i <= hi_c for every value that a row of cell c can have. Then
    sum_c lo_c n_c  <=  total  <=  sum_c hi_c n_c,
and sum_c lo_c y_c - z s |lo| is below the left side, sum_c hi_c y_c + z s |hi| above the right side, each with the
probability of z for normal noise of deviation s in every cell. So the interval between them holds the exact total with
the stated probability, even where a bin or a group of merged values hides which rows are meant: there lo and hi differ,
and the interval is that much wider. It is widened to hold the model's own figure.

A mean is the t for which the total of v_i - t over the group is 0; the interval holds every t for which that total's
interval holds 0 (Fieller 1954). The coefficients and the deviations decide which table is taken, not the measured
numbers. Where groups are picked by their figures (HAVING, LIMIT), the probability holds for all groups at once.

Which tables a method measures, and how often, may follow from earlier noise; the probability is exact for noise that
is independent of the choice, and simulated for the methods as they are (`tests/synthesis/test_asking.py`).
Where no measured table holds the columns there is no interval: the error of the model is not known there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.statistics.source import Whole
from tacit.synthesis.model.tables import Columns, Table, summed
from tacit.synthesis.released import Measurement, Release

_GRID: Final = 65
_STEPS: Final = 50
_NARROW: Final = 2.0  # a deviation below which whole-number noise is no longer like normal noise


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one output asks: its columns, the group of each point (-1: none), its argument there (None: counts)."""

    kind: str  # "count", "sum" or "avg"
    places: Columns
    groups: Whole
    argument: Table | None
    many: int  # groups


@dataclass(frozen=True, slots=True, eq=False)
class _Ranges:
    """For each pair of group and cell: the least and largest value inside, and whether all of the cell is inside."""

    groups: Whole
    cells: Whole
    least: Table
    most: Table
    full: NDArray[np.bool_]
    many: int

    def coefficients(self, shift: Table | None = None) -> tuple[Table, Table]:
        """Bounds of a row's part of the total, with a group's shift subtracted."""
        moved = 0.0 if shift is None else shift[self.groups]
        low, high = self.least - moved, self.most - moved
        return np.where(self.full, low, np.minimum(low, 0.0)), np.where(self.full, high, np.maximum(high, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """A measured table as it looks at the columns of a question."""

    noisy: Table
    deviation: float
    ranges: _Ranges

    def ends(self, reach: float, shift: Table | None = None) -> tuple[Table, Table]:
        """Both ends of the total of each group."""
        found = []
        for sign, own in zip((-1, 1), self.ranges.coefficients(shift), strict=True):
            many, groups = self.ranges.many, self.ranges.groups
            middle = np.bincount(groups, own * self.noisy[self.ranges.cells], many)
            length = np.sqrt(np.bincount(groups, own**2, many))
            wide = reach * self.deviation * length
            if self.deviation < _NARROW:  # half a step more, as noise comes in whole steps
                largest = np.zeros(many)
                np.maximum.at(largest, groups, np.abs(own))
                wide = wide + largest / 2
            found.append(middle + sign * wide)
        return found[0], found[1]


def reach_of(release: Release, level: float, groups: int = 1) -> float:
    """How many deviations an interval reaches: for normal noise, or the larger of normal and Laplace noise.

    With several groups the probability holds for all of them together, by the union bound.
    """
    outside = (1 - level) / groups
    normal = float(-ndtri(outside / 2))
    if release.facts.get("noise") == "laplace":
        return max(normal, -math.log(outside) / math.sqrt(2))
    return normal


def ends_of(release: Release, cells: Whole, part: Part, reach: float, estimates: Table) -> tuple[Table, Table] | None:
    """The intervals of an output, one for each group; None where no measured table holds the columns."""
    told = _best(release, cells, part)
    if told is None:
        return None
    if part.kind == "avg":
        low, high = _mean(told, reach)
    else:
        low, high = told.ends(reach)
    if part.kind == "count":
        low = np.maximum(low, 0.0)
    return np.fmin(low, estimates), np.fmax(high, estimates)


def is_told(release: Release, places: Columns) -> bool:
    """Whether a measured table holds these columns."""
    return any(set(places) <= set(each.columns) for each in release.measured)


def _best(release: Release, cells: Whole, part: Part) -> _Told | None:
    """The best of the tables that hold the columns: first one that hides nothing, then the one with the least noise."""
    best: _Told | None = None
    best_key: tuple[float, float] = (math.inf, math.inf)
    seen: set[tuple[Columns, bool, float]] = set()
    for each in release.measured:
        mark = (each.columns, each.merged, each.sigma)
        if not set(part.places) <= set(each.columns) or mark in seen:
            continue
        seen.add(mark)
        told = _told(release, each, cells, part)
        low, high = told.ranges.coefficients()
        hidden = float(np.count_nonzero(low != high))
        key = (hidden, told.deviation**2 * float((low**2 + high**2).sum()))
        if key < best_key:
            best, best_key = told, key
    return best


def _told(release: Release, measured: Measurement, cells: Whole, part: Part) -> _Told:
    noisy = summed(measured.noisy, measured.columns, part.places).astype(np.float64)
    added = measured.noisy.size // max(noisy.size, 1)
    flat = np.zeros(len(cells), dtype=np.int64)
    for axis, place in enumerate(part.places):
        own = cells[:, axis]
        if measured.merged:
            own = release.merges[place].codes[own]
        groups = getattr(measured, "groups", ())
        coarser = groups[measured.columns.index(place)] if groups else ()
        if len(coarser):
            own = np.asarray(coarser, dtype=np.int64)[own]
        flat = flat * noisy.shape[axis] + own
    ranges = _ranges(flat, part, noisy.size)
    return _Told(noisy.reshape(-1), measured.sigma * math.sqrt(added), ranges)


def _ranges(flat: Whole, part: Part, size: int) -> _Ranges:
    inside = part.groups >= 0
    if part.argument is not None:
        inside &= ~np.isnan(part.argument)
    argument = np.ones(len(flat)) if part.argument is None else part.argument
    both, place, points = np.unique(part.groups[inside] * size + flat[inside], return_inverse=True, return_counts=True)
    groups, cells = np.divmod(both, size)
    least, most = np.full(len(both), np.inf), np.full(len(both), -np.inf)
    np.minimum.at(least, place, argument[inside])
    np.maximum.at(most, place, argument[inside])
    full = points == np.bincount(flat, minlength=size)[cells]
    return _Ranges(groups, cells, least, most, full, part.many)


def _mean(told: _Told, reach: float) -> tuple[Table, Table]:
    ranges = told.ranges
    bottom, top = np.full(ranges.many, np.inf), np.full(ranges.many, -np.inf)
    np.minimum.at(bottom, ranges.groups, ranges.least)
    np.maximum.at(top, ranges.groups, ranges.most)
    empty = ~np.isfinite(bottom)  # a group without a value
    bottom[empty] = top[empty] = 0.0

    def may_be_higher(t: Table) -> NDArray[np.bool_]:
        return told.ends(reach, t)[1] >= 0

    def may_be_lower(t: Table) -> NDArray[np.bool_]:
        return told.ends(reach, t)[0] <= 0

    high = _outermost(bottom, top, may_be_higher)
    low = -_outermost(-top, -bottom, lambda t: may_be_lower(-t))
    return low, high


def _outermost(bottom: Table, top: Table, holds: Callable[[Table], NDArray[np.bool_]]) -> Table:
    """For each group the largest t between its ends for which it holds; where none does, the bottom."""
    inside, beyond = bottom.copy(), top.copy()
    for share in np.linspace(0, 1, _GRID):
        tried = bottom + share * (top - bottom)
        kept = holds(tried)
        step = (top - bottom) / (_GRID - 1)
        inside = np.where(kept, tried, inside)
        beyond = np.where(kept, np.minimum(tried + step, top), beyond)
    beyond = np.where(inside >= top, top, np.minimum(beyond, inside + (top - bottom) / (_GRID - 1)))
    for _ in range(_STEPS):
        middle = (inside + beyond) / 2
        kept = holds(middle)
        inside, beyond = np.where(kept, middle, inside), np.where(kept, beyond, middle)
    return beyond
