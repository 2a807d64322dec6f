"""A count and the sums of one column, released together: one noise for all of them instead of a share for each.

Let x lie in [low, high] on every row that is counted, W = high - low (whole numbers of the grid), a = x - low and
b = high - x, so that a + b = W; r is the rows of a unit, n the number of rows that are counted. Neighbours: the rows of
one unit, added or removed.

Theorem (a count and a sum). The parts A = sum of a, B = sum of b. On every row a and b are at least 0 and add up to W,
so a row moves (A, B) by exactly W in L1, wherever x lies, and a unit by at most r W, over all cells. Laplace noise of
scale r W/epsilon on each part is pure epsilon. n = (A + B)/W, and S = sum of (x - c) around the middle c is (A - B)/2.
Theorem (with squares). Let y = 10 a - W and z = 10 b - W: ten times the distance from a tenth of the width inside each
bound. y**2 + z**2 is convex in x and 82 W**2 at both bounds, so it is at most that in between. Let M be
floor(82 W**2/k) for a whole k >= 1, and the parts P1 = sum of floor(y**2/k), P3 = sum of floor(z**2/k), P2 = M n - P1 -
P3. On every row floor(y**2/k) + floor(z**2/k) <= floor((y**2 + z**2)/k) <= M, so all three are at least 0 and add up to
M: a unit moves them by at most r M in L1. With 82 W**2/M for k (a rounding of one part in 2**32, of the row alone) and
c the middle, y**2 - z**2 = 160 W (x - c) and y**2 + z**2 = 200 (x - c)**2 + 32 W**2 give
    n = (P1 + P2 + P3)/M,   S = 41 W/(80 M) (P1 - P3),
    T = sum of ((x - c)**2 - 17 W**2/150) = 41 W**2/(300 M) (P1 - 2 P2 + P3).
Why a tenth inside: with y = a and z = b (Bernstein's form) a variance has the least noise for values at a bound, and
more than three measures apart where they are spread evenly. A tenth inside it is at most 1.7 % noisier than that at a
bound, 17 % less for values spread evenly, and everywhere less than apart.
On L levels of cells (`levels`) all of this holds on each, so that L levels change by L times as much.

Theorem (no correlation). The parts' noises are independent and of one variance, and the rows (1, 1), (1, -1) and
(1, 1, 1), (1, 0, -1), (1, -2, 1) are orthogonal: so are the noises of n, S and T. Formulas may therefore add up
variances over n, S and T as over any other measures.

The gain: at the same epsilon the noise of n and of S is half as large in variance as with a share of one half
for each, and of a mean between 1 and 2 times less (`tacit.statistics.moments.one_column` releases the same parts).
With Gaussian noise nothing is gained: the L2 norm of (A, B) is that of (n, S), turned by 45 degrees, and with squares
the box (n, S, T) has less noise; so this is for Laplace noise only.

Sources: Bernstein's form of a polynomial, the inset being worked out here; Awan, Slavkovic 2021 for norms whose ball is
the hull of what a row can do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PAIR_WEIGHT = Fraction(7, 5)
"""The weight of a count and a sum together, where one measure has 1: at 7/5, about the root of 2, all have the same
relative noise."""
INSET = 10
"""Squares are taken of the distance from a tenth of the width inside each bound."""
SPREAD = (INSET - 1) ** 2 + 1
"""The sum of a row's two squares at a bound, in squared widths, with distances taken INSET times."""
SQUARE_CENTRE = Fraction(34, 75)
"""What is taken from a square, where the distance of a bound from the middle is 1: 2/3 - (1 - 2/INSET)**2/3."""
TRIPLE_WEIGHT = Fraction(3)
"""The weight of a count, a sum and a sum of squares together: as much as three measures by themselves."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one row adds to a measure where its value lies u of the way from the middle (0) to a bound (-1 or 1).

    It is `at` + slope u + curve u**2, in grid units.
    """

    at: Fraction
    slope: Fraction
    curve: Fraction = Fraction(0)

    def mean(self, first: Fraction, second: Fraction) -> Fraction:
        """What rows add on average, u being `first` and u**2 `second` on average."""
        return self.at + self.slope * first + self.curve * second


@dataclass(frozen=True, slots=True)
class Together:
    """Measures that are released as parts: at which places, how far a row moves the parts, and how to get them back.

    What it is called and what its fields are called stands in keys of ledgers (`curator.keys`), so both stay.
    """

    places: tuple[int, ...]  # of the measures, and of the parts
    size: int  # what the parts of one row add up to
    matrix: tuple[tuple[Fraction, ...], ...]  # measure = sum of factor * part

    @property
    def weight(self) -> Fraction:
        """The share of the budget that all of them have, a measure by itself having 1."""
        return PAIR_WEIGHT if len(self.places) == 2 else TRIPLE_WEIGHT

    @property
    def largest_share(self) -> Fraction:
        """The share of their joint budget that a measure by itself would need to be less noisy than together.

        Alone it has a variance of 2/share**2; two have 4 together, and of three the count has 6.
        """
        return Fraction(7, 10) if len(self.places) == 2 else Fraction(4, 7)

    def moved(self, offset: int) -> Together:
        """The same with the measures `offset` places further."""
        return replace(self, places=tuple(place + offset for place in self.places))

    def spread(self, place: int) -> float:
        """The deviation of the measure at this place, over that of one part."""
        return math.sqrt(float(sum(factor * factor for factor in self.matrix[self.places.index(place)])))

    def measures(self, parts: Sequence[Floats]) -> list[Floats]:
        """The measures from the parts, cell by cell."""
        return [
            np.sum([float(factor) * part for factor, part in zip(row, parts, strict=True)], axis=0)
            for row in self.matrix
        ]


def pair(places: tuple[int, int], width: int, *, doubled: bool) -> Together:
    """A count, and a sum around the middle; `doubled` where the sum is of 2 (x - c)."""
    half = Fraction(1) if doubled else Fraction(1, 2)
    return Together(places, width, ((Fraction(1, width),) * 2, (half, -half)))


def triple(places: tuple[int, int, int], width: int, largest: int, *, doubled: bool) -> Together:
    """A count, a sum around the middle, and a sum of squares around 17/150 of the squared width.

    `doubled` where the sums are of 2 (x - c) and of its square.
    """
    one = Fraction(1, largest)
    slope = Fraction(41 * width, 80 * largest) * (2 if doubled else 1)
    curve = Fraction(41 * width * width, 300 * largest) * (4 if doubled else 1)
    return Together(places, largest, ((one, one, one), (slope, Fraction(0), -slope), (curve, -2 * curve, curve)))


def unbundled(numbers: list[Floats], bundles: Sequence[Together]) -> list[Floats]:
    """Noisy measures from what was released: from parts where measures were released together, unchanged elsewhere."""
    found = list(numbers)
    for each in bundles:
        for place, column in zip(each.places, each.measures([numbers[place] for place in each.places]), strict=True):
            found[place] = column
    return found
