"""A search pays for all of its runs, tells the best of them, and no fit of anyone's search is free."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score

import tacit
from tacit import learning
from tacit.errors import BudgetExceeded, ParameterError, TacitError
from tacit.learning.evaluation import held_out
from tacit.learning.evaluation.held_out import exact_score, most_of, row_errors, score_noise
from tacit.learning.search import plan_runs
from tacit.learning.training import Training, training
from tacit.loss import compose, events
from tacit.noise import secure
from tacit.statistics.selection.trials import NegativeBinomial
from tacit.statistics.source import ArraySource
from tests.learning.second_moments.test_gram import clinic
from tests.statistics.test_source import looked_at

LINE: dict[str, Any] = {"bounds": (-1, 1), "target_bounds": (-3, 3)}
CLASSES: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1]}


def rows(count: int = 2_000) -> tuple[Any, Any]:
    X = np.random.default_rng().uniform(-1, 1, (count, 3))
    return X, X @ [1.0, -1.0, 0.5]


def test_the_better_candidate_is_found_and_its_model_is_the_one_of_its_run() -> None:
    """A ridge of 1e7 predicts the mean: its errors are larger by a twentieth of the scale, noise is 1 in 400."""
    X, y = rows()
    search = learning.Search(learning.Ridge(**LINE), {"alpha": [1e7, 1.0]}, epsilon=20, delta=1e-6).fit(X, y)
    assert search.best_params_ == {"alpha": 1.0}
    assert search.best_index_ == 1
    assert search.score(X, y) > 0.5
    assert 0.9 < search.best_score_ <= 1
    assert search.receipt_["epsilon"] == search.best_estimator_.receipt_["epsilon"] == "20"
    assert (search.predict(X) == search.best_estimator_.predict(X)).all()
    released = learning.LinearRegression(epsilon=1, **LINE).fit(X, y)
    assert type(released.finding_) is type(search.best_estimator_.finding_)


def test_classes_are_searched_for_as_well_and_everything_is_delegated() -> None:
    X, y = rows()
    found = learning.Search(learning.LinearDiscriminantAnalysis(**CLASSES), {}, epsilon=5, law="geometric")
    found.fit(X, (y > 0).astype(int))
    assert list(found.classes_) == [0, 1]
    assert found.score(X, (y > 0).astype(int)) > 0.8
    assert found.predict_proba(X).shape == (2_000, 2)
    assert found.decision_function(X).shape == (2_000,)
    assert not hasattr(found, "cv_results_")  # what the other runs scored stays unknown
    assert not hasattr(learning.Search(learning.Ridge(**LINE), {}, epsilon=1), "predict_proba")


def test_all_scores_are_told_where_all_are_paid_for() -> None:
    X, y = rows()
    search = learning.Search(learning.Ridge(**LINE), {"alpha": [1e7, 1.0]}, epsilon=20, law="composition").fit(X, y)
    assert search.cv_results_["params"] == [{"alpha": 1e7}, {"alpha": 1.0}]
    assert search.cv_results_["mean_test_score"][1] == search.best_score_


def given_of(model: Any, X: Any, y: Any, kind: str) -> Training:  # noqa: N803
    return training(model, X, y, kind)


def pure_event(place: int, own: Fraction, slip: Fraction) -> events.Event:
    return events.Pure(own) if slip == 0 else events.DiscreteGaussian(Fraction(1), 4 / own, 1)


@pytest.mark.parametrize(
    ("candidates", "law", "each", "kind"),
    [
        (1, "best", Fraction(1), events.Composed),
        (2, "best", Fraction(1, 2), events.Composed),  # every candidate once
        (3, "best", Fraction(1, 2), events.Pure),  # a logarithmic number of runs: half, however many candidates
        (900, "best", Fraction(1, 2), events.Pure),
        (9, "geometric", Fraction(1, 3), events.Pure),
        (9, "composition", Fraction(1, 9), events.Composed),
        (4, "poisson", Fraction(1, 3), events.Pure),  # 1 + mean/2 with a mean of 4
    ],
)
def test_what_a_run_may_cost_without_a_delta(candidates: int, law: str, each: Fraction, kind: type) -> None:
    X, y = rows(20)
    given = given_of(learning.Ridge(**LINE), X, y, "number")
    plan = plan_runs(given, candidates, law, 4, Fraction(1), Fraction(0), pure_event)
    assert plan.fit_epsilon == each  # a unit has one row, and is learned from or scored with
    assert isinstance(plan.price.event, kind)
    assert compose([plan.price.event]).epsilon(0) <= 1 + 1e-12
    assert plan.scored.event.sensitivity / plan.scored.event.scale == each


def test_with_a_delta_runs_are_priced_by_their_divergences() -> None:
    from tacit.statistics.selection.renyi_trials import epsilon_of_best

    X, y = rows(20)
    given = given_of(learning.Ridge(**LINE), X, y, "number")
    delta = Fraction(1, 10**6)
    for law, candidates in (("composition", 6), ("logarithmic", 6), ("geometric", 30), ("best", 6)):
        plan = plan_runs(given, candidates, law, 10, Fraction(2), delta, pure_event)
        runs = [events.Parallel((fit, plan.scored.event)) for fit in plan.fits]
        if plan.number is None:
            assert compose([events.Composed(tuple(runs))]).delta(2) <= 1e-6
            assert plan.price.event == events.Composed(tuple(runs))
        else:
            assert isinstance(plan.number, NegativeBinomial)
            assert epsilon_of_best(plan.number, runs, delta) <= 2
            assert plan.price.event == events.Approximate(Fraction(2), delta)
        assert plan.fit_epsilon > Fraction(2, candidates)
    with pytest.raises(ParameterError, match="law"):
        plan_runs(given, 4, "poisson", 4, Fraction(1), delta, pure_event)


def test_a_unit_of_several_rows_pays_for_fit_and_score() -> None:
    curator, _ = clinic()
    given = given_of(learning.Ridge(), curator.rows("SELECT age, charge FROM data"), "charge", "number")
    plan = plan_runs(given, 2, "composition", 4, Fraction(1), Fraction(0), pure_event)
    assert plan.fit_epsilon == Fraction(1, 3)
    assert plan.scored.event.sensitivity == 3 * most_of(given)
    assert plan.scored.event.sensitivity / plan.scored.event.scale == Fraction(1, 6)
    run = plan.price.event.events[0]  # type: ignore[union-attr]
    assert isinstance(run, events.Composed)


def score_pairs(cases: int, rng: np.random.Generator) -> float:
    """The largest share of the stated sensitivity that a unit's rows moved the sums of errors by."""
    used, made = 0.0, []
    X = rng.uniform(-1, 1, (200, 3))
    for kind, y in (("number", X @ [1.0, -1.0, 2.0]), ("class", (X[:, 0] > 0).astype(int))):
        maker = learning.Ridge if kind == "number" else learning.LinearDiscriminantAnalysis
        facts = LINE if kind == "number" else CLASSES
        for epsilon in (0.01, 5):
            model = maker(epsilon=epsilon, **facts).fit(X, y)
            made.append((model, given_of(maker(**facts), X, y, kind)))
    for case in range(cases):
        model, given = made[case % len(made)]
        r, most = int(rng.integers(1, 4)), most_of(given)
        codes = np.stack(
            [
                rng.integers(0, 3, 9 + r) if each.options is not None
                else rng.choice([each.low, each.low + each.width, each.low + each.width // 3], 9 + r)
                for each in given.columns
            ],
            axis=1,
        )  # fmt: skip
        whole, less = (exact_score(row_errors(model, given, some), most) for some in (codes, codes[:-r]))
        moved = int(np.abs(whole - less).sum())
        noise = score_noise(given, r, Fraction(1), Fraction(0))
        assert moved <= noise.event.sensitivity
        assert (whole >= less).all()
        used = max(used, float(moved / noise.event.sensitivity))
        alone = sum(exact_score(row_errors(model, given, codes[[place]]), most) for place in range(len(codes)))
        assert (alone == whole).all()  # what a row adds does not depend on the rows beside it
    return used


def test_a_units_rows_move_the_score_by_at_most_its_sensitivity() -> None:
    assert score_pairs(24, np.random.default_rng()) == 1.0


def test_errors_are_those_of_the_definition() -> None:
    X, y = rows(300)
    model = learning.Ridge(epsilon=1, **LINE).fit(X, y)
    given = given_of(learning.Ridge(**LINE), X, y, "number")
    codes = looked_at(given.source, lambda opened: opened.values(*(each.name for each in given.columns)))
    told = np.clip(model.predict(X), -3, 3)
    for largest, cut in ((None, 6.0), (1.5, 1.5)):  # the range is 6
        plain = np.minimum(np.abs(told - y) / cut, 1) ** 2
        found = row_errors(model, given, codes, largest) / most_of(given)
        assert np.abs(np.sort(found) - np.sort(plain)).max() < 0.005
    target = (y > 0).astype(int)
    judge = learning.LinearDiscriminantAnalysis(epsilon=3, **CLASSES).fit(X, target)
    given = given_of(learning.LinearDiscriminantAnalysis(**CLASSES), X, target, "class")
    codes = looked_at(given.source, lambda opened: opened.values(*(each.name for each in given.columns)))
    assert int(row_errors(judge, given, codes).sum()) == int((judge.predict(X) != target).sum())


def test_a_useless_model_does_not_look_better_than_it_is() -> None:
    """Errors used to count as a quarter of the range at most: always 3 off of 0 .. 6 had a score as if 1.5 off."""
    X, _ = rows(300)
    low = np.full(300, -3.0)
    given = given_of(learning.Ridge(**LINE), X, low, "number")
    codes = looked_at(given.source, lambda opened: opened.values(*(each.name for each in given.columns)))
    for said, share in ((3.0, 1.0), (0.0, 0.25), (-3.0, 0.0)):
        model = DummyRegressor(strategy="constant", constant=said).fit(X, low)
        assert np.allclose(row_errors(model, given, codes) / most_of(given), share, atol=1e-3)


def test_the_largest_error_is_checked_before_the_charge() -> None:
    X, y = rows(60)
    for largest in (7.0, 0.0, 1e-5):
        with pytest.raises(ParameterError, match="largest_error"):
            learning.Search(learning.Ridge(**LINE), {"alpha": [1, 2]}, epsilon=1, largest_error=largest).fit(X, y)
    judge = learning.LinearDiscriminantAnalysis(**CLASSES)
    with pytest.raises(ParameterError, match="largest_error"):
        learning.Search(judge, {}, epsilon=1, largest_error=1).fit(X, (y > 0).astype(int))


def test_rows_are_held_out_by_coins_and_each_row_is_on_one_side() -> None:
    X, y = rows(1_000)
    given = given_of(learning.Ridge(**LINE), X, y, "number")
    names = [each.name for each in given.columns]
    halves, whole = looked_at(
        given.source, lambda opened: (held_out.apart(opened, given, secure()), opened.values(*names))
    )
    learned = halves.learned.values(*(each.name for each in given.columns))
    assert len(learned) + len(halves.scored) == 1_000
    assert 120 < len(halves.scored) < 290  # 200 on average: false alarm below 1e-9
    both = np.vstack([learned, halves.scored])
    assert (np.sort(both, axis=0) == np.sort(whole, axis=0)).all()


def test_a_curator_charges_a_search_once_stores_it_and_reads_nothing_without_budget() -> None:
    curator, _ = clinic()
    data = curator.rows("SELECT age, charge, sex FROM data")
    before = len(curator.ledger())
    search = learning.Search(learning.Ridge(), {"alpha": [1.0, 10.0]}, epsilon=2, delta=1e-6)
    first = clone(search).fit(data, "charge")
    entries = len(curator.ledger())
    assert entries > before
    again = clone(search).fit(data, "charge")
    assert len(curator.ledger()) == entries
    assert (again.best_estimator_.coef_ == first.best_estimator_.coef_).all()
    assert again.best_params_ == first.best_params_
    other = learning.Search(learning.Ridge(), {"alpha": [1.0, 100.0]}, epsilon=2, delta=1e-6).fit(data, "charge")
    assert len(curator.ledger()) > entries
    assert not other.finding_.repeated
    with pytest.raises(BudgetExceeded):
        learning.Search(learning.Ridge(), {"alpha": [1.0]}, epsilon=49).fit(data, "charge")


def test_the_price_of_a_search_is_told_for_nothing() -> None:
    curator, _ = clinic()
    data = curator.rows("SELECT age, charge, sex FROM data")
    before = len(curator.ledger())
    search = learning.Search(learning.Ridge(), {"alpha": [1.0, 10.0]}, epsilon=2, delta=1e-6)
    assert "epsilon 2, delta 1e-06" in str(search.estimate(data, "charge"))
    with pytest.raises(TacitError, match="left out where the model predicts classes"):
        learning.Search(learning.GaussianNB(), {}, epsilon=2, largest_error=1).estimate(
            curator.rows("SELECT age, charge, sex FROM data"), "sex"
        )
    assert len(curator.ledger()) == before


def test_a_model_that_would_release_more_than_it_was_priced_for_gets_the_worst_score() -> None:
    class Greedy(learning.Ridge):
        def fit(self, X: Any, y: Any = None, *, analyst: str | None = None) -> Any:  # noqa: N803
            super().fit(X, y)  # this is what was priced
            return super().fit(X, y)

    X, y = rows(100)
    search = learning.Search(Greedy(**LINE), {"alpha": [1.0]}, epsilon=1)
    with pytest.raises(tacit.errors.QuestionError, match="No run"):
        search.fit(X, y)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"epsilon": None}, "epsilon"),
        ({"law": "lucky"}, "law"),
        ({"trials": 0, "law": "geometric"}, "trials"),
        ({"estimator": learning.Ridge(epsilon=1, **LINE)}, "estimator"),
        ({"estimator": learning.KMeans(2, bounds=(0, 1))}, "estimator"),
        ({"param_grid": {"bounds": [(0, 1)]}}, "param_grid"),
        ({"param_grid": {"epsilon": [1, 2]}}, "param_grid"),
        ({"param_grid": {"alpha": [-1.0]}}, "alpha"),
        ({"estimator": learning.Ridge(target_bounds=(0, 1))}, "bounds"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_released(facts: dict[str, Any], words: str) -> None:
    whole: dict[str, Any] = {"estimator": learning.Ridge(**LINE), "param_grid": {"alpha": [1.0]}, "epsilon": 1, **facts}
    with pytest.raises(ParameterError, match=words):
        learning.Search(**whole).fit(*rows(30))


# -- searches of scikit-learn: the flaw of a peer, whose accountant recorded 0 for 51 fits ----------------


def test_fifty_one_fits_of_a_grid_search_are_fifty_one_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    paid: list[str] = []
    deliver = ArraySource.deliver

    def watched(self: Any, study: Any) -> Any:
        finding = deliver(self, study)
        paid.append(finding.receipt["epsilon"])
        return finding

    monkeypatch.setattr(ArraySource, "deliver", watched)
    X, y = rows(200)
    grid = {"epsilon": [1 + place / 10 for place in range(10)]}
    search = GridSearchCV(learning.Ridge(**LINE), grid, cv=5).fit(X, y)
    assert len(paid) == 51
    assert sum(Fraction(each) for each in paid[:50]) == 5 * sum(Fraction(10 + place, 10) for place in range(10))
    assert search.best_estimator_.receipt_["epsilon"] == paid[-1]
    before = len(paid)
    cross_val_score(copy.deepcopy(clone(learning.Ridge(epsilon=3, **LINE))), X, y, cv=4)
    assert len(paid) == before + 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_of_a_curator_are_not_cut_into_folds_and_nothing_is_charged(jobs: int) -> None:
    curator, _ = clinic()
    data = curator.rows("SELECT age, charge FROM data")
    before = len(curator.ledger())
    with pytest.raises((TypeError, ValueError, AttributeError)):
        GridSearchCV(learning.Ridge(epsilon=1), {"alpha": [1.0, 2.0]}, n_jobs=jobs).fit(data, "charge")
    assert len(curator.ledger()) == before


def test_every_clone_and_every_copy_of_a_model_is_charged_to_the_ledger_of_its_rows() -> None:
    curator, _ = clinic()
    data = curator.rows("SELECT age, charge FROM data")
    spent = [len(curator.ledger())]
    for place, copied in enumerate([clone, copy.deepcopy, clone]):
        copied(learning.Ridge(epsilon=Fraction(place + 1, 10))).fit(data, "charge")
        spent.append(len(curator.ledger()))
    assert len(set(spent)) == 4
