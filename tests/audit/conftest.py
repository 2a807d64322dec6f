"""Audits look for what chance hides, so their tests choose the chance: every one draws the same in every run.

The rates that the tests state are those of fresh draws. They say how safe a change of the seed is, or of the order in
which numbers are drawn.
"""

from __future__ import annotations

import itertools
import random
import secrets
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.noise import SeededBitsForTestsOnly, bits


class _Repeating(bits.SecureBits):
    """Seeded words from what a curator takes for its own source: it refuses a source that says it is seeded."""

    def __init__(self) -> None:
        super().__init__()
        self._seeded = SeededBitsForTestsOnly(1)

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._seeded.words(count)


@pytest.fixture(autouse=True)
def _the_same_draws_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds, generator, coins = itertools.count(1), np.random.default_rng, random.Random(1)

    def seeded(seed: Any = None) -> np.random.Generator:
        return generator(next(seeds) if seed is None else seed)  # each one another stream, as fresh ones are

    monkeypatch.setattr(np.random, "default_rng", seeded)
    monkeypatch.setattr(secrets, "randbits", coins.getrandbits)
    monkeypatch.setattr(bits._per_thread, "source", _Repeating())
