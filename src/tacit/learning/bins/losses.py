"""What boosting fits: classes or numbers. Each loss says what a row adds, in whole numbers, and how far that reaches.

Everything that touches a row is exact: scores are sums of whole numbers (WEIGHT to 1), probabilities are looked up in
a table made once of public numbers, and residuals are whole numbers (FINE to 1) within a known reach.

Theorem (classes, first release). A row adds 1 to the cell (its bin, its class) of each of m columns, and w to the total
of its class: m + w in the L1 norm, the root of m + w**2 in the L2 norm.
Theorem (numbers, first release). A row adds FINE and its target z, |z| <= FINE, to its bin of each of m columns, and w
FINE, w z and w z**2/FINE to totals: (2 m + 3 w) FINE in the L1 norm, the root of (2 m + 3 w**2) in the L2 norm, times
FINE. The weight w of totals, about half the root of m, makes them far clearer than sums of all bins would be.
Theorem (residuals). Two classes: truth less probability, clipped at one half. Many classes: the vector of them, shrunk
to one half in the L2 norm (`margin_losses`), and so, with k classes, to half the root of k in the L1 norm. Numbers:
what is left of the target divided by a released scale, clipped at 1.

Why clipping at one half is harmless for two classes. Where a share q of equal rows has the second class, clipped
residuals balance at a probability p with q min(1 - p, 1/2) = (1 - q) min(p, 1/2): p is below one half exactly where q
is, and q = p/(p + 1/2) there, 1/2/(3/2 - p) above. So classes are separated at the same place with half the noise, and
probabilities are read off p in closed form (`proportions`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.learning.columns import Reals
from tacit.learning.linear.margin_losses import FINE, LOGISTIC
from tacit.learning.linear.rounds import WEIGHT
from tacit.statistics.source import Whole

__all__ = ["FINE", "WEIGHT", "Begun", "Loss", "ManyClasses", "Numbers", "TwoClasses", "proportions"]

_HALF = FINE // 2
_REACH = 16 * WEIGHT  # scores beyond count as this one
_PROBABILITIES: NDArray[np.int32] = np.rint(
    FINE / (1 + np.exp(-np.arange(-_REACH, _REACH + 1, dtype=np.float64) / WEIGHT))
).astype(np.int32)
_BLOCK = 1 << 16
_HELD = 20.0  # a column explains about a fifth of the target's variance, as a share of the squared scale
_LEAST_SHARE = 0.02  # of a class, for the level of its score
_WIDEST = 2.0  # deviations of the target at which its residual is clipped


@dataclass(frozen=True, slots=True)
class Begun:
    """What the first release says: the level of the scores, and for each column the rows and residuals of its bins."""

    rows: float
    level: Reals
    counts: list[Reals]
    sums: list[Reals]
    count_noise: float  # of the rows in a bin
    noise: float  # of a bin's residuals, roughly
    slope: float  # of a residual's change with the score, where all scores are at the level
    scale: float  # what a residual of 1 means
    held: float = 1.0  # how far tables are held back: the inverse of their expected variance


def total_weight(columns: int) -> int:
    """How often a row counts in the totals."""
    return max(math.isqrt(columns) // 2, 1)


class Loss(ABC):
    """What boosting fits."""

    @property
    @abstractmethod
    def scores(self) -> int:
        """How many numbers a row is scored by."""

    @abstractmethod
    def first_moves(self, columns: int) -> tuple[int, int]:
        """How far a row moves the first release: in the L1 norm, and in the square of the L2 norm."""

    @abstractmethod
    def round_moves(self) -> tuple[int, int]:
        """How far a row moves the sums of residuals: in the L1 norm, and in the square of the L2 norm."""

    @abstractmethod
    def first_sums(self, columns: Sequence[NDArray[Any]], sizes: Sequence[int], target: Whole, counts: Whole) -> Whole:
        """The first release before noise."""

    @abstractmethod
    def begin(self, released: Whole, sizes: Sequence[int], noise: float) -> Begun:
        """What the first release says, once it has its noise."""

    @abstractmethod
    def residuals(self, scores: NDArray[Any], target: Whole, scale: float) -> NDArray[Any]:
        """Every row's residual, one column for each score."""


