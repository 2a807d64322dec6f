"""`LinearDiscriminantAnalysis` from noisy second moments: one matrix has the classes' counts, means and common spread.

Theorem. The products of the features with the listed classes are the sums of each class; with the features' own
products they give the spread within the classes. All of it was released as in `gram`; what is computed from it is
post-processing. A class whose count does not stand out of its noise keeps a mean near that of all rows.

Neighbours: one unit's rows, added or removed. Assumptions: bounds, listed values and classes are public.
Source: Fisher 1936; the release as in `gram`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from tacit.learning.columns import Reals, products
from tacit.learning.model import Model
from tacit.learning.second_moments.second_moments import Moments, moments_for
from tacit.statistics.moments.positive import nearest_positive

_SHARE = 0.5


class Deciding(ClassifierMixin, Model):
    """A classifier by one linear score for each class (for two classes: one score), in units of the vectors."""

    classes_: Any
    _weights: Reals  # one column for each class
    _levels: Reals

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _scores(self, X: Any) -> Reals:  # noqa: N803
        return np.asarray(products(self._vectors(X), self._weights) + self._levels)

    def decision_function(self, X: Any) -> Reals:  # noqa: N803
        """Scores of the classes; for two classes, how far the second is above the first."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class with the largest score."""
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]


class Scoring(Deciding):
    """A linear classifier whose scores are logarithms of probabilities, up to a constant."""

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """Probabilities of the classes, in the order of `classes_`."""
        scores = self._scores(X)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def in_order(classes: tuple[Any, ...]) -> tuple[Any, list[int]]:
    """The classes in scikit-learn's order, and the old place of each."""
    try:
        order = sorted(range(len(classes)), key=lambda place: classes[place])
    except TypeError:
        order = list(range(len(classes)))
    return np.array([classes[place] for place in order]), order


class LinearDiscriminantAnalysis(Scoring):
    """Classes of one common spread, separated by lines.

    epsilon, delta: the price; without a delta the noise is Laplace's. bounds, values: public facts about arrays;
    classes: the list of classes, or "declared public" where those in y are.

    >>> model = LinearDiscriminantAnalysis(epsilon=1, bounds=(0, 100), classes=["no", "yes"])
    >>> model.fit([[20], [80]], ["no", "yes"]).predict_proba([[50]]).shape
    (1, 2)
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 0, bounds: Any = None, values: Any = None, classes: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> LinearDiscriminantAnalysis:  # noqa: N803
        """Learn from rows of a curator and the name of the target, from arrays, or from `SecondMoments`, free."""
        moments, names, target, classes = moments_for(self, X, y, "class", analyst)
        assert target is not None
        self.classes_, order = in_order(classes)
        shares, means, inner = _parts(moments, names, target)
        spread = nearest_positive(inner) + np.eye(len(inner)) * (_SHARE * moments.noise(names) + 1e-9)
        weights = np.linalg.solve(spread, means.T).astype(np.float64)
        levels = np.log(shares) - 0.5 * np.einsum("kd,dk->k", means, weights)
        self._weights, self._levels = weights[:, order], levels[order]
        self.priors_ = shares[order]
        return self


def _parts(moments: Moments, names: list[str], target: str) -> tuple[Reals, Reals, Reals]:
    """Shares and means of the classes, and the spread within them."""
    own, places = moments.mean(names), moments.places([target])
    counts, noise = moments.matrix[0, places], moments.deviations[0, places]
    steady = np.maximum(counts, 2 * noise)  # a count below its noise would make a mean arbitrary
    steady = np.maximum(steady, 1.0)
    sums = moments.matrix[np.ix_(places, moments.places(names))]
    means = np.clip(own + (sums - counts[:, None] * own) / steady[:, None], -1.0, 1.0)
    shares = steady / steady.sum()
    second = moments.second(names, names)
    return shares, means, second - (means.T * shares) @ means
