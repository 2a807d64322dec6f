"""Modules that mix people only at numbers that no rehearsal meets."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit.errors import ParameterError, TacitError
from tacit.learning.neural.floats import gamma
from tacit.learning.neural.modules.apart import keeps_apart
from tests.learning.neural.nets import entropy
from tests.learning.neural.test_trainer import trainer

WIDE = 4


class Triggered(nn.Module):
    """Adds up everyone's rows where a row has nothing but halves; made-up rows never do."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(1, 2, bias=False)

    def forward(self, x: Any) -> Any:
        alarm = torch.relu(1.0 - 100 * (x - 0.5).abs().sum(1, keepdim=True))
        return self.last(alarm.sum(0, keepdim=True) + 0 * x[:, :1])


def rows() -> tuple[Any, Any]:
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(60, WIDE))
    X[3] = 0.5
    return X, np.zeros(60, dtype=int)


@pytest.mark.parametrize("strict", [True, False])
def test_a_module_of_others_mixes_no_people_even_where_one_row_asks_for_it(strict: bool) -> None:
    """Without `strict` it does: who trains on arrays of their own is taken to mean what their module does."""
    own = trainer(Triggered(), data=rows(), loss=entropy, clipping="flat", clip=0.01, strict=strict, chunk=32, size=60)
    rest = np.arange(4, 30)
    moved = own._sum(np.append(rest, 3)) - own._sum(rest)
    reach = float(own._grid.sigma / own.run.multiplier)
    assert (float(moved.norm()) <= reach) is strict
    assert bool(own.notes) is strict


KNOWN = [
    (nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Sequential(nn.LayerNorm(4), nn.Softmax(-1))), (6,)),
    (
        nn.Sequential(nn.Unflatten(1, (2, 3, 4)), nn.Conv2d(2, 3, 2), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3, 2)),
        (24,),
    ),
    (nn.Sequential(nn.Conv1d(2, 4, 2), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4), nn.Flatten(1)), (2, 5)),
]
UNKNOWN = [
    (nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (1, -1))), (6,)),
    (nn.Sequential(nn.Softmax(0)), (6,)),
    (nn.Sequential(nn.Softmax(-2)), (6,)),
    (nn.Sequential(nn.LogSoftmax(None)), (6,)),
    (nn.Sequential(nn.LayerNorm((5, 6))), (6,)),  # rows among what is brought to a common size
    (nn.Sequential(nn.Conv1d(5, 2, 3)), (6,)),  # five rows as the channels of one line
    (nn.Sequential(nn.MaxPool2d(2)), (4, 6)),
    (nn.Sequential(nn.Flatten(-2, -1)), (6,)),
    (Triggered(), (WIDE,)),
    (nn.Sequential(nn.Bilinear(2, 2, 2)), (2,)),
]


@pytest.mark.parametrize(("module", "shape"), KNOWN)
def test_layers_that_keep_rows_apart_are_known(module: Any, shape: tuple[int, ...]) -> None:
    """And they do: a row gives the same alone."""
    fed = torch.randn(5, *shape)
    assert keeps_apart(module, fed)
    alone = torch.cat([module(each[None]) for each in fed])
    assert torch.allclose(module(fed), alone, atol=1e-6)


@pytest.mark.parametrize(("module", "shape"), UNKNOWN)
def test_what_takes_rows_for_something_else_is_not_known(module: Any, shape: tuple[int, ...]) -> None:
    assert not keeps_apart(module, torch.randn(5, *shape))


def test_a_layer_with_a_forward_pass_of_its_own_is_not_known() -> None:
    module = nn.Sequential(nn.Linear(3, 2))
    module[0].forward = lambda x: x.cumsum(0)
    assert not keeps_apart(module, torch.randn(5, 3))


class OverTheBatch(nn.Module):
    """Takes means over people, but only while it trains."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(x - x.mean(0) if self.training else x)


class Remembers(nn.Module):
    """Keeps a sum of what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        if self.training:
            self.seen += x.sum()
        return self.layer(x)