@dataclass(frozen=True, slots=True)
class _Classes(Loss):
    """Classes: the first release consists of counts."""

    classes: int

    def first_moves(self, columns: int) -> tuple[int, int]:
        """One cell of each column, and a total."""
        w = total_weight(columns)
        return columns + w, columns + w * w

    def first_sums(self, columns: Sequence[NDArray[Any]], sizes: Sequence[int], target: Whole, counts: Whole) -> Whole:
        """The totals of the classes, then counts by bin and class, column after column."""
        found = [
            np.bincount(column * self.classes + target, weights=counts, minlength=size * self.classes)
            for column, size in zip((each.astype(np.int64) for each in columns), sizes, strict=True)
        ]
        totals = total_weight(len(sizes)) * np.bincount(target, weights=counts, minlength=self.classes)
        return np.concatenate([totals, *found]).astype(np.int64)

    def _tables(self, released: Whole, sizes: Sequence[int]) -> tuple[list[Reals], Reals, float]:
        """The columns' tables of counts, the shares of the classes, none of them tiny, and the number of rows."""
        tables, at = [], self.classes
        for size in sizes:
            cells = released[at : at + size * self.classes]
            tables.append(np.asarray(cells, dtype=np.float64).reshape(size, self.classes))
            at += size * self.classes
        totals = np.maximum(released[: self.classes] / total_weight(len(sizes)), 1.0)
        shares = np.maximum(totals / totals.sum(), _LEAST_SHARE)
        return tables, shares / shares.sum(), float(totals.sum())


@dataclass(frozen=True, slots=True)
class TwoClasses(_Classes):
    """One score: how much likelier the second class is."""

    classes: int = 2

    @property
    def scores(self) -> int:
        """One score, that of the second class."""
        return 1

    def round_moves(self) -> tuple[int, int]:
        """One half: where residuals are clipped."""
        return _HALF, _HALF * _HALF

    def begin(self, released: Whole, sizes: Sequence[int], noise: float) -> Begun:
        """The level is the logarithm of the odds."""
        tables, shares, rows = self._tables(released, sizes)
        share = float(shares[1])
        counts = [table.sum(axis=1) for table in tables]
        sums = [(table[:, 1] - share * own)[:, None] for table, own in zip(tables, counts, strict=True)]
        level = np.array([math.log(share / (1 - share))])
        return Begun(rows, level, counts, sums, math.sqrt(2) * noise, noise, share * (1 - share), 1.0)

    def residuals(self, scores: NDArray[Any], target: Whole, scale: float) -> NDArray[Any]:
        """Truth less probability, clipped at one half."""
        chances = _PROBABILITIES[np.clip(scores[:, 0], -_REACH, _REACH) + _REACH]
        return np.asarray(np.clip(target.astype(np.int32) * FINE - chances, -_HALF, _HALF)[:, None])


@dataclass(frozen=True, slots=True)
class ManyClasses(_Classes):
    """A score for each class."""

    @property
    def scores(self) -> int:
        """One score for each class."""
        return self.classes

    def round_moves(self) -> tuple[int, int]:
        """One half in the L2 norm, to which the residuals of logistic regression are shrunk."""
        return math.isqrt(self.classes * LOGISTIC.reach * LOGISTIC.reach), LOGISTIC.reach * LOGISTIC.reach

    def begin(self, released: Whole, sizes: Sequence[int], noise: float) -> Begun:
        """The levels are the logarithms of the shares."""
        tables, shares, rows = self._tables(released, sizes)
        counts = [table.sum(axis=1) for table in tables]
        sums = [table - own[:, None] * shares for table, own in zip(tables, counts, strict=True)]
        slope = float(np.mean(shares * (1 - shares)))
        return Begun(rows, np.log(shares), counts, sums, math.sqrt(self.classes) * noise, noise, slope, 1.0)

    def residuals(self, scores: NDArray[Any], target: Whole, scale: float) -> NDArray[Any]:
        """Truth less probability, shrunk."""
        found = np.empty(scores.shape, dtype=np.int64)
        for start in range(0, len(scores), _BLOCK):
            block = slice(start, start + _BLOCK)
            own = LOGISTIC.residuals(scores[block].T.astype(np.float64), target[block], WEIGHT)
            found[block] = -own.T
        return found


