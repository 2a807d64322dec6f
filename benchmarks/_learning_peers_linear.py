"""diffprivlib's linear models, on the matrices that scikit-learn gets; norms and bounds are public facts."""

from __future__ import annotations

import numpy as np
from diffprivlib.models import PCA, LinearRegression, LogisticRegression, logistic_regression

from _learning_data import Split, banded
from _learning_scores import COMPONENTS, captured


class SummedLoss(logistic_regression.LinearModelLoss):
    """The loss as a sum over rows, for which diffprivlib scales its noise.

    scikit-learn 1.5 made it a mean, and diffprivlib's noise became as many times too large as there are rows. So that
    it is compared as it was meant, it gets the sum, and the regularisation that goes with it (C divided by the rows).
    """

    def loss_gradient(self, coef, X, y, sample_weight, strength):  # noqa: N803
        rows = len(X)
        loss, gradient = super().loss_gradient(coef, X, y, sample_weight, strength / rows)
        return rows * loss, rows * gradient


logistic_regression.LinearModelLoss = SummedLoss


def logistic(split: Split, epsilon: float) -> float:
    # a column adds at most 1 to a row's squared length, listed values together as well
    norm = float(np.sqrt(len(split.train.columns)))
    model = LogisticRegression(epsilon=epsilon, data_norm=norm, C=1 / len(split.train.rows), max_iter=1000)
    model.fit(banded(split.train).matrix, split.train.target)
    return float(model.score(banded(split.test).matrix, split.test.target))


def regression(split: Split, epsilon: float) -> float:
    model = LinearRegression(epsilon=epsilon, bounds_X=(0, 1), bounds_y=split.train.target_bounds)
    model.fit(split.train.matrix, split.train.target)
    return float(model.score(split.test.matrix, split.test.target))


def pca(split: Split, epsilon: float) -> float:
    norm = float(np.sqrt(len(split.train.columns)))
    model = PCA(n_components=COMPONENTS, epsilon=epsilon, data_norm=norm, bounds=(0, 1)).fit(split.train.matrix)
    return captured(split.train.matrix, model.components_)


PEERS = {
    ("logistic regression", "breast_cancer"): logistic,
    ("logistic regression", "digits"): logistic,
    ("logistic regression", "adult"): logistic,
    ("logistic regression", "wine"): logistic,
    ("linear regression", "diabetes"): regression,
    ("PCA", "digits"): pca,
}
