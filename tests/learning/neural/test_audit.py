"""The trainer audited in one run, and a language model that is asked for its secrets.

Canary i is a person whose gradient is the i-th unit vector, in every step: the loss is minus the i-th weight of an
embedding. So the i-th weight is high for whoever was in. Nothing tells more about a person than that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit.audit import attacks, one_run
from tacit.audit.attacks.memorisation import coded, likelihoods, windows
from tacit.audit.canaries import OneRun
from tacit.learning.neural import PrivateTrainer

CANARIES = 50_000
DELTA = 1e-7


def lowered(output: Any, target: Any) -> Any:
    return -output.reshape(len(target))


def audited(
    epsilon: float, confidence: str, *, trainer: Any = PrivateTrainer, rate: float = 1.0, **changed: Any
) -> OneRun:
    def trained(included: list[int]) -> Any:
        module = nn.Embedding(CANARIES, 1)
        nn.init.zeros_(module.weight)
        own = np.array(included, dtype=np.int64)
        settings: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "rate": rate, "steps": 4, **changed}
        optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
        trainer(module, lowered, optimiser, own, np.zeros(len(own)), size=CANARIES // 2, **settings).fit()
        return module.weight.detach().reshape(-1)

    return one_run(
        trained, lambda weights, place: float(weights[place]), range(CANARIES), delta=DELTA, confidence=confidence
    )


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "rate"), [(1, 1.0), (8, 1.0), (8, 0.5)])
def test_canaries_find_no_violation(epsilon: float, rate: float) -> None:
    """A sound trainer fails this once in ten million runs: the confidence is that high."""
    assert audited(epsilon, "0.9999999", rate=rate).epsilon <= epsilon


@pytest.mark.statistical
@pytest.mark.parametrize("changed", [{"sampling": "fixed", "rate": 0.5}, {"clipping": "adaptive", "rate": 1.0}])
def test_canaries_find_no_violation_in_a_fixed_order_nor_with_adaptive_clipping(changed: dict[str, Any]) -> None:
    """As rarely false: the confidence is 1 - 1e-7."""
    assert audited(8, "0.9999999", **changed).epsilon <= 8


@pytest.mark.statistical
def test_canaries_find_a_third_of_what_is_claimed() -> None:
    """Five runs gave 3.09 to 3.21, deviation 0.05: the bar is eight deviations below them, below 1e-9 by chance."""
    assert audited(8, "0.999").epsilon >= 8 / 3


@pytest.mark.statistical
def test_canaries_notice_noise_that_is_a_quarter_of_what_it_should_be() -> None:
    class Quiet(PrivateTrainer):
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **settings)
            self._grid = type(self._grid)(self._grid.exponent, self._grid.sigma / 4, self._grid.coordinates)

    assert audited(1, "0.999", trainer=Quiet).epsilon > 1


@pytest.mark.statistical
def test_a_language_model_completes_its_secrets_unless_it_was_trained_privately() -> None:
    found = attacks.memorisation(1, people=40, digits=3, steps=200)
    assert found.naive >= 0.9
    assert found.naive > found.ceiling
    assert found.private <= found.most_plausible(1e-9)
    assert "Median exposure" in found.words


def test_likelihoods_of_all_numbers_are_those_of_their_characters() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(37, 2), nn.Flatten(), nn.Linear(28, 37))
    found = likelihoods(module, "my code ab is ", 2)
    expected = 0.0
    contexts, following, _ = windows(["my code ab is 47"])
    for context, character in zip(contexts[-2:], following[-2:], strict=True):
        row = torch.log_softmax(module(torch.tensor(context[None])), dim=1)[0].detach()
        expected += float(row[int(character)])
    assert found.shape == (100,)
    assert found[47] == pytest.approx(expected, abs=1e-5)
    assert math.exp(found[47]) < 1
    assert coded("a0") == [1, 27]
