"""The number of a question inside another, as the outer question's formulas see it."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.plan.answers.formulas import Cells, Estimate, Formula


@dataclass(frozen=True, slots=True)
class InnerFormula:
    """A formula over measures that stand at other places: those of an inner question, the same in every cell."""

    inside: Formula
    offset: int
    count: int

    @property
    def measures(self) -> frozenset[int]:
        return frozenset(self.offset + place for place in self.inside.measures)

    def of(self, cells: Cells) -> Estimate:
        own = cells.noisy[self.offset : self.offset + self.count]
        spreads = cells.spreads[self.offset : self.offset + self.count]
        steps = cells.steps[self.offset : self.offset + self.count]
        inner = self.inside.of(Cells(cells.size, own, spreads=spreads, within=cells.within, steps=steps))
        slopes, far = (
            {self.offset + place: part for place, part in each.items()} for each in (inner.slopes, inner.far)
        )
        return Estimate(inner.value, slopes, far, doubtful=inner.doubtful, decided=inner.decided)
