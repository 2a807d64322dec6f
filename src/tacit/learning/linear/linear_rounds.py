"""Linear models by rounds of noisy gradients, or by noisy Newton steps: the plan of all releases, and the learning.

Theorem. The releases are, one after the other: the sums of each class; for Newton steps one matrix of products; then T
gradients, each at weights made of what was released before. Every one is a vector of whole numbers whose sensitivity
`rounds` proves, whatever was released before it, so `calibrated` gives the noise of each and the price of all of them:
Gaussian noise by the composed event's exact price at (epsilon, delta), or Laplace noise without a delta. The rest is
post-processing.

The first release has this use: rows are moved to the released mean before they are shrunk to a ball. Bounds are wide,
and rows far from the middle of them in one common direction would spend the ball's radius on that direction alone. The
radius is small, so nearly every row is brought to the same length: no noise is spent on lengths that rows do not have.

Newton steps. The loss bends by about b times the released products G/n, where b is the average bend of a row's loss,
guessed from the variance of the scores that w' G w/n tells (`Loss.bend`); a step is the inverse of b (G/n + lift) times
the noisy gradient, the lift being as much as the noise moves G in the direction it moves it most. So G is bought once
(Bohning, Lindsay 1988, with the bend at its largest). Gradients: plain steps with momentum. Weights of the later half
of the rounds are averaged; of Newton steps with much budget, which arrive sooner, all but the first third.

Two classes have one score, so one residual a row, and noise for one column. The number of rounds, steps, radii and
shares depend on public numbers only. Radii, shares and momentum were chosen on breast_cancer, digits and Adult;
clipping at one half, bends, rounds and steps on other data (diabetes cut at 140, even and odd digits, the digits 0 to
4, ten columns of breast_cancer, sex and marriage in Adult, wine, iris, made-up sets).

Neighbours: one unit's rows, added or removed. Assumptions: bounds, listed values and classes are public.
Source: Bassily, Smith, Thakurta 2014 (noisy gradients); Abadi et al. 2016 (clipping); Ganesh, Haghifam,
Steinke, Thakurta 2023 (noisy Newton steps).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.curator import Price
from tacit.learning.calibrated import Noise, calibrated
from tacit.learning.columns import Feature, Reals
from tacit.learning.linear.margin_losses import FINE, Loss
from tacit.learning.linear.rounds import (
    Short,
    gradient,
    gradients_part,
    grid_rows,
    moved,
    products_part,
    sums_by_class,
    sums_part,
)
from tacit.learning.second_moments.centred import middle_of, noisy_products
from tacit.noise import BitSource
from tacit.statistics.source import Whole

GRADIENT, NEWTON = "gradient", "newton"
_MOMENTUM = 0.6
_REACH, _CONSTANT = 0.15, 0.3  # the radius as a share of the longest row, the constant as one of the radius
_MOST_COORDINATES = 1023
# the radius of the first sums, and their share of the budget; many classes have as many sums, each with its noise
_FIRST_OF_TWO, _FIRST_OF_MANY = (0.85, Fraction(20, 100)), (0.7, Fraction(10, 100))
_PRODUCTS_SHARE = Fraction(12, 100)
# for Newton steps from an epsilon of _MUCH on: the shares of the budget for the first sums and for the products, and
# the part of the rounds that is averaged: found on breast_cancer (whole, and ten columns; splits that no benchmark
# has), wine, iris, diabetes cut at 140, even and odd digits, and small and large ones
_MUCH, _FIRST_OF_MUCH, _PRODUCTS_OF_MUCH, _LAST_OF_MUCH = 0.5, Fraction(15, 100), Fraction(10, 100), Fraction(2, 3)
# (epsilon below, rounds, step); pure epsilon has few rounds, as their noise adds up without a root
_NEWTON_STEPS = ((_MUCH, 8, 1.0), (math.inf, 6, 1.0))
_TWO_CLASSES = ((0.2, 3, 24.0), (0.5, 6, 24.0), (5.0, 8, 24.0), (math.inf, 30, 24.0))
_MANY_CLASSES = ((0.2, 4, 8.0), (0.5, 10, 8.0), (2.0, 20, 10.0), (5.0, 30, 20.0), (math.inf, 30, 50.0))
_PURE_ROUNDS = 4
_BEND_OF_MANY = 0.5  # the most that softmax bends


@dataclass(frozen=True, slots=True)
class Learned:
    """Released numbers alone: weights (one column for each score), the centre, and the sums by class."""

    weights: Reals
    centre: Reals
    sums: Reals
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """Rows around the released centre, with their constant, and the places of their classes; then released numbers."""

    rows: Short
    classes: Whole
    count: float
    centre: Reals
    sums: Reals


@dataclass(frozen=True, slots=True)
class Around:
    """The first release: sums by class, of rows shrunk to one ball; then rows are moved, and shrunk to another."""

    features: tuple[Feature, ...]
    classes: int
    first_reach: int
    reach: int

    @property
    def coordinates(self) -> int:
        """How many a row has, without the constant."""
        return sum(each.size for each in self.features)

    @property
    def scores(self) -> int:
        """How many a row has."""
        return 1 if self.classes == 2 else self.classes

    @property
    def first_constant(self) -> int:
        """What a row adds to the count of its class."""
        return self.first_reach // 3

    @property
    def constant(self) -> int:
        """The coordinate that is the same in all rows."""
        return constant_of(self.reach)

    def begin(self, columns: Sequence[NDArray[Any]], meanings: list[str], noise: Noise, bits: BitSource) -> Begun:
        """The release. The last column has the places of the rows' classes; rows of no listed class are left out."""
        classes = columns[-1]
        known = (classes >= 0) & (classes < self.classes)
        narrow = np.promote_types(np.int8, np.min_scalar_type(self.classes))  # read in every round
        space = np.empty((self.coordinates + 1, len(classes)), dtype=np.int16)  # for all that follows
        rows = grid_rows(columns[:-1], self.features, meanings[:-1], out=space[1:])
        classes = classes[known].astype(narrow)
        space = space[:, : len(classes)]
        for line in rows:
            line[: len(classes)] = line[known]
        rows = space[1:]
        exact = sums_by_class(rows, classes, self.classes, self.first_constant, self.first_reach)
        sums = np.asarray(noise.release(exact, bits=bits), dtype=np.float64)
        count, centre = middle_of(sums, self.first_constant, noise)
        rows = moved(rows, centre.astype(np.int64), self.reach, self.constant, out=space)
        return Begun(rows, classes, count, centre, sums)


