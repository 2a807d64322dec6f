"""`GaussianNB` and `CategoricalNB`: all counts, sums and squares of all columns and classes in one joint release.

Theorem (`GaussianNB`). With u = f (2 (code - low) - width), f = floor(L/width), so that |u| <= L, a row adds to the
numbers of its class: w L**2 to its count, and for each of m columns u L and u**2 - L**2/2. As |u L| <= L**2 and
|u**2 - L**2/2| <= L**2/2, it moves them by at most (w + 3 m/2) L**2 in the L1 norm and by the root of (w**2 + 5 m/4),
times L**2, in the L2 norm. Counted from the middle, a square costs half of what it would cost from 0.
Theorem (`CategoricalNB`). A row adds w to the count of its class, and 1 to the cell (its bin, its class) of each of m
columns: m + w in the L1 norm, the root of m + w**2 in the L2 norm.
r rows of a unit move them r times as far. One release of all columns, with noise for its own sensitivity, is what is
charged: there is no release for each column by itself, and no sensitivity taken from another statistic.

Post-processing. Means of classes, and their variances, are held back towards those of all rows as far as noise alone
would move them; cells are held back likewise towards the column's own shares.

Neighbours: one unit's rows, added or removed. Assumptions: bounds, listed values and classes are public.
Source: Vaidya, Shafiq, Basu, Hong 2013 (naive Bayes); Efron, Morris 1975 (holding means back).
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
from tacit.errors import QuestionError
from tacit.learning.bins.binned import Binned, summed
from tacit.learning.bins.bins import Bins, cut_columns
from tacit.learning.columns import Feature, Reals, products
from tacit.learning.second_moments.discriminant import Scoring, in_order
from tacit.learning.training import Training, training
from tacit.noise import BitSource
from tacit.plan.row_plan import Indicator
from tacit.statistics.finding import Content, column
from tacit.statistics.moments.additive import Additive, gaussian, laplace
from tacit.statistics.source import Opened, Term, Whole

_SPARE_BITS = 10
_SUMS_AT_ONCE = 600  # in one query
_MOST_NUMBERS = 1 << 17
_BINS = 16


def _noise(taxicab: int, squared: int, size: int, rows: int, epsilon: Fraction, delta: Fraction) -> Additive:
    """Laplace noise without a delta, otherwise whichever of the two is smaller."""
    pure = laplace(rows * taxicab, epsilon)
    if delta == 0:
        return pure
    round_one = gaussian(rows * rows * squared, size, epsilon, delta)
    return round_one if round_one.deviation < pure.deviation else pure


def _few_enough(numbers: int) -> None:
    if numbers > _MOST_NUMBERS:
        raise parameters.refuse(
            "columns", f"at most {_MOST_NUMBERS:,} numbers: columns or bins, times classes", numbers
        )


# -- GaussianNB ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sums:
    """What `GaussianNB` releases: for each class its count, and the sums and squares of each column."""

    features: tuple[Feature, ...]
    target: Feature
    length: int  # L
    weight: int  # w
    noise: Additive

    def exact(self, opened: Opened) -> list[int]:
        """The whole numbers, class after class."""
        assert self.target.options is not None
        classes = [Indicator(self.target.name, each) for each in self.target.options]
        asked: list[tuple[Term, ...]] = [(own,) for own in classes]
        asked += [(own, each.name) for own in classes for each in self.features]
        asked += [(own, each.name, each.name) for own in classes for each in self.features]
        centres = {each.name: each.low for each in self.features}
        using = [*(each.name for each in self.features), self.target.name]
        sums: list[int] = []
        for start in range(0, len(asked), _SUMS_AT_ONCE):
            sums += opened.totals(asked[start : start + _SUMS_AT_ONCE], centres, using)[1]
        k, m, one = len(classes), len(self.features), self.length**2
        found = []
        for own in range(k):
            count = sums[own]
            found.append(self.weight * one * count)
            for place, each in enumerate(self.features):
                first, second = sums[k + own * m + place], sums[k + k * m + own * m + place]
                factor = self.length // each.width
                found.append(factor * self.length * (2 * first - each.width * count))
                square = 4 * second - 4 * each.width * first + each.width**2 * count
                found.append(factor**2 * square - one // 2 * count)
        return found

    def release(self, opened: Opened, bits: BitSource) -> tuple[Reals, Reals, Reals, float]:
        """Counts by class, sums and squares by class and column, and the noise of a sum; in units of u/L."""
        one = self.length**2
        noisy = [float(Fraction(each, one)) for each in self.noise.release(self.exact(opened), bits)]
        table = np.array(noisy).reshape(self.target.size, 1 + 2 * len(self.features))
        counts, rest = table[:, 0] / self.weight, table[:, 1:].reshape(self.target.size, -1, 2)
        units = np.array([(self.length // each.width) * each.width / self.length for each in self.features])
        return counts, rest[:, :, 0] / units, rest[:, :, 1], self.noise.deviation / one


def plan_sums(
    features: tuple[Feature, ...], target: Feature, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Sums:
    """The release for a budget."""
    m, r = len(features), rows_per_unit
    size = target.size * (1 + 2 * m)
    _few_enough(size)
    length = 1 << (max(each.width for each in features).bit_length() + _SPARE_BITS)
    weight = max(math.isqrt(m) // 3, 1)
    taxicab = (2 * weight + 3 * m) * length**2 // 2
    squared = (4 * weight**2 + 5 * m) * length**4 // 4
    return Sums(features, target, length, weight, _noise(taxicab, squared, size, r, epsilon, delta))


class GaussianNB(Scoring):
    """Classes in which every number is normal, whatever the others are.

    epsilon, delta: the price; without a delta the noise is Laplace's. bounds: public facts about arrays; classes: the
    list of classes, or "declared public" where those in y are.

    >>> model = GaussianNB(epsilon=1, bounds=(0, 100), classes=["no", "yes"]).fit([[20], [80]], ["no", "yes"])
    >>> round(float(model.predict_proba([[50]]).sum()), 9)
    1.0
    """

    def __init__(self, *, epsilon: Any = None, delta: Any = 0, bounds: Any = None, classes: Any = None) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> GaussianNB:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        epsilon, delta = self._budget()
        given = training(self, X, y, "class")
        listed = [each.name for each in given.features if each.options is not None]
        if listed:
            raise QuestionError(f"GaussianNB is for numbers; {listed[0]!r} has listed values. Take CategoricalNB.")
        assert given.target is not None
        plan = plan_sums(given.features, given.target, given.source.rows_per_unit, epsilon, delta)
        names = [each.name for each in given.columns]

        def compute(opened: Opened, bits: BitSource) -> Content:
            counts, sums, squares, noise = plan.release(opened, bits)
            table = (column("class", [str(each) for each in given.classes]), column("rows", counts))
            arrays = {"counts": counts, "sums": sums, "squares": squares, "noise": noise}
            return Content(f"Naive Bayes of {names[-1]}", table, (), arrays)

        asked = {"study": "gaussian naive bayes", "target": names[-1], "classes": len(given.classes)}
        finding = given.source.release(asked, plan.noise.price, compute, analyst=analyst)
        self._keep(finding, given.features)
        self.classes_, order = in_order(given.classes)
        counts, sums, squares = (np.asarray(finding[name])[order] for name in ("counts", "sums", "squares"))
        shares, means, variances = normal_classes(counts, sums, squares, float(finding["noise"]), plan.weight)
        half = np.array([each.half for each in given.features])
        middle = np.array([each.middle for each in given.features])
        self.class_prior_ = shares
        self.theta_ = middle + half * means
        self.var_ = np.square(half) * variances
        self._means, self._variances = means, variances
        return self

    def _scores(self, X: Any) -> Reals:  # noqa: N803
        rows = self._vectors(X)
        inverse = 1 / self._variances
        level = np.log(self.class_prior_) - 0.5 * (np.log(self._variances) + np.square(self._means) * inverse).sum(
            axis=1
        )
        squares = products(np.square(rows), inverse.T)
        return np.asarray(products(rows, (self._means * inverse).T) - 0.5 * squares + level)


def normal_classes(counts: Reals, sums: Reals, squares: Reals, noise: float, weight: int) -> tuple[Reals, Reals, Reals]:
    """Shares, means and variances of the classes from released numbers, for rows between -1 and 1."""
    total = max(float(counts.sum()), noise / weight, 1.0)
    steady = np.maximum(counts, max(total / len(counts) / 4, 1.0))
    mean = np.clip(sums.sum(axis=0) / total, -1.0, 1.0)
    own = mean + (sums - steady[:, None] * mean) / steady[:, None]
    unsure = np.square(noise / steady)[:, None]
    between = np.maximum(np.square(own - mean).mean(axis=0) - unsure.mean(), 0.0)
    between = (between + between.mean()) / 2
    kept = between / (between + unsure + 1e-12)
    means = np.clip(mean + kept * (own - mean), -1.0, 1.0)
    spread = np.clip(squares.sum(axis=0) / total + 0.5 - np.square(mean), 1e-3, 1.0)
    within = np.maximum(spread - np.square(means - mean).mean(axis=0), 0.0)
    within = within + 0.1 * max(float(within.mean()), 0.01) + 2 * noise / total
    apart = np.clip((squares + 0.5 * steady[:, None]) / steady[:, None] - np.square(means), 0.0, 1.0)
    believed = 0.5 * np.square(within) / (0.5 * np.square(within) + 2 * unsure)
    least = 0.1 * within + np.minimum(noise / steady, 0.02)[:, None]
    variances = np.maximum(within + believed * (apart - within), least)
    return steady / steady.sum(), means, variances + (1 - kept) * between


# -- CategoricalNB ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cells:
    """What `CategoricalNB` releases: counts of the classes, and of each column's bins by class."""

    bins: tuple[Bins, ...]
    target: Feature
    weight: int
    noise: Additive

    def exact(self, opened: Opened) -> NDArray[np.int64]:
        """The whole numbers: totals of the classes, then column after column. Each column is one tally."""
        totals = self.weight * self._counts(opened, None)[0]
        return np.concatenate([totals, *(self._counts(opened, each).ravel() for each in self.bins)])

    def _counts(self, opened: Opened, own: Bins | None) -> Whole:
        """Rows by bin and class; without a column, by class alone."""
        asked = [] if own is None else [own.asked]
        names = [] if own is None else [own.feature.name]
        codes, rows = opened.tally(*asked, self.target.name)
        meanings = opened.meanings(*names, self.target.name)
        classes = self.target.places(codes[:, -1], meanings[-1])
        first = np.zeros(len(codes), dtype=np.int64) if own is None else own.of_tally(codes[:, 0], meanings[0])
        size = 1 if own is None else own.size
        inside = (classes >= 0) & (first >= 0) & (first < size)
        table = np.zeros((size, self.target.size), dtype=np.int64)
        np.add.at(table, (first[inside], classes[inside]), rows[inside])
        return table


