"""Columns whose cells hold several values: a list of quantiles, a histogram.

    quantile_cont(x, [0.25, 0.5])     a list, "real[]": the picked values, in the order of the question
    histogram(x)                      a map, "map(text, integer)": for each bin its noisy count

They are shown and nothing more: no formula computes with them, and no condition or order looks at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.plan.answers.formulas import Cells, Estimate, Formula, as_it_reads


@dataclass(frozen=True, slots=True)
class ListFormula:
    """The values of several formulas, in order. None of them is noisy: they were picked."""

    parts: tuple[Formula, ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset()

    def of(self, cells: Cells) -> Estimate:
        columns = [as_it_reads(part, cells) for part in self.parts]
        found = np.empty(cells.size, dtype=object)
        found[:] = [tuple(column[row] for column in columns) for row in range(cells.size)]
        return Estimate(found)


@dataclass(frozen=True, slots=True)
class MapFormula:
    """The noisy numbers, by label, of a measure that has several in each cell; each is off by the measure's noise."""

    measure: int
    labels: tuple[Any, ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset({self.measure})

    def of(self, cells: Cells) -> Estimate:
        numbers = cells.noisy[self.measure]
        found = np.empty(cells.size, dtype=object)
        found[:] = [dict(zip(self.labels, numbers[row].tolist(), strict=True)) for row in range(cells.size)]
        return Estimate(found, {self.measure: np.ones(cells.size)})


def list_of(kind: str) -> str:
    """The kind of a list."""
    return f"{kind}[]"


def map_of(key: str) -> str:
    """The kind of a map from these keys to counts."""
    return f"map({key}, integer)"
