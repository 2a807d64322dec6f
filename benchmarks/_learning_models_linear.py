"""Linear models and what follows from second moments, beside scikit-learn's without privacy."""

from __future__ import annotations

from typing import Any

from sklearn import decomposition, linear_model

from _learning_data import Split, banded
from _learning_frame import DELTA, Entry, bars
from _learning_scores import COMPONENTS, captured
from tacit import learning


def logistic(split: Split, epsilon: float) -> float:
    train, test = banded(split.train), banded(split.test)
    model = learning.LogisticRegression(epsilon=epsilon, delta=DELTA, classes=list(train.classes), **train.facts)
    return float(model.fit(train.rows, train.target).score(test.rows, test.target))


def regression(split: Split, epsilon: float) -> float:
    train, test = split.train, split.test
    model = learning.LinearRegression(epsilon=epsilon, delta=DELTA, target_bounds=train.target_bounds, **train.facts)
    return float(model.fit(train.rows, train.target).score(test.rows, test.target))


def pca(split: Split, epsilon: float) -> float:
    # on numbers from 0 to 1, so that the share is of the same matrix as the peers'
    model = learning.PCA(COMPONENTS, epsilon=epsilon, delta=DELTA, bounds=(0, 1)).fit(split.train.matrix)
    return captured(split.train.matrix, model.components_)


def plain(model: Any, split: Split) -> float:
    train, test = banded(split.train), banded(split.test)
    return float(model.fit(train.matrix, train.target).score(test.matrix, test.target))


def plain_logistic(split: Split) -> float:
    return plain(linear_model.LogisticRegression(max_iter=1000), split)


def plain_regression(split: Split) -> float:
    return plain(linear_model.LinearRegression(), split)


def plain_pca(split: Split) -> float:
    return captured(split.train.matrix, decomposition.PCA(COMPONENTS).fit(split.train.matrix).components_)


LOGISTIC = "logistic regression"
ENTRIES = (
    Entry(LOGISTIC, "breast_cancer", logistic, plain_logistic, bars(0.71, 0.90, 0.955, 0.97, 0.97)),
    Entry(LOGISTIC, "digits", logistic, plain_logistic, bars(0.24, 0.69, 0.90, 0.93, 0.94)),
    Entry(LOGISTIC, "adult", logistic, plain_logistic, bars(0.841, 0.850, 0.852, 0.853, 0.853)),
    Entry(LOGISTIC, "wine", logistic, plain_logistic),
    Entry("linear regression", "diabetes", regression, plain_regression, bars(None, None, 0.22, 0.39, 0.45), "R2"),
    Entry("PCA", "digits", pca, plain_pca, bars(0.25, 0.39, 0.72, 0.92, 0.98), "captured"),
)
