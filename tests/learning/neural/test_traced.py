"""Modules of other people's making, on rows of a curator: what they fail at is not told, and they mix no one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import tacit
from tacit.errors import TacitError
from tacit.learning import neural
from tacit.learning.neural.modules.traced import only_torch


class Splits(nn.Module):
    """Its halves do not fit together: torch's error has numbers in it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(x.view(-1, 3)[:, :2])


@pytest.mark.parametrize("again", [False, True])
def test_a_course_that_fails_prints_nothing(capfd: pytest.CaptureFixture[str], again: bool) -> None:
    """A copy of it neither, nor one that is called through torch.func."""
    course = only_torch(Splits())
    if again:
        course = only_torch(copy.deepcopy(course))
    for call in (course, copy.deepcopy(course), lambda x: torch.func.functional_call(course, {}, (x,))):
        with pytest.raises(RuntimeError, match="74"):
            call(torch.ones(37, 2))
    assert capfd.readouterr() == ("", "")
    assert torch.equal(course(torch.ones(3, 2)), course.forward(torch.ones(3, 2)))


@pytest.mark.parametrize("name", ["gather", "index_select"])
def test_operations_that_fail_at_some_values_are_refused(name: str) -> None:
    class Looks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            found = self.layer(x)
            return torch.gather(found, 1, x.long()) if name == "gather" else torch.index_select(found, 1, x[0].long())

    with pytest.raises(TacitError, match=name):
        only_torch(Looks())


class Sums(nn.Module):
    """Adds up rows of everyone, as torch's operations can."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(x + 0 * x.clamp(0, 0).sum(0, keepdim=True))


def test_rows_of_a_curator_go_person_by_person_through_what_is_not_known_to_keep_them_apart() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"who": range(80), "a": rng.integers(0, 10, 80), "b": rng.integers(0, 10, 80), "s": ["no", "yes"] * 40}
    )
    columns = {"a": tacit.between(0, 9), "b": tacit.between(0, 9), "s": tacit.one_of("no", "yes")}
    clinic = tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=9, delta="1e-3"))
    noted = []
    for module in (Sums(), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))):
        model = neural.NeuralClassifier(module, epsilon=2, epochs=1, rate="1/4", size=80)
        model.fit(clinic.rows("SELECT a, b, s FROM data"), "s")
        noted.append([each for each in model.finding_.notes if "person by person" in each])
    assert len(noted[0]) == 1
    assert not noted[1]
