"""diffprivlib's naive Bayes, tree and forest, on the matrices that scikit-learn gets; bounds and classes are public."""

from __future__ import annotations

from typing import Any

from diffprivlib.models import DecisionTreeClassifier, GaussianNB, RandomForestClassifier

from _learning_data import Split


def scored(model: Any, split: Split) -> float:
    model.fit(split.train.matrix, split.train.target)
    return float(model.score(split.test.matrix, split.test.target))


def gaussian(split: Split, epsilon: float) -> float:
    return scored(GaussianNB(epsilon=epsilon, bounds=(0, 1)), split)


def one_tree(split: Split, epsilon: float) -> float:
    return scored(DecisionTreeClassifier(epsilon=epsilon, bounds=(0, 1), classes=list(split.train.classes)), split)


def forest(split: Split, epsilon: float) -> float:
    return scored(RandomForestClassifier(epsilon=epsilon, bounds=(0, 1), classes=list(split.train.classes)), split)


SMALL = ("breast_cancer", "digits", "wine")
PEERS = {
    **{("naive Bayes", data): gaussian for data in SMALL},
    **{("decision tree", data): one_tree for data in (*SMALL, "adult")},
    **{("random forest", data): forest for data in (*SMALL, "adult")},
}
