"""Models pay first, are stored, and follow from second moments for nothing."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import tacit
from tacit import learning
from tacit.errors import BudgetExceeded, ParameterError, QuestionError, TacitError
from tacit.learning import remembered
from tacit.loss import events
from tests.learning.second_moments.test_gram import clinic

COLUMNS = "SELECT age, charge, sex, smoker FROM data"


def spent(curator: tacit.Curator) -> int:
    return len(curator.ledger())


def test_the_same_fit_again_is_free_and_gives_the_same_model() -> None:
    curator, _ = clinic()
    first = learning.LinearRegression(epsilon=1, delta=1e-6).fit(curator.rows(COLUMNS), "charge")
    entries = spent(curator)
    again = clone(first).fit(curator.rows(COLUMNS), "charge")
    assert spent(curator) == entries
    assert again.finding_.repeated
    assert (again.coef_ == first.coef_).all()
    other = learning.LinearRegression(epsilon=2, delta=1e-6).fit(curator.rows(COLUMNS), "charge")
    assert spent(curator) > entries
    assert (other.coef_ != first.coef_).any()


def test_everything_that_follows_from_second_moments_is_free() -> None:
    curator, frame = clinic()
    bought = learning.SecondMoments(epsilon=20, delta=1e-6).fit(curator.rows(COLUMNS))
    entries = spent(curator)
    line = learning.LinearRegression().fit(bought, "charge")
    ridge = learning.Ridge(alpha=5.0).fit(bought, "age")
    classes = learning.LinearDiscriminantAnalysis().fit(bought, "smoker")
    directions = learning.PCA(n_components=2).fit(bought)
    assert spent(curator) == entries
    asked = frame[["age", "sex", "smoker"]]
    assert np.isfinite(line.predict(asked)).all()
    assert np.isfinite(ridge.predict(frame[["charge", "sex", "smoker"]])).all()
    assert set(classes.predict(frame[["age", "charge", "sex"]])) <= {False, True}
    assert directions.transform(frame[["age", "charge", "sex", "smoker"]]).shape == (200, 2)
    with pytest.raises(QuestionError, match="must be a number"):
        learning.LinearRegression().fit(bought, "sex")
    with pytest.raises(QuestionError, match="must be a column with listed values"):
        learning.LinearDiscriminantAnalysis().fit(bought, "age")
    with pytest.raises(QuestionError, match="not among"):
        learning.LinearRegression().fit(bought, "weight")


def test_several_rows_of_a_unit_are_counted() -> None:
    curator, _ = clinic()
    whole = curator.rows("SELECT age, charge FROM data")
    one = curator.rows("SELECT age, charge FROM data", rows_per_unit=1)
    prices = []
    for rows in (whole, one):
        receipt = learning.SecondMoments(epsilon=1).fit(rows).receipt_
        event = events.from_json(receipt["event"])
        assert isinstance(event, events.DiscreteLaplace)
        prices.append(event.sensitivity)
        assert receipt["rows_per_unit"] == ("3" if rows is whole else "1")
    assert prices[0] == 3 * prices[1]


def test_without_budget_no_row_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    curator, _ = clinic()
    curator.ask("SELECT count(*) FROM data", epsilon=2)
    read: list[Any] = []
    engine = curator._till.engine
    monkeypatch.setattr(engine, "run", lambda query: read.append(query))
    with pytest.raises(BudgetExceeded):
        learning.SecondMoments(epsilon=49).fit(curator.rows(COLUMNS))
    assert not read


def test_the_charge_stands_before_the_first_row_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    curator, _ = clinic()
    before = spent(curator)
    seen: list[int] = []
    snapshot = curator._till.engine.snapshot

    @contextlib.contextmanager
    def watched() -> Iterator[Any]:
        with snapshot() as run:

            def asked(query: Any) -> Any:
                seen.append(spent(curator))
                return run(query)

            yield asked

    monkeypatch.setattr(curator._till.engine, "snapshot", watched)
    learning.SecondMoments(epsilon=1).fit(curator.rows(COLUMNS))
    assert seen
    assert min(seen) > before


@pytest.fixture(scope="module")
def refusing() -> Iterator[tacit.Curator]:
    """Nothing is ever bought here."""
    curator, _ = clinic()
    with curator:
        yield curator


@pytest.mark.parametrize(
    ("model", "columns", "target", "words"),
    [
        (learning.LinearRegression(epsilon=1), "age, charge", "weight", "not there"),
        (learning.LinearRegression(epsilon=1), "age, charge", None, "name of a column"),
        (learning.LinearRegression(epsilon=1), "age, sex", "sex", "needs a number"),
        (learning.LinearRegression(epsilon=1), "charge", "charge", "no feature"),
        (learning.LinearRegression(epsilon=1, bounds=(0, 1)), "age, charge", "charge", "left out"),
        (learning.LinearDiscriminantAnalysis(epsilon=1), "age, charge", "age", "without listed values"),
        (learning.LinearDiscriminantAnalysis(epsilon=1, classes=["F"]), "age, sex", "sex", "left out"),
        (learning.StandardScaler(), "age", None, "epsilon"),
    ],
)
def test_bad_input_is_refused_before_the_charge(
    refusing: tacit.Curator, model: Any, columns: str, target: Any, words: str
) -> None:
    before = spent(refusing)
    with pytest.raises((QuestionError, ParameterError), match=words):
        model.fit(refusing.rows(f"SELECT {columns} FROM data"), target)
    assert spent(refusing) == before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda rows: pickle.loads(pickle.dumps(rows))])
def test_rows_of_a_curator_cannot_be_copied_away_from_their_ledger(copied: Any) -> None:
    curator, _ = clinic()
    before = spent(curator)
    try:
        rows = copied(curator.rows(COLUMNS))
    except (TypeError, TacitError):
        return  # refused
    learning.SecondMoments(epsilon=1).fit(rows)
    assert spent(curator) > before


def test_arrays_are_released_once_in_a_process_and_their_receipt_says_what_it_cost() -> None:
    X = np.random.default_rng().normal(size=(50, 2))
    model = learning.SecondMoments(epsilon=0.5, bounds=(-3, 3))
    first, again = clone(model).fit(X), clone(model).fit(X)
    assert (first.covariance_ == again.covariance_).all()
    assert again.finding_.repeated
    assert first.receipt_["epsilon"] == "1/2"
    changed = X.copy()
    changed[0, 0] += 1
    assert (clone(model).fit(changed).covariance_ != first.covariance_).any()
    assert (learning.SecondMoments(epsilon=0.25, bounds=(-3, 3)).fit(X).covariance_ != first.covariance_).any()
    X[0, 0] = -X[0, 0] + 1
    assert not clone(model).fit(X).finding_.repeated  # other rows in the same object
    assert len(remembered._RELEASED) <= remembered._MOST


@pytest.mark.parametrize("other", [np.copy, np.asfortranarray, np.ndarray.tolist])
def test_equal_rows_in_another_object_get_noise_of_their_own(other: Callable[[Any], Any]) -> None:
    """Else two models that agree would tell that their rows do, whatever epsilon says."""
    X = np.ascontiguousarray(np.random.default_rng().normal(size=(50, 2)))
    model = learning.SecondMoments(epsilon=0.5, bounds=(-3, 3))
    first, second = clone(model).fit(X), clone(model).fit(other(X))
    assert (first.covariance_ != second.covariance_).any()
    assert not second.finding_.repeated


def test_a_view_of_the_same_memory_read_in_the_same_way_is_the_same_data() -> None:
    X = np.random.default_rng().normal(size=(50, 2))
    assert remembered.token_of(X[:]) == remembered.token_of(X)
    square = X[:2]  # symmetric or not, its transpose is other data: agreement would tell that it is symmetric
    assert remembered.token_of(square.T) != remembered.token_of(square)


def test_an_object_that_takes_the_place_of_another_in_memory_is_another() -> None:
    tokens = {remembered.token_of(np.zeros(3)) for _ in range(20)}  # each is freed before the next is made
    assert len(tokens) == 20
    assert len(remembered._HELD) < 20


@pytest.mark.parametrize("kind", ["moments", "line", "classes"])
def test_what_a_model_keeps_is_made_of_its_release_and_of_public_facts(kind: str) -> None:
    """Two models of different rows with one stored release are the same in everything that they keep."""
    rng = np.random.default_rng()
    facts: dict[str, Any] = {"epsilon": 1, "bounds": (-3, 3)}
    made = {
        "moments": lambda: learning.SecondMoments(**facts),
        "line": lambda: learning.LinearRegression(**facts, target_bounds=(-1, 2)),
        "classes": lambda: learning.LinearDiscriminantAnalysis(**facts, classes=[0, 1]),
    }[kind]
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    first = made().fit(X, y)
    stored = first.finding_.to_bytes()
    with pytest.MonkeyPatch.context() as patch:
        from tacit.statistics.finding import Finding
        from tacit.statistics.source import ArraySource

        patch.setattr(ArraySource, "deliver", lambda self, study: Finding.from_bytes(stored))
        second = made().fit(rng.normal(size=(70, 2)) + 5, rng.integers(0, 2, 70))
    for name, value in vars(first).items():
        other = getattr(second, name)
        assert _told(value) == _told(other), name


def _told(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return json.dumps(value.tolist(), default=str)
    if hasattr(value, "matrix"):
        return json.dumps(value.matrix.tolist())
    return str(value)


@pytest.mark.statistical
def test_a_large_budget_finds_the_plain_models() -> None:
    """Noise far below the tolerances: a false alarm would take a draw beyond 20 deviations."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng()
    X = np.clip(rng.normal(size=(4_000, 3)) @ np.diag([1.0, 0.6, 0.3]) + [0.2, 0, -0.1], -4, 4)
    y = np.clip(X @ [1.0, -2.0, 0.5] + 3 + rng.normal(0, 0.1, 4_000), -20, 20)
    ours = learning.LinearRegression(epsilon=1e7, bounds=(-4, 4), target_bounds=(-20, 20)).fit(X, y)
    plain = LinearRegression().fit(X, y)
    assert ours.coef_ == pytest.approx(plain.coef_, abs=0.01)
    assert ours.intercept_ == pytest.approx(plain.intercept_, abs=0.01)
    assert ours.predict(X[:5]) == pytest.approx(X[:5] @ ours.coef_ + ours.intercept_)
    directions = learning.PCA(n_components=2, epsilon=1e7, bounds=(-4, 4)).fit(X)
    assert np.abs(directions.components_) == pytest.approx(np.abs(PCA(2).fit(X).components_), abs=0.01)
    scaled = learning.StandardScaler(epsilon=1e7, bounds=(-4, 4)).fit(X)
    assert scaled.mean_ == pytest.approx(X.mean(axis=0), abs=0.001)
    assert scaled.scale_ == pytest.approx(X.std(axis=0), abs=0.001)
