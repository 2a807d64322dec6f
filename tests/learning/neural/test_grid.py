"""The grid that sums are put on, and how much of its noise pays for what floats do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tacit.learning.neural import PrivateTrainer


@pytest.mark.parametrize(("width", "positions"), [(1, 64), (4, 32), (16, 16)])
def test_a_chunk_is_no_larger_than_sums_over_positions_allow(width: int, positions: int) -> None:
    """Their error grows with the square of a chunk and is paid for in noise: at most 4 % of it, in large batches."""

    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.last = nn.Embedding(500, width), nn.Linear(width, 2)

        def forward(self, words: Any) -> Any:
            return self.last(self.table(words).mean(dim=1))

    module = Words()
    settings: dict[str, Any] = {"epsilon": 3, "delta": 1e-5, "rate": 0.1, "steps": 10, "size": 80_000}
    words, classes = torch.zeros((50, positions), dtype=torch.int64), torch.zeros(50, dtype=torch.int64)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    loss = nn.CrossEntropyLoss(reduction="none")
    trainer = PrivateTrainer(module, loss, optimiser, words, classes, **settings)
    grid = trainer._grid
    assert 1 < float(grid.sigma / trainer.run.multiplier) / 2.0**grid.exponent < 1.04
