"""What a watch counts: the whole-number columns of its question, what a unit moves in them, and the use of totals.

Theorem. The question's measures are counts of rows and sums, over cells that the policy lists. Each is a column of
whole numbers, or, where a count and a sum are released together (`plan.together`), they are two columns that a unit
moves by at most the stated norms in all. Columns are multiplied by public whole numbers, the `scales`, so that a unit
moves each about as far; noise of one size then fits all. A unit moves all columns of a period by at most
    L1: sum of scale * l1,   L2: root of the sum of (scale * l2)**2
over groups of columns, in at most as many cells as its rows can be in. That is the `Change` of the stream.

Everything else is post-processing of released totals: sums are put together, a mean is centre + sum/count.

How far off. A sum of columns has the noise of each: with Gaussian noise deviations add up in squares; else each column
is within its reach, all of them together by a union bound. A mean: with S and n within s and w of their totals,
    |found - mean| n' = |(S' - S) - (mean - centre)(n' - n)| <= s + |mean - centre| w,
n' the noisy count, so that it is off by at most (s + |found - centre| w)/(n' - w) where n' > w. Where n' <= w it is not
known whether there are rows at all, and no mean is given.
With Gaussian noise there is a better bound. Let S and n have weights a and b on the columns, and m = mean - centre.
Then S' - m n' is the noise of the columns with weights a - m b alone, within z |a - m b| at the level, z the reach of
one column. The interval is all m for which it is (Fieller 1954): between the roots of
    (n'^2 - z^2 |b|^2) m^2 - 2 (S' n' - z^2 a.b) m + S'^2 - z^2 |a|^2,
which holds the mean with exactly that probability; it is bounded where n' > z |b|, and S'/n' lies in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit.errors import QuestionError
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms.continual import Change, RunningTotals
from tacit.parameters import LEVEL
from tacit.plan import KnownKeys, Plan
from tacit.plan.answers.formulas import Linear, Mean
from tacit.plan.columns import read_key
from tacit.plan.plan import Measure, OutputPlan

_KINDS: Final = ("count_rows", "count", "sum")
_LEVEL: Final = float(LEVEL)

Told = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Watched:
    """The columns of a watch, and how its outputs are found from them."""

    plan: Plan
    keys: KnownKeys
    scales: tuple[int, ...]  # by measure

    @property
    def width(self) -> int:
        """How many running totals there are."""
        return len(self.scales) * len(self.keys.cells)

    @property
    def change(self) -> Change:
        """How far a unit moves the totals of one period."""
        groups = [self.scales[place] * each.l1 for place, each in _groups(self.plan)]
        squares = [(self.scales[place] * each.l2) ** 2 for place, each in _groups(self.plan)]
        cells = max(each.sensitivity.l0 for each in self.plan.measures) * len(self.scales)
        return Change(sum(groups), sqrt_up(sum(squares, Fraction(0))), min(cells, self.width))

    @property
    def shown(self) -> tuple[tuple[Any, ...], ...]:
        """The keys of all cells, as people read them."""
        columns = self.keys.columns
        return tuple(
            tuple(read_key(column, part) for column, part in zip(columns, cell, strict=True))
            for cell in self.keys.cells
        )

    @property
    def outputs(self) -> tuple[OutputPlan, ...]:
        """The outputs of each cell."""
        keys = {each.name for each in self.keys.columns}
        return tuple(each for each in self.plan.outputs if each.name not in keys)

    def counted(self, keys: Any, columns: Mapping[str, Any]) -> list[int]:
        """The exact numbers of one period, one for each measure and cell: for the journal's noise alone."""
        return self.numbers({key: row for row, key in enumerate(keys)}, columns)

    def numbers(self, rows: Mapping[Any, int], columns: Mapping[str, Any]) -> list[int]:
        """The same, where the rows of the cells are known."""
        return [
            int(columns[measure.name][rows[cell]]) * scale if cell in rows else 0
            for measure, scale in zip(self.plan.measures, self.scales, strict=True)
            for cell in self.keys.cells
        ]

    def same(self, plan: Plan) -> bool:
        """Whether a period's plan has these columns, and is no more sensitive."""
        now, then = (
            [(m.kind, m.name, m.centre, m.step, m.together) for m in each.measures] for each in (plan, self.plan)
        )
        return (
            now == then
            and watchable(plan).cells == self.keys.cells
            and [each.formula for each in plan.outputs] == [each.formula for each in self.plan.outputs]
            and all(
                new.l1 <= old.l1 and new.l2 <= old.l2 and new.sensitivity.l0 <= old.sensitivity.l0
                for new, old in zip(plan.measures, self.plan.measures, strict=True)
            )
        )

    def told(self, sent: list[float], reach: Reach) -> tuple[tuple[Told, ...], tuple[Told, ...]]:
        """For each cell the outputs, and how far each is off at most, 95 times of 100."""
        size = len(self.keys.cells)
        by_measure = np.array(sent, dtype=np.float64).reshape(len(self.scales), size)
        found = [self._one(each, by_measure, reach) for each in self.outputs]
        values = tuple(tuple(column[cell][0] for column in found) for cell in range(size))
        return values, tuple(tuple(column[cell][1] for column in found) for cell in range(size))

    def _one(self, output: OutputPlan, columns: Any, reach: Reach) -> list[tuple[float | None, float | None]]:
        formula = output.formula
        if isinstance(formula, Linear):
            weights = self._weights(dict(formula.terms))
            off = reach(weights, _LEVEL)
            return [(float(each), off) for each in weights @ columns]
        assert isinstance(formula, Mean)
        assert formula.total is not None
        total, count = (self._weights({place: Fraction(1)}) for place in (formula.total, formula.count))
        step, centre = float(formula.step), float(formula.centre)
        low, high = float(formula.low) - centre, float(formula.high) - centre
        mean_off, rows = _mean_reach(step * total, count, reach)
        found: list[tuple[float | None, float | None]] = []
        for moved, many in zip(step * (total @ columns), count @ columns, strict=True):
            if many <= rows:
                found.append((None, None))
                continue
            at = min(max(float(moved / many), low), high)
            found.append((centre + at, min(mean_off(float(moved), float(many), at), high - low)))
        return found

    def _weights(self, terms: Mapping[int, Fraction]) -> Any:
        """A sum of measures as a sum of columns."""
        weights = np.zeros(len(self.scales))
        for place, factor in terms.items():
            together = self.plan.measures[place].together
            parts = (
                {place: Fraction(1)}
                if together is None
                else dict(zip(together.places, together.matrix[together.places.index(place)], strict=True))
            )
            for column, part in parts.items():
                weights[column] += float(factor * part / self.scales[column])
        return weights


