"""The count, the sums and the second moments of several columns, released together: which numbers get which weight.

With u the row in units in which each column's bounds are -1 and 1, s = (n, sum u_j, sum u_i u_j) is wanted, and D s is
released for a matrix D of whole numbers (in the units of the codes), with the same noise in each coordinate. r is the
rows of a unit, d the columns; neighbours: one unit's rows, added or removed.

Theorem (box, Laplace). For each column the parts (1 + u)**2, 2 (1 - u**2), (1 - u)**2, which add up to 4 wherever u is
in [-1, 1], times b/4; and for each pair e u_i u_j. The L1 norm of a row's vector is at most d b + e d (d - 1)/2.
Theorem (box, Gaussian). a, b u_j, c (2 u_j**2 - 1), e u_i u_j: the squared L2 norm is at most
a**2 + d b**2 + d c**2 + e**2 d (d - 1)/2, each term at most 1 times its weight.
Theorem (L2 ball of radius R). a, b u_j, c u_j**2, e u_i u_j with e**2 <= 2 c**2: the squared L2 norm is at most
a**2 + b**2 R**2 + c**2 R**4, as sum_i u_i**4 + 2 sum_{i<j} (u_i u_j)**2 = |u|**4. (e = 41, c = 29; an L1 ball lies
in it.)
With Laplace noise and e = c the L1 norm is at most a + b T + c (T**2 + R**2)/2 where T bounds the L1 norm of u, as
sum_{i<=j} |u_i u_j| = (|u|_1**2 + |u|_2**2)/2.
Theorem (L1 ball of radius R, Laplace). e = 2 c: a + b R + c R**2, as sum u_i**2 + 2 sum_{i<j} |u_i u_j| = |u|_1**2.

The weights make the expected squared error of the covariance matrix least, to first order, at a reference that stands
for "bounds chosen with care" (squared means 0.1, variances 0.2 of the half width); they depend on public numbers only.
The least sum of k/w**2 has w ~ (k/l)**(1/3) where sum l w = 1, and w ~ (k/l)**(1/4) where sum l w**2 = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.moments.additive import Additive, gaussian, laplace
from tacit.statistics.moments.bounded import Bounded
from tacit.statistics.moments.clipping import FINE, Ball, clipped, clipped_totals
from tacit.statistics.source import Opened

Reals = NDArray[np.float64]
_MEAN_SQUARED, _VARIANCE, _PRODUCT_SQUARED = 0.1, 0.2, 0.03  # the reference
_DIGITS = 1 << 20  # weights are rounded down to whole numbers at least about this large


@dataclass(frozen=True, slots=True)
class Design:
    """What is released of s, and how far a unit moves it. Positions in s: the count, the sums, then pairs i <= j."""

    columns: tuple[Bounded, ...]
    ball: Ball | None
    rows: tuple[tuple[tuple[int, int], ...], ...]  # of D: (position in s, weight in whole numbers) where not zero
    noise: Additive

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of columns, in the order of s."""
        return pairs_of(len(self.columns))

    def units(self) -> Reals:
        """What the whole numbers of s are worth: s in units of u is s / units."""
        widths = [float(FINE if self.ball else each.width) for each in self.columns]
        return np.array([1.0, *widths, *(widths[i] * widths[j] for i, j in self.pairs)])

    def exact(self, opened: Opened) -> list[int]:
        """D s, in whole numbers."""
        return self.of(_clipped(opened, self.columns, self.ball) if self.ball else _boxed(opened, self.columns))

    def of(self, s: Sequence[int]) -> list[int]:
        """D s for this s."""
        return [sum(weight * s[place] for place, weight in row) for row in self.rows]

    def solver(self) -> Reals:
        """The least-squares solution of D s = released, for s in units of u."""
        matrix = np.zeros((len(self.rows), 1 + len(self.columns) + len(self.pairs)))
        for line, row in enumerate(self.rows):
            for place, weight in row:
                matrix[line, place] = float(weight)
        scaled = matrix * self.units()
        size = float(np.abs(scaled).max())
        return np.asarray(np.linalg.pinv(scaled / size) / size)

    def squared_error(self) -> float:
        """The squared error of the second moments, if the count were 1: designs are compared by it."""
        lines = self.solver()[1 + len(self.columns) :]
        doubled = np.array([1.0 if i == j else 2.0 for i, j in self.pairs])
        return float(doubled @ np.square(lines).sum(axis=1)) * self.noise.deviation**2


