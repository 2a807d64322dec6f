"""Bad input, for every model: a clear error before anything is charged, or a private model after it. Nothing else.

One table of inputs, on arrays and on a curator. Whoever holds arrays sees them, so that what is wrong with them may be
said; a curator never refuses because of a row.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor

import tacit
from tacit import learning
from tacit.errors import TacitError
from tacit.learning import remembered
from tests.learning.test_common import charges, made, of_rows, target_of
from tests.learning.test_estimators import all_models

MODELS = pytest.mark.parametrize("model", all_models(), ids=lambda each: type(each).__name__)
METHODS = {"LogisticRegression": ("gradient", "output", "objective"), "KMeans": ("lloyd",)}


def with_methods() -> list[Any]:
    """Every model, and those that can be learned in several ways once for each."""
    ways = [(each, way) for each in all_models() for way in METHODS.get(type(each).__name__, ())]
    return [*all_models(), *(each.set_params(method=way) for each, way in ways)]


def named(model: Any) -> str:
    return f"{type(model).__name__} {getattr(model, 'method', '')}".strip()


Arrays = tuple[Any, Any]


def plain(rows: int = 30, columns: int = 3) -> Arrays:
    rng = np.random.default_rng()
    X = rng.normal(scale=20, size=(rows, columns)).clip(-100, 100)
    return X, (X[:, 0] > 0).astype(int)


def with_hole(value: Any) -> Callable[[], Arrays]:
    def broken() -> Arrays:
        X, y = plain()
        X[3, 1] = value
        return X, y

    return broken


def with_target(*values: Any) -> Callable[[], Arrays]:
    def changed() -> Arrays:
        X, _ = plain()
        return X, np.resize(np.array(values), len(X))

    return changed


def constant() -> Arrays:
    X, y = plain()
    return np.full_like(X, 7.0), y


def texts() -> Arrays:
    X, y = plain()
    return X.astype(str).astype(object) + "x", y


def short_target() -> Arrays:
    X, y = plain()
    return X, y[:-1]


# what is given, and whether a model comes of it (True), or an error before the release that says so
ON_ARRAYS: dict[str, tuple[Callable[[], Arrays], bool, str]] = {
    "a number is NaN": (with_hole(np.nan), False, "NaN"),
    "a number is infinite": (with_hole(np.inf), False, "infinity"),
    "a number is far beyond its bounds": (with_hole(1e12), True, ""),
    "one class only": (with_target(0), True, ""),
    "a target that is not listed": (with_target(0, 1, 7), True, ""),
    "no target is listed": (with_target(7, 8), True, ""),
    "constant columns": (constant, True, ""),
    "fewer rows than columns": (lambda: plain(2, 5), True, ""),
    "one row": (lambda: plain(1, 3), True, ""),
    "no row": (lambda: (np.empty((0, 3)), np.empty(0, dtype=int)), False, "0 sample"),
    "no column": (lambda: (np.empty((5, 0)), np.zeros(5, dtype=int)), False, "0 feature"),
    "texts without a list": (texts, False, "float|number|numeric|dtype"),
    "a target that is too short": (short_target, False, "inconsistent"),
}


@pytest.mark.parametrize("model", with_methods(), ids=named)
@pytest.mark.parametrize("kind", ON_ARRAYS)
def test_arrays_give_a_clear_error_before_the_release_or_a_private_model(
    model: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, is_learned, words = ON_ARRAYS[kind]
    X, y = make()
    aimless = not is_classifier(model) and not is_regressor(model)
    if kind == "a target that is too short" and aimless:
        pytest.skip("it has no target")
    chosen = {"n_clusters": 1} if "n_clusters" in model.get_params(deep=False) else {}
    if "n_components" in model.get_params(deep=False):
        chosen["n_components"] = 1
    stated = made(model, **chosen)
    if is_regressor(model):
        stated.set_params(target_bounds=(0, 1))
    if not is_learned:
        monkeypatch.setattr(remembered.RememberedArrays, "release", _never)
        with pytest.raises(ValueError, match=re.compile(words, re.IGNORECASE)):
            stated.fit(X, y)
        return
    _is_usable(stated.fit(X, y), X)


def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("released")


def _is_usable(found: Any, X: Any) -> None:  # noqa: N803
    for use in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(found, use):
            said = np.asarray(getattr(found, use)(X))
            assert said.dtype.kind not in "fc" or np.isfinite(said).all(), use
    if is_classifier(found):
        assert len(found.classes_) == 2


COLUMNS = {
    "age": tacit.between(0, 110),
    "bmi": tacit.between(10, 60),
    "charge": tacit.between(0, 500),
    "smoker": tacit.one_of("no", "yes"),
}


def people(**changed: Any) -> pd.DataFrame:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"who": range(40), "age": rng.integers(0, 100, 40), "bmi": rng.uniform(10, 50, 40)})
    frame["charge"] = 3.0 * frame["age"]
    frame["smoker"] = np.where(frame["age"] > 50, "yes", "no")
    return frame.assign(**changed)


ON_A_CURATOR: dict[str, Callable[[], pd.DataFrame]] = {
    "numbers are missing": lambda: people(bmi=[None, np.nan, np.inf, -np.inf] * 10),
    "targets are missing": lambda: people(smoker=None, charge=np.nan),
    "targets are not listed": lambda: people(smoker="perhaps", charge=-1e300),
    "one class only": lambda: people(smoker="no", charge=0.0),
    "constant columns": lambda: people(age=7, bmi=7.0),
    "one row": lambda: people().iloc[:1],
    "nobody": lambda: people().iloc[:0],
    "all rows are one person's": lambda: people(who=1),
}


@pytest.fixture(scope="module")
def curators() -> Iterator[Callable[[str], tacit.Curator]]:
    """One curator for each kind of rows; models share it."""
    budget, wide = tacit.Budget(epsilon=1000, delta=1e-2), {"weight": tacit.anything(), "note": tacit.anything()}
    with ExitStack() as stack:

        @functools.cache
        def opened(kind: str) -> tacit.Curator:
            frame = ON_A_CURATOR[kind]().assign(weight=70, note="text")
            columns = {**COLUMNS, **wide}
            made = tacit.protect(frame, unit="who", columns=columns, budget=budget, rows_per_unit=2)
            return stack.enter_context(made)

        yield opened


@MODELS
@pytest.mark.parametrize("kind", ON_A_CURATOR)
def test_a_curator_gives_a_private_model_whatever_its_rows_are(
    model: Any, kind: str, curators: Callable[[str], tacit.Curator]
) -> None:
    curator, target = curators(kind), target_of(model)
    rows = curator.rows(f"SELECT age, bmi{', ' + target if target else ''} FROM data")
    before = len(charges(curator))
    found = of_rows(model).fit(rows, target)
    assert found.finding_.repeated or len(charges(curator)) == before + 1
    _is_usable(found, pd.DataFrame({"age": [20, 80], "bmi": [20.0, 30.0]}))


# which rows and target are asked for; all refused, and nothing is charged
WRONGLY_ASKED: dict[str, tuple[str, Any]] = {
    "a target that is not there": ("SELECT age, bmi, smoker, charge FROM data", "weight"),
    "a target without a list or bounds": ("SELECT age, bmi, weight FROM data", "weight"),
    "the target alone": ("SELECT smoker FROM data", "smoker"),
    "no name": ("SELECT age, bmi, smoker FROM data", [0, 1]),
    "a column without bounds": ("SELECT age, weight, smoker, charge FROM data", None),
    "a text without a list": ("SELECT age, note, smoker, charge FROM data", None),
}


@MODELS
@pytest.mark.parametrize("kind", WRONGLY_ASKED)
def test_what_is_wrongly_asked_of_a_curator_is_refused_before_the_charge(
    model: Any, kind: str, curators: Callable[[str], tacit.Curator]
) -> None:
    sql, target = WRONGLY_ASKED[kind]
    curator = curators("one row")
    before = len(charges(curator))
    aim = target_of(model) if target is None else target
    with pytest.raises(TacitError) as told:
        of_rows(model).fit(curator.rows(sql), aim)
    assert len(str(told.value)) > 30
    assert len(charges(curator)) == before


@pytest.mark.parametrize(
    ("model", "sql", "words"),
    [
        (learning.PCA(4, epsilon=1), "SELECT age, bmi FROM data", "at most 2, the number of coordinates"),
        (learning.PCA(4, epsilon=1), "SELECT age, smoker FROM data", "at most 3, the number of coordinates"),
        (learning.StandardScaler(epsilon=1), "SELECT age, smoker FROM data", "is for numbers"),
        (learning.KBinsDiscretizer(epsilon=1), "SELECT age, smoker FROM data", "is for numbers"),
    ],
    ids=named,
)
def test_columns_that_a_model_cannot_use_are_refused_before_the_charge(
    model: Any, sql: str, words: str, curators: Callable[[str], tacit.Curator]
) -> None:
    curator = curators("one row")
    before = len(charges(curator))
    with pytest.raises(TacitError, match=words):
        model.fit(curator.rows(sql))
    with pytest.raises(TacitError, match=words):
        model.estimate(curator.rows(sql))
    assert len(charges(curator)) == before


@pytest.mark.parametrize("model", [learning.PCA(4), learning.StandardScaler()], ids=named)
def test_columns_that_a_model_cannot_use_are_refused_where_moments_were_bought_too(model: Any) -> None:
    frame = pd.DataFrame({"age": [20.0, 40.0], "sex": ["F", "M"]})
    facts: dict[str, Any] = {"bounds": {"age": (0, 110)}, "values": {"sex": ["F", "M"]}}
    bought = learning.SecondMoments(epsilon=1, **facts).fit(frame)
    with pytest.raises(TacitError, match=r"is for numbers|number of coordinates"):
        model.fit(bought)
    with pytest.raises(TacitError, match="no target"):
        learning.PCA(1).fit(bought, "age")