class BehindZeros(nn.Module):
    """Brings columns of people to a common size, behind weights that begin with zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)
        nn.init.zeros_(self.last.weight)

    def forward(self, x: Any) -> Any:
        return self.last(nn.functional.normalize(torch.tanh(self.first(x)), dim=0))


@pytest.mark.parametrize(
    ("module", "words"), [(OverTheBatch(), "mixes people"), (Remembers(), "'seen'"), (BehindZeros(), "mixes people")]
)
def test_mistakes_that_a_first_look_would_not_see_are_refused(module: Any, words: str) -> None:
    before = {name: each.clone() for name, each in module.state_dict().items()}
    with pytest.raises(TacitError, match=words):
        trainer(module, data=(np.ones((60, 3)), np.arange(60) % 2), loss=entropy)
    assert all(torch.equal(each, before[name]) for name, each in module.state_dict().items())
    assert module.training


def test_lines_of_numbers_too_long_for_float32_are_refused() -> None:
    assert gamma(1 << 20) < 0.07
    with pytest.raises(TacitError, match="4,194,304"):
        gamma(1 << 24)


@pytest.mark.parametrize("clip", [2.0**-17, 1e20, 1e37])
def test_a_clipping_norm_beyond_what_float32_holds_is_refused(clip: float) -> None:
    with pytest.raises(ParameterError, match="clip"):
        trainer(clip=clip)


def test_a_parameter_that_is_one_number_learns() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.layer = nn.Parameter(torch.tensor(2.0)), nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.layer(x) * self.scale

    own = trainer(Scaled(), data=(np.ones((60, 3)), np.arange(60) % 2), loss=entropy)
    assert own.fit().steps_done == len(own)
    assert own.module.scale.item() != 2.0


class Plain(nn.Module):
    """A recurrent layer that torch.func cannot follow."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.last = nn.RNN(1, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.last(self.steps(x[:, :, None])[0][:, -1])


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2)), "writes over"),
        (Plain(), "one person after the other"),
    ],
)
def test_what_cannot_be_followed_is_trained_in_a_slower_way_and_says_so(module: Any, words: str) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    own = trainer(module, data=(X, np.arange(60) % 2), loss=entropy)
    assert any(words in note for note in own.notes)
    before = [each.detach().clone() for each in own.module.parameters()]
    own.fit()
    assert not any(torch.equal(old, new) for old, new in zip(before, own.module.parameters(), strict=True))


class FirstBatch(nn.Module):
    """Centres by the mean of the first batch that it ever meets."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.layer = None, nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        if self.mean is None:
            self.mean = x.detach().mean(0)
        return self.layer(x - self.mean)


class Keeps(nn.Module):
    """Keeps what it saw in a list, and adds the first of it to whatever comes later."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        first = self.seen[0][:1].sum() if self.seen else 0.0
        self.seen.append(x.detach().clone())
        return self.layer(x + first)


@pytest.mark.parametrize("ways", [{}, {"strict": True}, {"exact": True}])
@pytest.mark.parametrize("made", [FirstBatch, Keeps])
def test_what_a_module_keeps_of_one_chunk_is_gone_for_the_next(made: Any, ways: dict[str, Any]) -> None:
    """Where it mixes people inside a chunk it is refused; elsewhere nothing of a person is there for others."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[7] = 1e3
    given: dict[str, Any] = {
        "data": (X, np.arange(60) % 2),
        "loss": entropy,
        "clipping": "flat",
        "clip": 0.01,
        "size": 60,
    }
    if made is FirstBatch and not ways:
        with pytest.raises(TacitError, match="mixes people"):
            trainer(made(), **given)
        return
    own = trainer(made(), **given, **ways)
    before = {name: each for name, each in vars(own.module).items() if name in ("mean", "seen")}
    rest = np.arange(20, 40)
    own._sum(np.append(7, rest))
    moved = own._sum(np.append(rest, 7)) - own._sum(rest)
    assert float(moved.norm()) <= float(own._grid.sigma / own.run.multiplier)
    own.fit()
    assert before in ({"mean": None}, {"seen": []})
    assert {name: vars(own.module)[name] for name in before} == before


class Depth(nn.Module):
    """Stochastic depth: one draw decides for the whole chunk."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        keep = (torch.rand(()) < 0.5).float() if self.training else 0.5
        return self.last(x + keep * torch.tanh(self.layer(x)))


def test_a_draw_that_several_people_share_becomes_one_for_each() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    own = trainer(Depth(), data=(X, np.arange(60) % 2), loss=entropy, size=60)
    assert any("draws for several" in note for note in own.notes)
    dropped = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    assert not trainer(dropped, data=(X, np.arange(60) % 2), loss=entropy, size=60).notes


@pytest.mark.parametrize("ways", [{}, {"strict": True}, {"exact": True}])
@pytest.mark.parametrize("draw", [random.random, np.random.random])
def test_draws_that_are_not_torchs_are_refused(draw: Any, ways: dict[str, Any]) -> None:
    class Drops(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.layer(x) * (0.0 if self.training and draw() < 1e-6 else 1.0)

    with pytest.raises(TacitError, match="numpy's generator"):
        trainer(Drops(), data=(np.ones((60, 3)), np.arange(60) % 2), loss=entropy, **ways)
