"""`PCA` and `StandardScaler` from noisy second moments.

Theorem. The covariance matrix (for scaling, its diagonal) was released as in `gram`; its eigenvectors, or the means and
deviations, are post-processing. Directions are of the data in their own units, as scikit-learn's are.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and listed values are public.
Source: Dwork, Talwar, Thakurta, Zhang 2014 (Gaussian noise on the second-moment matrix).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin

from tacit import parameters
from tacit.errors import QuestionError
from tacit.learning.columns import Feature, Reals
from tacit.learning.model import Model, scales
from tacit.learning.second_moments.second_moments import moments_for


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):
    """The directions in which the rows spread most.

    n_components: how many, all of them where left out. epsilon, delta: the price; without a delta the noise is
    Laplace's. bounds, values: public facts about arrays.

    >>> PCA(1, epsilon=1, bounds=(0, 100)).fit([[20, 30], [30, 40]]).components_.shape
    (1, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        values: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> PCA:  # noqa: N803
        """Learn from rows of a curator, from arrays, or from `SecondMoments`, free. y is not used."""
        wanted = self.n_components
        if wanted is not None:
            wanted = parameters.whole("n_components", wanted, least=1)

        def enough(features: Sequence[Feature]) -> None:
            most = sum(each.size for each in features)
            if wanted is not None and wanted > most:
                raise parameters.refuse("n_components", f"at most {most}, the number of coordinates", wanted)

        moments, names, _, _ = moments_for(self, X, y, None, analyst, around_mean=True, check=enough)
        half, middle = scales([moments.feature(name) for name in names])
        values, directions = np.linalg.eigh(moments.covariance(names) * np.outer(half, half))
        kept = slice(None) if wanted is None else slice(wanted)
        components = directions.T[::-1][kept]
        # scikit-learn's rule for signs: the entry of largest size is positive
        largest = np.abs(components).argmax(axis=1)
        self.components_ = components * np.sign(components[np.arange(len(components)), largest])[:, None]
        spread = np.maximum(values[::-1], 0.0)
        self.explained_variance_ = spread[kept]
        self.explained_variance_ratio_ = spread[kept] / max(float(spread.sum()), 1e-300)
        self.mean_ = middle + half * moments.mean(names)
        self.n_components_ = len(self.components_)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """The rows along the components, each value clamped to its bounds."""
        rows = self._vectors(X)
        half, middle = scales(self._features)
        return np.asarray((middle + half * rows - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Reals:  # noqa: N803
        """Rows of the components as rows of the coordinates."""
        return np.asarray(np.asarray(X) @ self.components_ + self.mean_)


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, Model):
    """Means and deviations of numbers, bought together.

    with_mean, with_std: whether the mean is taken off, and whether what is left is divided by the deviation.
    epsilon, delta: the price; without a delta the noise is Laplace's. bounds: public facts about arrays.

    >>> StandardScaler(epsilon=1, bounds=(0, 100)).fit([[20, 30], [30, 40]]).mean_.shape
    (2,)
    """

    def __init__(
        self,
        *,
        with_mean: bool = True,
        with_std: bool = True,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
    ) -> None:
        self.with_mean = with_mean
        self.with_std = with_std
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> StandardScaler:  # noqa: N803
        """Learn from rows of a curator, from arrays, or from `SecondMoments`, free. y is not used."""
        moments, names, _, _ = moments_for(self, X, y, None, analyst, products=False, check=_numbers_alone)
        features = [moments.feature(name) for name in names]
        half, middle = scales(features)
        own, places = moments.mean(names), moments.places(names)
        least = np.maximum(moments.deviations[places, places] / moments.count, 1e-9)
        variance = np.clip(moments.matrix[places, places] / moments.count - np.square(own), least, 1.0)
        self.mean_ = middle + half * own
        self.var_ = np.square(half) * variance
        self.scale_ = half * np.sqrt(variance)
        return self

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """(x - mean)/deviation, each value clamped to its bounds."""
        rows = self._vectors(X)
        half, middle = scales(self._features)
        level, size = self._moved()
        return np.asarray((middle + half * rows - level) / size)

    def _moved(self) -> tuple[Any, Any]:
        return self.mean_ if self.with_mean else 0.0, self.scale_ if self.with_std else 1.0

    def inverse_transform(self, X: Any) -> Reals:  # noqa: N803
        """Standardised numbers back to the data's own units."""
        level, size = self._moved()
        return np.asarray(np.asarray(X) * size + level)


def _numbers_alone(features: Sequence[Feature]) -> None:
    if any(each.options is not None for each in features):
        raise QuestionError("StandardScaler is for numbers; leave columns with listed values out.")
