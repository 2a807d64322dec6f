"""`LogisticRegression` for two or many classes, by noisy gradients with momentum.

Theorem. First the sums of each class are released, then T gradients, one after the other, each at weights made of what
was released before. Every release is discrete Gaussian noise on whole numbers whose sensitivity `rounds` proves, so
the whole is the composition of 1 + T such events, and that composed event is what is charged: its noise is the least,
up to one part in a million, for which the accountant says (epsilon, delta). The rest is post-processing.

What the first release is for: rows are moved to the released mean before they are shrunk to a ball. Bounds are wide,
and rows far from the middle of them in one common direction would spend the ball's radius on that direction alone.

The number of rounds, the steps and the shares of the budget depend on public numbers only.

Neighbours: one unit's rows, added or removed. Assumptions: bounds, listed values and classes are public.
Source: Bassily, Smith, Thakurta 2014 (noisy gradients); Abadi et al. 2016 (clipping); the discrete noise as in
`tacit.mechanisms.gaussian`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.learning.columns import Feature, Reals
from tacit.learning.discriminant import Scoring, in_order
from tacit.learning.rounds import FINE, gradient, grid_rows, shrunk, sums_by_class
from tacit.learning.second_moments import SecondMoments
from tacit.learning.training import training
from tacit.loss import calibrate, compose, events
from tacit.loss.rounding import sqrt_up
from tacit.mechanisms import Gaussian
from tacit.noise import BitSource
from tacit.statistics.finding import Content, column
from tacit.statistics.source import Opened, Whole

_FIRST_SHARE = Fraction(15, 100)  # of the budget: for the sums of each class
_MOMENTUM = 0.6
_FIRST_REACH, _REACH, _CONSTANT = 0.7, 0.15, 0.3  # radii as shares of the longest row, and the constant's of the radius
_MORE_NOISE = Fraction(1_000_001, 1_000_000)
# (epsilon below, rounds, step): found on public data, by the ratio of what a round tells to its noise
_TWO_CLASSES = ((0.2, 3, 12.0), (0.5, 6, 12.0), (5.0, 8, 12.0), (math.inf, 30, 12.0))
_MANY_CLASSES = ((0.2, 3, 8.0), (0.5, 8, 6.0), (2.0, 30, 6.0), (5.0, 30, 16.0), (math.inf, 30, 40.0))


@dataclass(frozen=True, slots=True)
class Rounds:
    """What is released: the sums by class, then `count` gradients."""

    features: tuple[Feature, ...]
    classes: int
    count: int
    step: float
    first_reach: int
    reach: int
    first: Gaussian
    each: Gaussian

    @property
    def first_constant(self) -> int:
        """What a row adds to the count of its class."""
        return self.first_reach // 3

    @property
    def constant(self) -> int:
        """The coordinate that is the same in all rows."""
        return math.floor(_CONSTANT * self.reach)

    @property
    def event(self) -> events.Event:
        """All of it."""
        return events.Composed((self.first.event, events.Repeated(self.each.event, self.count)))

    def learn(self, codes: Whole, meanings: list[str], bits: BitSource) -> tuple[Reals, Reals, Reals]:
        """Weights, the centre in whole numbers, and the released sums by class."""
        rows = grid_rows(codes[:, :-1], self.features, meanings[:-1])
        classes = codes[:, -1]
        known = (classes >= 0) & (classes < self.classes)
        rows, classes = rows[known], classes[known]
        exact = sums_by_class(shrunk(rows, self.first_reach), classes, self.classes, self.first_constant)
        sums = np.asarray(self.first.release(exact, bits=bits), dtype=np.float64)
        count, centre = self._middle(sums)
        moved = shrunk(rows - centre.astype(np.int64), self.reach)
        whole = np.hstack([np.full((len(moved), 1), self.constant, dtype=np.int64), moved])
        weights, speed = np.zeros((whole.shape[1], self.classes)), np.zeros((whole.shape[1], self.classes))
        total = np.zeros_like(weights)
        for step in range(self.count):
            noisy = np.asarray(self.each.release(gradient(whole, classes, weights, self.reach), bits=bits))
            speed = _MOMENTUM * speed + noisy / (float(FINE) * self.reach * count)
            weights = weights - self.step * speed
            if 2 * step >= self.count:
                total += weights
        return total / (self.count - (self.count + 1) // 2), centre, sums

    def _middle(self, sums: Reals) -> tuple[float, Reals]:
        """The number of rows, and their mean, held back as far as noise alone would move it."""
        deviation = self.first.scale
        count = max(float(sums[:, 0].sum()) / self.first_constant, 1.0)
        mean = sums[:, 1:].sum(axis=0) / count
        noise = len(mean) * self.classes * (deviation / count) ** 2
        size = float(mean @ mean)
        kept = max(0.0, 1 - noise / size) if size > 0 else 0.0
        return count, np.clip(np.rint(mean * kept), -FINE, FINE)


def plan_rounds(
    features: tuple[Feature, ...], classes: int, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Rounds:
    """The rounds for a budget, from public numbers."""
    if delta == 0:
        hint = "LinearDiscriminantAnalysis has one."
        raise parameters.refuse("delta", "above 0: noisy gradients have no pure guarantee here", 0, hint)
    longest = math.isqrt(len(features) * FINE * FINE)
    first_reach, reach = math.floor(_FIRST_REACH * longest), math.floor(_REACH * longest)
    count, step = _schedule(classes, epsilon)
    width = sum(each.size for each in features) + 1
    if width > 1 << 10:
        raise parameters.refuse("columns", "at most 1,023 coordinates, one for each listed value", width - 1)
    base = calibrate.gaussian_sigma(1, epsilon, delta)
    first_squared = (first_reach // 3) ** 2 + first_reach**2
    squared = FINE**2 * (math.floor(_CONSTANT * reach) ** 2 + reach**2)
    made = [
        (sqrt_up(Fraction(rows_per_unit**2 * first_squared)), sqrt_up(1 / _FIRST_SHARE)),
        (sqrt_up(Fraction(rows_per_unit**2 * squared)), sqrt_up(count / (1 - _FIRST_SHARE))),
    ]
    while True:
        first, each = (
            Gaussian(sensitivity=size, sigma=size * base * factor, size=width * classes) for size, factor in made
        )
        rounds = Rounds(features, classes, count, step, first_reach, reach, first, each)
        if compose([rounds.event]).delta(epsilon) <= delta:
            return rounds
        base *= _MORE_NOISE


def _schedule(classes: int, epsilon: Fraction) -> tuple[int, float]:
    """How many rounds, and how long a step is."""
    table = _TWO_CLASSES if classes == 2 else _MANY_CLASSES
    return next((count, step) for below, count, step in table if epsilon < below)


class LogisticRegression(Scoring):
    """Classes by noisy gradients.

    epsilon, delta: the price; a delta is needed. bounds, values: public facts about arrays; classes: the list of
    classes, or "declared public" where those in y are. `coef_` and `intercept_` give the scores of rows that are not
    shrunk: those nearer than the radius to the released centre.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 0, bounds: Any = None, values: Any = None, classes: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> LogisticRegression:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        if isinstance(X, SecondMoments):
            raise parameters.refuse("X", "rows of a curator or arrays: second moments do not have it", "SecondMoments")
        epsilon, delta = self._budget()
        given = training(self, X, y, "class")
        rounds = plan_rounds(given.features, len(given.classes), given.source.rows_per_unit, epsilon, delta)
        names = [each.name for each in given.columns]

        def compute(opened: Opened, bits: BitSource) -> Content:
            codes, meanings = opened.values(*names), opened.meanings(*names)
            assert given.target is not None
            codes[:, -1] = given.target.places(codes[:, -1], meanings[-1])
            weights, centre, sums = rounds.learn(codes, meanings, bits)
            coordinates = ["1", *(name for each in rounds.features for name in each.coordinates)]
            table = (column("coordinate", coordinates), column("weight", weights[:, -1] - weights[:, 0]))
            arrays = {"weights": weights, "centre": centre, "sums": sums}
            return Content(f"Logistic regression of {names[-1]}", table, (), arrays)

        asked = {"study": "logistic regression", "rounds": rounds.count, "target": names[-1]}
        asked |= {"coordinates": [[each.name, each.size] for each in given.columns]}
        price = Price(rounds.event, epsilon, delta)
        finding = given.source.release(asked, price, compute, analyst=analyst)
        self._keep(finding, given.features)
        self.classes_, order = in_order(given.classes)
        weights = np.asarray(finding["weights"])[:, order]
        self._centre = np.asarray(finding["centre"]) / FINE
        self._radius = rounds.reach / FINE
        self._weights = weights[1:] / self._radius
        self._levels = weights[0] * rounds.constant / rounds.reach
        self.coef_ = self._weights.T
        self.intercept_ = self._levels - self._centre @ self._weights
        self.n_iter_ = rounds.count
        return self

    def _scores(self, X: Any) -> Reals:  # noqa: N803
        moved = self._vectors(X) - self._centre
        sizes = np.linalg.norm(moved, axis=1, keepdims=True)
        moved = moved * np.minimum(1.0, self._radius / np.maximum(sizes, 1e-12))
        return np.asarray(moved @ self._weights + self._levels)
