"""`LinearRegression` and `Ridge` from noisy second moments.

Theorem. The matrix of sums and products is released as in `gram`, or around a released mean as in `centred`; the
coefficients solve (C + ridge) b = c, with C and c the covariances of the features with each other and with the target:
post-processing. Where no row was shrunk, and the features' spread stands out of the noise in every direction, there is
no ridge, and coefficients have intervals (`line_intervals`). Elsewhere C is the nearest matrix that can be a
covariance, and the ridge lifts it by as much as the noise moves it in the direction it moves it most, so that
directions which the noise hides get coefficients near 0 and not wild ones. It is not known how far such coefficients,
or those of shrunk rows, are from the truth: no interval is given, and `interval_note_` says why.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and listed values are public.
Source: Vu, Slavkovic 2009; Wang 2018 (noisy sufficient statistics with a ridge).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from tacit import parameters
from tacit.learning.columns import Reals, products
from tacit.learning.linear.intervals import told_line
from tacit.learning.model import Model, scales
from tacit.learning.second_moments.second_moments import moments_for

_SHARE = 0.6  # of the noise's largest move: by how much the ridge lifts
_PENALTY = "No intervals: a penalty holds the coefficients back."
_HIDDEN = (
    "No intervals: in some direction the features spread less than the noise, and a ridge holds the coefficients back, "
    "and it is not known how far. More rows, a larger epsilon, fewer columns or narrower bounds tell more."
)
_SHRUNK = (
    "No intervals: rows far from the released mean were shrunk to a ball around it, which keeps the noise small, and "
    "it is not known how far that moves the coefficients. More rows, a larger epsilon or narrower bounds tell more."
)


class _Linear(RegressorMixin, Model):
    """A line through noisy moments."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _alpha(self) -> float:
        return 0.0

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> Any:  # noqa: N803
        """Learn from rows of a curator and the name of the target, from arrays, or from `SecondMoments`, free."""
        alpha = self._alpha()
        moments, names, target, _ = moments_for(
            self, X, y, "number", analyst, around_mean=True, whole_if_clear=alpha == 0
        )
        assert target is not None
        aim = moments.feature(target)
        half, middle = scales([moments.feature(name) for name in names])
        own, level = moments.mean(names), float(moments.mean([target])[0])
        whole = moments.covariance([*names, target])  # of all together, so that no correlation is beyond 1
        inner, crossed = whole[:-1, :-1], whole[:-1, -1]
        told = None if alpha > 0 else told_line(moments, names, target)
        self.ridge_ = 0.0 if told is not None else _SHARE * moments.noise(names)
        held = inner + np.diag(self.ridge_ + alpha / (moments.count * np.square(half)) + 1e-12)
        slopes = np.linalg.solve(held, crossed).astype(np.float64) if told is None else told.slopes
        self.coef_ = slopes * aim.half / half
        self.intercept_ = float(aim.middle + aim.half * level - self.coef_ @ (middle + half * own))
        self.coef_interval_ = self.intercept_interval_ = None
        self.interval_note_ = _PENALTY if alpha > 0 else _HIDDEN if told is None else None if moments.whole else _SHRUNK
        if told is not None and moments.whole:
            reach = told.reach[1:] * aim.half / half
            self.coef_interval_ = np.stack([self.coef_ - reach, self.coef_ + reach], axis=1)
            ends = np.array([-1.0, 1.0]) * told.reach[0] * aim.half
            self.intercept_interval_ = self.intercept_ + ends
        self._line = (slopes, level - float(slopes @ own), aim.half, aim.middle)
        return self

    def predict(self, X: Any) -> Reals:  # noqa: N803
        """The line at these rows, each value clamped to its bounds."""
        rows = self._vectors(X)
        slopes, level, half, middle = self._line
        return np.asarray(middle + half * (level + products(rows, np.asarray(slopes)[:, None])[:, 0]))


class LinearRegression(_Linear):
    """Least squares with a ridge as large as the noise.

    epsilon, delta: the price; without a delta the noise is Laplace's. bounds, values, target_bounds: public facts about
    arrays. `coef_` has one number for each coordinate: a number column's slope, or what a listed value adds.
    `coef_interval_` and `intercept_interval_` hold, each with probability 0.95, the coefficients of the population that
    the rows are a sample of, values clamped to their bounds. They are None where the noise hides a direction, or where
    rows were shrunk to keep the noise small; `interval_note_` says why.

    >>> model = LinearRegression(epsilon=1, bounds=(0, 100), target_bounds=(0, 200)).fit([[20], [30]], [40, 60])
    >>> model.coef_.shape, str(model.receipt_["epsilon"])
    ((1,), '1')
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 0, bounds: Any = None, values: Any = None, target_bounds: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values
        self.target_bounds = target_bounds


class Ridge(_Linear):
    """Least squares with a penalty alpha on the squared coefficients, in addition to the ridge for the noise.

    Coefficients that are held back have no intervals; with alpha = 0 they are those of `LinearRegression`.

    >>> model = Ridge(alpha=2, epsilon=1, bounds=(0, 100), target_bounds=(0, 200)).fit([[20], [30]], [40, 60])
    >>> model.predict([[25], [26]]).shape
    (2,)
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        values: Any = None,
        target_bounds: Any = None,
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values
        self.target_bounds = target_bounds

    def _alpha(self) -> float:
        return float(parameters.non_negative("alpha", self.alpha))
