"""Models on bins, naive Bayes and trees, beside scikit-learn's without privacy."""

from __future__ import annotations

from typing import Any

from sklearn import ensemble, naive_bayes, tree

from _learning_data import Split
from _learning_frame import DELTA, Entry, bars
from tacit import learning


def ours(model: Any, split: Split, **options: Any) -> float:
    """A classifier of ours on the plain columns: numbers between their bounds, and listed values."""
    train, test = split.train, split.test
    made = model(classes=list(train.classes), **train.facts, **options)
    return float(made.fit(train.rows, train.target).score(test.rows, test.target))


def plain(model: Any, split: Split) -> float:
    return float(model.fit(split.train.matrix, split.train.target).score(split.test.matrix, split.test.target))


def boosted(split: Split, epsilon: float) -> float:
    return ours(learning.BoostedBinsClassifier, split, epsilon=epsilon, delta=DELTA)


def boosted_numbers(split: Split, epsilon: float) -> float:
    train, test = split.train, split.test
    model = learning.BoostedBinsRegressor(
        epsilon=epsilon, delta=DELTA, target_bounds=train.target_bounds, **train.facts
    )
    return float(model.fit(train.rows, train.target).score(test.rows, test.target))


def gaussian(split: Split, epsilon: float) -> float:
    return ours(learning.GaussianNB, split, epsilon=epsilon, delta=DELTA)


def categorical(split: Split, epsilon: float) -> float:
    return ours(learning.CategoricalNB, split, epsilon=epsilon, delta=DELTA)


def one_tree(split: Split, epsilon: float) -> float:
    return ours(learning.DecisionTreeClassifier, split, epsilon=epsilon)


def forest(split: Split, epsilon: float) -> float:
    return ours(learning.RandomForestClassifier, split, epsilon=epsilon)


def plain_boosted(split: Split) -> float:
    return plain(ensemble.HistGradientBoostingClassifier(random_state=0), split)


def plain_boosted_numbers(split: Split) -> float:
    return plain(ensemble.HistGradientBoostingRegressor(random_state=0), split)


def plain_gaussian(split: Split) -> float:
    return plain(naive_bayes.GaussianNB(), split)


def plain_counts(split: Split) -> float:
    return plain(naive_bayes.BernoulliNB(), split)


def plain_tree(split: Split) -> float:
    return plain(tree.DecisionTreeClassifier(max_depth=5, random_state=0), split)


def plain_forest(split: Split) -> float:
    return plain(ensemble.RandomForestClassifier(random_state=0, n_estimators=20), split)


BOOSTED, GAUSSIAN, TREE, FOREST = "boosted bins", "naive Bayes", "decision tree", "random forest"
SMALL = ("breast_cancer", "digits", "wine")
ENTRIES = (
    Entry(BOOSTED, "adult", boosted, plain_boosted, bars(0.832, 0.850, 0.852, 0.854, 0.855)),
    Entry(BOOSTED, "diabetes", boosted_numbers, plain_boosted_numbers, measure="R2"),
    Entry(GAUSSIAN, "digits", gaussian, plain_gaussian, bars(None, None, 0.45, 0.81, 0.89)),
    Entry(GAUSSIAN, "breast_cancer", gaussian, plain_gaussian),
    Entry(GAUSSIAN, "wine", gaussian, plain_gaussian),
    Entry("categorical naive Bayes", "adult", categorical, plain_counts),
    *(Entry(TREE, data, one_tree, plain_tree) for data in (*SMALL, "adult")),
    *(Entry(FOREST, data, forest, plain_forest) for data in (*SMALL, "adult")),
)
