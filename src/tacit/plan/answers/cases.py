"""CASE on finished cells: one of several values, by conditions on noisy numbers and released keys. It costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.bends import FARTHEST, reach_of, reaching
from tacit.plan.answers.conditions import verdict_of
from tacit.plan.answers.formulas import Bools, Cells, Constant, Estimate, Floats, Formula


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of the first condition that holds, or the last value; each cell has the slopes of the chosen value.

    Where noise may have decided a condition, intervals include the values of the other branches as well (`spanned`).
    """

    conditions: tuple[Formula, ...]
    values: tuple[Formula, ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset().union(*(part.measures for part in (*self.conditions, *self.values)))

    @property
    def known(self) -> tuple[Formula, ...]:
        """The values that are not NULL everywhere."""
        return tuple(value for value in self.values if value != Constant(None))

    def of(self, cells: Cells) -> Estimate:
        values = [value.of(cells) for value in self.values]
        found = mixed(self._first([each.of(cells).value == 1 for each in self.conditions], cells.size), values)
        if not cells.spreads or not cells.within or not any(each.measures for each in self.conditions):
            return found
        return spanned(found, values, self._possible(cells), cells, self.measures)

    def _first(self, holds: Sequence[Bools], size: int) -> NDArray[np.int64]:
        """The place of the first condition that holds, or the last place."""
        chosen = np.full(size, len(holds))
        for place in reversed(range(len(holds))):
            chosen[holds[place]] = place
        return chosen

    def _possible(self, cells: Cells) -> list[Bools]:
        """Which values may be the true ones."""
        reached, found = np.ones(cells.size, dtype=np.bool_), []
        for condition in self.conditions:
            verdict = verdict_of(condition, cells)
            found.append(reached & verdict.holds)
            reached = reached & (verdict.fails | verdict.missing)
        return [*found, reached]


def mixed(chosen: NDArray[Any], estimates: Sequence[Estimate]) -> Estimate:
    """In each cell the estimate of this place, with its slopes."""
    slopes: dict[int, Floats] = {}
    far: dict[int, Floats] = {}
    doubtful = np.zeros(len(chosen), dtype=np.bool_)
    for place, estimate in enumerate(estimates):
        here = chosen == place
        if estimate.doubtful is not None:
            doubtful |= here & estimate.doubtful
        for total, parts in ((slopes, estimate.slopes), (far, estimate.far)):
            for measure, slope in parts.items():
                total[measure] = total.get(measure, np.zeros(len(chosen))) + np.where(here, slope, 0.0)
    value = _picked(chosen, [estimate.value for estimate in estimates])
    decided = any(estimate.decided for estimate in estimates)
    return Estimate(value, slopes, far, doubtful=doubtful, decided=decided)


def spanned(
    found: Estimate, estimates: Sequence[Estimate], possible: Sequence[Bools], cells: Cells, measures: Iterable[int]
) -> Estimate:
    """The chosen value, off by enough to include every other value that may be the true one.

    Where all noises are within their reach r, the true value is that of a possible place p, within r_p of x_p; so it is
    within |x - x_p| + r_p of the x that is shown. A place without a value cannot be included; where it is open whether
    it has one, nothing is known.
    """
    if found.value.dtype == object:
        return found
    farthest = reach_of((found.slopes, found.far), cells.spreads, cells.within, cells.steps)
    doubtful = np.zeros(cells.size, dtype=np.bool_) if found.doubtful is None else found.doubtful
    for estimate, here in zip(estimates, possible, strict=True):
        own = reach_of((estimate.slopes, estimate.far), cells.spreads, cells.within, cells.steps)
        other = np.abs(found.value - estimate.value) + own
        missing = np.isnan(np.asarray(estimate.value, dtype=np.float64))
        unknown = missing & (False if estimate.doubtful is None else estimate.doubtful)
        farthest = np.where(here & unknown, FARTHEST, np.where(here & ~missing, np.maximum(farthest, other), farthest))
        doubtful = doubtful | (here & (missing != np.isnan(found.value)))
    far = reaching((found.slopes, found.far), farthest, cells.spreads, cells.within, cells.steps, measures)
    return Estimate(found.value, found.slopes, far, doubtful=doubtful, decided=True)


def _picked(chosen: NDArray[Any], values: list[NDArray[Any]]) -> NDArray[Any]:
    if all(value.dtype != object for value in values):
        return np.array([values[place][row] for row, place in enumerate(chosen)], dtype=np.float64)
    column = np.empty(len(chosen), dtype=object)
    # among texts and dates a number can only be NULL
    column[:] = [values[place][row] if values[place].dtype == object else None for row, place in enumerate(chosen)]
    return column
