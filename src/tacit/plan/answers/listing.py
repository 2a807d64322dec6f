"""Several picked values as one text: what approx_top_k shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.plan.answers.formulas import Cells, Estimate


@dataclass(frozen=True, slots=True)
class Listing:
    """The values at these places, one after the other."""

    places: tuple[int, ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset()

    def of(self, cells: Cells) -> Estimate:
        column = np.empty(cells.size, dtype=object)
        column[:] = [", ".join(str(cells.keys[place][row]) for place in self.places) for row in range(cells.size)]
        return Estimate(column)
