"""Every model is an ordinary scikit-learn estimator: scikit-learn's own checks say so."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit import learning
from tacit.errors import ParameterError

FACTS: dict[str, Any] = {"epsilon": 5, "delta": 1e-5, "bounds": (-100, 100)}


def all_models() -> list[Any]:
    """One of each, made with a price and public facts."""
    aimed = {**FACTS, "target_bounds": (-1000, 1000)}
    sorted_out = {**FACTS, "classes": "declared public"}
    return [
        learning.SecondMoments(**FACTS),
        learning.LinearRegression(**aimed),
        learning.Ridge(**aimed),
        learning.LinearDiscriminantAnalysis(**sorted_out),
        learning.LogisticRegression(**sorted_out),
        learning.LinearSVC(**sorted_out),
        learning.Perceptron(**sorted_out),
        learning.GaussianNB(**sorted_out),
        learning.CategoricalNB(**sorted_out),
        learning.DecisionTreeClassifier(**sorted_out),
        learning.RandomForestClassifier(3, **sorted_out),
        learning.BoostedBinsClassifier(**sorted_out),
        learning.BoostedBinsRegressor(**aimed),
        learning.KBinsDiscretizer(**FACTS),
        learning.PCA(**FACTS),
        learning.KMeans(3, **FACTS),
        learning.StandardScaler(**FACTS),
    ]


def searches() -> list[Any]:
    """Models whose parameters are searched for."""
    facts: dict[str, Any] = {"bounds": (-100, 100)}
    line = learning.Ridge(**facts, target_bounds=(-1000, 1000))
    classes = learning.LinearDiscriminantAnalysis(**facts, classes="declared public")
    return [
        learning.Search(line, {"alpha": [0.1, 10.0]}, epsilon=5, delta=1e-5),
        learning.Search(classes, {}, epsilon=5, law="logarithmic"),
    ]


@parametrize_with_checks([*all_models(), *searches()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_every_model_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("model", [*all_models(), *searches()], ids=lambda model: type(model).__name__)
def test_no_tag_but_two_excuses_a_model(model: Any) -> None:
    tags = get_tags(model)
    assert tags.non_deterministic
    assert not tags.no_validation
    assert not tags.input_tags.allow_nan
    assert not tags._skip_test


def test_every_public_model_is_checked() -> None:
    public = {name for name in learning.__all__ if hasattr(getattr(learning, name), "fit")}
    assert {type(model).__name__ for model in [*all_models(), *searches()]} == public


def some_rows(count: int = 300) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"age": rng.integers(20, 80, count), "sex": rng.choice(["F", "M"], count)})
    charge = 3.0 * frame["age"] + 40 * (frame["sex"] == "F") + rng.normal(0, 5, count)
    return frame, charge.to_numpy(), (frame["age"] > 50).to_numpy().astype(int)


def test_models_stand_in_pipelines_and_beside_other_transformers() -> None:
    frame, charge, _ = some_rows()
    columns = ColumnTransformer(
        [("scaled", learning.StandardScaler(epsilon=1000, bounds=(0, 100)), ["age"])], verbose_feature_names_out=False
    )
    columns.set_output(transform="pandas")
    made = make_pipeline(columns, learning.LinearRegression(epsilon=1000, bounds=(-5, 5), target_bounds=(0, 400)))
    made.fit(frame, charge)
    assert made.score(frame, charge) > 0.7
    assert list(columns.fit(frame).get_feature_names_out()) == ["age"]


@pytest.mark.parametrize("model", [*all_models(), *searches()], ids=lambda model: type(model).__name__)
def test_every_model_stands_in_a_pipeline_and_a_column_transformer(model: Any) -> None:
    """Behind a scaler of scikit-learn's, and, where it makes columns, beside another one; names go all the way."""
    rng = np.random.default_rng()
    frame = pd.DataFrame(rng.normal(50, 20, (60, 3)), columns=["age", "pay", "share"])
    target = (frame["age"] > 50).astype(int).to_numpy()
    line = make_pipeline(StandardScaler().set_output(transform="pandas"), clone(model)).fit(frame, target)
    found = line[-1]
    assert list(found.feature_names_in_) == list(frame.columns)
    if hasattr(found, "predict"):
        assert len(line.predict(frame)) == len(frame)
    if not hasattr(found, "transform"):
        return
    beside = ColumnTransformer([("own", clone(model), ["age", "pay", "share"]), ("kept", "passthrough", ["age"])])
    shown = beside.set_output(transform="pandas").fit_transform(frame, target)
    own = [f"own__{name}" for name in beside.named_transformers_["own"].get_feature_names_out()]
    assert list(shown.columns) == list(beside.get_feature_names_out()) == [*own, "kept__age"]
    assert np.isfinite(shown.to_numpy()).all()


