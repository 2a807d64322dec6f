"""Boosted bins: what one unit moves, a row's part is its own, all noise is charged, and it learns."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import learning
from tacit.errors import ParameterError
from tacit.learning.bins.bins import uniform
from tacit.learning.bins.boosting import Boosting, histogram, plan_boosting
from tacit.learning.bins.losses import FINE, Loss, ManyClasses, Numbers, TwoClasses, proportions
from tacit.loss import compose, events
from tests.learning.second_moments.test_gram import clinic, columns

CASES = 300  # the soak has 5,000
BUDGET = Fraction(1), Fraction(1, 10**5)


def some_loss(rng: np.random.Generator) -> Loss:
    return (TwoClasses(), ManyClasses(int(rng.integers(3, 6))), Numbers())[int(rng.integers(3))]


def targets(loss: Loss, count: int, rng: np.random.Generator) -> Any:
    """At the ends, where norms are largest, and between them."""
    if isinstance(loss, Numbers):
        inner = rng.integers(-FINE, FINE, count, endpoint=True)
        return np.where(rng.random(count) < 0.6, rng.choice([-FINE, FINE, 0], count), inner)
    return rng.integers(0, loss.classes, count)  # type: ignore[attr-defined]


def longest(moved: Any) -> tuple[int, int]:
    """The L1 norm and the square of the L2 norm, in Python's own integers."""
    whole = [int(each) for each in np.asarray(moved).ravel()]
    return sum(map(abs, whole)), sum(each * each for each in whole)


def sensitivities(plan: Boosting) -> list[tuple[str, Fraction]]:
    """Those of the first release and of a round, as they are charged."""
    found = []
    for each in (plan.first.event, plan.each.event):
        assert each.to_json() in plan.price.event.to_json()
        found.append(("L1" if isinstance(each, events.DiscreteLaplace) else "L2", Fraction(each.sensitivity)))
    return found


def check_units(cases: int, rng: np.random.Generator) -> dict[str, float]:
    """A unit's rows, drawn at the ends, against the charged sensitivities; the largest share of each that was met."""
    closest: dict[str, float] = {}
    for _ in range(cases):
        features, rows = columns(rng), int(rng.integers(1, 4))
        bins = tuple(uniform(each, int(rng.integers(2, 9))) for each in features)
        loss = some_loss(rng)
        delta = BUDGET[1] if rng.random() < 0.5 else Fraction(0)
        plan = plan_boosting(bins, loss, rows, Fraction(1), delta, 1)
        cells = [rng.integers(0, each.size, rows).astype(np.uint8) for each in bins]
        target = targets(loss, rows, rng)
        if rng.random() < 0.6:  # the same row again moves it farthest
            cells, target = [np.full_like(each, each[0]) for each in cells], np.full_like(target, target[0])
        ones = np.ones(rows, dtype=np.int64)
        first = loss.first_sums(cells, [each.size for each in bins], target, ones)
        scores = rng.choice([-20_000, -700, 0, 90, 3_000, 20_000], (rows, loss.scores)).astype(np.int32)
        scores[:] = scores[0]
        found = loss.residuals(scores, target, float(rng.choice([0.01, 0.3, 2.0])))
        place = int(rng.integers(len(bins)))
        step = histogram(cells[place], found, bins[place].size, None)
        for name, moved, (norm, most) in zip(("first", "round"), (first, step), sensitivities(plan), strict=True):
            taxicab, squared = longest(moved)
            if norm == "L1":
                assert taxicab <= most, (name, loss)
                share = float(taxicab / most)
            else:
                assert squared <= most * most, (name, loss)
                share = math.sqrt(squared) / float(most)
            key = f"{type(loss).__name__} {name} {norm}"
            closest[key] = max(closest.get(key, 0.0), share)
    return closest


def test_a_units_rows_move_histograms_by_at_most_the_sensitivity() -> None:
    closest = check_units(CASES, np.random.default_rng())
    assert closest["TwoClasses first L1"] > 0.99  # the bounds are reached: no budget is given away
    assert closest["TwoClasses first L2"] > 0.99
    assert closest["TwoClasses round L2"] > 0.99
    assert closest["ManyClasses round L2"] > 0.99
    assert closest["Numbers round L2"] > 0.99
    assert closest["Numbers first L2"] > 0.99


