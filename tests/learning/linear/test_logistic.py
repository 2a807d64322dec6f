"""Linear models in rounds: what one unit moves, a row's part is its own, all noise is charged, and they learn."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import learning
from tacit.errors import ParameterError, QuestionError
from tacit.learning.balls import shrunk
from tacit.learning.columns import Feature
from tacit.learning.linear.linear_rounds import GRADIENT, NEWTON, Rounds, plan_rounds
from tacit.learning.linear.margin_losses import FINE, HINGE, LOGISTIC, PERCEPTRON
from tacit.learning.linear.rounds import PRODUCT, SQUARE, WEIGHT, gradient, grid_rows, moved, products, sums_by_class
from tacit.learning.second_moments.centred import weights_of_products
from tacit.loss import compose, events
from tacit.mechanisms import Laplace
from tests.learning.linear.drawing import gaussian_draws
from tests.learning.second_moments.test_gram import cells, clinic, columns

CASES = int(os.environ.get("TACIT_CASES", "800"))  # 5,000 for a soak
LOSSES = (LOGISTIC, HINGE, PERCEPTRON)


def planned(features: Any, many: int, rows: int, epsilon: str, delta: str, method: str, loss: Any = LOGISTIC) -> Rounds:
    return plan_rounds(features, many, rows, Fraction(epsilon), Fraction(delta), loss=loss, method=method)


def squared(numbers: Any) -> int:
    return sum(int(each) ** 2 for each in np.asarray(numbers).ravel())


def size_of(numbers: Any, noise: Any) -> float:
    """How far that is, as a share of what was charged, in the norm of the noise."""
    if isinstance(noise, Laplace):
        return float(sum(abs(int(each)) for each in np.asarray(numbers).ravel()) / noise.event.sensitivity)
    return float(squared(numbers) / noise.event.sensitivity**2)


def test_a_units_rows_move_every_kind_of_sums_by_at_most_its_sensitivity() -> None:
    rng = np.random.default_rng()
    closest = np.zeros((2, 3))  # of Gaussian and Laplace noise: sums, products, gradients
    for turn in range(CASES):
        if turn % 20 == 0:
            features, many, rows = columns(rng), int(rng.integers(2, 5)), int(rng.integers(1, 4))
            method, delta = (GRADIENT, NEWTON)[turn // 20 % 2], ("0.01", "0")[turn // 40 % 2]
            loss = LOSSES[int(rng.integers(3))]
            made = planned(features, many, rows, "1", delta, method, loss)
        codes = np.stack([cells(each, rows, rng) for each in features], axis=1)
        classes = rng.integers(0, many, rows)
        if rng.random() < 0.5:
            codes[:], classes[:] = codes[0], classes[0]  # the same row again moves them farthest
        vectors = grid_rows(codes.T, features, ["number"] * len(features))
        assert np.abs(vectors.astype(int)).max() <= FINE
        sums = sums_by_class(vectors, classes, many, made.around.first_constant, made.around.first_reach)
        centre = rng.integers(-FINE, FINE + 1, len(vectors))
        whole = moved(vectors, centre, made.reach, made.constant)
        weights = rng.normal(0, rng.choice([0.0, 1.0, 100.0, 1e9]), (len(whole), made.scores))
        sizes = [size_of(sums, made.noises[0]), 0.0]
        if method == NEWTON:
            upper = np.triu_indices(len(whole))
            sizes[1] = size_of(products(whole)[upper] * weights_of_products(upper, made.noises[1]), made.noises[1])
        sizes.append(size_of(gradient(whole, classes, weights, made.reach, loss), made.noises[-1]))
        assert max(sizes) <= 1
        kind = int(isinstance(made.noises[0], Laplace))
        closest[kind] = np.maximum(closest[kind], sizes)
    assert (closest[0] > 0.9).all()  # no budget is given away


def test_weights_of_squares_and_products_are_as_the_theorem_says() -> None:
    assert PRODUCT**2 <= 2 * SQUARE**2 < (PRODUCT + 1) ** 2


def test_what_a_row_adds_does_not_depend_on_the_rows_beside_it() -> None:
    """Sums of all rows are the sums of the rows one by one, to the last unit."""
    rng = np.random.default_rng()
    for turn in range(60):
        many, width, count = int(rng.integers(2, 6)), int(rng.integers(1, 40)), int(rng.integers(1, 70))
        vectors = rng.integers(-FINE, FINE + 1, (width, count)).astype(np.int16)
        classes, loss = rng.integers(0, many, count), LOSSES[turn % 3]
        weights = rng.normal(0, 3, (width + 1, 1 if many == 2 else many))
        reach, centre = int(rng.integers(100, 3 * FINE)), rng.integers(-FINE, FINE, width)
        whole = moved(vectors, centre, reach, reach // 3)
        one_by_one = [moved(vectors[:, [place]], centre, reach, reach // 3) for place in range(count)]
        assert (np.hstack(one_by_one) == whole).all()
        parts = [gradient(row, classes[[place]], weights, reach, loss) for place, row in enumerate(one_by_one)]
        assert (sum(parts) == gradient(whole, classes, weights, reach, loss)).all()
        assert (sum(products(row) for row in one_by_one) == products(whole)).all()
        sums = [sums_by_class(vectors[:, [p]], classes[[p]], many, 7, reach) for p in range(count)]
        assert (sum(sums) == sums_by_class(vectors, classes, many, 7, reach)).all()


def test_sums_over_many_blocks_are_those_of_plain_whole_numbers() -> None:
    rng = np.random.default_rng()
    rows = rng.integers(-2 * FINE, 2 * FINE + 1, (3, 20_000)).astype(np.int16)
    classes = rng.integers(0, 2, 20_000)
    exact = rows.astype(object)
    assert (products(rows) == exact @ exact.T).all()
    found = sums_by_class(rows, classes, 2, 5, 10 * FINE)
    plain = [[5 * int((classes == c).sum()), *exact[:, classes == c].sum(axis=1)] for c in (0, 1)]
    assert found.tolist() == plain


def test_a_shrunk_row_keeps_its_direction_and_a_short_one_is_left_as_it_is() -> None:
    rows = np.array([[3000.0, 3.0], [4000.0, 4.0]])
    found = shrunk(rows, 1000)
    assert found[:, 1].tolist() == [3.0, 4.0]
    assert np.abs(found[:, 0] - [600, 800]).max() <= 1
    assert (found[:, 0] ** 2).sum() <= 1000**2


def test_residuals_are_probability_less_truth_to_the_grid() -> None:
    rng = np.random.default_rng()
    one = 1000 * WEIGHT
    for many in (2, 4):
        scores = rng.normal(0, 2, (1 if many == 2 else many, 300))
        classes = rng.integers(0, many, 300)
        found = LOGISTIC.residuals(np.rint(scores * one), classes, one) / FINE
        whole = np.vstack([np.zeros_like(scores), scores]) if many == 2 else scores
        odds = np.exp(whole - whole.max(axis=0))
        plain = odds / odds.sum(axis=0) - (classes == np.arange(many)[:, None])
        if many == 2:
            plain = plain[1:]
        plain = plain * np.minimum(1.0, 0.5 / np.linalg.norm(plain, axis=0))
        assert np.abs(found - plain).max() < 0.006


@pytest.mark.parametrize(
    ("margin", "hinge", "perceptron"),
    [(-5.0, 1.0, 1.0), (-0.01, 1.0, 1.0), (0.49, 1, 0), (1.0, 0.5, 0), (2, 0, 0)],
)
def test_a_margin_pulls_as_hard_as_it_should(margin: float, hinge: float, perceptron: float) -> None:
    one = 1000 * WEIGHT
    for side, label in ((1, 1), (-1, 0)):
        score, classes = np.array([[np.rint(side * margin * one)]]), np.array([label])
        assert HINGE.residuals(score, classes, one)[0, 0] / FINE == pytest.approx(-side * hinge, abs=0.01)
        assert PERCEPTRON.residuals(score, classes, one)[0, 0] / FINE == -side * perceptron


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-5"), ("1", "1e-6"), ("10", "1e-5"), ("3", "0.01")])
@pytest.mark.parametrize("method", [GRADIENT, NEWTON])
def test_the_charged_event_is_what_is_drawn_and_is_worth_the_price(epsilon: str, delta: str, method: str) -> None:
    features = (Feature("a", 0, 9, Fraction(1)), Feature("b", 0, 1, Fraction(1), (0, 1, 2)))
    made = planned(features, 3, 2, epsilon, delta, method)
    event = made.price.event
    spent = compose([event])
    assert spent.delta(Fraction(epsilon)) <= float(Fraction(delta))
    assert spent.epsilon(Fraction(delta)) > 0.999 * float(Fraction(epsilon))  # and nothing is given away
    assert isinstance(event, events.Composed)
    *once, rest = event.events
    assert isinstance(rest, events.Repeated)
    assert [*once, rest.event] == [each.event for each in made.noises]
    assert rest.count == made.count


def test_without_a_delta_the_noise_is_laplaces_and_costs_epsilon() -> None:
    features = (Feature("a", 0, 9, Fraction(1)),)
    made = planned(features, 2, 1, "0.7", "0", GRADIENT)
    assert all(isinstance(each, Laplace) for each in made.noises)
    assert made.price.delta == 0
    assert compose([made.price.event]).epsilon(0) == pytest.approx(0.7, rel=1e-9)
    assert compose([made.price.event]).epsilon(0) <= 0.7 * (1 + 1e-12)


@pytest.mark.parametrize("method", [GRADIENT, NEWTON])
def test_as_many_sums_are_drawn_as_are_charged(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    drawn = gaussian_draws(monkeypatch)
    X, y = np.random.default_rng().normal(size=(30, 9)), np.arange(30) % 2
    model = learning.LogisticRegression(method=method, epsilon=1, delta=1e-5, bounds=(-3, 3), classes=[0, 1]).fit(X, y)
    charged = events.from_json(model.receipt_["event"])
    assert isinstance(charged, events.Composed)
    *once, rest = charged.events
    assert isinstance(rest, events.Repeated)
    assert [event for event, _ in drawn] == [*once, *([rest.event] * rest.count)]
    assert [size for _, size in drawn] == [20, *([55] if method == NEWTON else []), *([10] * rest.count)]


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


@pytest.mark.parametrize("method", ["lbfgs", 3])
def test_a_method_that_is_not_offered_is_refused_before_the_charge(method: Any) -> None:
    curator, _ = clinic()
    before = len(curator.ledger())
    rows = curator.rows("SELECT age, sex FROM data")
    with pytest.raises((QuestionError, ParameterError), match="method"):
        learning.LogisticRegression(method=method, epsilon=1, delta=1e-6).fit(rows, "sex")
    assert len(curator.ledger()) == before


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("kind", "facts", "least"),
    [
        ("LogisticRegression", {"epsilon": 1, "delta": 1e-6}, 0.90),
        ("LogisticRegression", {"epsilon": 10, "delta": 1e-6}, 0.92),
        ("LogisticRegression", {"epsilon": 1, "delta": 1e-6, "method": "gradient"}, 0.85),
        ("LogisticRegression", {"epsilon": 3}, 0.75),
        ("LinearSVC", {"epsilon": 1, "delta": 1e-6}, 0.90),
        ("LinearSVC", {"epsilon": 3}, 0.75),
        ("Perceptron", {"epsilon": 1, "delta": 1e-6}, 0.80),
    ],
)
def test_they_learn_what_can_be_learned(kind: str, facts: dict[str, Any], least: float) -> None:
    """4,000 rows whose classes a line tells apart in 95 of 100: noise takes less than a tenth of that margin."""
    rng = np.random.default_rng()
    X = rng.uniform(-1, 1, (4_000, 4))
    y = np.where(X @ [2.0, -1.0, 0.5, 0.0] + rng.normal(0, 0.15, 4_000) > 0.2, "yes", "no")
    model = getattr(learning, kind)(**facts, bounds=(-1, 1), classes=["no", "yes"]).fit(X, y)
    assert model.score(X, y) > least


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["LogisticRegression", "LinearSVC", "Perceptron"])
def test_they_tell_three_classes_apart_in_the_order_they_were_listed_or_not(kind: str) -> None:
    rng = np.random.default_rng()
    y = rng.choice(["a", "b", "c"], 3_000)
    centres = {"a": (0.6, 0.0), "b": (-0.4, 0.6), "c": (-0.4, -0.6)}
    X = np.array([centres[each] for each in y]) + rng.normal(0, 0.2, (3_000, 2))
    for order in (["a", "b", "c"], ["c", "a", "b"]):
        model = getattr(learning, kind)(epsilon=5, delta=1e-6, bounds=(-1, 1), classes=order).fit(X, y)
        assert list(model.classes_) == ["a", "b", "c"]
        assert model.score(X, y) > 0.9


def test_decisions_and_coefficients_of_two_classes_agree() -> None:
    """Coefficients are in the data's own units, whatever the bounds are."""
    rng = np.random.default_rng()
    X = rng.uniform(-1, 1, (500, 2)) * [10, 0.5] + [100, 3]
    y = (X[:, 0] > 100).astype(int)
    facts = {"epsilon": 20, "delta": 1e-6, "bounds": {0: (90, 110), 1: (2.5, 3.5)}}
    for order in ([0, 1], [1, 0]):
        model = learning.LinearSVC(**facts, classes=order).fit(X, y)
        assert model.coef_.shape == (1, 2)
        near = (model._centre + np.array([[0.01, 0.02], [-0.01, 0.0]])) * [10, 0.5] + [100, 3]  # not shrunk
        assert np.allclose(model.decision_function(near), near @ model.coef_[0] + model.intercept_[0])
        assert (model.predict(X) == (model.decision_function(X) > 0)).all()
        assert model.coef_[0, 0] > 0
    assert not hasattr(model, "predict_proba")


def test_one_class_and_few_rows_give_a_private_model() -> None:
    X, y = np.ones((2, 3)), np.array([1, 1])
    model = learning.LogisticRegression(epsilon=1, delta=1e-5, bounds=(0, 1), classes=[0, 1, 2]).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert isinstance(tacit.learning.LogisticRegression, type)
