"""Bins: at public places, one for each row, the same inside the engine and for predictions; quantiles bought once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from tacit import learning
from tacit.errors import ParameterError, QuestionError
from tacit.learning.bins.bins import cut_columns, read_bins, stated, uniform
from tacit.learning.columns import Feature, features_of
from tacit.loss import compose, events
from tacit.statistics.source import source_of
from tests.learning.second_moments.test_gram import clinic
from tests.statistics.test_source import looked_at


def test_equal_widths_share_all_codes_between_the_bounds() -> None:
    rng = np.random.default_rng()
    for _ in range(100):
        width, many = int(rng.integers(1, 200)), int(rng.integers(2, 40))
        own = uniform(Feature("a", int(rng.integers(-50, 50)), width, Fraction(1)), many)
        assert own.size == min(many, width + 1)
        codes = np.arange(own.feature.low, own.feature.low + width + 1)
        counts = np.bincount(np.searchsorted(own.edges, codes, side="right"), minlength=own.size)
        assert counts.max() - counts.min() <= 1


def test_stated_edges_begin_a_bin_and_those_outside_are_left_out() -> None:
    own = stated(Feature("a", 0, 100, Fraction(1, 10)), [-3, 0, 2.5, 7.25, 10, 11])
    assert own.edges == (25, 73, 100)
    assert own.of_values([0, 2.4, 2.5, 7.2, 7.3, 10, 99, np.nan]).tolist() == [0, 0, 1, 1, 2, 3, 3, -1]
    assert own.ends == (0.0, 2.5, 7.3, 10.0, 10.0)


def test_bins_inside_the_engine_are_those_of_predictions() -> None:
    curator, frame = clinic()
    source = source_of(curator.rows("SELECT age, charge, sex, smoker FROM data"))
    features = features_of(source.variables)
    bins = cut_columns(features, {"age": [30, 50], "charge": [12.5]}, 4)

    def read(opened: Any) -> Any:
        found, _, counts = read_bins(opened, bins)
        return np.repeat(np.stack(found, axis=1), counts, axis=0)

    inside = looked_at(source, read)
    kept = frame[frame["sex"].isin(["F", "M"])]
    plain = np.stack([own.of_values(kept[own.feature.name]) for own in bins], axis=1)
    assert sorted(map(tuple, inside.tolist())) == sorted(map(tuple, plain.tolist()))


@pytest.mark.statistical
def test_quantile_bins_hold_about_equally_many_rows() -> None:
    """Ranks off by 20 of 5,000 rows have a chance below exp(-20)."""
    X = np.random.default_rng().exponential(size=(5_000, 2))
    cut = learning.KBinsDiscretizer(5, epsilon=4, bounds=(0, 20)).fit(X)
    for column in cut.transform(X).T:
        assert np.bincount(column.astype(int), minlength=5) == pytest.approx(1_000, abs=60)
    assert cut.receipt_["epsilon"] == "4"
    model = learning.BoostedBinsRegressor(epsilon=4, bins=cut.edges_, bounds=(0, 20), target_bounds=(0, 20))
    assert model.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.2
    assert [len(table) for table in model._tables] == [5, 5]


def test_columns_share_the_price_and_several_rows_of_a_unit_are_counted() -> None:
    curator, frame = clinic()
    rows = curator.rows("SELECT age, charge FROM data")
    cut = learning.KBinsDiscretizer(4, epsilon=1).fit(rows)
    event = events.from_json(cut.receipt_["event"])
    assert isinstance(event, events.Composed)
    assert len(event.events) == 2
    assert compose([event]).delta(1) == 0 < compose([event]).delta("0.95")
    assert cut.receipt_["rows_per_unit"] == "3"
    entries = len(curator.ledger())
    assert learning.KBinsDiscretizer(4, epsilon=1).fit(rows).finding_.repeated
    assert len(curator.ledger()) == entries
    free = learning.KBinsDiscretizer(4, strategy="uniform").fit(rows)
    assert len(curator.ledger()) == entries
    assert free.bin_edges_[0].tolist() == [0, 28, 56, 84, 110]
    assert free.transform(frame[["age", "charge"]]).shape == (200, 2)
    with pytest.raises(QuestionError, match="listed values"):
        learning.KBinsDiscretizer(4, epsilon=1).fit(curator.rows("SELECT age, sex FROM data"))


def test_bins_stand_in_pipelines_with_names_and_frames() -> None:
    frame = pd.DataFrame({"age": np.arange(200) % 90, "pay": np.arange(200.0)})
    cut = learning.KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform", bounds=(0, 200))
    beside = ColumnTransformer([("cut", cut, ["age", "pay"])], verbose_feature_names_out=False)
    beside.set_output(transform="pandas")
    found = beside.fit_transform(frame)
    assert list(found.columns) == ["age_0", "age_1", "age_2", "pay_0", "pay_1", "pay_2"]
    assert (found.sum(axis=1) == 2).all()
    whole = learning.KBinsDiscretizer(3, strategy="uniform", bounds=(0, 200)).fit(frame)
    assert list(whole.get_feature_names_out()) == ["age", "pay"]
    assert np.abs(whole.inverse_transform(whole.transform(frame)) - frame.to_numpy()).max() <= 34
    made = make_pipeline(beside, learning.DecisionTreeClassifier(epsilon=5, bounds=(0, 1), classes=[0, 1]))
    assert made.fit(frame, (frame["pay"] > 133).astype(int)).score(frame, (frame["pay"] > 133).astype(int)) > 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_bins": 1}, "n_bins"),
        ({"n_bins": 10**6}, "n_bins"),
        ({"strategy": "kmeans"}, "strategy"),
        ({"encode": "sparse"}, "encode"),
        ({"epsilon": None}, "epsilon"),
    ],
)
def test_what_cannot_be_cut_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        learning.KBinsDiscretizer(**{"epsilon": 1, "bounds": (0, 1), **options}).fit(np.ones((4, 2)))
