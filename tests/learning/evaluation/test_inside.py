"""Whose code sees rows, and that a row's prediction has the same bits in every company."""

from __future__ import annotations

import copy
import time
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, SGDClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tacit
from tacit import learning
from tacit.errors import ParameterError
from tacit.learning.evaluation.by_row import by_row
from tacit.learning.evaluation.predictions import Table, predictor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WIDE = 24


def twins(many: int) -> Any:
    """Rows whose second half is the first, in another order: weights can cancel."""
    rng = np.random.default_rng()
    half = rng.integers(0, 10, (many, WIDE // 2)).astype(float)
    return np.hstack([half, half[:, ::-1]])


def cancelling(size: float = 1e17) -> Any:
    weights = np.random.default_rng().normal(size=WIDE // 2) * size
    return np.concatenate([weights, -weights[::-1]])


def ours() -> list[Any]:
    X, y = twins(60), np.resize(["no", "yes"], 60)
    facts: dict[str, Any] = {"epsilon": 5, "bounds": (0, 9)}
    made: list[Any] = []
    for kind in ("LogisticRegression", "LinearSVC", "Perceptron", "LinearDiscriminantAnalysis"):
        model = getattr(learning, kind)(**facts, classes=["no", "yes"]).fit(X, y)
        model._weights, model._levels = np.stack([cancelling(), cancelling()], axis=1), np.zeros(2)
        made.append(model)
    bayes = learning.GaussianNB(**facts, classes=["no", "yes"]).fit(X, y)
    bayes._means, bayes._variances = np.stack([cancelling(1), cancelling(1)]), np.full((2, WIDE), 1e-17)
    made.append(bayes)
    for kind in ("LinearRegression", "Ridge"):
        line = getattr(learning, kind)(**facts, target_bounds=(0, 9)).fit(X, X[:, 0])
        line._line = (cancelling(), 0.0, 4.5, 4.5)
        made.append(line)
    made.append(learning.BoostedBinsClassifier(**facts, classes=["no", "yes"]).fit(X, y))
    made[-1]._tables = [table + sign * 1e17 for table, sign in zip(made[-1]._tables, [1, -1] * WIDE, strict=False)]
    return made


def foreign() -> list[Any]:
    X, y = twins(60), np.resize([0, 1], 60)
    line, several = LinearRegression().fit(X, y), LogisticRegression().fit(X, np.resize([0, 1, 2], 60))
    two, counts, steep = LogisticRegression().fit(X, y), PoissonRegressor().fit(X, y), SGDClassifier().fit(X, y)
    line.coef_, several.coef_ = cancelling(), np.stack([cancelling() for _ in range(3)])
    two.coef_, counts.coef_, steep.coef_ = cancelling()[None], cancelling(), cancelling()[None]
    net = MLPClassifier((16,), activation="relu", max_iter=2).fit(X, y)
    half = np.random.default_rng().uniform(0.1, 1, (WIDE, 8))
    net.coefs_[0], net.intercepts_[0] = np.hstack([half, half[:, ::-1]]), np.zeros(16)
    net.coefs_[1] = np.concatenate([cancelling()[:8], -np.zeros(8)])[:, None]
    net.coefs_[1][8:] = -net.coefs_[1][:8][::-1]
    scaled = make_pipeline(StandardScaler(), copy.deepcopy(line)).fit(X, y)
    scaled[-1].coef_ = cancelling()
    return [line, several, two, counts, steep, net, scaled, HistGradientBoostingClassifier(max_iter=3).fit(X, y)]


def raw(model: Any, X: Any) -> Any:  # noqa: N803
    """What it says before the last step, where it shows that."""
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    return np.asarray(model.predict(X))


@pytest.mark.parametrize("make", [ours, foreign])
def test_bits_are_those_of_the_row_alone_in_blocks_of_many_sizes(make: Any) -> None:
    X = twins(1_100)
    for model in make():
        found = predictor(model)
        assert found.in_blocks
        table = Table(tuple(X.T))
        with np.errstate(all="ignore"):
            whole, told = raw(found.model, X), found._asked(table)[0]
            for size in (*range(1, 20), 31, 64, 81, 300, 1_001, 1_099):
                start = size % 7 if size < 1_000 else 0
                part = slice(start, start + size)
                assert (raw(found.model, X[part]) == whole[part]).all(), (model, size)
                said = found._asked(table[part])[0]
                assert np.allclose(said, told[part], rtol=1e-12, atol=1e-12, equal_nan=True)


def test_products_of_ours_and_of_scikit_learn_are_those_of_matrices() -> None:
    rng = np.random.default_rng()
    X = rng.normal(size=(50, 4))
    for model in (LogisticRegression(), LinearRegression(), MLPClassifier((5, 3), max_iter=3), SGDClassifier()):
        plain = model.fit(X, np.resize([0, 1, 2], 50))
        made = copy.deepcopy(plain)
        assert by_row(made)
        assert np.allclose(raw(made, X), raw(plain, X), atol=1e-12)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 50), "b": rng.normal(size=50)})
    steps = make_column_transformer((OneHotEncoder(), ["a"]), remainder="passthrough")
    sparse = make_pipeline(steps, LogisticRegression()).fit(frame, np.resize([0, 1], 50))
    assert np.allclose(predictor(sparse).model.predict_proba(frame), sparse.predict_proba(frame))


