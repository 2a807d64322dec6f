"""What random layers draw is secret, and knows nothing of who else is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from tacit.learning.neural import Shifted
from tacit.learning.neural.people.chances import drawn_from, secret_state
from tacit.noise import SeededBitsForTestsOnly, secure
from tests.learning.neural.nets import entropy
from tests.learning.neural.test_trainer import trainer


def drawn(seed: int, numbers: int = 1000) -> Any:
    with drawn_from(secret_state(SeededBitsForTestsOnly(seed))):
        return torch.rand(numbers)


def test_all_bits_of_a_state_are_drawn_and_decide_what_follows() -> None:
    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    words = SeededBitsForTestsOnly(1).words(624)

    class Changed(SeededBitsForTestsOnly):
        def words(self, count: int) -> Any:
            changed = words.copy()
            changed[-1] ^= np.uint64(1 << 63)  # the highest bit of the last word
            return changed

    with drawn_from(secret_state(Changed(0))):
        other = torch.rand(1000)
    assert 0 < int((other != drawn(1)).sum()) < 1000


def test_numbers_are_uniform_from_the_first_on() -> None:
    """Fails by chance once in ten million runs: 5.4 deviations."""
    with_first = []
    for _ in range(400):
        with drawn_from(secret_state(secure())):
            with_first.append(float(torch.rand(5).mean()))
    assert abs(np.mean(with_first) - 0.5) < 5.4 * np.sqrt(1 / 12 / 2000)


def test_torchs_own_generator_neither_decides_nor_moves() -> None:
    """Or how far it came would tell how many chunks a step had."""
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(3, 16), nn.Dropout(0.5), nn.Linear(16, 2))
    X = np.random.default_rng(0).normal(size=(60, 3))
    own = trainer(module, data=(X, np.arange(60) % 2), loss=entropy, chunk=32)
    torch.manual_seed(5)
    before, found = torch.random.get_rng_state(), []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(own._sum(np.arange(20)))
        assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(*found)


def test_copies_are_moved_by_secret_draws_too() -> None:
    images = np.random.default_rng(1).normal(size=(40, 1, 6, 6))
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 2))
    own = trainer(module, data=(images, np.arange(40) % 2), loss=entropy, augment=Shifted(3, 2), chunk=32)
    found = []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(own._sum(np.arange(20)))
    assert not torch.equal(*found)
