"""Networks as scikit-learn estimators: on arrays, and on rows of a curator, whose ledger pays once."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from torch import nn

import tacit
from tacit import learning
from tacit.errors import ParameterError, TacitError
from tacit.learning import neural
from tacit.loss import compose, events

QUICK: dict[str, Any] = {"epsilon": 8, "delta": 1e-5, "epochs": 4, "rate": 0.2, "learning_rate": 0.05}


def data(many: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(many, 3))
    return X, (X @ [2.0, -1.0, 0.0] > 0).astype(int)


def clinic(budget: float = 100) -> tacit.Curator:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"who": range(300), "age": rng.integers(0, 100, 300), "bmi": rng.integers(10, 50, 300)})
    frame["smoker"] = np.where(frame["age"] > 50, "yes", "no")
    frame["charge"] = 3 * frame["age"]
    columns = {
        "age": tacit.between(0, 110),
        "bmi": tacit.between(10, 60),
        "charge": tacit.between(0, 400),
        "smoker": tacit.one_of("no", "yes"),
    }
    return tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=budget, delta=1e-2))


def test_a_classifier_learns_arrays_and_says_what_it_cost() -> None:
    X, y = data()
    model = neural.NeuralClassifier(classes=[0, 1], **QUICK).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.predict_proba(X).shape == (400, 2)
    event = events.from_json(model.finding_.facts["event"])
    assert 7.9 < compose([event]).epsilon(1e-5) <= 8
    assert model.receipt_["epsilon"] == "8"


def test_tensors_of_any_shape_are_taken_as_they_are() -> None:
    X, y = data(200)
    images = torch.tensor(X).float()[:, None, None, :].expand(200, 1, 2, 3).clone()
    module = nn.Sequential(nn.Conv2d(1, 4, (2, 2)), nn.Tanh(), nn.Flatten(), nn.Linear(8, 2))
    before = copy.deepcopy(module.state_dict())
    model = neural.NeuralClassifier(module, classes=[0, 1], size=200, **QUICK).fit(images, torch.tensor(y))
    assert model.predict(images).shape == (200,)
    assert all(torch.equal(before[name], each) for name, each in module.state_dict().items())
    pairs = torch.utils.data.TensorDataset(images, torch.tensor(y))
    assert clone(model).fit(pairs).predict(images).shape == (200,)


def test_a_regressor_stays_within_its_bounds() -> None:
    X, _ = data()
    y = X[:, 0] * 10
    model = neural.NeuralRegressor(target_bounds=(-20, 20), size=400, **QUICK).fit(X, y)
    found = model.predict(X)
    assert np.corrcoef(found, y)[0, 1] > 0.7
    assert np.abs(found).max() <= 20


def test_rows_of_a_curator_are_paid_once_by_its_ledger() -> None:
    curator = clinic()
    rows = curator.rows("SELECT age, bmi, smoker FROM data")
    whole = curator.remaining()
    model = neural.NeuralClassifier(**QUICK).fit(rows, "smoker")
    charged = [each for each in curator.ledger() if model.finding_.facts["event"] in each.content]
    assert len(charged) == 1
    left = curator.remaining()
    assert left != whole
    again = neural.NeuralClassifier(**QUICK).fit(rows, "smoker")
    assert curator.remaining() == left
    assert again.finding_.repeated
    assert all(
        torch.equal(one, other)
        for one, other in zip(model.module_.parameters(), again.module_.parameters(), strict=True)
    )
    frame = pd.DataFrame({"age": [10, 95], "bmi": [20, 20]})
    assert set(model.predict(frame)) <= {"no", "yes"}
    score = learning.evaluate(model, rows, epsilon=5)
    assert score.finding is not None


def test_code_that_is_not_torchs_never_sees_rows() -> None:
    class Mine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            raise AssertionError("seen")

    curator = clinic()
    before = curator.remaining()
    with pytest.raises(TacitError, match="whose code would see rows"):
        neural.NeuralClassifier(Mine(), **QUICK).fit(curator.rows("SELECT age, bmi, smoker FROM data"), "smoker")
    assert curator.remaining() == before


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"module": nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))}, "GroupNorm"),
        ({"module": 3}, "module"),
        ({"optimiser": "newton"}, "optimiser"),
        ({"epochs": 0}, "epochs"),
        ({"rate": 0}, "rate"),
        ({"delta": 0}, "delta"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"clipping": "some"}, "clipping"),
        ({"classes": ["no", "yes"]}, "classes"),
        ({"module": nn.Sequential(nn.Linear(9, 2))}, "made-up people"),
        ({"module": nn.Sequential(nn.Linear(2, 9))}, "there are 2 classes"),
        ({"module": nn.Sequential(nn.Linear(2, 1))}, "there are 2 classes"),
    ],
)
def test_what_is_wrong_is_refused_before_the_charge(changed: dict[str, Any], said: str) -> None:
    curator = clinic()
    before = curator.remaining()
    with pytest.raises((TacitError, ParameterError), match=said):
        neural.NeuralClassifier(**{**QUICK, **changed}).fit(curator.rows("SELECT age, bmi, smoker FROM data"), "smoker")
    assert curator.remaining() == before


def test_labels_outside_the_list_and_missing_facts_are_refused() -> None:
    X, y = data(50)
    with pytest.raises(ParameterError, match="labels among the classes"):
        neural.NeuralClassifier(classes=[0, 2], **QUICK).fit(X, y)
    with pytest.raises(ParameterError, match="classes"):
        neural.NeuralClassifier(**QUICK).fit(X, y)
    with pytest.raises(ParameterError, match="target_bounds"):
        neural.NeuralRegressor(**QUICK).fit(X, y)


def net(*, frozen: bool = False, rest: bool = False) -> Any:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2))
    module[0].requires_grad_(not frozen)
    module[2].train(not rest)
    return module


class Moved(nn.Module):
    """Adds numbers that do not learn."""

    def __init__(self, by: float, *, kept: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(2, 2)
        self.register_buffer("by", torch.tensor([by, 0.0]), persistent=kept)

    def forward(self, x: Any) -> Any:
        return self.layer(x + self.by)


def test_fits_that_differ_in_anything_are_not_one_another() -> None:
    """A stored fit is found by what decides it: also by which weights learn, and by numbers beside them."""
    curator = clinic()
    rows = curator.rows("SELECT age, bmi, smoker FROM data")
    modules = [
        net(),
        net(frozen=True),
        net(rest=True),
        *(Moved(by, kept=kept) for by in (0, 1) for kept in (True, False)),
    ]
    found = [neural.NeuralClassifier(each, **QUICK).fit(rows, "smoker") for each in modules]
    entries = [each.receipt_["entry"] for each in found]
    assert len({*entries[:3], entries[3], entries[5]}) == 5
    assert entries[3] == entries[4]
    assert entries[5] == entries[6]
    again = neural.NeuralClassifier(net(frozen=True), **QUICK).fit(rows, "smoker")
    assert again.receipt_["entry"] == entries[1]
    other = copy.deepcopy(found[3])
    other.module_.by.add_(1)
    scored = [learning.evaluate(each, rows, epsilon="1/10").receipt["entry"] for each in (found[3], other, found[3])]
    assert scored[0] == scored[2] != scored[1]
