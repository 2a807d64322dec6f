"""Small random modules of every supported layer, each with made-up people to feed it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tacit.learning.neural.people.batches import Chunk

Made = tuple[Any, Callable[[Any, Any], Any], Chunk]


def squared(output: Any, target: Any) -> Any:
    """One loss for each row. Outputs weigh differently: numbers that were brought to a common size add up to 0."""
    flat = output.flatten(1)
    return (flat @ torch.cos(torch.arange(flat.shape[1], dtype=flat.dtype)) - target).square() / 2


def tilted(output: Any, target: Any) -> Any:
    """One loss for each row, whose slope is no small difference: that would leave few digits to compare."""
    flat = output.flatten(1)
    return flat @ torch.cos(torch.arange(flat.shape[1], dtype=flat.dtype)) * (2 + torch.tanh(target))


def entropy(output: Any, target: Any) -> Any:
    """One loss for each row."""
    return functional.cross_entropy(output, target, reduction="none")


class Last(nn.Module):
    """The last of what a recurrent layer gives."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        given, _ = self.layer(x)
        return given[:, -1] if self.layer.batch_first else given[-1]


class SequenceFirst(nn.Module):
    """A recurrent layer that wants times first."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x.transpose(0, 1))[0][-1]


class Attends(nn.Module):
    """Attention of a sequence to itself, or to another one."""

    def __init__(self, width: int, heads: int, own: bool, **more: Any) -> None:
        super().__init__()
        self.own = own
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True, **more)
        self.other = nn.Linear(width, more.get("kdim") or width)

    def forward(self, x: Any) -> Any:
        if self.own:
            return self.attention(x, x, x)[0]
        other = torch.tanh(self.other(x))
        return self.attention(x, other, other, need_weights=False)[0]


class Masked(nn.Module):
    """Attention to positions before oneself, and to those that a person has; with its shares used, or without."""

    def __init__(self, positions: int, shown: bool, by_head: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.shown, self.by_head = shown, by_head
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, dropout=dropout)
        self.later = torch.ones(positions, positions, dtype=torch.bool).triu(1)
        self.others = torch.arange(positions) > 0  # torch's own shares of no position at all are no numbers

    def forward(self, x: Any) -> Any:
        empty = (x[:, :, 0] > 1.0) & self.others
        later = self.later
        if self.by_head:
            first = torch.arange(2).repeat(x.shape[0]) == 0  # the first head of each person looks at everything
            later = ~first[:, None, None] & later
        found = self.attention(x, x, x, empty, self.shown, later, average_attn_weights=not self.by_head)
        return torch.cat([found[0].flatten(1), found[1].flatten(1)], dim=1) if self.shown else found[0]


class Tied(nn.Module):
    """The same table at both ends."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.out = nn.Linear(width, words, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x: Any) -> Any:
        return self.out(torch.tanh(self.table(x)).mean(dim=1))


class Twice(nn.Module):
    """One layer, used twice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.last = nn.Linear(width, 1)

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.layer(torch.tanh(self.layer(x)))))


class Odd(nn.Module):
    """A layer that nobody has written down as products."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))
        self.last = nn.Linear(width, 1)

    def forward(self, x: Any) -> Any:
        return self.last(torch.sin(self.scale * x))


def chunk(people: int, *shape: int, copies: int = 1, words: int = 0, classes: int = 0) -> Chunk:
    """Made-up people: numbers, or words below `words`; a number or a class to learn."""
    rows = people * copies
    inputs = torch.randint(0, words, (rows, *shape)) if words else torch.randn(rows, *shape)
    target = torch.randint(0, classes, (rows,)) if classes else torch.randn(rows)
    return Chunk(people, (inputs,), target, torch.ones(rows))


def frozen(module: Any) -> Any:
    """The first parameter does not learn."""
    next(iter(module.parameters())).requires_grad_(False)
    return module


