"""People at whom a module or a loss fails count as nothing, and change nobody else's part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit.errors import TacitError
from tacit.learning.neural.people.chances import drawn_from, secret_state
from tacit.learning.neural.sums.summing import _emptied
from tacit.noise import secure
from tests.learning.neural.nets import entropy
from tests.learning.neural.test_trainer import trainer


def categorical(output: Any, target: Any) -> Any:
    """torch's distributions raise where a row is not finite."""
    return -torch.distributions.Categorical(logits=output).log_prob(target)


class Depth(nn.Module):
    """One draw for the whole chunk decides which branch is taken; rows of 1e25 overflow in one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        keep = torch.rand(()) if self.training else torch.ones(())
        return self.last(torch.tanh(x) + torch.where(keep > 0.5, 1e-3 * x * x, torch.zeros(())))


def data(flagged: int) -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    X[20 : 20 + flagged] = [1e25, 0, 0, 0]
    X[0] = np.nan  # fails whatever is drawn
    return X, np.zeros(60, dtype=int)


def test_a_row_that_fails_only_at_some_draws_never_ends_a_step() -> None:
    """With a chance of one half, in each of a hundred steps."""
    X, y = data(3)
    X[20:23] = 0
    X[20:23, 0] = 3e38
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 2))
    own = trainer(module, data=(X, y), loss=categorical, chunk=64, size=60)
    for _ in range(100):
        own._sum(np.arange(60))


def test_whoever_always_fails_changes_nobody_elses_chances() -> None:
    """With the same draws everybody else is in or out alike, whether or not somebody is there who fails."""
    X, y = data(1)
    own = trainer(Depth(), data=(X, y), loss=categorical, chunk=64, size=60, clipping="flat", clip=0.05)
    (chunk,) = own._people.chunks(np.arange(60), 64)
    others = torch.zeros(chunk.rows, dtype=torch.bool)
    others[0] = True
    without = _emptied(chunk, others)
    counted = []
    for _ in range(40):
        state = secret_state(secure())
        found = []
        for each in (chunk, without):
            kept = own._summing._without_failing(each, state)
            assert own._summing._tried(kept, state) is not None
            found.append(kept.weights[1:].clone())
        if own._summing._tried(without, state) is not None:  # nobody else failed with these draws
            assert torch.equal(found[0], without.weights[1:])
            counted.append(1)
        else:
            assert torch.equal(*found)
            counted.append(0)
    assert 0 < sum(counted) < 40


def test_draws_of_one_person_alone_do_not_follow_from_how_others_went() -> None:
    """A person whose course ends early draws less; the next one's draws stay what they were."""

    class Early(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            if self.training and float(x.detach().abs().max()) > 9:
                torch.rand(3)
            return self.last(nn.functional.dropout(x, 0.5, self.training))

    X, y = data(0)
    X[0] = 1
    own = trainer(Early(), data=(X, y), loss=entropy, chunk=1, size=60, exact=True)
    gradients = own._summing._gradients
    (chunk,) = own._people.chunks(np.arange(30), 32)
    state = secret_state(secure())
    found = []
    for first in (1.0, 10.0):
        chunk.inputs[0][0] = first
        with drawn_from(state):
            found.append(torch.cat([each.rows() for each in gradients(chunk)], 1))
    assert torch.equal(found[0][1:], found[1][1:])


def test_a_loss_that_fails_at_everybody_together_is_told_in_a_fixed_sentence() -> None:
    def guarded(output: Any, target: Any) -> Any:
        found = entropy(output, target)
        if float(found.detach().sum()) > 1e6:
            raise ValueError(f"diverged: {found}")
        return found

    X, y = data(0)
    X[0] = X[1] = 0
    own = trainer(nn.Linear(4, 2), data=(X, y), loss=guarded, chunk=64, size=60)
    with torch.no_grad():
        own.module.bias[1] += 3e4
    own._sum(np.arange(10))
    with pytest.raises(TacitError) as caught:
        own._sum(np.arange(60))
    assert "diverged" not in str(caught.value)
    assert caught.value.__context__ is None