def around(features: tuple[Feature, ...], classes: int) -> Around:
    """The balls, from public numbers; or a refusal."""
    coordinates = sum(each.size for each in features)
    if coordinates > _MOST_COORDINATES:
        allowed = f"at most {_MOST_COORDINATES:,} coordinates, one for each listed value"
        raise parameters.refuse("columns", allowed, coordinates)
    longest = math.isqrt(len(features) * FINE * FINE)
    first_radius, _ = _FIRST_OF_TWO if classes == 2 else _FIRST_OF_MANY
    return Around(features, classes, math.floor(first_radius * longest), math.floor(_REACH * longest))


@dataclass(frozen=True, slots=True)
class BeginsAround:
    """A plan whose first release is that of `around`; what follows sees rows in the second ball."""

    around: Around

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns."""
        return self.around.features

    @property
    def scores(self) -> int:
        """How many a row has."""
        return self.around.scores

    @property
    def reach(self) -> int:
        """The radius of the ball."""
        return self.around.reach

    @property
    def constant(self) -> int:
        """The coordinate that is the same in all rows."""
        return self.around.constant


@dataclass(frozen=True, slots=True)
class Rounds(BeginsAround):
    """What is released, with which noise, at which price."""

    loss: Loss
    method: str
    count: int
    step: float
    last: int  # rounds whose weights are averaged
    noises: tuple[Noise, ...]
    price: Price

    def learn(self, columns: Sequence[NDArray[Any]], meanings: list[str], bits: BitSource) -> Learned:
        """All rounds. columns: the codes of each feature, and last the places of the rows' classes."""
        begun = self.around.begin(columns, meanings, self.noises[0], bits)
        rows, count = begun.rows, begun.count
        bent = self._bent(rows, count, bits) if self.method == NEWTON else None
        weights = np.zeros((len(rows), self.scores))
        speed, total = np.zeros_like(weights), np.zeros_like(weights)
        for turn in range(self.count):
            exact = gradient(rows, begun.classes, weights, self.reach, self.loss)
            noisy = np.asarray(self.noises[-1].release(exact, bits=bits), dtype=np.float64)
            slope = noisy / (float(FINE) * self.reach * count)
            speed = (
                self.step * bent.inverse(slope, weights) if bent is not None else _MOMENTUM * speed + self.step * slope
            )
            weights = weights - speed
            if turn >= self.count - self.last:
                total = total + weights
        return Learned(total / self.last, begun.centre, begun.sums)

    def _bent(self, rows: Short, count: float, bits: BitSource) -> _Bent:
        """How the loss bends, from noisy products."""
        scale = float(self.reach) ** 2 * count
        matrix, deviations = noisy_products(rows, self.noises[1], bits)
        values, directions = np.linalg.eigh(matrix / scale)
        lift = 2 * float(deviations.min()) / scale * math.sqrt(len(rows)) + 1e-6
        return _Bent(self.loss, np.maximum(values, 0.0), directions, lift)