def builds() -> dict[str, Callable[[Callable[[int, int], int]], Made]]:
    """By name: from `between(low, high)`, which draws a whole number, a module, its loss and people."""
    return {
        "linear": lambda n: _plain(nn.Sequential(nn.Linear(5, n(1, 9)), nn.Tanh(), nn.LazyLinear(1)), chunk(4, 5)),
        "linear of sequences": lambda n: _plain(
            nn.Sequential(nn.Linear(6, n(2, 40)), nn.Tanh(), nn.LazyLinear(n(2, 90))), chunk(3, n(2, 12), 6)
        ),
        "long lines": lambda n: _plain(nn.Sequential(nn.Linear(96, 128), nn.ReLU()), chunk(3, n(2, 5), 96)),
        "rows of a person": lambda n: _plain(
            nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)), chunk(3, 6, copies=n(2, 4))
        ),
        "frozen": lambda n: _plain(frozen(nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1))), chunk(4, 5)),
        "conv1d": lambda n: _plain(
            nn.Sequential(
                nn.Conv1d(3, 4, n(1, 4), stride=n(1, 2), padding=n(0, 2), dilation=n(1, 2)),
                nn.Tanh(),
                nn.Conv1d(4, 2, 1),
            ),
            chunk(3, 3, 12),
        ),
        "conv2d": lambda n: _plain(
            nn.Sequential(
                nn.Conv2d(2, 4, (n(1, 3), n(1, 3)), stride=n(1, 2), padding=n(0, 1), padding_mode="reflect"),
                nn.Tanh(),
                nn.MaxPool2d(2),
                nn.Conv2d(4, 6, 2, groups=2),
            ),
            chunk(3, 2, 9, 10),
        ),
        "conv2d of many channels": lambda n: _plain(
            nn.Sequential(nn.Conv2d(64, 48, 3, padding="same", bias=False), nn.Tanh()), chunk(2, 64, 3, n(3, 5))
        ),
        "conv3d": lambda n: _plain(
            nn.Sequential(nn.Conv3d(2, 3, (2, n(1, 3), 2), stride=(1, n(1, 2), 1)), nn.Tanh()), chunk(2, 2, 4, 5, 4)
        ),
        "embedding": lambda n: _plain(
            nn.Sequential(nn.Embedding(9, n(2, 6), padding_idx=0), nn.Flatten(), nn.Tanh(), nn.LazyLinear(3)),
            chunk(4, n(1, 8), words=9, classes=3),
            entropy,
        ),
        "layer norm": lambda n: _plain(
            nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 2)), chunk(3, n(1, 4), 5)
        ),
        "layer norm of images": lambda n: _plain(
            nn.Sequential(nn.LayerNorm((2, 4)), nn.Tanh()), chunk(3, n(1, 3), 2, 4)
        ),
        "rms norm": lambda n: _plain(
            nn.Sequential(nn.Linear(5, 8), nn.RMSNorm(8), nn.Tanh(), nn.Linear(8, 2)), chunk(3, n(1, 4), 5)
        ),
        "group norm": lambda n: _plain(
            nn.Sequential(nn.Conv2d(1, 6, 3), nn.GroupNorm(n(1, 3), 6) if n(0, 1) else nn.GroupNorm(2, 6), nn.Tanh()),
            chunk(3, 1, 6, 5),
        ),
        "instance norm": lambda n: _plain(
            nn.Sequential(
                nn.Conv1d(2, 4, 2), nn.InstanceNorm1d(4, affine=True), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)
            ),
            chunk(3, 2, n(5, 9)),
        ),
        "instance norm of images": lambda n: _plain(
            nn.Sequential(
                nn.Conv2d(1, 3, 2), nn.InstanceNorm2d(3, affine=True), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)
            ),
            chunk(3, 1, n(4, 6), 5),
        ),
        "norms of volumes": lambda n: _plain(
            nn.Sequential(
                nn.Conv3d(1, 4, 2), nn.InstanceNorm3d(4, affine=True), nn.Tanh(), nn.GroupNorm(n(1, 2), 4), nn.Tanh()
            ),
            chunk(2, 1, 3, 4, n(3, 4)),
        ),
        "attention": lambda n: _plain(Attends(8, n(1, 2), True), chunk(3, n(2, 6), 8)),
        "attention to others": lambda n: _plain(Attends(8, 2, False, kdim=6, vdim=6), chunk(3, n(2, 6), 8)),
        "attention to a copy": lambda n: _plain(Attends(8, 2, False, bias=bool(n(0, 1))), chunk(3, n(2, 6), 8)),
        "attention with masks": lambda n: _plain(
            Masked(4, bool(n(0, 1)), bool(n(0, 1)), 0.2 * n(0, 1)).eval(), chunk(3, 4, 8)
        ),
        "transformer": lambda n: _plain(
            nn.TransformerEncoder(
                nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), n(1, 2), enable_nested_tensor=False
            ),
            chunk(3, n(2, 6), 8),
        ),
        "lstm": lambda n: _plain(
            Last(nn.LSTM(3, n(2, 5), num_layers=n(1, 2), batch_first=True, bidirectional=bool(n(0, 1)))),
            chunk(3, n(1, 6), 3),
        ),
        "gru": lambda n: _plain(Last(nn.GRU(3, n(2, 5), num_layers=n(1, 2), batch_first=True)), chunk(3, n(1, 6), 3)),
        "gru, times first": lambda n: _plain(SequenceFirst(nn.GRU(3, 4)), chunk(3, n(1, 6), 3)),
        "tied": lambda n: _plain(Tied(7, n(2, 5)), chunk(3, n(1, 6), words=7, classes=7), entropy),
        "twice": lambda n: _plain(Twice(n(2, 6)), None),
    }


def _plain(module: Any, people: Chunk | None, loss: Callable[[Any, Any], Any] = tilted) -> Made:
    own = people if people is not None else chunk(4, module.layer.in_features)
    with torch.no_grad():
        module(*own.inputs)  # lazy layers learn their sizes
    return module, loss, own