def test_listed_values_become_coordinates_of_their_own() -> None:
    frame, charge, _ = some_rows()
    model = learning.LinearRegression(
        epsilon=10_000, bounds={"age": (0, 100)}, values={"sex": ["F", "M"]}, target_bounds=(0, 400)
    )
    model.fit(frame, charge)
    assert model.coef_[1] - model.coef_[2] == pytest.approx(40, abs=4)
    assert model.coef_[0] == pytest.approx(3, abs=0.1)
    assert model.score(frame, charge) > 0.95
    # a value that is not listed has none of the listed ones: half way between the two, as both were equally frequent
    unknown = model.predict(pd.DataFrame({"age": [50], "sex": ["X"]}))
    assert np.isfinite(unknown).all()


def test_a_search_pays_for_every_fit_as_every_clone_asks_for_itself() -> None:
    _, charge, _ = some_rows()
    X = np.arange(300.0).reshape(-1, 1) % 60
    model = learning.Ridge(epsilon=5, bounds=(0, 60), target_bounds=(0, 400))
    search = GridSearchCV(model, {"alpha": [0.1, 10.0]}, cv=2).fit(X, charge)
    assert search.best_estimator_.receipt_["epsilon"] == "5"
    with parallel_backend("threading"):
        assert len(cross_val_score(model, X, charge, cv=3, n_jobs=2)) == 3


@pytest.mark.parametrize("copied", [clone, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_a_model_that_was_not_fitted_is_not_fitted(copied: Any) -> None:
    model = copied(learning.Ridge(epsilon=5, bounds=(0, 60), target_bounds=(0, 400)))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict([[1.0]])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (learning.LinearRegression(bounds=(0, 1), target_bounds=(0, 1)), "epsilon"),
        (learning.LinearRegression(epsilon=1, target_bounds=(0, 1)), "bounds"),
        (learning.LinearRegression(epsilon=1, bounds=(0, 1)), "target_bounds"),
        (learning.LinearRegression(epsilon=1, bounds=(1, 0), target_bounds=(0, 1)), "bounds"),
        (learning.LinearRegression(epsilon=-1, bounds=(0, 1), target_bounds=(0, 1)), "epsilon"),
        (learning.Ridge(alpha=-1, epsilon=1, bounds=(0, 1), target_bounds=(0, 1)), "alpha"),
        (learning.LinearDiscriminantAnalysis(epsilon=1, bounds=(0, 1)), "classes"),
        (learning.LinearDiscriminantAnalysis(epsilon=1, bounds=(0, 1), classes=[0]), "at least two"),
        (learning.LinearDiscriminantAnalysis(epsilon=1, bounds=(0, 1), classes=[0, 0]), "different"),
        (learning.PCA(n_components=0, epsilon=1, bounds=(0, 1)), "n_components"),
    ],
)
def test_what_is_not_public_or_not_there_is_refused_by_name(model: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model.fit(np.ones((4, 2)), np.array([0, 1, 0, 1]))


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_rows_one_class_and_constant_columns_give_a_private_model(rows: int) -> None:
    X, y = np.ones((rows, 7)), np.zeros(rows)
    facts = {"epsilon": 1, "delta": 1e-5, "bounds": (0, 1)}
    for made in (
        learning.LinearRegression(**facts, target_bounds=(0, 1)),
        learning.LinearDiscriminantAnalysis(**facts, classes=[0, 1, 2]),
        learning.PCA(**facts),
    ):
        made.fit(X, y)
        found = made.transform(X) if isinstance(made, learning.PCA) else made.predict(X)
        assert np.isfinite(found).all()


def test_classes_are_the_stated_ones_whatever_occurs() -> None:
    X, y = np.ones((9, 2)), np.array(["b"] * 9)
    model = learning.LinearDiscriminantAnalysis(epsilon=1, bounds=(0, 1), classes=["c", "b", "a"]).fit(X, y)
    assert list(model.classes_) == ["a", "b", "c"]
    assert model.predict_proba(X).shape == (9, 3)
