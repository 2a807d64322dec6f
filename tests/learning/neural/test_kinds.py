"""Courses that make whole numbers of rows, at some of which torch raises, are refused; others are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit.errors import TacitError
from tacit.learning import neural
from tacit.learning.neural.modules.kinds import refuse_failing
from tacit.learning.neural.modules.traced import only_torch


class Course(nn.Module):
    """A layer, and something that is made of rows."""

    def __init__(self, made: Callable[[Any], Any]) -> None:
        super().__init__()
        self.layer, self.made = nn.Linear(2, 2), made

    def forward(self, x: Any) -> Any:
        return self.layer(x) + self.made(x)


def divided(x: Any) -> Any:
    """Raises where no number of the row is below one half."""
    return ((x > 2).sum(1, keepdim=True) // (x < 0.5).sum(1, keepdim=True)).float()


def looked_up(x: Any) -> Any:
    """Raises where both numbers are above one half: there are lines 0 and 1."""
    return x.new_ones(2)[(x > 0.5).sum(1)][:, None]


def counted(x: Any) -> Any:
    return (x > 0).cumsum(1)[:, :1] * 1.0


def by_chance(x: Any) -> Any:
    """Raises where nothing is left of two ones, whoever is there."""
    left = nn.functional.dropout(torch.ones(x[:1].shape), 0.5) > 0
    return (x > 0).mT.float()[:1, :1] * 0 + (left.sum() % left.sum()).float()


@pytest.mark.parametrize("made", [divided, looked_up, counted, by_chance])
def test_whole_numbers_of_rows_are_refused(made: Callable[[Any], Any]) -> None:
    with pytest.raises(TacitError, match="int64 of rows"):
        refuse_failing(only_torch(Course(made)), torch.zeros(2, 2))


def split(x: Any) -> Any:
    first, second = torch.split(x, 1, dim=1)
    return torch.cat([first // second, first % second], 1)


@pytest.mark.parametrize(
    "made",
    [
        split,
        lambda x: (x > 0).float() * x,
        lambda x: torch.where(x > 0, x, torch.zeros_like(x)).sum(1, keepdim=True) / x.shape[1],
        lambda x: x[:, : x.size(1) // 2] * torch.arange(2),
        lambda x: x.mean(1, keepdim=True) ** 2,
    ],
)
def test_real_numbers_and_truth_values_go_on_whatever_they_are(made: Callable[[Any], Any]) -> None:
    course = only_torch(Course(made))
    refuse_failing(course, torch.zeros(2, 2))
    wild = torch.tensor([0.0, 1.0, -1.0, 1e-30, 1e30, float("inf"), float("nan")])
    rows = torch.cartesian_prod(wild, wild)
    assert torch.func.vmap(lambda row: course(row[None])[0])(rows).shape == (len(rows), 2)


def test_what_fails_at_made_up_rows_is_refused_with_their_shape() -> None:
    with pytest.raises(TacitError, match=r"\(2, 3\)"):
        refuse_failing(only_torch(Course(split)), torch.zeros(2, 3))


@pytest.mark.parametrize("of_others", [False, True])
def test_a_module_that_says_float32_itself_predicts(of_others: bool) -> None:
    """Predictions are computed in float64 where nothing stands against it."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(40, 2))
    module = Doubled()
    model = neural.NeuralClassifier(module, epsilon=1, classes=[0, 1], epochs=1, rate="1/2", size=40)
    model.fit(X, np.arange(40) % 2)
    own = model._without_own_code() if of_others else model
    weights = own.module_.layer.weight.detach().double().numpy()
    bias = own.module_.layer.bias.detach().double().numpy()
    rounding = 1e-12 if of_others else 1e-6
    assert np.allclose(own._outputs(X), (X > 0) @ weights.T + bias + 1, rtol=0, atol=rounding)


class Doubled(nn.Module):
    """A layer of truth values, and a product of constants, all in float32 as it says."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        ones = torch.ones((x.shape[1], 2)) @ torch.ones(2, 2)
        return self.layer((x > 0).float()) + ones.mean(1) / 2
