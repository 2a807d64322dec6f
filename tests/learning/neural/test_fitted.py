"""Networks as files: safetensors and the receipt; made again by a recipe, or with the module that is given."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tacit import learning
from tacit.errors import ParameterError, TacitError
from tacit.learning import neural
from tacit.learning.neural.fitted import _digest
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


def made_up(path: Path, **changed: Any) -> None:
    """The file with other content, and a digest that fits, as whoever writes files can make one."""
    with safe_open(path, framework="pt") as file:
        facts, tensors = dict(file.metadata()), {name: file.get_tensor(name) for name in list(file.keys())}
    content = json.loads(facts["content"])
    tensors = changed.pop("tensors", lambda same: same)(tensors)
    for place, value in changed.items():
        at, _, name = place.partition("__")
        (content[at] if name else content)[name or at] = value
    text = json.dumps(content)
    save_file(tensors, path, {**facts, "content": text, "digest": _digest(text, tensors)})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = data(60)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    model = neural.NeuralClassifier(module, classes=[0, 1], size=60, **QUICK).fit(X, y)
    path: Path = model.save(tmp_path_factory.mktemp("saved") / "m.safetensors")
    return path


def linear(inputs: Any, outputs: Any) -> Any:
    return ["Linear", {"in_features": inputs, "out_features": outputs}]


@pytest.mark.parametrize(
    "recipe",
    [
        linear(100_000, 10_000), linear(10**7, 10**7), linear(10**30, 1), linear(-3, 1), linear(3.5, 1), linear("3", 1),
        ["Embedding", {"num_embeddings": 10**9, "embedding_dim": 1}],
        ["Sequential", [["0", linear(3, 4)], ["0", linear(3, 4)]]],
        ["Sequential", [["forward", ["Identity", {}]]]],
    ],
)  # fmt: skip
def test_a_recipe_that_does_not_fit_the_tensors_takes_no_memory(saved: Path, tmp_path: Path, recipe: Any) -> None:
    path = Path(shutil.copy(saved, tmp_path))
    made_up(path, recipe=recipe)
    asked: list[int] = []

    class Watched(TorchDispatchMode):
        def __torch_dispatch__(self, operation: Any, types: Any, given: Any = (), named: Any = None) -> Any:
            found = operation(*given, **(named or {}))
            if isinstance(found, torch.Tensor) and found.device.type == "cpu":
                asked.append(found.numel())
            return found

    with Watched(), pytest.raises(TacitError, match=r"is malformed\. Save the model again"):
        learning.load(path)
    assert max(asked, default=0) < 10_000


def test_a_recipe_has_at_most_a_thousand_layers() -> None:
    many = [[str(place), ["Identity", {}]] for place in range(1_000)]
    assert len(made_of(["Sequential", many[:-1]])) == 999
    with pytest.raises(TacitError, match="more than 1,000 layers"):
        made_of(["Sequential", many])


@pytest.mark.parametrize(
    "changed",
    [
        lambda own: own.double(), lambda own: own.long(), lambda own: own.bfloat16(), lambda own: own.to(torch.cfloat),
        lambda own: own * float("nan"), lambda own: own / 0, lambda own: own[..., :1],
    ],
)  # fmt: skip
def test_tensors_that_are_no_finite_weights_are_refused(saved: Path, tmp_path: Path, changed: Any) -> None:
    path = Path(shutil.copy(saved, tmp_path))
    made_up(path, tensors=lambda own: {name: changed(each).contiguous() for name, each in own.items()})
    with pytest.raises(TacitError, match="is malformed"):
        learning.load(path)


BASE = [["0", linear(3, 4)], ["1", ["Tanh", {}]], ["2", linear(4, 2)]]


@pytest.mark.parametrize(
    "changed",
    [
        {"fitted__classes_": {"array": ["<i8", [0], "C", []]}}, {"fitted__classes_": [1]},
        {"fitted__classes_": {"array": ["<i8", [1], "C", [1]]}},
        {"fitted__classes_": {"array": ["<i8", [3], "C", [1, 2, 3]]}},
        {"fitted___scale": None}, {"fitted___scale": {"tuple": [0.0]}},
        {"fitted___scale": {"tuple": [0.0, {"float": "nan"}]}},
        {"fitted___scale": {"tuple": [0.0, "x"]}}, {"fitted___shape": 3}, {"fitted___shape": {"tuple": [-3]}},
        {"fitted___shape": {"tuple": [True]}}, {"fitted___shape": {"tuple": [10**9]}},
        {"fitted___shape": {"tuple": []}},
        {"fitted___shape": {"tuple": [4]}}, {"fitted___shape": {"tuple": [3.0]}}, {"fitted___features": [1]},
        {"fitted__n_features_in_": "x"}, {"fitted__receipt_": 3}, {"fitted__finding_": 3}, {"fitted__module_": None},
        {"fitted__module": 3}, {"fitted__epsilon": 3}, {"parameters__epsilon": "x"}, {"parameters__module": 3},
        {"parameters__augment": 3}, {"parameters__clipping": 3}, {"parameters__epochs": []}, {"parameters__size": "x"},
        {"parameters__exact": "no"}, {"parameters__rate": {"Fraction": "1e10000000"}}, {"given": "yes"},
        {"recipe": ["Sequential", [*BASE, ["3", ["Flatten", {"start_dim": 0}]]]]},
        {"recipe": ["Sequential", [*BASE, ["3", ["Flatten", {"start_dim": 7}]]]]},
        {"recipe": ["Sequential", [*BASE, ["3", ["AdaptiveAvgPool1d", {"output_size": 10**9}]]]]},
    ],
    ids=str,
)  # fmt: skip
def test_facts_with_which_nothing_can_be_predicted_are_refused(saved: Path, tmp_path: Path, changed: Any) -> None:
    path = Path(shutil.copy(saved, tmp_path))
    made_up(path)
    learning.load(path)
    made_up(path, **changed)
    with pytest.raises(TacitError, match="is malformed"):
        learning.load(path)


def test_networks_of_whole_numbers_and_of_images_are_tried_on_rows_of_theirs(tmp_path: Path) -> None:
    X, y = data(60)
    words = nn.Sequential(nn.Embedding(2, 3), nn.Flatten(), nn.Linear(9, 2))
    images = nn.Sequential(nn.Conv2d(1, 2, 2), nn.Flatten(), nn.Linear(4, 2))
    pixels = torch.tensor(X).float()[:, None, None].repeat(1, 1, 2, 1)
    for module, rows in ((words, torch.tensor(X > 0).long()), (images, pixels)):
        model = neural.NeuralClassifier(module, classes=[0, 1], size=60, **QUICK).fit(rows, y)
        again = learning.load(model.save(tmp_path / "m.safetensors"))
        assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_parameters_in_any_order_of_memory_predict_the_same_bits(tmp_path: Path) -> None:
    X, y = data(60)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    module[0].weight = nn.Parameter(torch.randn(3, 4).t())
    model = neural.NeuralClassifier(module, classes=[0, 1], size=60, **QUICK).fit(X, y)
    assert all(each.is_contiguous() for each in model.module_.parameters())
    path = model.save(tmp_path / "m.safetensors")
    for again in (learning.load(path), learning.load(path, module)):
        assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
        assert all(each.is_contiguous() for each in again.module_.parameters())


def test_rows_of_another_shape_have_a_sentence(saved: Path) -> None:
    model = learning.load(saved)
    assert model.predict(np.zeros((2, 3))).shape == (2,)
    for wrong in (np.zeros(0), np.zeros(3), np.zeros((2, 4)), np.zeros((2, 3, 1)), np.array(1.0), torch.zeros(3)):
        with pytest.raises(ParameterError, match=r"rows of the shape \(3,\)"):
            model.predict(wrong)
