"""Networks as files: safetensors and the receipt; made again by a recipe, or with the module that is given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from tacit import learning
from tacit.errors import ParameterError, TacitError
from tacit.learning import neural
from tacit.learning.neural.modules.recipes import made_of, recipe_of
from tests.learning.neural.test_estimators import QUICK, clinic, data


def test_a_network_of_arrays_is_saved_with_its_receipt_and_made_again(tmp_path: Path) -> None:
    X, y = data(100)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    model = neural.NeuralClassifier(module, classes=range(2), size=100, **QUICK).fit(X, y)
    path = model.save(tmp_path / "m.safetensors")
    for again in (learning.load(path), learning.load(path, module), neural.load(path)):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.receipt_ == model.receipt_
        assert again.get_params()["epochs"] == 4
    with pytest.raises(ParameterError, match="other parameters"):
        learning.load(path, nn.Linear(3, 2))
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(TacitError, match="cannot be read"):
        learning.load(path)


@pytest.mark.parametrize("kind", ["class", "number"])
def test_a_network_of_a_curators_rows_is_saved_and_predicts_the_same(tmp_path: Path, kind: str) -> None:
    curator = clinic()
    made: Any = neural.NeuralClassifier if kind == "class" else neural.NeuralRegressor
    target = "smoker" if kind == "class" else "charge"
    model = made(**QUICK).fit(curator.rows(f"SELECT age, bmi, {target} FROM data"), target)
    path = model.save(tmp_path / "m.safetensors")
    again = learning.load(path)
    frame = pd.DataFrame({"age": [10, 95, 40], "bmi": [20, 20, 33]})
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert again.receipt_ == model.receipt_
    assert again.finding_.receipt == model.finding_.receipt
    assert "weights" not in again.finding_.arrays
    assert again._as_bytes() == model._as_bytes()  # so that an evaluation of it is the stored one


class Own(nn.Module):
    def __init__(self, inputs: int = 3, outputs: int = 2) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(inputs, 8), nn.Linear(8, outputs)

    def forward(self, x: Any) -> Any:
        return self.last(torch.relu(self.first(x)) + 1)


def test_a_module_of_ones_own_code_is_said_again(tmp_path: Path) -> None:
    X, y = data(100)
    model = neural.NeuralClassifier(Own(), classes=[0, 1], size=100, **QUICK).fit(X, y)
    path = model.save(tmp_path / "m.safetensors")
    with pytest.raises(ParameterError, match="code of its own"):
        learning.load(path)
    for module in (Own(), Own):
        assert np.array_equal(learning.load(path, module).predict_proba(X), model.predict_proba(X))


def test_files_that_are_damaged_or_made_up_are_refused(tmp_path: Path) -> None:
    X, y = data(60)
    model = neural.NeuralClassifier(classes=[0, 1], size=60, **QUICK).fit(X, y)
    path = model.save(tmp_path / "m.safetensors")
    whole = bytearray(path.read_bytes())
    whole[-3] ^= 1
    path.write_bytes(bytes(whole))
    with pytest.raises(TacitError, match="damaged"):
        learning.load(path)
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(TacitError, match="no file of a neural network"):
        learning.load(path)
    model.save(path)
    assert set(load_file(path)) == {name for name, _ in model.module_.named_parameters()}
    (tmp_path / "m.json").write_text("{}")
    with pytest.raises(ParameterError, match="holds no neural network"):
        learning.load(tmp_path / "m.json", Own())


@pytest.mark.parametrize(
    "wrong",
    [
        ["system", {}],
        ["Linear", {"in_features": 2, "out_features": 2, "device": "meta"}],
        ["Sequential", [["0"]]],
        ["Sequential", {}],
        "Linear",
        ["Module", {}],
    ],
)
def test_a_recipe_names_torchs_layers_and_nothing_else(wrong: Any) -> None:
    with pytest.raises(TacitError):
        made_of(wrong)


def test_recipes_make_the_same_module_again() -> None:
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding="valid", bias=False),
        nn.GroupNorm(2, 4),
        nn.LeakyReLU(0.3),
        nn.MaxPool2d(2, 1),
        nn.Sequential(nn.Flatten(), nn.Linear(9, 5), nn.LayerNorm(5, elementwise_affine=False), nn.Dropout(0.2)),
        nn.Unflatten(1, (5, 1)),
        nn.InstanceNorm1d(5, affine=True),
        nn.Embedding(4, 3, padding_idx=1),
    )
    recipe = json.loads(json.dumps(recipe_of(module)))
    again = made_of(recipe)
    assert repr(again) == repr(module)
    again.load_state_dict(module.state_dict())
    assert recipe_of(nn.TransformerEncoderLayer(8, 2)) is None
    assert recipe_of(Own()) is None