def test_what_adds_up_in_an_unknown_order_sees_one_row_at_a_time() -> None:
    X, y = twins(60), np.resize([0, 1], 60)
    assert predictor(MLPClassifier((5,), max_iter=2).fit(X, y)).in_blocks
    assert not predictor(MLPClassifier((5,), activation="tanh", max_iter=2).fit(X, y)).in_blocks
    begun = GradientBoostingRegressor(init=KNeighborsRegressor(), n_estimators=2).fit(X, y)
    assert not predictor(begun).in_blocks
    forest = predictor(RandomForestClassifier(3, n_jobs=2).fit(X, y))
    assert forest.in_blocks
    assert forest.model.n_jobs == 1


def test_many_rows_take_seconds() -> None:
    X = np.random.default_rng().normal(size=(100_000, 5))
    y = (X[:, 0] > 0).astype(int)
    mine = learning.LogisticRegression(epsilon=1, bounds=(-3, 3), classes=[0, 1]).fit(X[:500], y[:500])
    for model in (mine, LogisticRegression().fit(X, y)):
        start = time.monotonic()
        learning.evaluate(model, X, y, epsilon=1)
        assert time.monotonic() - start < 20


# -- whose code ------------------------------------------------------------------------------------------


def clinic() -> tuple[tacit.Curator, Any, Any]:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"who": range(80), "age": rng.integers(0, 100, 80), "s": np.resize(["no", "yes"], 80)})
    columns = {"age": tacit.between(0, 100), "s": tacit.one_of("no", "yes")}
    curator = tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=100, delta=1e-4))
    return curator, curator.rows("SELECT age, s FROM data"), frame


class Derived(learning.LogisticRegression):
    """Says that it is ours."""

    __module__ = "tacit.mine"
    seen: ClassVar[list[Any]] = []

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        Derived.seen.append(X)
        return super().predict_proba(X)


class Claiming(LogisticRegression):  # type: ignore[misc]
    """Says that it is scikit-learn's."""

    __module__ = "sklearn.linear_model"


class Spying:
    """A class that stands in a method's place."""

    def __new__(cls, X: Any) -> Any:  # noqa: N803
        Derived.seen.append(X)
        return np.full((len(X), 2), 0.5)


class Features(tuple[Any, ...]):
    """Columns that look at who goes through them."""

    __slots__ = ()

    def __iter__(self) -> Any:
        import sys

        caller = sys._getframe(1)
        while caller is not None:
            Derived.seen.extend(name for name in ("table", "codes") if name in caller.f_locals)
            caller = caller.f_back  # type: ignore[assignment]
        return super().__iter__()


def spy(X: Any) -> Any:  # noqa: N803
    Derived.seen.append(X)
    return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("name", ["predict_proba", "predict", "decision_function", "_scores", "_as_bytes", "_fixed"])
def test_what_stands_in_a_methods_place_is_refused_before_the_charge(name: str) -> None:
    curator, rows, _ = clinic()
    model = learning.LogisticRegression(epsilon=1, delta=1e-6).fit(rows, "s")
    setattr(model, name, spy)
    before = len(curator.ledger())
    with pytest.raises(ParameterError, match=name):
        learning.evaluate(model, rows, "s", epsilon=1)
    assert len(curator.ledger()) == before
    assert not Derived.seen


def test_a_class_is_ours_or_scikit_learns_by_what_it_is() -> None:
    curator, rows, frame = clinic()
    X, y = frame[["age"]], frame["s"]
    for model in (
        Derived(epsilon=1, bounds=(0, 100), classes=["no", "yes"]).fit(X, y),
        Claiming().fit(X, y),
    ):
        before = len(curator.ledger())
        with pytest.raises(ParameterError, match="model"):
            learning.evaluate(model, rows, "s", epsilon=1)
        assert len(curator.ledger()) == before
    named = spy
    named.__module__ = "sklearn.metrics"
    for stand_in in (Spying, named, np.frompyfunc(spy, 1, 1), staticmethod(spy), spy.__call__):
        line = LogisticRegression().fit(X, y)
        line.predict_proba = stand_in
        with pytest.raises(ParameterError, match="model"):
            learning.evaluate(line, rows, "s", epsilon=1)
    assert not Derived.seen


def test_lists_of_anyones_own_making_see_no_row() -> None:
    _, rows, _ = clinic()
    model = learning.LogisticRegression(epsilon=1, delta=1e-6).fit(rows, "s")
    model._features = Features(model._features)
    learning.evaluate(model, rows, "s", epsilon=1)
    assert not Derived.seen
    assert type(predictor(model).model._features) is tuple


def test_a_model_of_two_classes_is_right_where_the_rows_have_three() -> None:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"who": range(300), "age": rng.integers(0, 100, 300)})
    frame["s"] = np.where(frame["age"] < 50, "no", "yes")
    model = LogisticRegression().fit(frame[["age"]], frame["s"])
    frame.loc[:9, "s"] = "maybe"
    columns = {"age": tacit.between(0, 100), "s": tacit.one_of("no", "yes", "maybe")}
    curator = tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=100))
    found = learning.evaluate(model, curator.rows("SELECT age, s FROM data"), "s", epsilon=40)
    assert found["accuracy"] == pytest.approx(float(np.mean(model.predict(frame[["age"]]) == frame["s"])))
