"""What all models share: an ordinary scikit-learn estimator that was paid for.

Promise: `fit` reads public facts, charges, and only then sees an exact number; what it keeps was released with noise or
is public, so a fitted model may be copied, pickled, shown and used for nothing. The model holds no ledger: rows of a
curator do, and every `fit` goes to it, also that of a clone. The same fit again is stored there: it is free, and gives
the same model.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit import parameters
from tacit.learning.columns import Feature, Reals, vectors
from tacit.learning.training import columns_of
from tacit.statistics.finding import Finding
from tacit.statistics.moments.additive import budget


class Model(BaseEstimator):
    """The base of all models here."""

    epsilon: Any
    delta: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        if getattr(self, "values", None) is not None:
            tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def _budget(self) -> tuple[Fraction, Fraction]:
        if self.epsilon is None:
            hint = "A model that is made of SecondMoments needs none; one that is fitted to data pays."
            raise parameters.refuse("epsilon", "given", None, hint)
        return budget(self.epsilon, self.delta)

    def _keep(self, finding: Finding | None, features: Sequence[Feature]) -> None:
        self._features = tuple(features)
        self.finding_ = finding
        self.receipt_ = {} if finding is None else finding.receipt

    def _vectors(self, data: Any) -> Reals:
        """The rows to predict for, as vectors."""
        check_is_fitted(self)
        if any(each.options is not None for each in self._features):
            validate_data(self, data, reset=False, skip_check_array=True)
            columns = columns_of(data, [each.name for each in self._features])
            return vectors(list(columns.values()), self._features)
        matrix = validate_data(self, data, reset=False, dtype="numeric")
        return vectors(list(np.asarray(matrix).T), self._features)


def scales(features: Sequence[Feature]) -> tuple[Reals, Reals]:
    """What a step of 1 and what 0 mean in the data's own units, for each coordinate; listed values are 1 and 0."""
    half = [each.half if each.options is None else 1.0 for each in features for _ in range(each.size)]
    middle = [each.middle if each.options is None else 0.0 for each in features for _ in range(each.size)]
    return np.array(half), np.array(middle)
