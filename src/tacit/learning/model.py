"""What all models share: an ordinary scikit-learn estimator that was paid for.

Promise: `fit` reads public facts, charges, and only then sees an exact number; what it keeps was released with noise or
is public, so a fitted model may be copied, pickled, shown and used at no cost. The model holds no ledger; rows of a
curator do, and every `fit` is charged there, that of a clone too. The same fit again is found there: it is free, and
gives the same model.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit import parameters
from tacit.curator.elsewhere import Elsewhere
from tacit.learning.columns import Feature, Reals, vectors
from tacit.learning.training import columns_of
from tacit.statistics.estimating import StudyEstimate, estimate
from tacit.statistics.finding import Finding

NETWORKS: Final = ("NeuralClassifier", "NeuralRegressor")
"""The models of `neural/`, by name, so that asking whether a model is one of them does not load torch."""


class Model(BaseEstimator):
    """The base of all models here."""

    epsilon: Any
    delta: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit = _passed_on(cls.fit)

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
        return parameters.budget(self.epsilon, self.delta)

    def _keep(self, finding: Finding | None, features: Sequence[Feature]) -> None:
        self._features = tuple(features)
        self.finding_ = finding
        self._day = datetime.now(UTC).date().isoformat()
        self.receipt_ = {} if finding is None else finding.receipt

    # -- before paying, and afterwards ----------------------------------------------------------------

    def estimate(self, X: Any, y: Any = None) -> StudyEstimate:  # noqa: N803
        """What `fit` with these rows of a curator would cost. Free: nothing is charged, run or read."""
        return estimate(clone(self).fit, X, y)

    def save(self, path: str | Path) -> Path:
        """Write the fitted model to a JSON file, which `learning.load` reads."""
        from tacit.learning.files import save

        return save(self, path)

    def _as_bytes(self) -> bytes:
        """Bytes that identify the model: equal for equal models, and different for all others."""
        from tacit.learning.files import to_bytes

        return to_bytes(self)

    def _without_own_code(self) -> Any:
        """The same model with no code but ours in it, which may see private rows. Most models have no other code."""
        return self

    def _fixed(self) -> Any:
        """The same model, made anew of plain numbers and texts: nothing else that was put into this one is kept.

        A model that holds more than a file can, or could fail at some rows and not at others, is refused here.
        """
        from tacit.learning.files import from_bytes

        return from_bytes(self._as_bytes(), "The model")

    def card(self) -> str:
        """A page about the fitted model, as HTML."""
        from tacit.learning.cards import model_card

        return model_card(self)

    def save_card(self, path: str | Path) -> Path:
        """Write the page to a file."""
        target = Path(path)
        target.write_text(self.card(), encoding="utf-8")
        return target

    def _rehearse(self) -> None:
        """Use the model for made-up rows: a file whose model fails at them is malformed."""
        check_is_fitted(self)
        made_up = self._made_up()
        many = max(map(len, made_up))
        rows = [[own[place % len(own)] for own in made_up] for place in range(many)]
        kind = object if any(each.options is not None for each in self._features) else np.float64
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in ("predict", "predict_proba", "decision_function", "transform"):
                if hasattr(self, name):
                    np.asarray(getattr(self, name)(np.array(rows, dtype=kind)))

    def _made_up(self) -> list[list[Any]]:
        """For each column, values for all of which the model must be able to predict."""
        return [[each.middle] if each.options is None else list(each.labels) for each in self._features]

    def _vectors(self, data: Any) -> Reals:
        """The rows to predict for, as vectors."""
        check_is_fitted(self)
        if any(each.options is not None for each in self._features):
            validate_data(self, data, reset=False, skip_check_array=True)
            columns = columns_of(data, [each.name for each in self._features])
            return vectors(list(columns.values()), self._features)
        matrix = validate_data(self, data, reset=False, dtype="numeric")
        return vectors(list(np.asarray(matrix).T), self._features)


def _passed_on(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The same `fit`; where the rows are elsewhere, it runs there, and its results are copied to the model here."""

    @functools.wraps(fit)
    def called(self: Model, X: Any, y: Any = None, **options: Any) -> Any:  # noqa: N803
        if not isinstance(X, Elsewhere):
            return fit(self, X, y, **options)
        there = X.fitted(self, y)
        given = self.get_params(deep=False)
        for name, value in vars(there).items():
            if name not in given:
                setattr(self, name, value)
        return self

    return called


def scales(features: Sequence[Feature]) -> tuple[Reals, Reals]:
    """For each coordinate, what a step of 1 and what 0 mean in the data's own units; for listed values, 1 and 0."""
    half = [each.half if each.options is None else 1.0 for each in features for _ in range(each.size)]
    middle = [each.middle if each.options is None else 0.0 for each in features for _ in range(each.size)]
    return np.array(half), np.array(middle)
