"""`LogisticRegression` for two or many classes, by noisy Newton steps or by noisy gradients with momentum.

Theorem, assumptions and source: `linear_rounds`; the residuals are probability less truth (`margin_losses`).

Which method is best is decided by public numbers: Newton steps with two classes and a delta, gradients otherwise.

Output and objective perturbation are not offered. Their theorems are about the exact minimum of a sum over all rows. A
solver stops near it, and how near is not bounded by public numbers: with weights on a grid, enough equal rows make a
slope that no step of the grid brings below a stated bound, and a fit that is given up, repeated or slower because of
the rows tells about them. Rounds need no minimum: every step of theirs is priced as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import parameters
from tacit.errors import QuestionError
from tacit.learning.columns import Reals
from tacit.learning.discriminant import Deciding, Scoring, in_order
from tacit.learning.linear_rounds import GRADIENT, NEWTON, Rounds, plan_rounds
from tacit.learning.margin_losses import FINE, LOGISTIC, Loss
from tacit.learning.second_moments import SecondMoments
from tacit.learning.training import training
from tacit.noise import BitSource
from tacit.statistics.finding import Content, column
from tacit.statistics.source import Opened

_METHODS = ("best", GRADIENT, NEWTON)
_NOT_OFFERED = ("output", "objective")


class LearnedInRounds(Deciding):
    """A linear classifier by rounds of noisy sums."""

    _loss: Loss
    _study: str

    def _curvature(self, classes: int) -> float:
        """The most that the loss bends, in units of a score."""
        raise NotImplementedError

    def _method(self, classes: int) -> str:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> Any:  # noqa: N803
        """Learn from rows of a curator and the name of the target, or from arrays."""
        if isinstance(X, SecondMoments):
            raise parameters.refuse("X", "rows of a curator or arrays: second moments do not have it", "SecondMoments")
        epsilon, delta = self._budget()
        given = training(self, X, y, "class")
        rounds = plan_rounds(
            given.features,
            len(given.classes),
            given.source.rows_per_unit,
            epsilon,
            delta,
            loss=self._loss,
            curvature=self._curvature(len(given.classes)),
            method=self._method(len(given.classes)),
        )
        names = [each.name for each in given.columns]

        def compute(opened: Opened, bits: BitSource) -> Content:
            codes, meanings = opened.values(*names), opened.meanings(*names)
            assert given.target is not None
            codes[:, -1] = given.target.places(codes[:, -1], meanings[-1])
            found = rounds.learn(codes, meanings, bits)
            coordinates = ["1", *(name for each in rounds.features for name in each.coordinates)]
            table = (column("coordinate", coordinates), column("weight", found.weights[:, -1]))
            arrays = {"weights": found.weights, "centre": found.centre, "sums": found.sums}
            return Content(f"{self._study.capitalize()} of {names[-1]}", table, (), arrays)

        asked = {"study": self._study, "method": rounds.method, "rounds": rounds.count, "target": names[-1]}
        asked |= {"coordinates": [[each.name, each.size] for each in given.columns]}
        finding = given.source.release(asked, rounds.price, compute, analyst=analyst)
        self._keep(finding, given.features)
        self.classes_, order = in_order(given.classes)
        self._take(rounds, np.asarray(finding["weights"]), np.asarray(finding["centre"]), order)
        return self

    def _take(self, rounds: Rounds, weights: Reals, centre: Reals, order: list[int]) -> None:
        two = weights.shape[1] == 1
        if two:  # the second class's score, above a first one of 0
            weights = np.hstack([np.zeros_like(weights), weights])
        weights = weights[:, order]
        self._centre = centre / FINE
        self._radius = rounds.reach / FINE
        self._weights = weights[1:] / self._radius
        self._levels = weights[0] * rounds.constant / rounds.reach
        slopes = self._weights.T
        levels = self._levels - self._centre @ self._weights
        self.coef_ = slopes[1:] - slopes[:1] if two else slopes
        self.intercept_ = levels[1:] - levels[:1] if two else levels
        self.n_iter_ = rounds.count

    def _scores(self, X: Any) -> Reals:  # noqa: N803
        moved = self._vectors(X) - self._centre
        sizes = np.linalg.norm(moved, axis=1, keepdims=True)
        moved = moved * np.minimum(1.0, self._radius / np.maximum(sizes, 1e-12))
        return np.asarray(moved @ self._weights + self._levels)


class LogisticRegression(LearnedInRounds, Scoring):
    """Classes by noisy Newton steps or noisy gradients.

    method: "newton", "gradient", or "best", which chooses by public numbers. epsilon, delta: the price; without a delta
    the noise is Laplace's. bounds, values: public facts about arrays; classes: the list of classes, or "declared
    public" where those in y are. `coef_` and `intercept_` give the scores of rows that are not shrunk: those nearer
    than the radius to the released centre.
    """

    _loss = LOGISTIC
    _study = "logistic regression"

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

    def _curvature(self, classes: int) -> float:
        return 0.25 if classes == 2 else 0.5

    def _method(self, classes: int) -> str:
        if self.method in _NOT_OFFERED:
            why = "its theorem is about an exact minimum, and a solver's distance from it has no public bound"
            raise QuestionError(f"method={self.method!r} is not offered: {why}. Use one of {', '.join(_METHODS)}.")
        if self.method not in _METHODS:
            raise parameters.refuse("method", f"one of {', '.join(_METHODS)}", self.method)
        if self.method != "best":
            return self.method
        return NEWTON if classes == 2 and self._budget()[1] > 0 else GRADIENT
