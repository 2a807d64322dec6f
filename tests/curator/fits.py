"""Models and synthetic data as paths of `failures`: everything that fits something, at a price."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import learning, synthesis
from tacit.curator import Curator

SLIP = "1e-9"
CLASSES = "SELECT age, rent, sex FROM people"
NUMBERS = "SELECT age, rent FROM people"
CELLS = "SELECT age, sex FROM people"


def _classified(model: Callable[[Fraction], Any]) -> Callable[[Curator, Fraction], Any]:
    return lambda curator, epsilon: model(epsilon).fit(curator.rows(CLASSES), "sex")


def _regressed(model: Callable[[Fraction], Any]) -> Callable[[Curator, Fraction], Any]:
    return lambda curator, epsilon: model(epsilon).fit(curator.rows(NUMBERS), "rent")


def _described(model: Callable[[Fraction], Any]) -> Callable[[Curator, Fraction], Any]:
    return lambda curator, epsilon: model(epsilon).fit(curator.rows(NUMBERS))


def _evaluated() -> Callable[[Curator, Fraction], Any]:
    ages = np.arange(100)
    facts = {"bounds": ((0, 0), (99, 49)), "classes": ("F", "M")}
    model = learning.GaussianNB(epsilon=1, **facts).fit(np.c_[ages, ages % 50], np.where(ages % 2, "M", "F"))

    def evaluate(curator: Curator, epsilon: Fraction) -> Any:
        return learning.evaluate(model, curator.rows(CLASSES), "sex", epsilon=epsilon)

    return evaluate


def fits() -> Mapping[str, Callable[[Curator, Fraction], Any]]:
    """By name."""
    tree = learning.DecisionTreeClassifier
    return {
        "tree": _classified(lambda epsilon: tree(epsilon=epsilon, max_depth=3)),
        "forest": _classified(lambda epsilon: learning.RandomForestClassifier(epsilon=epsilon, max_depth=3)),
        "boosted bins": _classified(lambda epsilon: learning.BoostedBinsClassifier(epsilon=epsilon, delta=SLIP)),
        "boosted regressor": _regressed(lambda epsilon: learning.BoostedBinsRegressor(epsilon=epsilon, delta=SLIP)),
        "naive Bayes": _classified(lambda epsilon: learning.GaussianNB(epsilon=epsilon)),
        "discriminant": _classified(lambda epsilon: learning.LinearDiscriminantAnalysis(epsilon=epsilon, delta=SLIP)),
        "margins": _classified(lambda epsilon: learning.LinearSVC(epsilon=epsilon, delta=SLIP)),
        "linear": _regressed(lambda epsilon: learning.LinearRegression(epsilon=epsilon, delta=SLIP)),
        "clusters": _described(lambda epsilon: learning.KMeans(2, epsilon=epsilon, delta=SLIP)),
        "components": _described(lambda epsilon: learning.PCA(1, epsilon=epsilon, delta=SLIP)),
        "search": _classified(
            lambda epsilon: learning.Search(tree(), {"max_depth": [1, 2]}, epsilon=epsilon, delta=SLIP)
        ),
        "evaluation": _evaluated(),
        "independent": lambda curator, epsilon: synthesis.independent(curator.rows(CELLS), epsilon=epsilon),
        "aim": lambda curator, epsilon: synthesis.aim(curator.rows(CELLS), epsilon=epsilon, delta=SLIP),
        "mwem": lambda curator, epsilon: synthesis.mwem(curator.rows(CELLS), epsilon=epsilon, delta=SLIP),
        "small database": lambda curator, epsilon: synthesis.small_database(
            curator.rows(CELLS), epsilon=epsilon, rows=200
        ),
    }
