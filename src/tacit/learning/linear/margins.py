"""`LinearSVC` and `Perceptron`: lines with a margin, on the same rounds of noisy sums as logistic regression.

Theorem, assumptions and source: `linear_rounds`; the residuals are those of Huber's hinge, or of the rows on the wrong
side (`margin_losses`). A round of the perceptron is a noisy sum of the rows that it gets wrong: a statistical query.
"""

from __future__ import annotations

from typing import Any

from tacit.learning.linear.linear_rounds import GRADIENT, NEWTON
from tacit.learning.linear.logistic import LearnedInRounds
from tacit.learning.linear.margin_losses import HINGE, PERCEPTRON


class LinearSVC(LearnedInRounds):
    """Classes by lines that keep a margin.

    epsilon, delta: the price; without a delta the noise is Laplace's. bounds, values: public facts about arrays;
    classes: the list of classes, or "declared public" where those in y are.

    >>> model = LinearSVC(epsilon=1, delta=1e-6, bounds=(0, 100), classes=["no", "yes"])
    >>> model.fit([[20], [80]], ["no", "yes"]).coef_.shape
    (1, 1)
    """

    _loss = HINGE
    _study = "support vectors"

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 0, bounds: Any = None, values: Any = None, classes: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def _method(self, classes: int) -> str:
        return NEWTON if classes == 2 and self._budget()[1] > 0 else GRADIENT


class Perceptron(LearnedInRounds):
    """Classes by lines that are moved towards the rows they get wrong.

    epsilon, delta: the price; without a delta the noise is Laplace's. bounds, values: public facts about arrays;
    classes: the list of classes, or "declared public" where those in y are.

    >>> model = Perceptron(epsilon=1, delta=1e-6, bounds=(0, 100), classes=["no", "yes"])
    >>> model.fit([[20], [80]], ["no", "yes"]).classes_.tolist()
    ['no', 'yes']
    """

    _loss = PERCEPTRON
    _study = "perceptron"

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 0, bounds: Any = None, values: Any = None, classes: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.values = values
        self.classes = classes

    def _method(self, classes: int) -> str:
        return GRADIENT