def plan_cells(
    bins: tuple[Bins, ...], target: Feature, rows_per_unit: int, epsilon: Fraction, delta: Fraction
) -> Cells:
    """The release for a budget."""
    m = len(bins)
    size = target.size * (1 + sum(each.size for each in bins))
    _few_enough(size)
    weight = max(math.isqrt(m) // 2, 1)
    return Cells(bins, target, weight, _noise(m + weight, m + weight**2, size, rows_per_unit, epsilon, delta))


class CategoricalNB(Binned, Scoring):
    """Classes in which every column has its own shares of values, whatever the others are. Numbers are cut into bins.

    alpha: what is added to the rows of every cell. epsilon, delta: the price; without a delta the noise is Laplace's.
    bins: how many of equal width a number is cut into, or edges by column. bounds, values: public facts about arrays;
    classes: the list of classes, or "declared public" where those in y are.

    >>> model = CategoricalNB(epsilon=1, bounds=(0, 100), classes=["no", "yes"]).fit([[20], [80]], ["no", "yes"])
    >>> model.predict_proba([[50]]).shape
    (1, 2)
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bins: Any = None,
        bounds: Any = None,
        values: Any = None,
        classes: Any = None,
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.delta = delta
        self.bins = bins
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> CategoricalNB:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        epsilon, delta = self._budget()
        alpha = float(parameters.positive("alpha", self.alpha))
        given = training(self, X, y, "class")
        plan = self._planned(given, epsilon, delta)
        target = plan.target.name

        def compute(opened: Opened, bits: BitSource) -> Content:
            noisy = np.array(plan.noise.release([int(each) for each in plan.exact(opened)], bits), dtype=np.float64)
            totals, cells = noisy[: plan.target.size] / plan.weight, noisy[plan.target.size :]
            table = (column("class", [str(each) for each in given.classes]), column("rows", totals))
            return Content(f"Naive Bayes of {target}", table, (), {"totals": totals, "cells": cells})

        edges = [list(each.edges) if each.edges else each.size for each in plan.bins]
        asked: dict[str, Any] = {"study": "categorical naive bayes", "target": target, "edges": edges}
        asked |= {"names": [each.feature.name for each in plan.bins], "classes": len(given.classes)}
        finding = given.source.release(asked, plan.noise.price, compute, analyst=analyst)
        self._keep_bins(finding, plan.bins)
        self.classes_, order = in_order(given.classes)
        totals, cells = np.asarray(finding["totals"])[order], np.asarray(finding["cells"])
        noise = plan.noise.deviation
        steady = np.maximum(totals, max(float(totals.sum()) / len(totals) / 4, noise / plan.weight, 1.0))
        self.class_log_prior_ = np.log(steady / steady.sum())
        self.feature_log_prob_ = []
        at = 0
        for each in plan.bins:
            table = cells[at : at + each.size * len(order)].reshape(each.size, len(order))[:, order]
            at += each.size * len(order)
            self.feature_log_prob_.append(shares_of(table, steady, noise, alpha).T)
        return self

    def _planned(self, given: Training, epsilon: Fraction, delta: Fraction) -> Cells:
        assert given.target is not None
        bins = cut_columns(given.features, self.bins, _BINS)
        return plan_cells(bins, given.target, given.source.rows_per_unit, epsilon, delta)

    def _scores(self, X: Any) -> Reals:  # noqa: N803
        bins = self._binned(X)
        return np.asarray(self.class_log_prior_ + summed([each.T for each in self.feature_log_prob_], bins))


def shares_of(table: Reals, classes: Sequence[float] | Reals, noise: float, alpha: float) -> Reals:
    """Logarithms of each bin's share within the classes, one column for each class, from released counts."""
    rows = np.maximum(table, 0.0)
    whole = rows.sum(axis=1) + alpha
    common = whole / whole.sum()
    # cells that noise alone could have filled are held back: rows of the common shares are mixed in
    mixed = alpha * len(table) + noise * math.sqrt(len(table))
    made = (rows + mixed * common[:, None]) / (rows.sum(axis=0) + mixed)
    return np.asarray(np.log(made / made.sum(axis=0)))
