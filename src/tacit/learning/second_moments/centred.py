"""Second moments around a released mean: rows are moved to it and shrunk to a ball, so a row moves them far less.

Theorem. Two releases, one after the other: the sum of (B, row, its square), the row shrunk to a radius R0; then the
sums of all products of (C, z), where z is made of the row and of what was released before, |z| <= R. Both are vectors
of whole numbers whose sensitivities `rounds` proves, whatever was released before; the square, divided and rounded
down, is at most R0/4 and adds that to the L1 norm, and its square to the squared L2 norm. `calibrated` gives their
noise and the price of both.

Two ways to make z, whole numbers of the same R. *In a ball*: `_STRETCH` times the row less the released mean, shrunk to
R. Bounds are wide, and rows lie together somewhere between them: around their mean they are at most a third as long as
around the middle of the bounds, and noise grows with the square of the length. Rows beyond the ball count as rows at
its edge. Results are about those rows, and it is not known how far that is from the truth: any noise hides a few rows
at the far end of their bounds, and such rows move a line. So nothing that is computed from it has an interval. *Whole*:
the row itself, which the bounds keep within R, around the middle of the bounds. Nothing is shrunk.

Released numbers decide which way is taken. Rows are whole where that is asked for (`whole_if_clear`) and the noise is
small compared with the rows' average spread, so that little is lost.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and listed values are public.
Source: Dwork, Talwar, Thakurta, Zhang 2014 (second moments); the centre and the ball are our own choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.learning.balls import measured
from tacit.learning.calibrated import Noise, Part, calibrated, deviation
from tacit.learning.columns import Feature, Reals
from tacit.learning.linear.margin_losses import FINE
from tacit.learning.linear.rounds import (
    PRODUCT,
    SQUARE,
    Short,
    blocks,
    grid_rows,
    moved,
    products,
    products_part,
    sums_part,
)
from tacit.learning.second_moments.released import Released
from tacit.mechanisms import Gaussian
from tacit.noise import BitSource
from tacit.statistics.source import Opened, Whole

_FIRST_SHARE = Fraction(20, 100)
_FIRST_REACH = 0.85  # as a share of the longest row
_BALL = 0.45  # likewise
_STRETCH = 1 / _BALL
_CLEAR = 0.25  # of the rows' average spread: noise below that is small
_MOST_CONSTANT = (1 << 15) - 1  # 16 bits hold it
_MOST_COORDINATES = 400


@dataclass(frozen=True, slots=True)
class Centred:
    """What is released, with which noise, at which price."""

    features: tuple[Feature, ...]
    first_reach: int
    reach: int  # the longest row there can be, and the length of z
    noises: tuple[Noise, ...]
    price: Price
    whole_if_clear: bool

    @property
    def first_constant(self) -> int:
        """What a row adds to the count that goes with the first sums."""
        return self.first_reach // 3

    @property
    def square_unit(self) -> int:
        """What a row's square is divided by, of those that go with the first sums."""
        return 4 * self.first_reach

    @property
    def constant(self) -> int:
        """The coordinate that is the same in all rows."""
        return _constant(self.reach)

    @property
    def asked(self) -> dict[str, Any]:
        """The key that it is stored under."""
        kinds = [[each.name, each.size] for each in self.features]
        return {"study": "second moments around the mean", "coordinates": kinds, "whole": self.whole_if_clear}

    def release(self, opened: Opened, bits: BitSource) -> Released:
        """The matrix around the centre, the deviation of each entry's noise, and the centre; in units of u."""
        names = [each.name for each in self.features]
        rows = grid_rows(opened.each_row(*names), self.features, opened.meanings(*names))
        sums = np.asarray(self.noises[0].release(self.first_sums(rows), bits=bits), dtype=np.float64)
        count, centre = middle_of(sums[None, :-1], self.first_constant, self.noises[0])
        whole = self.whole_if_clear and self._is_clear(count, centre, float(sums[-1]) * self.square_unit / count)
        if whole:
            centre, stretch = np.zeros(len(centre)), 1.0
            rows = np.vstack([np.full((1, rows.shape[1]), self.constant, dtype=np.int16), rows])
        else:
            stretch = _STRETCH
            rows = moved(rows, centre.astype(np.int64), self.reach, self.constant, stretch)
        matrix, deviations = noisy_products(rows, self.noises[1], bits)
        units = np.array([float(self.constant), *([stretch * FINE] * (len(rows) - 1))])
        scale = np.outer(units, units)
        return Released(matrix / scale, deviations / scale, centre / FINE, whole)

    def first_sums(self, rows: Short) -> Whole:
        """The sum of (constant, row shrunk to `first_reach`, its square in its unit)."""
        total = np.zeros(len(rows) + 2, dtype=np.int64)
        total[0] = self.first_constant * rows.shape[1]
        for _, block in blocks(rows):
            short, squares = measured(block, self.first_reach)
            total[1:-1] += short.sum(axis=1).astype(np.int64)
            total[-1] += int((squares.astype(np.int64) // self.square_unit).sum())
        return total

    def _is_clear(self, count: float, centre: Reals, square: float) -> bool:
        """Whether the noise of whole rows is small compared with their average spread, as the first sums show it."""
        spread = (square - float(centre @ centre)) / len(self.features)
        noise = 2 * deviation(self.noises[1]) / _most_weight(self.noises[1]) * math.sqrt(len(centre)) / count
        return noise <= _CLEAR * spread


def centred(
    features: Sequence[Feature], rows_per_unit: int, epsilon: Fraction, delta: Fraction, *, whole_if_clear: bool = False
) -> Centred:
    """The releases for a budget, from public numbers."""
    found = tuple(features)
    coordinates = sum(each.size for each in found)
    if coordinates > _MOST_COORDINATES:
        allowed = f"at most {_MOST_COORDINATES} coordinates, one for each listed value"
        raise parameters.refuse("columns", allowed, coordinates, "Leave columns out, or list fewer values.")
    reach = math.isqrt(len(found) * FINE * FINE - 1) + 1  # a column's coordinates are together at most FINE long
    first_reach = math.floor(_FIRST_REACH * reach)
    first = sums_part(rows_per_unit, first_reach // 3, first_reach, coordinates, 1, _FIRST_SHARE)
    parts = [
        _with_square(first, rows_per_unit * (first_reach // 4)),
        products_part(rows_per_unit, _constant(reach), reach, coordinates, 1 - _FIRST_SHARE),
    ]
    noises, price = calibrated(parts, epsilon, delta)
    return Centred(found, first_reach, reach, noises, price, whole_if_clear)


def _constant(reach: int) -> int:
    return min(reach // 2, _MOST_CONSTANT)


def _with_square(part: Part, most: int) -> Part:
    return replace(part, taxicab=part.taxicab + most, squared=part.squared + most**2, size=part.size + 1)


def middle_of(sums: Reals, constant: int, noise: Noise) -> tuple[float, Reals]:
    """The number of rows, and their mean in whole numbers, held back as far as noise alone would move it."""
    count = max(float(sums[:, 0].sum()) / constant, 1.0)
    mean = sums[:, 1:].sum(axis=0) / count
    size = float(mean @ mean)
    noisy = len(mean) * len(sums) * (deviation(noise) / count) ** 2
    kept = max(0.0, 1 - noisy / size) if size > 0 else 0.0
    return count, np.clip(np.rint(mean * kept), -FINE, FINE)


def noisy_products(rows: Short, noise: Noise, bits: BitSource) -> tuple[Reals, Reals]:
    """The sums of all products of two coordinates, with noise, and the deviation of each one's noise."""
    size = len(rows)
    upper = np.triu_indices(size)
    factors = weights_of_products(upper, noise)
    noisy = np.asarray(noise.release(products(rows)[upper] * factors, bits=bits), dtype=np.float64)
    matrix, deviations = np.zeros((size, size)), np.zeros((size, size))
    matrix[upper], deviations[upper] = noisy / factors, deviation(noise) / factors
    return matrix + np.triu(matrix, 1).T, deviations + np.triu(deviations, 1).T


def _most_weight(noise: Noise) -> int:
    return PRODUCT if isinstance(noise, Gaussian) else 1


def weights_of_products(upper: tuple[Whole, Whole], noise: Noise) -> Whole:
    """What each product is multiplied with before its noise is added: the theorem's weights."""
    if not isinstance(noise, Gaussian):
        return np.ones(len(upper[0]), dtype=np.int64)
    return np.where(upper[0] == upper[1], SQUARE, PRODUCT)