def test_a_rows_part_is_the_same_whatever_rows_stand_beside_it() -> None:
    rng = np.random.default_rng()
    for loss in (TwoClasses(), ManyClasses(4), Numbers()):
        scores = rng.integers(-9_000, 9_000, (70_000, loss.scores)).astype(np.int32)
        target = targets(loss, len(scores), rng)
        whole = loss.residuals(scores, target, 0.37)
        chosen = rng.integers(0, len(scores), 200)
        alone = np.concatenate([loss.residuals(scores[[row]], target[[row]], 0.37) for row in chosen])
        assert (whole[chosen] == alone).all()


def test_rows_that_are_alike_add_as_often_as_they_are_there() -> None:
    rng = np.random.default_rng()
    column, found = rng.integers(0, 5, 50).astype(np.uint8), rng.integers(-FINE, FINE, (50, 2))
    times = rng.integers(1, 4, 50)
    repeated = np.repeat(np.arange(50), times)
    assert (histogram(column, found, 6, times) == histogram(column[repeated], found[repeated], 6, None)).all()
    for loss in (TwoClasses(), Numbers()):
        target = targets(loss, 50, rng)
        whole = loss.first_sums([column], [6], target, times)
        assert (whole == loss.first_sums([column[repeated]], [6], target[repeated], np.ones_like(repeated))).all()


@pytest.mark.parametrize("loss", [TwoClasses(), ManyClasses(5), Numbers()])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_all_noise_is_charged_and_little_more(loss: Loss, epsilon: str) -> None:
    bins = tuple(uniform(each, 8) for each in columns(np.random.default_rng()))
    plan = plan_boosting(bins, loss, 2, Fraction(epsilon), BUDGET[1], None)
    event = plan.price.event
    assert event == events.Composed((plan.first.event, events.Repeated(plan.each.event, plan.rounds * len(bins))))
    assert compose([event]).delta(Fraction(epsilon)) <= BUDGET[1]
    assert compose([event]).delta(Fraction(epsilon) * Fraction(98, 100)) > BUDGET[1]
    pure = plan_boosting(bins, loss, 2, Fraction(epsilon), Fraction(0), 3)
    parts = [Fraction(each.event.sensitivity) / each.event.scale for each in (pure.first, pure.each)]  # type: ignore[union-attr]
    assert parts[0] + 3 * len(bins) * parts[1] <= Fraction(epsilon)
    assert pure.price.delta == 0


def test_clipped_residuals_balance_where_the_closed_form_says() -> None:
    for chance in (0.02, 0.3, 0.5, 0.7, 0.98):
        share = float(proportions(np.array([chance]))[0])
        assert share * min(1 - chance, 0.5) == pytest.approx((1 - share) * min(chance, 0.5))


def some_table(count: int) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng()
    frame = pd.DataFrame(
        {"age": rng.integers(18, 90, count), "sex": rng.choice(["F", "M"], count), "pay": rng.random(count)}
    )
    score = 3.0 * (frame["age"] > 50) - 2.0 * (frame["sex"] == "M") + 2 * np.sin(6 * frame["pay"])
    return frame, (score + rng.logistic(size=count) > 0.5).astype(int).to_numpy(), score.to_numpy()


FACTS: dict[str, Any] = {"bounds": {"age": (0, 100), "pay": (0, 1)}, "values": {"sex": ["F", "M"]}}


