"""The networks whose steps are timed, and made-up data of their shapes: what is measured does not depend on values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Transformer(nn.Module):
    """Two layers of a transformer on sequences of 64 tokens, and the mean over positions."""

    def __init__(self, tokens: int = 1000, width: int = 64, outputs: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, outputs)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.encoder(self.embedding(tokens)).mean(dim=1))


def mlp() -> Any:
    """784-256-256-10: 269,322 parameters."""
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


def cnn() -> Any:
    """Two convolutions and tanh, 26,010 parameters, as in Papernot et al. 2021."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A network, how many rows there are, and how many of them are in a step."""

    name: str
    people: int
    batch: int


CASES = {
    "mlp-1024": Case("mlp", 60_000, 1024),
    "mlp-8192": Case("mlp", 60_000, 8192),
    "cnn": Case("cnn", 60_000, 1024),
    "transformer": Case("transformer", 20_000, 256),
}
MODULES = {"mlp": mlp, "cnn": cnn, "transformer": Transformer}


def module_of(case: Case) -> Any:
    """A new network, with the same weights each time."""
    torch.manual_seed(0)
    return MODULES[case.name]()


def rows_of(case: Case) -> tuple[Any, Any]:
    """Made-up rows and classes."""
    made = torch.Generator().manual_seed(0)
    if case.name == "transformer":
        inputs = torch.randint(0, 1000, (case.people, 64), generator=made)
        return inputs, torch.randint(0, 2, (case.people,), generator=made)
    shape = (case.people, 784) if case.name == "mlp" else (case.people, 1, 28, 28)
    return torch.randn(shape, generator=made), torch.randint(0, 10, (case.people,), generator=made)


def loss(output: Any, target: Any) -> Any:
    """One number for each row."""
    return functional.cross_entropy(output, target, reduction="none")
