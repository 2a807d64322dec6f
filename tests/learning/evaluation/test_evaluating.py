"""Scores of models on private rows: right, paid for first, one cell a row, and never a failure because of a row."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import tacit
from tacit import learning
from tacit.errors import ParameterError, QuestionError, TacitError
from tacit.learning.evaluation.evaluating import _by_bin
from tacit.learning.evaluation.predictions import Predictor, Table, predictor
from tacit.learning.evaluation.residuals import FINE, GRID, row_terms
from tacit.loss import events

SURE: dict[str, Any] = {"epsilon": 40}


def people(count: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"who": range(count), "age": rng.integers(18, 90, count), "bmi": rng.integers(15, 45, count)})
    frame["sex"] = rng.choice(["F", "M"], count)
    frame["charge"] = np.clip(20 + 2 * frame["age"] + 3 * frame["bmi"] + rng.normal(0, 20, count), 0, 500).round()
    frame["ward"] = rng.choice(["a", "b", "c"], count)
    frame["smoker"] = np.where(rng.random(count) < 1 / (1 + np.exp((frame["age"] - 50) / 5)), "yes", "no")
    return frame


def clinic(frame: pd.DataFrame, rows_per_unit: int = 1) -> tacit.Curator:
    return tacit.protect(
        frame,
        unit="who",
        rows_per_unit=rows_per_unit,
        columns={
            "age": tacit.between(0, 110),
            "bmi": tacit.between(10, 60),
            "sex": tacit.one_of("F", "M"),
            "charge": tacit.between(0, 500),
            "ward": tacit.one_of("a", "b", "c"),
            "smoker": tacit.one_of("no", "yes"),
        },
        budget=tacit.Budget(epsilon=1_000, delta=1e-4),
    )


def charges(curator: tacit.Curator) -> int:
    return sum(each.kind == "charged" for each in curator.ledger())


def rows_of(curator: tacit.Curator) -> Any:
    return curator.rows("SELECT age, bmi, sex, charge, ward, smoker FROM data")


def test_scores_are_those_of_scikit_learn_where_the_noise_is_small() -> None:
    """At epsilon 40 a cell has noise with a chance below 1e-16."""
    frame = people()
    model = LogisticRegression().fit(frame[["age", "bmi"]], frame["smoker"])
    found = learning.evaluate(model, rows_of(clinic(frame)), "smoker", by="sex", bins=20, **SURE)
    said, score = model.predict(frame[["age", "bmi"]]), model.predict_proba(frame[["age", "bmi"]])[:, 1]
    assert found["accuracy"] == pytest.approx(float(np.mean(said == frame["smoker"])))
    (right, wrong), (missed, hit) = confusion_matrix(frame["smoker"], said, labels=["no", "yes"])
    assert found["false positive rate"] == pytest.approx(wrong / (right + wrong))
    assert found["false negative rate"] == pytest.approx(missed / (missed + hit))
    assert found["precision"] == pytest.approx(hit / (hit + wrong))
    binned = np.ceil(score * 20)
    assert found["area under the curve"] == pytest.approx(roc_auc_score(frame["smoker"] == "yes", binned))
    for sex in ("F", "M"):
        own = frame["sex"] == sex
        accuracy = float(np.mean(said[own] == frame["smoker"][own]))
        assert found[sex, "accuracy"] == pytest.approx(accuracy)  # type: ignore[index]
    counts = dict(
        zip(
            zip(found.errors["sex"], found.errors["true"], found.errors["predicted"], strict=True),
            found.errors["rows"],
            strict=True,
        )
    )
    assert counts["all", "no", "yes"] == wrong
    assert counts["all", "yes", "no prediction"] == 0
    curve = found.curve
    cut = list(curve["threshold"]).index(0.5)
    assert curve["true positive rate"][cut] == pytest.approx(hit / (hit + missed))
    last = found.calibration["observed"][-1]
    assert last == pytest.approx(float(np.mean(frame["smoker"][score > 0.95] == "yes")))
    assert found.scores.chart_spec()
    assert curve.chart_spec()["layer"]


def test_a_regression_has_its_r2_and_its_mean_absolute_error() -> None:
    frame = people()
    model = LinearRegression().fit(frame[["age", "bmi"]].to_numpy(), frame["charge"])
    rows = clinic(frame).rows("SELECT age, bmi, charge FROM data")
    found = learning.evaluate(model, rows, "charge", epsilon=900)
    said = np.clip(model.predict(frame[["age", "bmi"]].to_numpy()), 0, 500)
    assert found["R2"] == pytest.approx(r2_score(frame["charge"], said), abs=0.01)
    assert found["mean absolute error"] == pytest.approx(mean_absolute_error(frame["charge"], said), abs=0.2)
    ends = found.scores.intervals()
    assert ends["score"][0] is not None
    assert ends["expected"][0] is None  # of R2 none can be promised
    with pytest.raises(TacitError, match="no curve"):
        _ = found.curve


def test_a_bad_model_has_the_r2_that_it_has_and_cut_errors_are_called_so() -> None:
    """Errors that count as less than they are make a useless model look useful."""
    rng = np.random.default_rng()
    X, y = rng.uniform(-1, 1, (3_000, 1)), rng.exponential(0.1, 3_000).clip(0, 1)
    model = LinearRegression().fit(X, y)
    model.coef_, model.intercept_ = np.array([0.3]), 0.3
    found = learning.evaluate(model, X, y, epsilon=200, target_bounds=(0, 1))
    low, high = found.scores.intervals()["score"][0]
    assert low <= r2_score(y, model.predict(X).clip(0, 1)) <= high
    cut = learning.evaluate(model, X, y, epsilon=200, target_bounds=(0, 1), largest_error=0.25)
    assert cut["R2 of errors cut at 0.25"] > high
    assert any("look better" in note for note in cut.scores.notes)


def test_the_noise_of_all_groups_together_is_the_sum_of_theirs() -> None:
    frame = people(200)
    model = GaussianNB().fit(frame[["age", "bmi"]], frame["smoker"])
    found = learning.evaluate(model, rows_of(clinic(frame)), "smoker", by="ward", bins=4, epsilon=1)
    (_, whole, many), (_, one, single), *_ = found._parts()
    assert (many, single) == (3, 1)
    accuracy = found._shares(whole, many)["accuracy"]
    assert (accuracy.hit_cells, accuracy.miss_cells) == (3 * 4, 3 * 6)  # with the cells of no prediction
    assert found._area(whole, many).noise.variance == pytest.approx(3 * found._area(one, single).noise.variance)


def test_three_classes_have_an_error_rate_each_and_no_curve() -> None:
    frame = people()
    model = DecisionTreeClassifier(max_depth=3).fit(frame[["age", "bmi"]], frame["ward"])
    found = learning.evaluate(model, rows_of(clinic(frame)), "ward", **SURE)
    said = model.predict(frame[["age", "bmi"]])
    assert found["accuracy"] == pytest.approx(float(np.mean(said == frame["ward"])))
    own = frame["ward"] == "b"
    assert found["error rate of b"] == pytest.approx(float(np.mean(said[own] != "b")))
    with pytest.raises(TacitError, match="not among the measures"):
        _ = found["precision"]


def test_our_own_models_know_their_target_and_score_alike_in_arrays_and_in_a_curator() -> None:
    frame = people()
    curator = clinic(frame)
    model = learning.LogisticRegression(epsilon=50, delta=1e-5).fit(rows_of(curator), "smoker")
    found = learning.evaluate(model, rows_of(curator), **SURE)
    columns = ["age", "bmi", "sex", "charge", "ward"]
    features = frame[columns]
    same = learning.evaluate(model, features, frame["smoker"], by="sex", **SURE)
    assert found["accuracy"] == same["accuracy"]
    assert found["accuracy"] == pytest.approx(model.score(frame[columns], frame["smoker"]))
    assert same["F", "accuracy"] is not None  # type: ignore[index]
    assert learning.evaluate(model, features, frame["smoker"], by="sex", **SURE).repeated


def test_it_is_charged_first_exactly_and_once() -> None:
    frame = people(200)
    curator = clinic(frame)
    model = GaussianNB().fit(frame[["age", "bmi"]], frame["smoker"])
    before = charges(curator)
    first = learning.evaluate(model, rows_of(curator), "smoker", epsilon="0.3")
    assert charges(curator) == before + 1
    assert first.receipt["epsilon"] == "3/10"
    event = events.from_json(first.receipt["event"])
    assert isinstance(event, events.DiscreteLaplace)
    assert event.sensitivity == 1
    again = learning.evaluate(model, rows_of(curator), "smoker", epsilon="0.3")
    assert again.repeated
    assert charges(curator) == before + 1
    assert (np.asarray(again.finding["released"]) == np.asarray(first.finding["released"])).all()
    other = GaussianNB(var_smoothing=0.1).fit(frame[["age", "bmi"]], frame["smoker"])
    assert not learning.evaluate(other, rows_of(curator), "smoker", epsilon="0.3").repeated
    told = tacit.statistics.estimate(
        lambda rows: learning.evaluate(model, rows, "smoker", epsilon="0.7"), rows_of(curator)
    )
    assert "epsilon 0.7" in str(told)


def test_several_rows_of_a_unit_are_counted_and_sampling_is_not_promised() -> None:
    frame = people(300)
    frame["who"] = frame["who"] // 3
    model = GaussianNB().fit(frame[["age", "bmi"]], frame["smoker"])
    found = learning.evaluate(model, rows_of(clinic(frame, 3)), "smoker", epsilon=1)
    event = events.from_json(found.receipt["event"])
    assert isinstance(event, events.DiscreteLaplace)
    assert event.sensitivity == 3
    assert all(each is None for each in found.scores.intervals()["expected"])
    line = LinearRegression().fit(frame[["age", "bmi"]], frame["charge"])
    numbers = learning.evaluate(line, rows_of(clinic(frame, 3)), "charge", epsilon=1)
    event = events.from_json(numbers.receipt["event"])
    assert isinstance(event, events.DiscreteLaplace)
    assert event.sensitivity == 3 * 5 * GRID**2
    gaussian = learning.evaluate(line, rows_of(clinic(frame, 3)), "charge", epsilon=1, delta="0.01")
    event = events.from_json(gaussian.receipt["event"])
    assert isinstance(event, events.DiscreteGaussian)
    assert float(event.sensitivity) == pytest.approx(3 * 5**0.5 * GRID**2)


def test_a_row_moves_one_cell_by_one_whatever_the_other_rows_are() -> None:
    """Neighbours: the cells of all other rows stay where they are, in any company and in any order."""
    rng = np.random.default_rng()
    X = rng.normal(size=(300, 3))
    y = (X @ [1, -1, 0.5] > 0).astype(int)
    models = [
        LogisticRegression().fit(X, y),
        RandomForestClassifier(10, max_depth=3).fit(X, y),
        make_pipeline(StandardScaler(), KNeighborsClassifier(5)).fit(X, y),
        learning.LinearDiscriminantAnalysis(epsilon=9, bounds=(-4, 4), classes=[0, 1]).fit(X, y),
    ]
    place_of = _by_bin(10)
    for model in models:
        found = predictor(model)
        whole = found.places(Table(tuple(X.T)), place_of)
        for _ in range(25):
            kept = rng.permutation(300)[: rng.integers(1, 60)]
            part = found.places(Table(tuple(X[kept].T)), place_of)
            assert (part == whole[kept]).all()
        alone = [found.places(Table(tuple(X[row : row + 1].T)), place_of)[0] for row in range(0, 300, 20)]
        assert (np.array(alone) == whole[::20]).all()


def test_a_row_of_a_regression_never_adds_more_than_its_bound() -> None:
    rng = np.random.default_rng()
    true, said = (rng.integers(0, FINE + 1, 5_000) for _ in range(2))
    true[:2], said[:2] = (0, FINE), (FINE, -1)
    for largest in (FINE, FINE // 4, FINE // GRID):
        terms = np.abs(row_terms(true, said, largest))
        assert terms.sum(axis=1).max() <= 5 * GRID**2
        assert terms.max() <= GRID**2
        assert (terms[1] == GRID**2).all()


def test_edges_belong_to_the_bin_below_and_what_is_no_score_to_none() -> None:
    place_of = _by_bin(10)
    assert place_of(np.array([0.0, 0.1, 0.1001, 0.5, 0.50001, 1.0])).tolist() == [0, 0, 1, 4, 5, 9]
    assert np.isnan(place_of(np.array([np.nan, 1.1, -0.1]))).all()


class Memory(LogisticRegression):  # type: ignore[misc]
    """Remembers what it saw."""

    def predict(self, X: Any) -> Any:  # noqa: N803
        self.seen = X
        return super().predict(X)


@pytest.mark.parametrize("where", ["class", "function", "drawn", "parameter"])
def test_a_model_that_could_do_more_than_predict_is_refused(where: str) -> None:
    frame = people(100)
    X, y = frame[["age", "bmi"]], frame["smoker"]
    made = {
        "class": lambda: Memory(),
        "function": lambda: make_pipeline(FunctionTransformer(lambda rows: rows), LogisticRegression()),
        "drawn": lambda: DummyClassifier(strategy="uniform"),
        "parameter": lambda: KNeighborsClassifier(metric=lambda a, b: 0.0),
    }[where]()
    curator = clinic(frame)
    before = len(curator.ledger())
    with pytest.raises(ParameterError, match="model"):
        learning.evaluate(made.fit(X, y), rows_of(curator), "smoker", epsilon=1)
    assert len(curator.ledger()) == before


class Watching(np.ndarray[Any, Any]):
    """Coefficients that keep what they are multiplied with."""

    seen: ClassVar[list[Any]] = []

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        Watching.seen.append(given)
        plain = [np.asarray(each) if isinstance(each, np.ndarray) else each for each in given]
        return getattr(ufunc, method)(*plain, **options)


def test_numbers_of_anyones_own_making_in_a_model_of_ours_see_no_row() -> None:
    frame = people(100)
    facts: dict[str, Any] = {"bounds": (0, 110), "target_bounds": (0, 500)}
    model = learning.Ridge(epsilon=5, **facts).fit(frame[["age", "bmi"]], frame["charge"])
    model.coef_ = model.coef_.view(Watching)
    model._line = tuple(np.atleast_1d(each).view(Watching) for each in model._line)
    expected = np.asarray(model.predict(frame[["age", "bmi"]]))
    assert Watching.seen  # they work
    Watching.seen.clear()
    fixed = predictor(model).model
    assert (fixed.predict(frame[["age", "bmi"]]) == expected).all()
    learning.evaluate(model, rows_of(clinic(frame)), "charge", epsilon=1)
    assert not Watching.seen


def test_a_tree_that_would_fail_at_a_few_rows_alone_is_refused_before_the_charge() -> None:
    """Its failure would take time, and a single row would be enough to make it."""
    frame = people(100)
    made = learning.DecisionTreeClassifier(epsilon=5, bounds=(0, 110), classes=["no", "yes"], max_depth=2)
    tree = made.fit(frame[["age"]], frame["smoker"])
    curator = clinic(frame)
    for changed, words in (("_leaves", "a leaf is of nothing"), ("_splits", "a split is of nothing")):
        broken = copy.deepcopy(tree)
        own = getattr(broken, changed).copy()
        own.reshape(-1)[-2] = 9
        setattr(broken, changed, own)
        before = len(curator.ledger())
        with pytest.raises(TacitError, match=words):
            learning.evaluate(broken, rows_of(curator), "smoker", epsilon=1)
        assert len(curator.ledger()) == before


@pytest.mark.parametrize("model", [learning.BoostedBinsClassifier, learning.CategoricalNB])
def test_tables_that_have_no_line_for_some_bin_are_refused_before_the_charge(model: Any) -> None:
    frame = people(100)
    ages = frame[["age"]].astype(float)
    made = model(epsilon=5, bounds=(0, 110), classes=["no", "yes"]).fit(ages, frame["smoker"])
    curator = clinic(frame)
    before = len(curator.ledger())
    turned = copy.deepcopy(made)
    turned._edges = tuple(own[::-1] for own in made._edges)
    with pytest.raises(TacitError, match="do not ascend"):
        learning.evaluate(turned, rows_of(curator), "smoker", epsilon=1)
    finer = copy.deepcopy(made)
    finer._edges = tuple((*own, own[-1] + 1, own[-1] + 2, own[-1] + 3) for own in made._edges)
    with pytest.raises(TacitError, match="malformed"):
        learning.evaluate(finer, rows_of(curator), "smoker", epsilon=1)
    assert len(curator.ledger()) == before


def test_a_search_is_scored_by_its_best_model() -> None:
    frame = people(200)
    curator = clinic(frame)
    rows = curator.rows("SELECT age, bmi, charge FROM data")
    search = learning.Search(learning.Ridge(), {"alpha": [1.0, 2.0]}, epsilon=5, delta=1e-6).fit(rows, "charge")
    found = learning.evaluate(search, rows, epsilon=1)
    assert found.layout.model == "Ridge"
    assert learning.evaluate(search.best_estimator_, rows, "charge", epsilon=1).repeated


def test_rows_at_which_a_model_fails_have_no_prediction_and_nothing_is_printed(capfd: Any) -> None:
    frame = people(300)
    known = frame[frame["ward"] != "c"]
    steps = make_column_transformer((OneHotEncoder(handle_unknown="error"), ["ward"]), remainder="passthrough")
    model = make_pipeline(steps, LogisticRegression()).fit(known[["ward", "age"]], known["smoker"])
    found = learning.evaluate(model, rows_of(clinic(frame)), "smoker", **SURE)
    counts = found.errors
    lost = [n for name, n in zip(counts["predicted"], counts["rows"], strict=True) if name == "no prediction"]
    assert sum(lost) == int((frame["ward"] == "c").sum())
    for verbose in (2, 60):  # joblib writes to standard error, and from 50 on to standard output
        loud = RandomForestClassifier(3, verbose=verbose).fit(frame[["age"]], frame["smoker"])
        capfd.readouterr()
        learning.evaluate(loud, rows_of(clinic(frame)), "smoker", epsilon=1)
        assert capfd.readouterr() == ("", "")


def test_a_model_is_left_as_it_was() -> None:
    frame = people(100)
    state = np.random.RandomState(1)
    model = RandomForestClassifier(3, random_state=state).fit(frame[["age"]], frame["smoker"])
    before = state.get_state()[1].copy()  # type: ignore[index, union-attr]
    learning.evaluate(model, rows_of(clinic(frame)), "smoker", epsilon=1)
    assert (state.get_state()[1] == before).all()  # type: ignore[index]


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[tacit.Curator, Any]]:
    """Nothing is ever bought here."""
    frame = people(60)
    with clinic(frame) as curator:
        yield curator, GaussianNB().fit(frame[["age", "bmi"]], frame["smoker"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "weight"}, "not there"),
        ({"target": None}, "name of a column"),
        ({"target": "age"}, "without listed values"),
        ({"target": "ward"}, "the model's classes"),
        ({"by": "age"}, "without listed values"),
        ({"by": 3}, "by"),
        ({"bins": 7}, "bins"),
        ({"bins": 1}, "bins"),
        ({"epsilon": 0}, "epsilon"),
        ({"level": 2}, "level"),
        ({"groups": ["F"]}, "left out"),
        ({"largest_error": 3}, "left out"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_the_charge(
    refusing: tuple[tacit.Curator, Any], options: dict[str, Any], words: str
) -> None:
    curator, model = refusing
    before = len(curator.ledger())
    with pytest.raises((ParameterError, QuestionError), match=words):
        learning.evaluate(model, rows_of(curator), **{"target": "smoker", "epsilon": 1, **options})
    assert len(curator.ledger()) == before


def test_a_model_that_is_not_fitted_or_is_no_predictor_is_refused() -> None:
    rows = rows_of(clinic(people(30)))
    with pytest.raises(ValueError, match="not fitted"):
        learning.evaluate(GaussianNB(), rows, "smoker", epsilon=1)
    with pytest.raises(ParameterError, match="a classifier or a regressor"):
        learning.evaluate(StandardScaler(), rows, "smoker", epsilon=1)
    with pytest.raises(ParameterError, match="rows of a curator"):
        learning.evaluate(GaussianNB().fit([[1.0], [2.0]], [0, 1]), clinic(people(30)), "smoker", epsilon=1)


def test_arrays_state_their_groups_and_their_bounds() -> None:
    frame = people(100)
    X = frame[["age", "bmi"]].to_numpy(dtype=float)
    model = GaussianNB().fit(X, frame["smoker"])
    with pytest.raises(ParameterError, match="groups"):
        learning.evaluate(model, X, frame["smoker"], epsilon=1, by=frame["sex"])
    found = learning.evaluate(model, X, frame["smoker"], by=frame["sex"], groups=["F", "M"], **SURE)
    assert found["accuracy"] == pytest.approx(model.score(X, frame["smoker"]))
    assert not learning.evaluate(model, X[::-1], frame["smoker"][::-1], epsilon=2).repeated
    moved = X + 1
    assert not learning.evaluate(model, moved, frame["smoker"], epsilon=2).repeated
    assert learning.evaluate(model, moved, frame["smoker"], epsilon=2).repeated
    assert not learning.evaluate(model, X + 1, frame["smoker"], epsilon=2).repeated  # equal rows of another object
    moved[:50] = 0.0
    assert not learning.evaluate(model, moved, frame["smoker"], epsilon=2).repeated  # other rows in the same object
    with pytest.raises(ParameterError, match="target_bounds"):
        learning.evaluate(LinearRegression().fit(X, frame["charge"]), X, frame["charge"], epsilon=1)
    with pytest.raises(ParameterError, match="2 columns"):
        learning.evaluate(model, X[:, :1], frame["smoker"], epsilon=1)
    with pytest.raises(ParameterError, match="one value for each"):
        learning.evaluate(model, X, frame["smoker"][:5], epsilon=1)
    missing = X.copy()
    missing[3, 0] = np.nan
    straight = LogisticRegression().fit(X, frame["smoker"])  # it sees blocks of rows, and fails at a missing number
    counts = learning.evaluate(straight, missing, frame["smoker"], **SURE).errors
    lost = [n for name, n in zip(counts["predicted"], counts["rows"], strict=True) if name == "no prediction"]
    assert sum(lost) == 1  # the other rows of its block have one


def test_no_row_at_all_gives_scores_of_noise_and_no_failure() -> None:
    frame = people(40)
    model = GaussianNB().fit(frame[["age", "bmi"]], frame["smoker"])
    empty = clinic(frame).rows("SELECT age, bmi, smoker FROM data WHERE age > 105")
    found = learning.evaluate(model, empty, "smoker", epsilon=1)
    assert "accuracy" in str(found)


def test_an_evaluation_is_a_file_and_a_page(tmp_path: Path) -> None:
    frame = people(300)
    model = learning.LogisticRegression(epsilon=9, delta=1e-5).fit(rows_of(clinic(frame)), "smoker")
    found = learning.evaluate(model, rows_of(clinic(frame)), "smoker", epsilon=1, by="sex")
    loaded = learning.load(found.save(tmp_path / "scores.json"))
    assert str(loaded) == str(found)
    assert loaded.receipt == found.receipt
    page = found.save_card(tmp_path / "scores.html").read_text()
    for words in ("accuracy", "ROC curve", "Calibration", "epsilon = 1", 'name="viewport"', "<svg"):
        assert words in page
    assert "<script" not in page
    about = model.save_card(tmp_path / "model.html").read_text()
    for words in ("LogisticRegression for smoker", "epsilon = 9", "Rows per unit", "towards yes", "age", "0 to 110"):
        assert words in about


def test_a_page_escapes_what_came_from_a_table() -> None:
    rng = np.random.default_rng()
    frame = pd.DataFrame({"<script>": rng.normal(size=50), "b": rng.choice(["<i>", "&"], 50)})
    model = learning.LinearRegression(
        epsilon=1, bounds={"<script>": (-3, 3)}, values={"b": ["<i>", "&"]}, target_bounds=(-1, 1)
    ).fit(frame, rng.uniform(-1, 1, 50))
    page = model.card()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "b=&lt;i&gt;" in page


def unknown_ward(frame: pd.DataFrame) -> Any:
    return make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame[["sex", "ward"]], frame["smoker"])


def unknown_number(frame: pd.DataFrame) -> Any:
    known = [[each for each in range(111) if each != 100], list(range(61))]  # also both bounds, and the middle
    return make_pipeline(OrdinalEncoder(categories=known), LogisticRegression()).fit(
        frame[["age", "bmi"]], frame["smoker"]
    )


def infinite(frame: pd.DataFrame) -> Any:
    """The product of two columns is beyond all floats where somebody is very young and very heavy."""
    model = make_pipeline(StandardScaler(), PolynomialFeatures(interaction_only=True), LogisticRegression())
    model.fit(frame[["age", "bmi"]], frame["smoker"])
    model[0].mean_, model[0].scale_ = np.array([110.0, 10.0]), np.full(2, 5e304**-0.5)
    return model


def at_an_edge(frame: pd.DataFrame) -> Any:
    model = LogisticRegression().fit(frame[["age"]], frame["smoker"])
    model.coef_, model.intercept_ = np.array([[0.01]]), np.array([-1.1])  # one half where somebody is 110
    return model


def several(frame: pd.DataFrame) -> Any:
    model = LogisticRegression().fit(frame[["age"]], frame["ward"])
    model.coef_, model.intercept_ = np.array([[0.01], [0.02], [0.0]]), np.array([1.1, 0.0, 0.0])
    return model


@pytest.mark.parametrize(
    ("made", "others"),
    [*((made, 200) for made in (unknown_ward, unknown_number, infinite, at_an_edge, several)), (unknown_ward, 0),
     (at_an_edge, 0)],
)  # fmt: skip
def test_one_row_decides_neither_how_often_a_model_is_asked_nor_about_how_many_rows(
    made: Any, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call takes time, and whoever brings the model chooses the rows at which it fails, or lies near an edge."""
    told: list[int] = []
    plain = Predictor._asked

    def counted(self: Predictor, rows: Any) -> Any:
        told.append(len(rows))
        return plain(self, rows)

    frame = people(400)
    frame["ward"] = np.where(frame["ward"] == "c", "a", frame["ward"])
    if made is several:
        frame["ward"] = np.resize(["a", "b", "c"], 400)
    model, target = made(frame), "ward" if made is several else "smoker"
    age, bmi = {unknown_number: (100, 30), infinite: (0, 60)}.get(made, (110, 59))
    strange = {"who": 10**6, "age": age, "bmi": bmi, "sex": "F", "charge": 0.0, "ward": "c", "smoker": "no"}
    sides = [pd.concat([frame[:others], pd.DataFrame([strange])], ignore_index=True), frame[:others]]
    asked = []
    for side in sides:
        told.clear()
        with clinic(side) as curator:
            rows = rows_of(curator)
            monkeypatch.setattr(Predictor, "_asked", counted)
            learning.evaluate(model, rows, target, epsilon=1)
            monkeypatch.setattr(Predictor, "_asked", plain)
        asked.append((len(told), sum(told)))
    (calls, shown), (calls_without, shown_without) = asked
    assert calls_without >= 16
    assert calls_without <= calls <= calls_without + 1
    assert shown_without <= shown <= shown_without + 2
