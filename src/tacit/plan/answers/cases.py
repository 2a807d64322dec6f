"""CASE on finished cells: one of several values, by conditions on noisy numbers and released keys. It costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.formulas import Cells, Constant, Estimate, Floats, Formula


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of the first condition that holds, or the last value; each cell has the slopes of what was chosen."""

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
        chosen = np.full(cells.size, len(self.conditions))
        for place in reversed(range(len(self.conditions))):
            chosen[self.conditions[place].of(cells).value == 1] = place
        return mixed(chosen, [value.of(cells) for value in self.values])


def mixed(chosen: NDArray[Any], estimates: Sequence[Estimate]) -> Estimate:
    """In each cell the estimate of this place, with its slopes."""
    slopes: dict[int, Floats] = {}
    far: dict[int, Floats] = {}
    for place, estimate in enumerate(estimates):
        here = chosen == place
        for total, parts in ((slopes, estimate.slopes), (far, estimate.far)):
            for measure, slope in parts.items():
                total[measure] = total.get(measure, np.zeros(len(chosen))) + np.where(here, slope, 0.0)
    return Estimate(_picked(chosen, [estimate.value for estimate in estimates]), slopes, far)


def _picked(chosen: NDArray[Any], values: list[NDArray[Any]]) -> NDArray[Any]:
    if all(value.dtype != object for value in values):
        return np.array([values[place][row] for row, place in enumerate(chosen)], dtype=np.float64)
    column = np.empty(len(chosen), dtype=object)
    # among texts and dates a number can only be NULL
    column[:] = [values[place][row] if values[place].dtype == object else None for row, place in enumerate(chosen)]
    return column
