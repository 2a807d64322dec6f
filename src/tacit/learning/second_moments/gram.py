"""One noisy matrix of all sums and products of columns, from which linear models follow free of charge.

With v = (1, u_1, ..., 1 where the row has a listed value, ...) the row's vector with a constant (`columns`), the sums
of all v_i v_j are released together. Whole numbers throughout: v is L times that vector, each number being f (2 (code -
low) - width) with f = floor(L / width), so that |v_i| <= L and what a code stands for is known exactly.

Theorem (Gaussian noise). Weights 29 on squares and 41 on products: as 41**2 <= 2 29**2, a row moves the vector by at
most 29 (sum v_i**4 + 2 sum_{i<j} v_i**2 v_j**2)**(1/2) = 29 |v|**2 <= 29 L**2 (1 + m) in the L2 norm, for m columns.
A listed value's square is its product with the constant: the two are one number, of weight 50 (50**2 <= 29**2 + 41**2).
Two values of one column never meet: their product is 0 and is not released.
Theorem (Laplace noise). Weights 1, and 2 on listed values: sum_{i<=j} |v_i v_j| = (|v|_1**2 + |v|_2**2)/2
<= L**2 (1 + m)(2 + m)/2 in the L1 norm.
Theorem (squares alone, for scaling). Without products of different columns the L2 norm is at most
L**2 (29**2 (1 + m) + 41**2 m)**(1/2), the L1 norm at most L**2 (1 + 2 m): the constant, and for each column at most a
sum and a square, or one listed value of weight 50 or 2.
r rows of a unit move it r times as far, by the triangle inequality.

Neighbours: one unit's rows, added or removed.
Source: Dwork, Talwar, Thakurta, Zhang 2014 (second moments); Vu, Slavkovic 2009 (regression from them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.curator import Price
from tacit.learning.columns import Feature
from tacit.learning.second_moments.released import Released
from tacit.learning.second_moments.sums import exact_sums
from tacit.noise import BitSource
from tacit.statistics.moments.additive import Additive, gaussian, laplace
from tacit.statistics.source import Opened

_SQUARE, _PRODUCT, _LISTED = 29, 41, 50
_MOST = 400  # coordinates
_SPARE_BITS = 10  # a width divides L up to one part in a thousand


@dataclass(frozen=True, slots=True)
class Design:
    """Which sums are released, with which weights and which noise."""

    features: tuple[Feature, ...]
    products: bool
    length: int  # L
    noise: Additive

    @property
    def price(self) -> Price:
        """What it costs."""
        return self.noise.price

    @property
    def asked(self) -> dict[str, Any]:
        """What it is stored under, with the kinds of the columns: a truth value may be a number, or two values."""
        kinds = [[each.name, each.size] for each in self.features]
        return {"study": "second moments", "products": self.products, "coordinates": kinds}

    @property
    def pairs(self) -> list[tuple[int, int, int]]:
        """(i, j, weight) for what is released; position 0 is the constant."""
        return _pairs(self.features, self.products, gaussian_noise=not self.noise.is_laplace)

    @property
    def units(self) -> list[int]:
        """The whole number that stands for 1, for each position."""
        return [self.length] + [
            (self.length // each.width) * each.width if each.options is None else self.length
            for each in self.features
            for _ in range(each.size)
        ]

    def exact(self, opened: Opened) -> list[int]:
        """The weighted sums, in whole numbers."""
        table = self._moved(exact_sums(opened, self.features, self.products))
        return [weight * int(table[i, j]) for i, j, weight in self.pairs]

    def _moved(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Sums of products of v from those of the codes: v = a c + b."""
        a, b = [self.length], [0]
        for each in self.features:
            for _ in range(each.size):
                factor = self.length // each.width
                a.append(2 * factor if each.options is None else self.length)
                b.append(-factor * each.width if each.options is None else 0)
        factors, shifts = np.array(a, dtype=object), np.array(b, dtype=object)
        first = sums[0]
        crossed = np.outer(factors * first, shifts)
        moved = factors[:, None] * factors * sums + crossed + crossed.T + np.outer(shifts, shifts) * first[0]
        return np.asarray(moved)

    def release(self, opened: Opened, bits: BitSource) -> Released:
        """The matrix of whole rows with noise, in units of u, the deviation of each entry's noise, around 0."""
        noisy = self.noise.release(self.exact(opened), bits)
        size = 1 + sum(each.size for each in self.features)
        matrix, deviations = np.zeros((size, size)), np.zeros((size, size))
        units = self.units
        listed = _listed(self.features)
        for (i, j, weight), number in zip(self.pairs, noisy, strict=True):
            one = weight * units[i] * units[j]
            matrix[i, j] = matrix[j, i] = float(Fraction(number, one))
            deviations[i, j] = deviations[j, i] = self.noise.deviation / one
            if i == 0 and listed[j]:
                matrix[j, j], deviations[j, j] = matrix[i, j], deviations[i, j]
        return Released(matrix, deviations, np.zeros(size - 1), whole=True)


def design(
    features: Sequence[Feature], rows_per_unit: int, epsilon: Fraction, delta: Fraction, *, products: bool = True
) -> Design:
    """The release for this budget: Laplace noise without a delta, otherwise the one with less noise."""
    found = tuple(features)
    coordinates = sum(each.size for each in found)
    if coordinates > _MOST:
        hint = "Leave columns out, or list fewer values."
        raise parameters.refuse("columns", f"at most {_MOST} coordinates, one for each listed value", coordinates, hint)
    length = 1 << (max(each.width for each in found).bit_length() + _SPARE_BITS)
    m = len(found)
    taxicab = length**2 * ((1 + m) * (2 + m) // 2 if products else 1 + 2 * m)
    pure = Design(found, products, length, laplace(rows_per_unit * taxicab, epsilon))
    if delta == 0:
        return pure
    squared = (_SQUARE * (1 + m)) ** 2 if products else _SQUARE**2 * (1 + m) + _PRODUCT**2 * m
    size = len(_pairs(found, products, gaussian_noise=True))
    noise = gaussian(rows_per_unit**2 * length**4 * squared, size, epsilon, delta)
    round_one = Design(found, products, length, noise)
    return round_one if noise.deviation / _PRODUCT < pure.noise.deviation else pure


def _listed(features: Sequence[Feature]) -> list[bool]:
    return [False] + [each.options is not None for each in features for _ in range(each.size)]


def _pairs(features: Sequence[Feature], products: bool, *, gaussian_noise: bool) -> list[tuple[int, int, int]]:
    square, product, own = (_SQUARE, _PRODUCT, _LISTED) if gaussian_noise else (1, 1, 2)
    owner = [-1] + [place for place, each in enumerate(features) for _ in range(each.size)]
    listed = _listed(features)
    found = [(0, 0, square)] + [(0, j, own if listed[j] else product) for j in range(1, len(owner))]
    for i in range(1, len(owner)):
        if not listed[i]:
            found.append((i, i, square))
        if products:
            found += [(i, j, product) for j in range(i + 1, len(owner)) if owner[i] != owner[j]]
    return found
