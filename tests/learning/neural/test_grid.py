"""The grid that sums are put on, and how much of its noise pays for what floats do."""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import nn

from tacit.learning.neural import PrivateTrainer
from tacit.learning.neural.sums import grid
from tacit.noise import secure


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
    own = trainer._grid
    assert 1 < float(own.sigma / trainer.run.multiplier) / 2.0**own.exponent < 1.04


@pytest.mark.parametrize("spare", [True, False])
def test_noise_is_drawn_beside_the_passes_only_where_a_processor_is_spare(
    spare: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread more than processors makes all of torch's wait; the law of the noise is the same either way."""
    drew: list[str] = []

    def served() -> Any:
        drew.append(threading.current_thread().name)
        return secure()

    monkeypatch.setattr(grid, "has_spare_processor", lambda: spare)
    found = grid.Grid(0, Fraction(1000), 40_000).draw(served).take()
    assert [name.startswith("tacit-noise") for name in drew] == [spare]
    assert torch.equal(found, found.round())
    # the mean square of 40,000 draws is within 5 % of its mean but with probability below 1e-11 (7 deviations)
    assert abs(float((found**2).mean()) / 1000**2 - 1) < 0.05


def test_as_many_threads_as_processors_leave_none_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    for threads, spare in ((2, True), (3, False), (4, False)):
        monkeypatch.setattr(torch, "get_num_threads", lambda own=threads: own)
        assert grid.has_spare_processor() is spare
