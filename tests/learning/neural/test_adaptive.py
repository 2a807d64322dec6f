"""Adaptive clipping: what the count costs, what it counts, and that the norm follows the people's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tacit.errors import ParameterError
from tacit.learning.neural.sums.adaptive import count_sigma, followed, multiplier_beside_count
from tests.learning.neural.test_trainer import net, people, squared, trainer


@pytest.mark.parametrize("multiplier", [Fraction(1, 3), Fraction(1), Fraction(17, 5)])
def test_sum_and_count_together_are_no_larger_a_shift_than_the_sum_was_alone(multiplier: Fraction) -> None:
    shift = 1 / multiplier_beside_count(multiplier) ** 2 + 1 / count_sigma(multiplier) ** 2
    assert shift <= 1 / multiplier**2
    assert shift >= (1 - Fraction(1, 10**9)) / multiplier**2


@pytest.mark.parametrize("exact", [False, True])
def test_the_count_is_that_of_people_within_the_norm_less_the_others(exact: bool) -> None:
    module = net()
    X, y = people()
    X[5] = np.nan  # a norm that is no number is not within
    own = trainer(module, data=(X, y), clipping="adaptive", clip=1, exact=exact)
    lengths = []
    for row, aim in zip(torch.tensor(X).float(), torch.tensor(y).float(), strict=True):
        slopes = torch.autograd.grad(squared(module(row[None]), aim[None]).sum(), list(module.parameters()))
        lengths.append(float(torch.cat([each.reshape(-1) for each in slopes]).norm()))
    chosen = np.arange(0, 70)
    within = sum(1 if lengths[each] <= 1 else -1 for each in chosen)
    found = own._summing.total(chosen, own._clip, own._grid)[1]
    assert abs(found - within) <= 2  # one at the very edge may be on the other side
    assert own._summing.total(np.zeros(0, dtype=np.int64), own._clip, own._grid)[1] == 0
    alone = [own._summing.total(np.array([each]), own._clip, own._grid)[1] for each in chosen]
    assert sum(alone) == found  # a person counts for the same whoever else is there
    assert set(alone) <= {-1, 1}


def test_the_norm_follows_the_median_and_stays_within_its_range() -> None:
    clip = Fraction(1)
    for _ in range(200):  # everybody's norm is 0.01
        clip = followed(clip, 1000 if clip >= Fraction(1, 100) else -1000, 1000.0)
    assert 0.009 < clip < 0.012
    for _ in range(1000):
        clip = followed(clip, 10**9, 1000.0)
    assert clip >= Fraction(1, 1 << 16)
    for _ in range(1000):
        clip = followed(clip, -(10**9), 1000.0)
    assert clip <= 1 << 16


def test_a_run_follows_and_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"clipping": "adaptive", "clip": 30, "epsilon": 50, "journal": tmp_path, "steps": 10}
    own = trainer(**settings)
    sigmas = {own._grid.sigma}
    for _, batch in zip(range(5), own, strict=False):
        own.step(batch)
        sigmas.add(own._grid.sigma)
    assert own.clip < 30
    assert len(sigmas) > 3
    own.close()
    again = trainer(**settings)
    assert again.clip == own.clip
    assert again._grid == own._grid
    again.close()


def test_a_fixed_order_has_one_norm() -> None:
    with pytest.raises(ParameterError, match="clipping"):
        trainer(clipping="adaptive", sampling="fixed", rate=0.25)
