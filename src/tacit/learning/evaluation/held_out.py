"""Rows to learn from and rows to score with: drawn apart by coins that do not depend on the data.

Promise. Each row is held out with probability 1/PARTS, by a coin of its own. A row's error is a whole number from 0 to
`most` that depends on that row and on the model alone (`predictions`): 1 for a class that is wrong; for numbers the
square of the error that `evaluate` counts too (`residuals`): from 0 to GRID, which stands for the distance of the
target's bounds, or for a smaller largest error where that was asked for. The sum of the errors and the sum of (most -
error) are released: a row adds a vector of L1 norm `most`, and r rows of a unit add r times as much. Runs are compared
by the difference of the two.

Theorem. Where a unit has one row, it is either learned from or scored with: a run costs the larger of the two (parallel
composition given the coins, which are drawn alike for neighbours). Where it may have more, it costs both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.curator import Price
from tacit.learning.calibrated import Noise
from tacit.learning.columns import Reals
from tacit.learning.evaluation.predictions import decoded, predictor
from tacit.learning.evaluation.residuals import GRID, errors_of, in_steps, largest_error, steps_of
from tacit.learning.training import Training
from tacit.loss import events
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import BitSource, uniform_below
from tacit.parameters import Number
from tacit.statistics.source import ArraySource, Opened, Whole

PARTS = 5


@dataclass(frozen=True, slots=True)
class Halves:
    """Exact rows, paid for: to learn from, and to score with."""

    learned: Opened
    scored: Whole


def apart(opened: Opened, given: Training, bits: BitSource) -> Halves:
    """All rows that have a value in every column, in two parts."""
    names = [each.name for each in given.columns]
    codes = opened.values(*names)
    held = uniform_below(PARTS, len(codes), bits) == 0
    return Halves(opened_rows(codes[~held], given), codes[held])


def opened_rows(codes: Whole, given: Training) -> Opened:
    """Rows of codes as a source of arrays opens them."""
    known = tuple(given.source.variable(each.name) for each in given.columns)
    columns = {each.name: np.ascontiguousarray(codes[:, place]) for place, each in enumerate(known)}
    missing = {each.name: np.zeros(len(codes), dtype=bool) for each in known}
    return ArraySource(known, columns, missing).paid({}, Price(events.Composed(()), Fraction(0)), None)


def most_of(given: Training) -> int:
    """The largest error of a row."""
    return 1 if given.classes else GRID * GRID


def row_errors(model: Any, given: Training, codes: Whole, largest: Number | None = None) -> Whole:
    """The error of each row; for numbers, errors beyond the `largest` count as the largest."""
    assert given.target is not None
    meanings = [given.source.variable(each.name).meaning for each in given.columns]
    table, _ = decoded(codes[:, :-1], given.features, meanings[:-1])
    found, target = predictor(model).acquainted(given.features), given.target
    if given.classes:
        truth = target.places(codes[:, -1], meanings[-1])
        place_of = {each: place for place, each in enumerate(given.classes)}
        own = np.array([place_of[each] for each in found.classes], dtype=np.int64)
        # a class by its place, or the probability of the second one
        said = found.places(table, (lambda told: told) if found.asks == "class" else _second)
        return np.where((said >= 0) & (own[np.maximum(said, 0)] == truth), 0, 1).astype(np.int64)
    low, distance = target.middle - target.half, 2 * target.half
    said = found.places(table, lambda told: steps_of(told, low, low + distance))
    true = low + (codes[:, -1] - target.low).astype(np.float64) * float(target.step)
    cut = in_steps(largest_error(distance, largest), distance)
    wrong = errors_of(steps_of(true, low, low + distance).astype(np.int64), said, cut)
    return np.asarray(wrong * wrong)


def _second(told: Reals) -> Reals:
    return np.where(np.isnan(told), np.nan, np.where(told > 0.5, 1.0, 0.0))


def score_noise(given: Training, rows_per_unit: int, epsilon: Fraction, delta: Fraction) -> Noise:
    """The noise of the two sums: Laplace's, or with a delta Gaussian (an L2 norm is at most the L1 norm)."""
    sensitivity = rows_per_unit * most_of(given)
    if delta == 0:
        return Laplace(sensitivity=sensitivity, epsilon=epsilon)
    return Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, size=2)


def exact_score(errors: Whole, most: int) -> Whole:
    """The two sums."""
    wrong = int(errors.sum())
    return np.array([wrong, most * len(errors) - wrong], dtype=np.int64)


def released_score(errors: Whole, most: int, noise: Noise, bits: BitSource) -> tuple[float, float]:
    """The number by which runs are compared, and the mean score of a row: 1 less its error as a share of `most`."""
    wrong, right = (float(each) for each in np.asarray(noise.release(exact_score(errors, most), bits=bits)))
    return right - wrong, float(np.clip(right / max(right + wrong, float(most)), 0.0, 1.0))
