"""Several rows of a unit on a curator are one person's, sampled and clipped together; and whose code sees them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import tacit
from tacit import learning
from tacit.curator import Price
from tacit.errors import ParameterError, TacitError
from tacit.learning import neural
from tacit.learning.neural import estimators
from tacit.learning.neural.modules.traced import only_torch
from tacit.learning.neural.people.batches import MOST_ROWS
from tacit.learning.neural.people.batches import people_of as by_units
from tacit.learning.neural.people.rows import given_rows
from tacit.loss import events
from tacit.statistics.finding import Content, column
from tests.learning.neural.test_estimators import QUICK

COLUMNS = {"age": tacit.between(0, 110), "bmi": tacit.between(10, 60), "smoker": tacit.one_of("no", "yes")}
SQL = "SELECT age, bmi, smoker FROM data"


def visits(many: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(many), rng.integers(1, 4, many))
    frame = pd.DataFrame({"who": who, "age": rng.integers(0, 100, len(who)), "bmi": rng.integers(10, 50, len(who))})
    frame["smoker"] = np.where(frame["age"] > 50, "yes", "no")
    return frame


def curator_of(frame: pd.DataFrame, rows_per_unit: int = 3) -> tacit.Curator:
    budget = tacit.Budget(epsilon=100, delta=1e-2)
    return tacit.protect(frame, unit="who", columns=COLUMNS, rows_per_unit=rows_per_unit, budget=budget)


def people_of(frame: pd.DataFrame, sql: str = SQL) -> list[tuple[bytes, bytes]]:
    """The rows of each person as tensors, bit by bit, in no order."""
    given = given_rows(neural.NeuralClassifier(**QUICK), curator_of(frame).rows(sql), "smoker", "class")
    found: list[tuple[bytes, bytes]] = []

    def compute(opened: Any, bits: Any) -> Content:
        inputs, target, units = given.people(opened)
        for unit in np.unique(units):
            own = torch.from_numpy(units == unit)
            found.append((inputs[own].numpy().tobytes(), target[own].numpy().tobytes()))
        return Content("nothing", (column("nothing", ["x"]),), (), {})

    given.source.release({"study": "test"}, Price(events.Pure(Fraction(1)), Fraction(1)), compute)
    return sorted(found)


def test_a_person_less_leaves_everybody_elses_rows_bit_for_bit() -> None:
    frame = visits(20)
    whole = people_of(frame)
    assert len(whole) == 20
    for who in (0, 7, 19):
        left = people_of(frame[frame["who"] != who])
        assert len(left) == 19
        assert all(each in whole for each in left)


def test_the_order_of_a_file_changes_nobodys_rows() -> None:
    frame = visits(20)
    assert people_of(frame) == people_of(frame.sample(frac=1.0, random_state=4))


def test_conditions_and_unlisted_classes_leave_out_rows_one_by_one() -> None:
    frame = pd.DataFrame({"who": [0, 0, 1], "age": [10, 60, 30], "bmi": 20, "smoker": ["no", "yes", "perhaps"]})
    assert len(people_of(frame)) == 1
    assert people_of(frame, f"{SQL} WHERE age > 50") == people_of(frame[frame["age"] > 50])


def test_a_fit_samples_and_clips_persons_and_buys_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Watched(estimators.PrivateTrainer):
        def __init__(self, *given: Any, **settings: Any) -> None:
            super().__init__(*given, **settings)
            seen.append(self)

    monkeypatch.setattr(estimators, "PrivateTrainer", Watched)
    frame = visits()
    curator = curator_of(frame)
    model = neural.NeuralClassifier(**{**QUICK, "clipping": "flat"}).fit(curator.rows(SQL), "smoker")
    assert set(model.predict(frame[["age", "bmi"]])) <= {"no", "yes"}
    assert model.receipt_["unit"] == "all rows of one who"
    tried, own = seen
    assert tried._people.rows_of.shape == (0, 3)
    assert own._people.rows_of.shape == (60, 3)
    reach = float(own._grid.sigma / own.run.multiplier) * 2.0**-own._grid.exponent
    for person in range(60):
        assert float(own._sum(np.array([person])).norm()) * 2.0**-own._grid.exponent <= reach
    assert neural.NeuralClassifier(**{**QUICK, "clipping": "flat"}).fit(curator.rows(SQL), "smoker").finding_.repeated


def test_very_many_rows_of_a_unit_are_refused_before_anything_is_paid() -> None:
    curator = curator_of(visits(), 1000)
    before = curator.remaining()
    with pytest.raises(ParameterError, match="rows_per_unit"):
        neural.NeuralClassifier(**QUICK).fit(curator.rows(SQL), "smoker")
    assert curator.remaining() == before
    neural.NeuralClassifier(**QUICK).fit(curator.rows(SQL, rows_per_unit=2), "smoker")


class Own(nn.Module):
    ran = 0

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scale = nn.Linear(2, 2), nn.Parameter(torch.ones(2))

    def forward(self, x: Any) -> Any:
        Own.ran += 1
        return self.scale * torch.tanh(self.layer(x)).mean(dim=-1, keepdim=True).expand(-1, 2)


class Branching(Own):
    def forward(self, x: Any) -> Any:
        return self.layer(x) if x.sum() > 0 else x


def test_code_of_ones_own_is_run_once_on_stand_ins_and_never_sees_a_row() -> None:
    curator = curator_of(visits())
    model = neural.NeuralClassifier(Own(), **QUICK).fit(curator.rows(SQL), "smoker")
    assert Own.ran == 1
    assert model.finding_ is not None


def test_an_evaluation_shows_no_row_to_code_of_ones_own() -> None:
    curator = curator_of(visits())
    rows = curator.rows(SQL)
    X = np.random.default_rng(0).normal(size=(80, 2))
    settings = {**QUICK, "size": 80}
    model = neural.NeuralClassifier(Own(), classes=["no", "yes"], bounds=(-3, 3), **settings)
    model.fit(pd.DataFrame(X, columns=["age", "bmi"]), np.where(X[:, 0] > 0, "yes", "no"))
    ran = Own.ran
    first = learning.evaluate(model, rows, "smoker", epsilon=2)
    assert Own.ran == ran + 1  # on stand-ins
    assert learning.evaluate(model, rows, "smoker", epsilon=2).finding.to_bytes() == first.finding.to_bytes()
    before = curator.remaining()
    model.module_ = Branching()
    with pytest.raises(TacitError, match="cannot be written down"):
        learning.evaluate(model, rows, "smoker", epsilon=2)
    assert curator.remaining() == before


def test_a_class_that_somebody_made_of_one_of_ours_is_theirs() -> None:
    class Mine(learning.LogisticRegression):  # type: ignore[misc,name-defined]
        def predict(self, X: Any) -> Any:  # noqa: N803
            raise AssertionError("seen")

    X = np.random.default_rng(0).normal(size=(80, 2))
    model = Mine(epsilon=1, delta=1e-6, classes=["no", "yes"], bounds=(-3, 3))
    model.fit(pd.DataFrame(X, columns=["age", "bmi"]), np.where(X[:, 0] > 0, "yes", "no"))
    with pytest.raises(TacitError):
        learning.evaluate(model, curator_of(visits()).rows(SQL), "smoker", epsilon=2)


def test_what_follows_values_or_does_more_than_compute_is_refused() -> None:
    class Writes(Own):
        def forward(self, x: Any) -> Any:
            return self.layer(x.share_memory_())

    class Reads(Own):
        def forward(self, x: Any) -> Any:
            return self.layer(x.numpy())

    for module, said in ((Branching(), "cannot be written down"), (Writes(), "share_memory_"), (Reads(), "numpy")):
        with pytest.raises(TacitError, match=said):
            only_torch(module)


def grouped(units: Any) -> int:
    """How many persons there are."""
    rows = len(units)
    return len(by_units(np.zeros((rows, 1)), np.zeros(rows), units, 4).rows_of)


@pytest.mark.parametrize(
    ("units", "many"),
    [
        ([1, 1, 2], 2),
        ((1, 2.0, 2), 2),
        (["a", "b", "a"], 2),
        (["a", "a\0", "b"], 3),
        ([10**30, 10**30 + 1, 10**30], 2),
        ([2**53, 2**53 + 1, 5.0], 3),
        (np.array([0.0, -0.0, 3.0]), 2),
        (np.array([2**63, 2**63 + 1], dtype=np.uint64), 2),
        (np.array([1, 2, 1], dtype=object), 2),
        (pd.Series([1, 1, 2]), 2),
        (pd.Categorical(["x", "y", "x"]), 2),
        (torch.tensor([4, 5, 4]), 2),
        ([True, False], 2),
        (np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"), 2),
        ([], 0),
    ],
)
def test_units_that_differ_are_different_persons(units: Any, many: int) -> None:
    assert grouped(units) == many


@pytest.mark.parametrize(
    "units",
    [
        [None, None],
        [1, None],
        np.array([None, "a"], dtype=object),
        np.array([1.0, np.nan]),
        [1.0, float("inf")],
        np.array([1.5, 2.0]),
        ["1", 1],
        np.array(["a", 2], dtype=object),
        [True, 1],
        ["a", b"a"],
        [2**53 + 1, 2.0**53],
        np.array([2.0**53, 1.0]),
        np.array([2.0**24, 1.0], dtype=np.float32),
        [np.float32(2.0**24), 1],
        pd.array([None, 1], dtype="Int64"),
        pd.Series(["a", None]),
        np.ma.masked_array([1, 2], mask=[True, False]),
        np.array(["NaT", "2020-01-01"], dtype="datetime64[D]"),
        np.array([1 + 2j, 1]),
        [[1], [1]],
        torch.tensor([1.0, 2.0]).bfloat16(),
    ],
    ids=str,
)
def test_units_that_are_unclear_are_refused(units: Any) -> None:
    with pytest.raises(ParameterError, match="'units' parameter must be texts or whole numbers, all of one kind"):
        grouped(units)


def test_a_person_has_at_most_as_many_rows_with_arrays_as_with_a_curator() -> None:
    assert by_units(np.zeros((2, 1)), np.zeros(2), [1, 1], MOST_ROWS).rows_of.shape == (1, MOST_ROWS)
    for many in (MOST_ROWS + 1, 10**9, 10**30):
        with pytest.raises(ParameterError, match=r"rows_per_unit.*at most 256"):
            by_units(np.zeros((2, 1)), np.zeros(2), [1, 1], many)
