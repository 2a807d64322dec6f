"""Naive Bayes: one joint release, whose sensitivity is proved by neighbours, and closed forms of the plain models."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import naive_bayes

import tacit
from tacit import learning
from tacit.errors import ParameterError, QuestionError
from tacit.learning.bins.bins import uniform
from tacit.learning.bins.naive_bayes import plan_cells, plan_sums
from tacit.learning.columns import Feature, features_of
from tacit.loss import events
from tacit.plan.row_plan import Variable
from tacit.statistics.source import ArraySource, source_of
from tests.learning.second_moments.test_gram import cells, clinic, columns
from tests.statistics.test_source import looked_at

CASES = 200  # the soak has 5,000


def source_for(features: tuple[Feature, ...], codes: Any) -> ArraySource:
    """Rows of codes as a source, nothing missing. Numbers are within their bounds, as an engine makes them."""
    known, held = [], {}
    for place, each in enumerate(features):
        if each.options is None:
            known.append(Variable(each.name, "number", each.step, each.low, each.low + each.width, None, False))
            held[each.name] = np.clip(codes[:, place], each.low, each.low + each.width)
        else:
            listed = tuple(each.options)
            known.append(Variable(each.name, "number", Fraction(1), 0, len(listed) - 1, listed, False))
            held[each.name] = codes[:, place]
    missing = {each.name: np.zeros(len(codes), dtype=bool) for each in features}
    return ArraySource(tuple(known), held, missing)


def check_units(cases: int, rng: np.random.Generator) -> float:
    """Tables with and without one unit's rows: no release moves by more than what was charged."""
    closest = 0.0
    target = Feature("class", 0, 1, Fraction(1), (0, 1, 2))
    for _ in range(cases):
        features, rows = columns(rng), int(rng.integers(1, 4))
        delta = Fraction(int(rng.integers(0, 2)), 10**5)
        numbers = tuple(each for each in features if each.options is None) or (Feature("c9", 0, 7, Fraction(1)),)
        bins = tuple(uniform(each, int(rng.integers(2, 6))) for each in features)
        for plan, own in (
            (plan_sums(numbers, target, rows, Fraction(1), delta), numbers),
            (plan_cells(bins, target, rows, Fraction(1), delta), features),
        ):
            every = (*own, target)
            codes = np.stack([cells(each, rows + 3, rng) for each in every], axis=1)
            if rng.random() < 0.6:
                codes[:rows] = codes[0]  # the same row again moves it farthest
            for number, each in enumerate(every):  # at the end of its bounds a row moves it most
                if each.options is None and rng.random() < 0.5:
                    codes[:rows, number] = each.low + each.width
            with_unit = looked_at(source_for(every, codes), plan.exact)
            without = looked_at(source_for(every, codes[rows:]), plan.exact)
            moved = [int(a) - int(b) for a, b in zip(with_unit, without, strict=True)]
            event = plan.noise.price.event
            if isinstance(event, events.DiscreteLaplace):
                assert sum(map(abs, moved)) <= event.sensitivity
                closest = max(closest, float(Fraction(sum(map(abs, moved))) / Fraction(event.sensitivity)))
            else:
                assert isinstance(event, events.DiscreteGaussian)
                assert sum(each * each for each in moved) <= event.sensitivity**2
                closest = max(closest, math.sqrt(sum(e * e for e in moved)) / float(event.sensitivity))
    return closest


def test_a_units_rows_move_the_joint_release_by_at_most_its_sensitivity() -> None:
    assert check_units(CASES, np.random.default_rng()) > 0.99


def test_the_charge_is_one_release_for_the_whole_of_its_sensitivity() -> None:
    """A peer's naive Bayes was audited at 4.26 for a declared 1: its parts had more epsilon than was said."""
    features = tuple(Feature(f"c{place}", 0, 9, Fraction(1)) for place in range(9))
    target = Feature("class", 0, 1, Fraction(1), (0, 1))
    made = plan_sums(features, target, 2, Fraction(1), Fraction(0))
    event = made.noise.price.event
    assert isinstance(event, events.DiscreteLaplace)
    assert event.sensitivity == 2 * (2 * 1 + 3 * 9) * made.length**2 // 2
    assert event.scale == event.sensitivity
    cut = plan_cells(tuple(uniform(each, 4) for each in features), target, 2, Fraction(1, 2), Fraction(0))
    event = cut.noise.price.event
    assert isinstance(event, events.DiscreteLaplace)
    assert event.sensitivity == 2 * (9 + 1)
    assert event.scale == 2 * event.sensitivity
    gauss = plan_cells(tuple(uniform(each, 4) for each in features), target, 2, Fraction(1), Fraction(1, 10**5))
    assert isinstance(gauss.noise.price.event, events.DiscreteGaussian)
    assert gauss.noise.price.event.sensitivity**2 >= 4 * (9 + 1)