def test_steps_bends_and_listed_values_are_learnt_and_can_be_looked_at() -> None:
    frame, classes, numbers = some_table(20_000)
    model = learning.BoostedBinsClassifier(epsilon=2, delta=1e-6, classes=[0, 1], **FACTS).fit(frame, classes)
    best = ((numbers > 0.5) == classes).mean()
    assert model.score(frame, classes) > best - 0.01
    chances = model.predict_proba(frame)
    assert np.abs(chances[:, 1] - 1 / (1 + np.exp(0.5 - numbers))).mean() < 0.06
    ages = model.shape("age")
    assert ages.drawing == "line"
    assert ages.names == ("age", "adds to 1")
    values = dict(zip(ages["age"], ages["adds to 1"], strict=True))
    old = [added for age, added in values.items() if 55 < age < 90]
    young = [added for age, added in values.items() if 18 < age < 48]
    assert min(old) > max(young) + 1
    sexes = dict(model.shape("sex").rows())
    assert sexes["F"] > sexes["M"] + 1
    assert "vega-lite" in str(ages.chart_spec()["$schema"])
    assert len(model.shapes()) == len(ages) + len(model.shape("pay")) + 2
    assert model.feature_importances_.sum() == pytest.approx(1)
    with pytest.raises(ParameterError, match="column"):
        model.shape("weight")
    line = learning.BoostedBinsRegressor(epsilon=2, delta=1e-6, target_bounds=(-6, 6), **FACTS).fit(frame, numbers)
    assert line.score(frame, numbers) > 0.9
    unknown = line.predict(pd.DataFrame({"age": [50, np.nan], "sex": ["X", "F"], "pay": [0.5, 0.5]}))
    assert np.isfinite(unknown).all()


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_rows_of_a_curator_are_charged_once_and_the_same_fit_is_free(delta: float) -> None:
    curator, frame = clinic()
    rows = curator.rows("SELECT age, charge, sex, smoker FROM data")
    entries = len(curator.ledger())
    model = learning.BoostedBinsClassifier(epsilon=1, delta=delta).fit(rows, "smoker")
    paid = len(curator.ledger())
    assert paid > entries
    again = learning.BoostedBinsClassifier(epsilon=1, delta=delta).fit(rows, "smoker")
    assert len(curator.ledger()) == paid
    assert again.finding_.repeated
    assert all((a == b).all() for a, b in zip(model._tables, again._tables, strict=True))
    assert model.receipt_["rows_per_unit"] == "3"
    assert set(model.predict(frame[["age", "charge", "sex"]])) <= {False, True}
    learning.BoostedBinsRegressor(epsilon=1, delta=delta).fit(rows, "charge").predict(frame[["age", "sex", "smoker"]])


@pytest.mark.parametrize("rows", [1, 3])
def test_few_rows_one_class_and_constant_columns_give_a_private_model(rows: int) -> None:
    X, y = np.ones((rows, 5)), np.zeros(rows)
    facts: dict[str, Any] = {"epsilon": 1, "delta": 1e-5, "bounds": (0, 1)}
    for classes in ([0, 1], [0, 1, 2]):
        model = learning.BoostedBinsClassifier(**facts, classes=classes).fit(X, y)
        assert list(model.classes_) == classes
        assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(learning.BoostedBinsRegressor(**facts, target_bounds=(0, 1)).fit(X, y).predict(X)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 1}, "bins"),
        ({"bins": "many"}, "bins"),
        ({"bins": {"x9": [0.5]}}, "x9"),
        ({"bins": {"x0": [0.5, 0.1]}}, "ascending"),
        ({"rounds": 0}, "rounds"),
        ({"epsilon": 0}, "epsilon"),
        ({"classes": [1]}, "classes"),
        ({"bounds": None}, "bounds"),
    ],
)
def test_what_is_not_public_or_not_there_is_refused_by_name(options: dict[str, Any], words: str) -> None:
    model = learning.BoostedBinsClassifier(**{"epsilon": 1, "bounds": (0, 1), "classes": [0, 1], **options})
    with pytest.raises(ParameterError, match=words):
        model.fit(np.ones((4, 2)), np.array([0, 1, 0, 1]))


def test_stated_edges_are_the_bins() -> None:
    X = np.repeat([[0.05], [0.55]], 500, axis=0)
    y = np.repeat([0, 1], 500)
    model = learning.BoostedBinsClassifier(
        epsilon=5, delta=1e-6, bounds=(0, 1), bins={"x0": [0.25, 0.5]}, classes=[0, 1]
    )
    assert model.fit(X, y).score(X, y) == 1
    assert [len(table) for table in model._tables] == [3]
    assert isinstance(tacit.learning.BoostedBinsClassifier, type)
