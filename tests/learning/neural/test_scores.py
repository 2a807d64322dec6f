"""Scores of networks on the caller's own arrays: images, sequences, code of one's own, each row by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit import learning
from tacit.errors import ParameterError
from tacit.learning.evaluation.networks import of_own_arrays
from tacit.learning.neural import NeuralClassifier, NeuralRegressor

LITTLE: dict[str, Any] = {"epsilon": 2, "delta": 1e-5, "epochs": 1, "rate": 0.5, "size": 40}
SURE: dict[str, Any] = {"epsilon": 40}


class Small(nn.Module):
    """A forward of one's own, which compares within a row."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(9, 2)

    def forward(self, x: Any) -> Any:
        flat = x.reshape(len(x), -1)
        return self.line(flat) + flat.argmax(dim=1, keepdim=True).to(flat.dtype) * 1e-3


class Tokens(nn.Module):
    """The last state of an LSTM over a sequence of whole numbers."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.known = nn.Embedding(7, 4)
        self.read = nn.LSTM(4, 5, batch_first=True)
        self.said = nn.Linear(5, classes)

    def forward(self, x: Any) -> Any:
        return self.said(self.read(self.known(x))[0][:, -1])


class Forgetful(nn.Module):
    """Keeps and draws what it should not: at every row it begins anew."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(4, 2)
        self.seen = 0
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.seen += len(x)
        self.total += x.sum().detach().to(self.total.dtype)
        return self.line(x) + self.seen * 5 + self.total * torch.tensor([1.0, -1.0]) + torch.rand(1)


def images(many: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng()
    X = rng.normal(size=(many, 1, 3, 3)).astype(np.float32)
    return X, (X.mean(axis=(1, 2, 3)) > 0).astype(int)


def accuracy(model: Any, X: Any, y: Any) -> float:  # noqa: N803
    return float(np.mean(np.asarray(model.predict(X)) == np.asarray(y)))


@pytest.mark.parametrize("made", [lambda: nn.Sequential(nn.Conv2d(1, 2, 2), nn.Flatten(), nn.Linear(8, 2)), Small])
def test_images_are_scored_with_torchs_code_and_with_ones_own(made: Any) -> None:
    X, y = images()
    model = NeuralClassifier(made(), classes=[0, 1], **LITTLE).fit(X, y)
    sex = np.where(np.arange(len(X)) % 2, "F", "M")
    found = learning.evaluate(model, X, y, by=sex, groups=["F", "M"], **SURE)
    assert found["accuracy"] == pytest.approx(accuracy(model, X, y))
    assert found["F", "accuracy"] == pytest.approx(accuracy(model, X[1::2], y[1::2]))  # type: ignore[index]
    assert found["area under the curve"] is not None
    same = learning.evaluate(model, torch.from_numpy(X), torch.from_numpy(y), **SURE)
    assert same["accuracy"] == found["accuracy"]
    assert learning.evaluate(model, X, y, by=sex, groups=["F", "M"], **SURE).repeated


@pytest.mark.parametrize("classes", [2, 3])
def test_sequences_of_whole_numbers_are_scored(classes: int) -> None:
    rng = np.random.default_rng()
    X, y = rng.integers(0, 7, (90, 6)), rng.integers(0, classes, 90)
    model = NeuralClassifier(Tokens(classes), classes=range(classes), **LITTLE).fit(X, y)
    for data in (X, X.astype(np.int32), torch.from_numpy(X), X.tolist()):
        found = learning.evaluate(model, data, y, **SURE)
        assert found["accuracy"] == pytest.approx(accuracy(model, X, y))
    foreign = X.copy()
    foreign[3, 2] = 99  # the module fails at this row alone
    counts = learning.evaluate(model, foreign, y, **SURE).errors
    lost = [n for name, n in zip(counts["predicted"], counts["rows"], strict=True) if name == "no prediction"]
    assert sum(lost) == 1


def test_a_number_is_learned_from_images_and_scored() -> None:
    X, _ = images(200)
    y = np.clip(X.mean(axis=(1, 2, 3)), -1, 1)
    model = NeuralRegressor(nn.Sequential(nn.Flatten(), nn.Linear(9, 1)), target_bounds=(-1, 1), **LITTLE).fit(X, y)
    found = learning.evaluate(model, X, y, epsilon=900)
    assert found["mean absolute error"] == pytest.approx(float(np.abs(model.predict(X) - y).mean()), abs=1e-3)


def test_a_row_is_scored_alike_in_any_company() -> None:
    """Weights that cancel make rounding as large as one likes, and code of one's own may keep what it saw."""
    rng = np.random.default_rng()
    X, y = rng.normal(size=(70, 4)), rng.integers(0, 2, 70)
    half, cancel = torch.from_numpy(rng.normal(size=(50, 4)).astype(np.float32)), torch.ones(50) * 1e17
    wide = nn.Sequential(nn.Linear(4, 100, bias=False), nn.Linear(100, 2, bias=False))
    for module in (wide, Forgetful()):
        model = NeuralClassifier(wide, classes=[0, 1], **LITTLE).fit(X, y)
        if module is not wide:
            model.module_ = module  # its fit would be refused
        else:
            with torch.no_grad():
                model.module_[0].weight.copy_(torch.cat([half, half[torch.randperm(50)]]))
                model.module_[1].weight.copy_(torch.stack([torch.cat([cancel, -cancel]), torch.cat([-cancel, cancel])]))
        found = of_own_arrays(model).model
        whole = found.predict_proba(X)
        for _ in range(10):
            kept = rng.permutation(70)[: rng.integers(1, 70)]
            assert (found.predict_proba(X[kept]) == whole[kept]).all()
        learning.evaluate(model, X, y, epsilon=1)
        assert "_outputs" not in vars(model)


def test_arrays_of_another_shape_or_type_are_refused() -> None:
    X, y = images()
    model = NeuralClassifier(nn.Sequential(nn.Flatten(), nn.Linear(9, 2)), classes=[0, 1], **LITTLE).fit(X, y)
    for data, words in ((X[:, 0], "shape"), (X.astype(int), "type"), (X.astype(str), "numbers")):
        with pytest.raises(ParameterError, match=words):
            learning.evaluate(model, data, y, epsilon=1)
    for options, words in (({"by": "sex"}, "by"), ({"by": y}, "groups")):
        with pytest.raises(ParameterError, match=words):
            learning.evaluate(model, X, y, epsilon=1, **options)
    with pytest.raises(ParameterError, match="one value for each"):
        learning.evaluate(model, X, y[:5], epsilon=1)


def test_intervals_cover_the_accuracy_on_new_images() -> None:
    rng = np.random.default_rng(3)
    X, y = images(4_000)
    model = NeuralClassifier(nn.Sequential(nn.Flatten(), nn.Linear(9, 2)), classes=[0, 1], **LITTLE).fit(X, y)
    with torch.no_grad():  # right at two rows of three, or so
        model.module_[1].weight.copy_(torch.stack([torch.zeros(9), torch.linspace(0, 1, 9) ** 4]))
        model.module_[1].bias.zero_()
    truth, hits, many = accuracy(model, X, y), [0, 0], 60
    for _ in range(many):
        drawn = rng.integers(0, len(X), 60)
        found = learning.evaluate(model, X[drawn], y[drawn], epsilon=1, bins=2)
        ends = found.scores.intervals()
        for place, (name, aim) in enumerate((("score", accuracy(model, X[drawn], y[drawn])), ("expected", truth))):
            low, high = ends[name][0]
            hits[place] += low <= aim <= high
    assert min(hits) >= 0.85 * many  # of 95%: fewer by chance once in a thousand