def test_sums_inside_the_engine_are_those_of_the_rows() -> None:
    curator, frame = clinic()
    source = source_of(curator.rows("SELECT age, charge, sex FROM data"))
    features = features_of(source.variables, ["sex"])
    plan = plan_sums(features[:2], features[2], 3, Fraction(1), Fraction(0))
    cut = plan_cells(tuple(uniform(each, 5) for each in features[:2]), features[2], 3, Fraction(1), Fraction(0))
    found, counted = looked_at(source, lambda opened: (plan.exact(opened), cut.exact(opened)))
    kept = frame[frame["sex"].isin(["F", "M"])]
    for place, label in enumerate(features[2].labels):
        own = kept[kept["sex"] == label]
        line = found[place * 5 : place * 5 + 5]
        assert line[0] == plan.weight * plan.length**2 * len(own)
        factor = plan.length // 110
        u = [factor * (2 * int(age) - 110) for age in own["age"].clip(0, 110)]
        assert line[1] == plan.length * sum(u)
        assert line[2] == sum(each * each for each in u) - plan.length**2 // 2 * len(own)
    assert counted[:2].tolist() == [cut.weight * int((kept["sex"] == label).sum()) for label in features[2].labels]
    ages = np.searchsorted(cut.bins[0].edges, kept["age"].clip(0, 110), side="right")
    plain = [[int(((ages == b) & (kept["sex"] == label)).sum()) for label in features[2].labels] for b in range(5)]
    assert counted[2:12].reshape(5, 2).tolist() == plain


@pytest.mark.statistical
def test_a_large_budget_finds_the_plain_models() -> None:
    """Noise far below the tolerances: a false alarm would take a draw beyond 20 deviations."""
    rng = np.random.default_rng()
    y = rng.integers(0, 3, 6_000)
    X = np.clip(rng.normal(size=(6_000, 4)) * (1 + y[:, None] / 4) + y[:, None] * [1.0, 0, -1, 0.5], -9, 9)
    ours = learning.GaussianNB(epsilon=1e6, bounds=(-9, 9), classes=[0, 1, 2]).fit(X, y)
    plain = naive_bayes.GaussianNB().fit(X, y)
    assert ours.theta_ == pytest.approx(plain.theta_, abs=0.05)
    assert ours.var_ == pytest.approx(plain.var_, rel=0.25)  # a tenth of the common variance is added
    assert (ours.predict(X) == plain.predict(X)).mean() > 0.97
    codes = np.clip(X + 9, 0, 17.9).astype(int)
    counted = learning.CategoricalNB(epsilon=1e6, bounds=(0, 17), bins=18, classes=[0, 1, 2]).fit(codes, y)
    truth = naive_bayes.CategoricalNB(min_categories=18).fit(codes, y)
    assert (counted.predict(codes) == truth.predict(codes)).mean() > 0.98


def test_rows_of_a_curator_are_charged_once_and_the_same_fit_is_free() -> None:
    curator, frame = clinic()
    rows = curator.rows("SELECT age, charge, smoker FROM data")
    for made, fresh in ((learning.GaussianNB, rows), (learning.CategoricalNB, rows)):
        entries = len(curator.ledger())
        model = made(epsilon=1, delta=1e-6).fit(fresh, "smoker")
        paid = len(curator.ledger())
        assert paid > entries
        assert made(epsilon=1, delta=1e-6).fit(fresh, "smoker").finding_.repeated
        assert len(curator.ledger()) == paid
        assert np.isfinite(model.predict_proba(frame[["age", "charge"]])).all()
    with pytest.raises(QuestionError, match="listed values"):
        learning.GaussianNB(epsilon=1).fit(curator.rows("SELECT age, sex, smoker FROM data"), "smoker")


@pytest.mark.parametrize("rows", [1, 4])
def test_few_rows_one_class_and_constant_columns_give_a_private_model(rows: int) -> None:
    X, y = np.ones((rows, 7)), np.array(["b"] * rows)
    for made in (learning.GaussianNB, learning.CategoricalNB):
        model = made(epsilon=1, bounds=(0, 1), classes=["c", "b", "a"]).fit(X, y)
        assert list(model.classes_) == ["a", "b", "c"]
        assert np.isfinite(model.predict_proba(X)).all()


def test_listed_values_and_unknown_ones() -> None:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 4_000), "age": rng.integers(0, 100, 4_000)})
    y = np.where(rng.random(4_000) < 0.9, frame["sex"] == "F", frame["sex"] == "M").astype(int)
    model = learning.CategoricalNB(epsilon=1, bounds={"age": (0, 100)}, values={"sex": ["F", "M"]}, classes=[0, 1])
    assert model.fit(frame, y).score(frame, y) > 0.85
    assert np.isfinite(model.predict_proba(pd.DataFrame({"sex": ["X"], "age": [np.nan]}))).all()
    with pytest.raises(ParameterError, match="alpha"):
        learning.CategoricalNB(alpha=0, epsilon=1, bounds=(0, 1), classes=[0, 1]).fit(np.ones((3, 1)), [0, 1, 0])
    assert isinstance(tacit.learning.CategoricalNB, type)