@dataclass(frozen=True, slots=True)
class Reach:
    """How far sums of columns are off: from how far one column is, and whether noises add up in squares."""

    one: Callable[[float], float]  # at a level
    in_squares: bool

    def __call__(self, weights: Any, level: float) -> float:
        """How far the sum of columns with these weights is off."""
        used = np.abs(weights[weights != 0])
        if self.in_squares or len(used) == 1:
            return float(np.sqrt(used @ used)) * self.one(level)
        return float(used.sum()) * self.one(1 - (1 - level) / len(used))


def reach_of(totals: RunningTotals, step: int) -> Reach:
    """How far columns are off after this many steps."""
    return Reach(lambda level: totals.within(step, level), totals.gaussian)


def _mean_reach(total: Any, count: Any, reach: Reach) -> tuple[Callable[[float, float, float], float], float]:
    """How far `total/count` is off, by the sums found and the mean; and how many rows may be noise alone."""
    if not reach.in_squares:
        level = (1 + _LEVEL) / 2
        wide, rows = reach(total, level), reach(count, level)
        return (lambda _, many, at: (wide + abs(at) * rows) / (many - rows)), rows
    square = reach.one(_LEVEL) ** 2
    of_total, of_both, of_count = (square * float(each) for each in (total @ total, total @ count, count @ count))

    def off(moved: float, many: float, at: float) -> float:
        leading, middle = many * many - of_count, moved * many - of_both
        root = math.sqrt(max(middle * middle - leading * (moved * moved - of_total), 0.0))
        return max(at - (middle - root) / leading, (middle + root) / leading - at)

    return off, math.sqrt(of_count)


def watched(plan: Plan) -> Watched:
    """How a question is watched; refused where it cannot be."""
    keys = watchable(plan)
    largest = max(each.l2 for each in plan.measures)
    scales = [max(1, round(largest / each.l2)) for each in plan.measures]
    return Watched(plan, keys, tuple(scales))


def _groups(plan: Plan) -> list[tuple[int, Measure]]:
    """One measure of each release: columns that are released together count once."""
    return [
        (place, each)
        for place, each in enumerate(plan.measures)
        if each.together is None or each.together.places[0] == place
    ]


def watchable(plan: Plan) -> KnownKeys:
    """The listed keys of a question that can be watched."""
    plain = (
        isinstance(plan.keys, KnownKeys)
        and plan.keys.levels is None
        and len(plan.tables) == 1
        and not (plan.picks or plan.inner)
        and plan.having is None
        and plan.qualify is None
        and plan.summary is None
        and plan.limit is None
        and plan.measures
        and all(m.kind in _KINDS and m.levels is None and m.block == 0 and m.bins is None for m in plan.measures)
        and all(_is_told(each) for each in plan.outputs if each.formula.measures)
        and sum(bool(each.formula.measures) for each in plan.outputs) == len(plan.outputs) - len(plan.keys.columns)
    )
    if not plain:
        raise QuestionError(
            "A watch tells counts of rows, sums and means of one table by keys whose values the policy lists, e.g. "
            "SELECT ward, count(*), avg(cost) FROM visits GROUP BY ward. For other questions use ask."
        )
    assert isinstance(plan.keys, KnownKeys)
    return plan.keys


def _is_told(output: OutputPlan) -> bool:
    formula = output.formula
    return not output.picked and (
        isinstance(formula, Linear) or (isinstance(formula, Mean) and formula.total is not None)
    )