@dataclass(frozen=True, slots=True)
class _Bent:
    """Released second moments by their directions, and by how much noise may have lowered them."""

    loss: Loss
    values: Reals
    directions: Reals
    lift: float

    def inverse(self, slope: Reals, weights: Reals) -> Reals:
        """The step for a gradient at these weights."""
        own = self.directions.T @ weights
        variance = float(self.values @ np.square(own).mean(axis=1))
        bend = self.loss.bend(variance) if weights.shape[1] == 1 else _BEND_OF_MANY
        lifted = bend * (self.values + self.lift)
        return np.asarray(self.directions @ ((self.directions.T @ slope) / lifted[:, None]))


def constant_of(reach: int) -> int:
    """The constant coordinate that goes with a radius."""
    return math.floor(_CONSTANT * reach)


def plan_rounds(
    features: tuple[Feature, ...],
    classes: int,
    rows_per_unit: int,
    epsilon: Fraction,
    delta: Fraction,
    *,
    loss: Loss,
    method: str,
) -> Rounds:
    """The rounds for a budget, from public numbers."""
    own = around(features, classes)
    much = method == NEWTON and delta > 0 and epsilon >= _MUCH
    share = _FIRST_OF_MUCH if much else (_FIRST_OF_TWO if classes == 2 else _FIRST_OF_MANY)[1]
    count, step = _schedule(classes, epsilon, delta, method)
    last = math.ceil(count * _LAST_OF_MUCH) if much else count // 2 + count % 2
    r, reach, constant, size = rows_per_unit, own.reach, own.constant, own.coordinates
    parts = [sums_part(r, own.first_constant, own.first_reach, size, classes, share)]
    if method == NEWTON:
        parts.append(products_part(r, constant, reach, size, _PRODUCTS_OF_MUCH if much else _PRODUCTS_SHARE))
    left = 1 - sum((each.share for each in parts), Fraction(0))
    parts.append(gradients_part(r, constant, reach, size, own.scores, loss.reach, left, count))
    noises, price = calibrated(parts, epsilon, delta)
    return Rounds(own, loss, method, count, step, last, noises, price)


def _schedule(classes: int, epsilon: Fraction, delta: Fraction, method: str) -> tuple[int, float]:
    """How many rounds, and how long a step is."""
    table = _NEWTON_STEPS if method == NEWTON else _TWO_CLASSES if classes == 2 else _MANY_CLASSES
    count, step = next((count, step) for below, count, step in table if epsilon < below)
    return (min(count, _PURE_ROUNDS), step) if delta == 0 else (count, step)
