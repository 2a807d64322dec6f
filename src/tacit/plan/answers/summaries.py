"""Totals over the rows of an answer: SELECT max(n), avg(n) FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward).

Promise: they are computed from released keys and noisy numbers alone, so they cost nothing beyond the answer.

The rows are those of the answer: with known keys all of them, even where nothing was found, and with unknown keys the
ones that are shown. How the noise carries over: cell r's measure m has independent noise, and a total T_a moves with it
by a slope J_a(m, r); an output f(T_1, T_2, ...) moves by the sum of f's slopes times these, so to first order its
variance is the sum over m and r of the square of that sum times the measure's variance. The greatest and the least move
with the cell that holds them, or with one that may truly hold them: which case holds is private. Noise chose that cell,
as it did where rows were left out by noisy values: deviations then add up instead of their squares, and intervals are
wider (`chosen`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.plan.answers.formulas import Cells, Constant, Estimate, Floats, Formula, KeyFormula, as_it_reads, off_at_most

Slopes = dict[int, Floats]
"""By measure, how far a total moves with the number of each of its group's cells."""


@dataclass(frozen=True, slots=True)
class Total:
    """count, sum, avg, min or max of a formula over the rows of a group; without one the number of rows."""

    function: str
    argument: Formula | None

    @property
    def measures(self) -> frozenset[int]:
        return frozenset() if self.argument is None else self.argument.measures

    def of(self, cells: Cells, groups: Sequence[Sequence[int]]) -> tuple[Floats, list[Slopes], list[Slopes]]:
        """Its value in each group, its slopes in the group's cells, and the squared slopes in other cells."""
        if self.argument is None:
            nothing: list[Slopes] = [{} for _ in groups]
            return np.array([float(len(rows)) for rows in groups]), nothing, nothing
        inner = self.argument.of(cells)
        spreads = inner.deviation(cells.spreads) if cells.spreads and inner.noisy else None
        values, near, far = [], [], []
        for group in groups:
            rows = np.array(group, dtype=np.int64)
            value, weights = _total(self.function, inner.value[rows], None if spreads is None else spreads[rows])
            values.append(value)
            near.append({measure: slope[rows] * weights for measure, slope in inner.slopes.items()})
            far.append({measure: squares[rows] * np.square(weights) for measure, squares in inner.far.items()})
        return np.array(values, dtype=np.float64), near, far


def _total(function: str, values: Floats, spreads: Floats | None) -> tuple[float, Floats]:
    """A total, and by how much it moves with each value."""
    weights = np.zeros(len(values))
    missing = values.dtype == object
    present = [row for row, value in enumerate(values) if (value is not None if missing else not np.isnan(value))]
    if function == "count":
        return float(len(present)), weights
    if not present:
        return np.nan, weights
    if function in ("min", "max"):
        chosen = (min if function == "min" else max)(present, key=values.__getitem__)
        wider = spreads is not None and off_at_most(values, spreads, present, chosen, greatest=function == "max")
        weights[chosen] = wider or 1.0
        return float(values[chosen]), weights
    weights[present] = 1.0 / len(present) if function == "avg" else 1.0
    return float(values[present] @ weights[present]), weights


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of an answer's rows: those that agree in these keys, or all of them."""

    keys: tuple[KeyFormula, ...]

    def of(self, cells: Cells) -> tuple[list[list[int]], list[list[object]]]:
        """The rows of each group, and its keys, a column for each. Without keys there is one group, possibly empty."""
        if not self.keys:
            return [list(range(cells.size))], []
        columns = [as_it_reads(key, cells) for key in self.keys]
        groups: dict[tuple[object, ...], list[int]] = {}
        for row in range(cells.size):
            groups.setdefault(tuple(column[row] for column in columns), []).append(row)
        return list(groups.values()), [[key[place] for key in groups] for place in range(len(self.keys))]


