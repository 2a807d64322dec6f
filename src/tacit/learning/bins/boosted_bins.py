"""`BoostedBinsClassifier` and `BoostedBinsRegressor`: sums of one table for each column, which can be looked at.

Theorem, assumptions and source: `boosting`, `losses`. Take these models for tables: they cost about as much as one
histogram of each column, need no scaling, see steps and bends of numbers, and say what each value adds (`shape`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tacit import parameters
from tacit.learning.bins.binned import Binned, summed
from tacit.learning.bins.bins import cut_columns, read_bins
from tacit.learning.bins.boosting import Boosting, Learnt, bins_for, plan_boosting
from tacit.learning.bins.losses import FINE, Loss, ManyClasses, Numbers, TwoClasses, proportions
from tacit.learning.bins.shapes import shape_of, shapes_of
from tacit.learning.columns import Reals
from tacit.learning.second_moments.discriminant import in_order
from tacit.learning.training import Training, training
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened

_MOST_CELLS = 1 << 20


class _BoostedBins(Binned):
    """What the two share."""

    bins: Any
    rounds: Any
    _levels: Reals
    _tables: list[Reals]
    _counts: list[Reals]

    def _learn(self, given: Training, loss: Loss, analyst: str | None) -> Finding:
        epsilon, delta = self._budget()
        rounds = None if self.rounds is None else parameters.whole("rounds", self.rounds, least=1)
        bins = cut_columns(given.features, self.bins, bins_for(epsilon))
        cells = loss.scores * sum(each.size for each in bins)
        if cells > _MOST_CELLS:
            allowed = f"at most {_MOST_CELLS:,} cells: bins of all columns, times classes"
            raise parameters.refuse("columns", allowed, cells)
        planned = plan_boosting(bins, loss, given.source.rows_per_unit, epsilon, delta, rounds)
        assert given.target is not None
        target = given.target

        def compute(opened: Opened, bits: BitSource) -> Content:
            columns, (codes,), counts = read_bins(opened, bins, target.name)
            meaning = opened.meanings(target.name)[0]
            if target.options is None:
                z = 2 * np.clip(codes - target.low, 0, target.width) - target.width
                aims = np.sign(z) * (np.abs(z) * FINE // target.width)
            else:
                aims = target.places(codes, meaning)
                known = aims >= 0
                columns, aims, counts = [each[known] for each in columns], aims[known], counts[known]
            return _content(planned, planned.learn(columns, aims, counts, bits), target.name)

        edges = [list(each.edges) if each.edges else each.size for each in bins]
        asked: dict[str, Any] = {
            "study": "boosted bins",
            "rounds": planned.rounds,
            "target": target.name,
            "edges": edges,
        }
        asked |= {"scores": loss.scores, "names": [each.feature.name for each in bins]}
        finding = given.source.release(asked, planned.price, compute, analyst=analyst)
        self._keep_bins(finding, bins)
        self._levels, whole, rows = (np.asarray(finding[name]) for name in ("levels", "tables", "rows"))
        places = np.cumsum([0, *(each.size for each in bins)])
        parts = pairwise(places.tolist())
        # a table's own mean belongs to the level, so that tables can be compared with each other
        self._tables, self._counts = [], []
        for start, end in parts:
            table, weights = whole[start:end], np.maximum(rows[start:end], 0.0) + 1e-9
            middle = weights @ table / weights.sum()
            self._levels = self._levels + middle
            self._tables.append(table - middle)
            self._counts.append(rows[start:end])
        self.n_iter_ = planned.rounds
        return finding

    def _sums(self, X: Any) -> Reals:  # noqa: N803
        bins = self._binned(X)
        return np.asarray(self._levels + summed(self._tables, bins))

    @property
    def feature_importances_(self) -> Reals:
        """How far each column moves the scores, on average over the released histograms; they add up to 1."""
        sizes = []
        for table, rows in zip(self._tables, self._counts, strict=True):
            weights = np.maximum(rows, 0.0) + 1e-9
            sizes.append(float(weights @ np.abs(table).mean(axis=1) / weights.sum()))
        total = sum(sizes)
        return np.array(sizes) / total if total > 0 else np.full(len(sizes), 1 / len(sizes))


def _content(planned: Boosting, learnt: Learnt, target: str) -> Content:
    bins = planned.bins
    names = [each.feature.name for each in bins for _ in range(each.size)]
    labels = [str(label) for each in bins for label in each.labels]
    tables, rows = np.vstack(learnt.tables), np.concatenate(learnt.counts)
    columns = [column("column", names), column("bin", labels)]
    single = tables.shape[1] == 1
    columns += [column("adds" if single else f"adds {place}", tables[:, place]) for place in range(tables.shape[1])]
    arrays = {"levels": learnt.level, "tables": tables, "rows": rows}
    return Content(f"Boosted bins of {target}", tuple(columns), (), arrays)


class BoostedBinsClassifier(ClassifierMixin, _BoostedBins):
    """Classes by sums of tables, one for each column.

    epsilon, delta: the price; without a delta the noise is Laplace's, and there are fewer rounds. bins: how many of
    equal width a number is cut into, or edges by column, such as a fitted `KBinsDiscretizer` has. rounds: how often
    each column is gone over, by epsilon where left out. bounds, values: public facts about arrays; classes: the list of
    classes, or "declared public" where those in y are.

    >>> model = BoostedBinsClassifier(epsilon=1, bounds=(0, 100), classes=["no", "yes"])
    >>> model.fit([[20], [80]], ["no", "yes"]).predict([[50]]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bins: Any = None,
        rounds: Any = None,
        bounds: Any = None,
        values: Any = None,
        classes: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bins = bins
        self.rounds = rounds
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> BoostedBinsClassifier:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        self._budget()
        given = training(self, X, y, "class")
        many = len(given.classes)
        self._learn(given, TwoClasses() if many == 2 else ManyClasses(many), analyst)
        self.classes_, order = in_order(given.classes)
        if many > 2:
            self._levels, self._tables = self._levels[order], [table[:, order] for table in self._tables]
        elif order == [1, 0]:
            self._levels, self._tables = -self._levels, [-table for table in self._tables]
        return self

    def decision_function(self, X: Any) -> Reals:  # noqa: N803
        """Scores of the classes; for two classes, how far the second is above the first."""
        scores = self._sums(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """Probabilities of the classes, in the order of `classes_`."""
        scores = self._sums(X)
        if scores.shape[1] == 1:
            second = proportions(1 / (1 + np.exp(-np.clip(scores[:, 0], -500, 500))))
            return np.stack([1 - second, second], axis=1)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class with the largest score."""
        scores = self._sums(X)
        best = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else np.argmax(scores, axis=1)
        return self.classes_[best]

    def shape(self, column: str) -> Finding:
        """What each value of a column adds to the scores (of two classes, to the second's), as a table and a chart."""
        return shape_of(self, column, self._scored(), "the score of")

    def shapes(self) -> Finding:
        """What every value of every column adds, as one table."""
        return shapes_of(self, self._scored(), "the score of")

    def _scored(self) -> list[str]:
        check_is_fitted(self)
        return [str(each) for each in (self.classes_[1:] if len(self.classes_) == 2 else self.classes_)]


class BoostedBinsRegressor(RegressorMixin, _BoostedBins):
    """Numbers by sums of tables, one for each column.

    epsilon, delta: the price; without a delta the noise is Laplace's, and there are fewer rounds. bins: how many of
    equal width a number is cut into, or edges by column, such as a fitted `KBinsDiscretizer` has. rounds: how often
    each column is gone over, by epsilon where left out. bounds, values, target_bounds: public facts about arrays.

    >>> model = BoostedBinsRegressor(epsilon=1, bounds=(0, 100), target_bounds=(0, 200))
    >>> model.fit([[20], [80]], [40, 160]).predict([[50]]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bins: Any = None,
        rounds: Any = None,
        bounds: Any = None,
        values: Any = None,
        target_bounds: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bins = bins
        self.rounds = rounds
        self.bounds = bounds
        self.values = values
        self.target_bounds = target_bounds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> BoostedBinsRegressor:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        self._budget()
        given = training(self, X, y, "number")
        self._learn(given, Numbers(), analyst)
        assert given.target is not None
        half, middle = given.target.half, given.target.middle
        self._levels = middle + half * self._levels
        self._tables = [half * table for table in self._tables]
        self._target_ends = (middle - half, middle + half)
        return self

    def predict(self, X: Any) -> Reals:  # noqa: N803
        """The sums, within the bounds of the target."""
        sums = self._sums(X)
        return np.clip(sums[:, 0], *self._target_ends)

    def shape(self, column: str) -> Finding:
        """What each value of a column adds to the target, as a table and a chart."""
        return shape_of(self, column, ["prediction"], "the")

    def shapes(self) -> Finding:
        """What every value of every column adds, as one table."""
        return shapes_of(self, ["prediction"], "the")
