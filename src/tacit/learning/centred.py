"""Second moments around a released mean: rows are moved to it and shrunk to a ball, so a row moves them far less.

Theorem. Two releases, one after the other: the sum of (B, row), the row shrunk to a radius R0; then the sums of all
products of (C, z), where z is the row less the released mean, shrunk to a radius R. Both are vectors of whole numbers
whose sensitivities `rounds` proves, whatever was released before; `calibrated` gives their noise and the price of both.

Bounds are wide, and rows lie together somewhere between them. Around their mean they are a third as long, or less, as
around the middle of the bounds, and noise goes with the square of the length. Rows farther than R from the mean count
as rows at that distance in the same direction: what follows is about those rows, also its intervals.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and listed values are public.
Source: Dwork, Talwar, Thakurta, Zhang 2014 (second moments); the centre and the ball are our own choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.learning.calibrated import Noise, calibrated, deviation
from tacit.learning.columns import Feature, Reals
from tacit.learning.margin_losses import FINE
from tacit.learning.rounds import (
    PRODUCT,
    SQUARE,
    Short,
    grid_rows,
    moved,
    products,
    products_part,
    sums_by_class,
    sums_part,
)
from tacit.mechanisms import Gaussian
from tacit.noise import BitSource
from tacit.statistics.source import Opened, Whole

_FIRST_SHARE = Fraction(20, 100)
_FIRST_REACH, _REACH = 0.85, 0.45  # as shares of the longest row
_MOST_COORDINATES = 400


@dataclass(frozen=True, slots=True)
class Centred:
    """What is released, with which noise, at which price."""

    features: tuple[Feature, ...]
    first_reach: int
    reach: int
    noises: tuple[Noise, ...]
    price: Price

    @property
    def first_constant(self) -> int:
        """What a row adds to the count beside the first sums."""
        return self.first_reach // 3

    @property
    def constant(self) -> int:
        """The coordinate that is the same in all rows."""
        return self.reach // 2

    @property
    def asked(self) -> dict[str, Any]:
        """What it is stored under."""
        kinds = [[each.name, each.size] for each in self.features]
        return {"study": "second moments around the mean", "coordinates": kinds}

    def release(self, opened: Opened, bits: BitSource) -> tuple[Reals, Reals, Reals]:
        """The matrix around the centre, the deviation of each entry's noise, and the centre; in units of u."""
        names = [each.name for each in self.features]
        rows = grid_rows(opened.values(*names), self.features, opened.meanings(*names))
        none = np.zeros(rows.shape[1], dtype=np.int64)
        exact = sums_by_class(rows, none, 1, self.first_constant, self.first_reach)
        sums = np.asarray(self.noises[0].release(exact, bits=bits), dtype=np.float64)
        _, centre = middle_of(sums, self.first_constant, self.noises[0])
        rows = moved(rows, centre.astype(np.int64), self.reach, self.constant)
        matrix, deviations = noisy_products(rows, self.noises[1], bits)
        units = np.array([float(self.constant), *([float(FINE)] * (len(rows) - 1))])
        scale = np.outer(units, units)
        return matrix / scale, deviations / scale, centre / FINE


def centred(features: Sequence[Feature], rows_per_unit: int, epsilon: Fraction, delta: Fraction) -> Centred:
    """The releases for a budget, from public numbers."""
    found = tuple(features)
    coordinates = sum(each.size for each in found)
    if coordinates > _MOST_COORDINATES:
        allowed = f"at most {_MOST_COORDINATES} coordinates, one for each listed value"
        raise parameters.refuse("columns", allowed, coordinates, "Leave columns out, or list fewer values.")
    longest = math.isqrt(len(found) * FINE * FINE)
    first_reach, reach = math.floor(_FIRST_REACH * longest), math.floor(_REACH * longest)
    parts = [
        sums_part(rows_per_unit, first_reach // 3, first_reach, coordinates, 1, _FIRST_SHARE),
        products_part(rows_per_unit, reach // 2, reach, coordinates, 1 - _FIRST_SHARE),
    ]
    noises, price = calibrated(parts, epsilon, delta)
    return Centred(found, first_reach, reach, noises, price)


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


def weights_of_products(upper: tuple[Whole, Whole], noise: Noise) -> Whole:
    """What each product is multiplied with before its noise is added: the theorem's weights."""
    if not isinstance(noise, Gaussian):
        return np.ones(len(upper[0]), dtype=np.int64)
    return np.where(upper[0] == upper[1], SQUARE, PRODUCT)