@dataclass(frozen=True, slots=True)
class Summed:
    """A formula over totals: `inside` sees the totals as its measures and the groups' keys as its keys."""

    inside: Formula
    totals: tuple[Total, ...]
    grouping: Grouping

    @property
    def measures(self) -> frozenset[int]:
        return frozenset().union(*(self.totals[place].measures for place in self.inside.measures))

    def of(self, cells: Cells) -> Estimate:
        groups, keys = self.grouping.of(cells)
        used = sorted(self.inside.measures)
        found = {place: self.totals[place].of(cells, groups) for place in used}
        noisy = [found[place][0] if place in found else np.zeros(len(groups)) for place in range(len(self.totals))]
        widest = [float(np.max(each, initial=0.0)) for each in cells.spreads]
        spreads = [
            _spreads(found[place][1:], widest, together=cells.chosen)
            if place in found and widest
            else np.zeros(len(groups))
            for place in range(len(self.totals))
        ]
        fine = [
            _steps(found[place][1], cells.steps) if place in found and cells.steps else np.zeros(len(groups))
            for place in range(len(self.totals))
        ]
        outer = Cells(len(groups), noisy, keys, spreads=spreads, within=cells.within, steps=fine)
        if isinstance(self.inside, (KeyFormula, Constant)):
            return Estimate(as_it_reads(self.inside, outer))
        estimate = self.inside.of(outer)
        squares, steps = ({measure: np.zeros(len(groups)) for measure in self.measures} for _ in range(2))
        for group, rows in enumerate(groups):
            for measure in squares:
                slope, beyond, together = np.zeros(len(rows)), 0.0, 0.0
                for place in used:
                    factor = estimate.slopes[place][group] if place in estimate.slopes else 0.0
                    moved = factor * found[place][1][group].get(measure, np.zeros(len(rows)))
                    if cells.chosen or self.totals[place].function in ("min", "max"):
                        together += float(np.abs(moved).sum())
                    else:
                        slope = slope + moved
                    steps[measure][group] = max(steps[measure][group], float(np.max(np.abs(moved), initial=0.0)))
                    beyond += float(np.square(factor)) * float(np.sum(found[place][2][group].get(measure, 0.0)))
                squares[measure][group] = float(np.square(together + float(np.sqrt(np.square(slope).sum())))) + beyond
        for place, bent in estimate.far.items():  # put in one of the measures, by how much the total moves
            for measure in sorted(self.totals[place].measures)[:1]:
                unit = np.float64(widest[measure] if widest else 0.0)
                more = bent * np.square(spreads[place] / unit) if unit > 0 else np.zeros(len(groups))
                squares[measure] = squares[measure] + np.where(np.isnan(more), 0.0, more)
        return Estimate(estimate.value, {}, squares, steps)


def _spreads(moves: tuple[list[Slopes], list[Slopes]], widest: Sequence[float], *, together: bool) -> Floats:
    """The deviation of a total in each group. Noises that chose the rows may all have one sign (`together`)."""
    found = []
    for near, far in zip(*moves, strict=True):
        total = np.float64(0.0)
        for measure, slope in near.items():
            moved = np.square(np.abs(slope).sum()) if together else np.square(slope).sum()
            total = total + moved * np.square(np.float64(widest[measure]))
        for measure, squares in far.items():
            total = total + np.sum(squares) * np.square(np.float64(widest[measure]))
        found.append(np.sqrt(total))
    return np.array(found, dtype=np.float64)


def _steps(moves: list[Slopes], steps: Sequence[float | Floats]) -> Floats:
    """The largest step that noise makes in a total, in each group."""
    largest = [float(np.max(each, initial=0.0)) for each in steps]
    found = np.zeros(len(moves))
    for group, near in enumerate(moves):
        for measure, slope in near.items():
            found[group] = max(found[group], largest[measure] * float(np.max(np.abs(slope), initial=0.0)))
    return found


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary: an answer's rows are added up once more, by some keys, and some of the groups are shown."""

    grouping: Grouping
    having: Formula | None = None

    def size(self, cells: Cells) -> int:
        """How many rows there are afterwards."""
        return len(self.grouping.of(cells)[0])
