"""A tree that sends some rows round for ever is refused before anything is paid: the clock would tell of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tacit.errors import ParameterError
from tacit.learning.evaluation.predictions import predictor
from tacit.learning.trees.tree_shapes import walks_end

NUMBERS = np.random.default_rng(5).normal(size=(200, 3))
CLASSES = np.where(NUMBERS[:, 0] + NUMBERS[:, 1] > 0, "yes", "no")


def changed(node: int, side: str, child: int) -> Any:
    """A tree in which one child is another one."""
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(NUMBERS, CLASSES)
    tree = model.tree_
    state = tree.__getstate__()
    nodes = state["nodes"].copy()
    nodes[side][node] = child
    made = type(tree)(3, np.array([2], dtype=np.intp), 1)
    made.__setstate__({**state, "nodes": nodes})
    model.tree_ = made
    return model


@pytest.mark.parametrize(("side", "child"), [("right_child", 0), ("left_child", 0), ("left_child", 10**6)])
def test_a_tree_that_goes_in_a_circle_or_nowhere_is_refused(side: str, child: int) -> None:
    model = changed(0, side, child)
    assert not walks_end(model.tree_)
    with pytest.raises(ParameterError, match="every walk ends at a leaf"):
        predictor(model)
    with pytest.raises(ParameterError, match="every walk ends at a leaf"):
        predictor(_with(model))


def _with(model: Any) -> Any:
    """The same tree inside a pipeline."""
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)).fit(NUMBERS, CLASSES)
    pipeline.steps[-1] = (pipeline.steps[-1][0], model)
    return pipeline


def test_a_histogram_tree_that_goes_in_a_circle_is_refused() -> None:
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(NUMBERS, CLASSES)
    predictor(model)
    tree = model._predictors[0][0]
    tree.nodes["right"][0] = 0
    assert not walks_end(tree)
    with pytest.raises(ParameterError, match="every walk ends at a leaf"):
        predictor(model)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_leaf_nodes=9),
        ExtraTreesClassifier(3),
        RandomForestClassifier(3, max_leaf_nodes=7),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
    ],
)
def test_trees_as_scikit_learn_makes_them_are_taken(model: Any) -> None:
    predictor(model.fit(NUMBERS, CLASSES))
