"""`LogisticRegression` for two or many classes: noisy Newton steps, noisy gradients, or a perturbed minimum.

Theorem, assumptions and source: `linear_rounds` for "newton" and "gradient", whose residuals are probability less
truth, clipped at one half (`margin_losses`); `perturbed` for "output" and "objective", which minimise the same loss.

Which method is best is decided by public numbers: Newton steps with two classes and a delta, gradients otherwise. A
perturbed minimum was nowhere better than these in `benchmarks/learning.py`, and takes hundreds of passes over the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import parameters
from tacit.learning.bins.losses import proportions
from tacit.learning.columns import Reals, products
from tacit.learning.linear.linear_rounds import GRADIENT, NEWTON, Rounds, plan_rounds
from tacit.learning.linear.margin_losses import FINE, LOGISTIC, Loss
from tacit.learning.linear.perturbed import OBJECTIVE, OUTPUT, Perturbed, plan_perturbed
from tacit.learning.model import scales
from tacit.learning.second_moments.discriminant import Deciding, Scoring, in_order
from tacit.learning.second_moments.second_moments import SecondMoments
from tacit.learning.training import training
from tacit.noise import BitSource
from tacit.statistics.finding import Content, column
from tacit.statistics.source import Opened

_METHODS = ("best", GRADIENT, NEWTON, OUTPUT, OBJECTIVE)


class LearnedInRounds(Deciding):
    """A linear classifier by rounds of noisy sums."""

    _loss: Loss
    _study: str

    def _method(self, classes: int) -> str:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> Any:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        if isinstance(X, SecondMoments):
            raise parameters.refuse("X", "rows of a curator or arrays: second moments do not have it", "SecondMoments")
        epsilon, delta = self._budget()
        given = training(self, X, y, "class")
        method, known = self._method(len(given.classes)), (given.features, len(given.classes))
        if method in (OUTPUT, OBJECTIVE):
            rounds: Rounds | Perturbed = plan_perturbed(*known, given.source.rows_per_unit, epsilon, delta, method)
        else:
            rounds = plan_rounds(*known, given.source.rows_per_unit, epsilon, delta, loss=self._loss, method=method)
        names = [each.name for each in given.columns]

        def compute(opened: Opened, bits: BitSource) -> Content:
            columns, meanings = opened.each_row(*names), opened.meanings(*names)
            assert given.target is not None
            columns[-1] = given.target.places(columns[-1], meanings[-1])
            found = rounds.learn(columns, meanings, bits)
            coordinates = ["1", *(name for each in rounds.features for name in each.coordinates)]
            table = (column("coordinate", coordinates), column("weight", found.weights[:, -1]))
            arrays = {"weights": found.weights, "centre": found.centre, "sums": found.sums}
            return Content(f"{self._study.capitalize()} of {names[-1]}", table, found.notes, arrays)

        asked = {"study": self._study, "method": rounds.method, "rounds": rounds.count, "target": names[-1]}
        asked |= {"coordinates": [[each.name, each.size] for each in given.columns]}
        finding = given.source.release(asked, rounds.price, compute, analyst=analyst)
        self._keep(finding, given.features)
        self.classes_, order = in_order(given.classes)
        self._take(rounds, np.asarray(finding["weights"]), np.asarray(finding["centre"]), order)
        return self

    def _take(self, rounds: Rounds | Perturbed, weights: Reals, centre: Reals, order: list[int]) -> None:
        two = weights.shape[1] == 1
        if two:  # the second class's score, above a first one of 0
            weights = np.hstack([np.zeros_like(weights), weights])
        weights = weights[:, order]
        self._centre = centre / FINE
        self._radius = rounds.reach / FINE
        self._weights = weights[1:] / self._radius
        self._levels = weights[0] * rounds.constant / rounds.reach
        half, middle = scales(rounds.features)  # coefficients are of the data in their own units, scores of vectors
        slopes = self._weights.T / half
        levels = self._levels - self._centre @ self._weights - slopes @ middle
        self.coef_ = slopes[1:] - slopes[:1] if two else slopes
        self.intercept_ = levels[1:] - levels[:1] if two else levels
        self.n_iter_ = rounds.count

    def _scores(self, X: Any) -> Reals:  # noqa: N803
        moved = self._vectors(X) - self._centre
        sizes = np.sqrt(products(np.square(moved), np.ones((moved.shape[1], 1))))
        moved = moved * np.minimum(1.0, self._radius / np.maximum(sizes, 1e-12))
        return np.asarray(products(moved, self._weights) + self._levels)


class LogisticRegression(LearnedInRounds, Scoring):
    """Classes by noisy Newton steps, noisy gradients, or a minimum with noise.

    method: "newton", "gradient", "output" (noise on the minimum), "objective" (noise on what is minimised: two classes,
    a delta, one row a unit), or "best", which chooses by public numbers. epsilon, delta: the price; without a delta
    the noise is Laplace's. bounds, values: public facts about arrays; classes: the list of classes, or "declared
    public" where those in y are. `coef_` and `intercept_`, in the data's own units, give the scores of rows that are
    not shrunk: those nearer than the radius to the released centre.

    >>> model = LogisticRegression(epsilon=1, delta=1e-6, bounds=(0, 100), classes=["no", "yes"])
    >>> model.fit([[20], [80]], ["no", "yes"]).predict_proba([[50]]).shape
    (1, 2)
    """

    _loss = LOGISTIC
    _study = "logistic regression"

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """Probabilities of the classes, in the order of `classes_`; for two, the effect of clipping is undone."""
        found = super().predict_proba(X)
        return proportions(found) if found.shape[1] == 2 else found

    def __init__(
        self,
        *,
        method: str = "best",
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        values: Any = None,
        classes: Any = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def _method(self, classes: int) -> str:
        if self.method not in _METHODS:
            raise parameters.refuse("method", f"one of {', '.join(_METHODS)}", self.method)
        if self.method != "best":
            return self.method
        return NEWTON if classes == 2 and self._budget()[1] > 0 else GRADIENT
