"""Logistic regression: what one unit moves, a row's part is its own, all noise is charged, and it learns."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import learning
from tacit.errors import ParameterError
from tacit.learning.columns import Feature
from tacit.learning.logistic import plan_rounds
from tacit.learning.rounds import FINE, WEIGHT, gradient, grid_rows, residuals, shrunk, sums_by_class
from tacit.loss import compose, events
from tests.learning.test_gram import cells, clinic, columns

CASES = 5_000


def squared(numbers: Any) -> int:
    return sum(int(each) ** 2 for each in np.asarray(numbers).ravel())


def test_a_units_rows_move_both_kinds_of_sums_by_at_most_their_sensitivities() -> None:
    rng = np.random.default_rng()
    closest = np.zeros(2)
    for turn in range(CASES):
        if turn % 100 == 0:
            features, many, rows = columns(rng), int(rng.integers(2, 5)), int(rng.integers(1, 4))
            made = plan_rounds(features, many, rows, Fraction(1), Fraction(1, 100))
        codes = np.stack([cells(each, rows, rng) for each in features], axis=1)
        classes = rng.integers(0, many, rows)
        if rng.random() < 0.5:
            codes[:], classes[:] = codes[0], classes[0]  # the same row again moves them farthest
        vectors = grid_rows(codes, features, ["number"] * len(features))
        assert np.abs(vectors).max() <= FINE
        sums = sums_by_class(shrunk(vectors, made.first_reach), classes, many, made.first_constant)
        assert squared(sums) <= made.first.event.sensitivity**2
        centre = rng.integers(-FINE, FINE + 1, vectors.shape[1])
        moved = shrunk(vectors - centre, made.reach)
        whole = np.hstack([np.full((rows, 1), made.constant), moved])
        weights = rng.normal(0, rng.choice([0.0, 1.0, 100.0, 1e9]), (whole.shape[1], many))
        found = gradient(whole, classes, weights, made.reach)
        assert squared(found) <= made.each.event.sensitivity**2
        sizes = [squared(sums) / made.first.event.sensitivity**2, squared(found) / made.each.event.sensitivity**2]
        closest = np.maximum(closest, [float(each) for each in sizes])
    assert (closest > 0.9).all()  # no budget is given away


def test_what_a_row_adds_does_not_depend_on_the_rows_beside_it() -> None:
    """Sums of all rows are the sums of the rows one by one, to the last unit."""
    rng = np.random.default_rng()
    for _ in range(60):
        many, width, count = int(rng.integers(2, 6)), int(rng.integers(1, 40)), int(rng.integers(1, 70))
        vectors = rng.integers(-FINE, FINE + 1, (count, width))
        classes = rng.integers(0, many, count)
        weights = rng.normal(0, 3, (width, many))
        reach = int(rng.integers(100, 3 * FINE))
        whole = shrunk(vectors, reach)
        one_by_one = [shrunk(vectors[[place]], reach) for place in range(count)]
        assert (np.vstack(one_by_one) == whole).all()
        parts = [gradient(row, classes[[place]], weights, reach) for place, row in enumerate(one_by_one)]
        assert (sum(parts) == gradient(whole, classes, weights, reach)).all()


def test_residuals_are_probability_less_truth_to_the_grid() -> None:
    rng = np.random.default_rng()
    scores = rng.normal(0, 2, (300, 4))
    one = 1000 * WEIGHT
    classes = rng.integers(0, 4, 300)
    found = residuals(np.rint(scores * one).astype(np.int64), classes, one) / FINE
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    plain = odds / odds.sum(axis=1, keepdims=True) - np.eye(4)[classes]
    sizes = np.linalg.norm(plain, axis=1, keepdims=True)
    plain = plain * np.minimum(1.0, 1.0 / sizes)
    assert np.abs(found - plain).max() < 0.006


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-5"), ("1", "1e-6"), ("10", "1e-5"), ("3", "0.01")])
def test_the_charged_event_is_what_is_drawn_and_is_worth_the_price(epsilon: str, delta: str) -> None:
    features = (Feature("a", 0, 9, Fraction(1)), Feature("b", 0, 1, Fraction(1), (0, 1, 2)))
    made = plan_rounds(features, 3, 2, Fraction(epsilon), Fraction(delta))
    spent = compose([made.event])
    assert spent.delta(Fraction(epsilon)) <= float(Fraction(delta))
    assert spent.epsilon(Fraction(delta)) > 0.999 * float(Fraction(epsilon))  # and nothing is given away
    assert isinstance(made.event, events.Composed)
    first, rest = made.event.events
    assert isinstance(rest, events.Repeated)
    assert (first, rest.event, rest.count) == (made.first.event, made.each.event, made.count)


def test_as_many_gradients_are_drawn_as_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.mechanisms import Gaussian

    drawn: list[Any] = []
    release = Gaussian.release

    def watched(self: Gaussian, values: Any, **options: Any) -> Any:
        drawn.append((self.event, np.size(values)))
        return release(self, values, **options)

    monkeypatch.setattr(Gaussian, "release", watched)
    X, y = np.random.default_rng().normal(size=(30, 2)), np.arange(30) % 2
    model = learning.LogisticRegression(epsilon=1, delta=1e-5, bounds=(-3, 3), classes=[0, 1]).fit(X, y)
    charged = events.from_json(model.receipt_["event"])
    assert isinstance(charged, events.Composed)
    first, rest = charged.events
    assert isinstance(rest, events.Repeated)
    assert [event for event, _ in drawn] == [first] + [rest.event] * rest.count
    assert all(size == 6 for _, size in drawn)


def test_a_curator_and_arrays_of_the_same_rows_learn_the_same_kind_of_model_and_it_is_stored() -> None:
    curator, frame = clinic()
    rows = curator.rows("SELECT age, charge, sex, smoker FROM data")
    before = len(curator.ledger())
    model = learning.LogisticRegression(epsilon=5, delta=1e-6).fit(rows, "smoker")
    entries = len(curator.ledger())
    assert entries > before
    again = learning.LogisticRegression(epsilon=5, delta=1e-6).fit(rows, "smoker")
    assert len(curator.ledger()) == entries
    assert (again.coef_ == model.coef_).all()
    assert list(model.classes_) == [False, True]
    told = model.predict_proba(frame[["age", "charge", "sex"]])
    assert told.shape == (200, 2)
    assert np.allclose(told.sum(axis=1), 1)
    assert model.receipt_["rows_per_unit"] == "3"


def test_without_a_delta_it_is_refused_before_the_charge() -> None:
    curator, _ = clinic()
    before = len(curator.ledger())
    with pytest.raises(ParameterError, match="delta"):
        learning.LogisticRegression(epsilon=1).fit(curator.rows("SELECT age, sex FROM data"), "sex")
    assert len(curator.ledger()) == before


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "least"), [(1, 0.85), (10, 0.90)])
def test_it_learns_what_can_be_learned(epsilon: float, least: float) -> None:
    """4,000 rows whose classes a line tells apart in 95 of 100: noise takes less than a tenth of that margin."""
    rng = np.random.default_rng()
    X = rng.uniform(-1, 1, (4_000, 4))
    y = np.where(X @ [2.0, -1.0, 0.5, 0.0] + rng.normal(0, 0.15, 4_000) > 0.2, "yes", "no")
    model = learning.LogisticRegression(epsilon=epsilon, delta=1e-6, bounds=(-1, 1), classes=["no", "yes"]).fit(X, y)
    assert model.score(X, y) > least


def test_one_class_and_few_rows_give_a_private_model() -> None:
    X, y = np.ones((2, 3)), np.array([1, 1])
    model = learning.LogisticRegression(epsilon=1, delta=1e-5, bounds=(0, 1), classes=[0, 1, 2]).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert isinstance(tacit.learning.LogisticRegression, type)