def pairs_of(columns: int) -> list[tuple[int, int]]:
    """All pairs i <= j."""
    return [(i, j) for i in range(columns) for j in range(i, columns)]


def design(
    columns: tuple[Bounded, ...], ball: Ball | None, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Design:
    """The design with the smallest error for the budget."""
    makers: list[Callable[..., Design]] = [_taxicab_ball if ball else _taxicab_box]
    if delta > 0:
        makers.append(_euclidean_ball if ball else _euclidean_box)
    made = [maker(columns, ball, rows_per_unit, epsilon, delta) for maker in makers]
    return min(made, key=Design.squared_error)


def _positions(columns: int) -> dict[tuple[int, ...], int]:
    keys: list[tuple[int, ...]] = [(), *((j,) for j in range(columns)), *pairs_of(columns)]
    return {key: place for place, key in enumerate(keys)}


def _taxicab_box(
    columns: tuple[Bounded, ...], ball: None, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Design:
    """For each column its three parts, and the product of each pair."""
    d, at = len(columns), _positions(len(columns))
    # the squared coefficients of (u - m)**2 - v in the parts, and what the covariances take from the sums
    squares = 2 * ((1 + _MEAN_SQUARED - _VARIANCE) ** 2 + 4 * _MEAN_SQUARED) + (1 - _MEAN_SQUARED + _VARIANCE) ** 2
    own = d * squares + 4 * _MEAN_SQUARED * d * (d - 1)
    b, e = _least([own, d * (d - 1.0)], [float(d), d * (d - 1) / 2], 1 / 3)
    largest = max(each.width for each in columns) ** 2 * _DIGITS
    rows: list[tuple[tuple[int, int], ...]] = []
    sensitivity = 0
    for j, each in enumerate(columns):
        w = each.width
        weight = max(1, math.floor(b * largest) // (4 * w * w))
        square, single, one = at[j, j], at[(j,)], at[()]
        rows.append(((square, weight), (single, 2 * w * weight), (one, w * w * weight)))
        rows.append(((square, -2 * weight), (one, 2 * w * w * weight)))
        rows.append(((square, weight), (single, -2 * w * weight), (one, w * w * weight)))
        sensitivity += 4 * w * w * weight
    for i, j in pairs_of(d):
        if i < j:
            weight = max(1, math.floor(e * largest) // (columns[i].width * columns[j].width))
            rows.append(((at[i, j], weight),))
            sensitivity += columns[i].width * columns[j].width * weight
    return Design(columns, None, tuple(rows), laplace(rows_per_unit * sensitivity, epsilon))


def _euclidean_box(
    columns: tuple[Bounded, ...], ball: None, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Design:
    """The count, the sums, the centred squares, the products."""
    d, at = len(columns), _positions(len(columns))
    count = d * (0.5 + _MEAN_SQUARED - _VARIANCE) ** 2 + _PRODUCT_SQUARED * d * (d - 1)
    sums = 4 * _MEAN_SQUARED * d + 2 * _MEAN_SQUARED * d * (d - 1)
    errors, sizes = [count, sums, d / 4, d * (d - 1.0)], [1.0, float(d), float(d), d * (d - 1) / 2]
    a, b, c, e = _least(errors, sizes, 1 / 4)
    largest = max(each.width for each in columns) ** 2 * _DIGITS
    rows: list[tuple[tuple[int, int], ...]] = [((at[()], math.floor(a * largest)),)]
    squared = math.floor(a * largest) ** 2
    for j, each in enumerate(columns):
        w = each.width
        first, second = math.floor(b * largest) // w, math.floor(c * largest) // (w * w)
        rows.append(((at[(j,)], first),))
        rows.append(((at[j, j], 2 * second), (at[()], -w * w * second)))
        squared += (first * w) ** 2 + (second * w * w) ** 2
    for i, j in pairs_of(d):
        if i < j:
            product = columns[i].width * columns[j].width
            weight = math.floor(e * largest) // product
            rows.append(((at[i, j], weight),))
            squared += (weight * product) ** 2
    return Design(columns, None, tuple(rows), gaussian(rows_per_unit**2 * squared, len(rows), epsilon, delta))


def _taxicab_ball(
    columns: tuple[Bounded, ...], ball: Ball, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Design:
    """The count, the sums, the squares, the products; the products twice where the ball is of the L1 norm."""
    twice = 2 if ball.norm == "l1" else 1
    t, k = ball.taxicab, ball.reach
    squares = k * k if ball.norm == "l1" else (t * t + k * k) // 2
    a, b, c = _ball_weights(ball, twice, t, squares, 1 / 3)
    sensitivity = rows_per_unit * (a + b * t + c * squares)
    return Design(columns, ball, _ball_rows(len(columns), a, b, c, twice * c), laplace(sensitivity, epsilon))


def _euclidean_ball(
    columns: tuple[Bounded, ...], ball: Ball, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Design:
    """The count, the sums, the squares times 29, the products times 41."""
    k = ball.reach
    a, b, c = _ball_weights(ball, math.sqrt(2), k, k * k, 1 / 4)
    squared = (29 * a) ** 2 + (29 * b * k) ** 2 + (29 * c * k * k) ** 2
    rows = _ball_rows(len(columns), 29 * a, 29 * b, 29 * c, 41 * c)
    return Design(columns, ball, rows, gaussian(rows_per_unit**2 * squared, len(rows), epsilon, delta))


def _ball_weights(ball: Ball, products: float, first: int, second: int, power: float) -> tuple[int, int, int]:
    """Whole weights of the count, the sums and the squares; these have weight _DIGITS."""
    d, k = ball.columns, float(ball.reach)
    errors = [(_VARIANCE * k * k) ** 2, 2 * (d + 1) * _MEAN_SQUARED * k * k, d + d * (d - 1) / products**2]
    sizes = [1.0, float(first), float(second)] if power == 1 / 3 else [1.0, float(first) ** 2, float(second) ** 2]
    a, b, c = _least(errors, sizes, power)
    return max(1, math.floor(_DIGITS * a / c)), max(1, math.floor(_DIGITS * b / c)), _DIGITS


def _ball_rows(d: int, count: int, sums: int, squares: int, products: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    at = _positions(d)
    rows: list[tuple[tuple[int, int], ...]] = [((at[()], count),)]
    rows += [((at[(j,)], sums),) for j in range(d)]
    rows += [((at[i, j], squares if i == j else products),) for i, j in pairs_of(d)]
    return tuple(rows)


def _least(errors: Sequence[float], sizes: Sequence[float], power: float) -> list[float]:
    """Weights w, with sum l w (power 1/3) or sum l w**2 (1/4) equal to 1, of the least sum k/w**2."""
    found = [(error / size) ** power if size > 0 else 0.0 for error, size in zip(errors, sizes, strict=True)]
    spent = sum(size * w ** (1 if power == 1 / 3 else 2) for size, w in zip(sizes, found, strict=True))
    return [w / (spent if power == 1 / 3 else math.sqrt(spent)) for w in found]


def _boxed(opened: Opened, columns: tuple[Bounded, ...]) -> list[int]:
    """s for z = 2 (code - low) - width, from the engine's exact sums."""
    d, pairs = len(columns), pairs_of(len(columns))
    products = [(each.name,) for each in columns] + [(columns[i].name, columns[j].name) for i, j in pairs]
    count, sums = opened.totals(products, {each.name: each.low for each in columns}, [each.name for each in columns])
    first, second = sums[:d], sums[d:]
    z = [2 * total - count * each.width for total, each in zip(first, columns, strict=True)]
    products_of_z = [
        4 * product - 2 * columns[j].width * first[i] - 2 * columns[i].width * first[j]
        + count * columns[i].width * columns[j].width
        for (i, j), product in zip(pairs, second, strict=True)
    ]  # fmt: skip
    return [count, *z, *products_of_z]


def _clipped(opened: Opened, columns: tuple[Bounded, ...], ball: Ball) -> list[int]:
    """s for the rows clipped to the ball."""
    return sums_of(clipped(opened.values(*(each.name for each in columns)), columns, ball))


def sums_of(rows: NDArray[np.int64]) -> list[int]:
    """s of whole numbers from -FINE to FINE, one line a row."""
    count, sums, products = clipped_totals(rows)
    return [count, *sums, *(products[i][j] for i, j in pairs_of(rows.shape[1]))]
