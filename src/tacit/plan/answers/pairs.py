"""Covariances from sums that are bought once, and numbers held between bounds (correlations).

    covar(y, x)             T/n + q - (S_x/n)(S_y/n), with T the sum of (x - a)(y - b) - q, and S_x, S_y the sums of
                            x - a and y - b, around public middles a and b; q the middle of the products

`rules.measure` buys the sums and puts correlations and regression lines together from covariances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.plan.answers.bends import Moves, product
from tacit.plan.answers.floats import as_float
from tacit.plan.answers.formulas import Cells, Estimate, Formula, divided


@dataclass(frozen=True, slots=True)
class Covariance:
    """The mean of products minus the product of the means, held to what bounds allow."""

    total_x: int
    total_y: int
    products: int
    count: int
    step_x: Fraction
    step_y: Fraction
    product_step: Fraction
    product_centre: Fraction
    largest: Fraction  # a quarter of the product of the widths, which no covariance of bounded numbers exceeds
    sample: bool

    @property
    def measures(self) -> frozenset[int]:
        return frozenset({self.total_x, self.total_y, self.products, self.count})

    def of(self, cells: Cells) -> Estimate:
        least = 2.0 if self.sample else 1.0
        count = np.maximum(cells.noisy[self.count], least)
        mean_x = as_float(self.step_x) * cells.noisy[self.total_x] / count
        mean_y = as_float(self.step_y) * cells.noisy[self.total_y] / count
        around = as_float(self.product_step) * cells.noisy[self.products] / count
        factor = count / (count - 1) if self.sample else np.ones(cells.size)
        most = as_float(self.largest)
        value = np.clip(around + as_float(self.product_centre) - mean_x * mean_y, -most, most) * factor
        slopes = {
            self.products: as_float(self.product_step) / count * factor,
            self.total_x: -mean_y * as_float(self.step_x) / count * factor,
            self.total_y: -mean_x * as_float(self.step_y) / count * factor,
            self.count: (2 * mean_x * mean_y - around) / count * factor,
        }
        off_x: Moves = ({self.total_x: as_float(self.step_x) / count, self.count: -mean_x / count}, {})
        off_y: Moves = (
            {self.total_y: as_float(self.step_y) / count * factor, self.count: -mean_y / count * factor},
            {},
        )
        both = product((slopes, {}), off_x, off_y, cells.spreads, cells.within)
        return divided(value, (slopes, both), self.count, cells, least)


@dataclass(frozen=True, slots=True)
class Held:
    """A number held between two bounds; its slopes stay, because the noise that was cut off did exist."""

    inside: Formula
    low: float
    high: float

    @property
    def measures(self) -> frozenset[int]:
        return self.inside.measures

    def of(self, cells: Cells) -> Estimate:
        inner = self.inside.of(cells)
        return replace(inner, value=np.clip(inner.value, self.low, self.high))