@dataclass(frozen=True, slots=True)
class Numbers(Loss):
    """Numbers from -FINE to FINE; a score of WEIGHT is a target of FINE."""

    @property
    def scores(self) -> int:
        """One score, the predicted number."""
        return 1

    def first_moves(self, columns: int) -> tuple[int, int]:
        """FINE and the target in each column, and three totals."""
        w = total_weight(columns)
        return (2 * columns + 3 * w) * FINE, (2 * columns + 3 * w * w) * FINE * FINE

    def round_moves(self) -> tuple[int, int]:
        """One, in steps of FINE: where residuals are clipped."""
        return FINE, FINE * FINE

    def first_sums(self, columns: Sequence[NDArray[Any]], sizes: Sequence[int], target: Whole, counts: Whole) -> Whole:
        """The totals, then counts and sums by bin, column after column."""
        own = [np.full_like(target, FINE), target, target * target // FINE]
        found = [total_weight(len(sizes)) * np.array([int((each * counts).sum()) for each in own], dtype=np.int64)]
        for column, size in zip(columns, sizes, strict=True):
            found.append(np.bincount(column, weights=counts, minlength=size).astype(np.int64) * FINE)
            found.append(np.bincount(column, weights=counts * target, minlength=size).astype(np.int64))
        return np.concatenate(found)

    def begin(self, released: Whole, sizes: Sequence[int], noise: float) -> Begun:
        """The level is the mean; what is left is measured in released deviations."""
        numbers = np.asarray(released, dtype=np.float64) / FINE
        counts, totals, at = [], [], 3
        for size in sizes:
            counts.append(numbers[at : at + size])
            totals.append(numbers[at + size : at + 2 * size])
            at += 2 * size
        spread, w = noise / FINE, total_weight(len(sizes))
        rows, first, second = (float(each) for each in numbers[:3] / w)
        rows = max(rows, 1.0, spread / w)
        mean = min(max(first / rows, -1.0), 1.0)
        mean *= mean**2 / (mean**2 + (spread / w / rows) ** 2 + 1e-12)  # a mean that noise could have made is held back
        variance = min(max(second / rows - mean * mean, spread / w / rows, 1e-4), 1.0)
        scale = min(max(_WIDEST * math.sqrt(variance), 2.0**-9), 2.0)
        sums = [((total - mean * own) / scale)[:, None] for total, own in zip(totals, counts, strict=True)]
        return Begun(rows, np.array([mean]), counts, sums, spread, spread / scale, 1 / scale, scale, _HELD / scale**2)

    def residuals(self, scores: NDArray[Any], target: Whole, scale: float) -> NDArray[Any]:
        """What is left of the target, in units of the scale, clipped at 1."""
        left = target * WEIGHT - scores[:, 0].astype(np.int64) * FINE
        one = max(round(scale * WEIGHT), 1)
        return np.asarray(np.clip(np.sign(left) * (np.abs(left) // one), -FINE, FINE)[:, None])


def proportions(chances: Reals) -> Reals:
    """The share of the second class at which clipped residuals balance, for two classes."""
    return np.where(chances < 0.5, chances / (chances + 0.5), 0.5 / (1.5 - chances))
