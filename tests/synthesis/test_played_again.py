"""`aim` and `residual` on neighbours with the same outputs: all that is not an output must be the same.

A release is recorded: every noisy table and every choice. Then it is played again on a neighbour, which is given the
recorded outputs. Noise, payments, candidates and shapes may follow from outputs and public numbers only, so they must
be equal to the last digit; the scores are the only place where the neighbour may be seen, as far as their sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.mechanisms import Exponential
from tacit.noise import secure
from tacit.synthesis import scoring
from tacit.synthesis.aim import adaptive
from tacit.synthesis.counting import Tables
from tacit.synthesis.purse import Purse, TableNoise
from tacit.synthesis.released import Release
from tacit.synthesis.residual import measured_pairs
from tacit.synthesis.workloads import candidates_of
from tests.synthesis.test_released import LAYOUT, exact_of, people

CANDIDATES = candidates_of(None, LAYOUT.names, LAYOUT.sizes)


def by_aim(exact: Tables, total: Fraction) -> Release:
    return adaptive(exact, LAYOUT, CANDIDATES, total, 1, 600, secure())


def by_residual(exact: Tables, total: Fraction) -> Release:
    return measured_pairs(exact, LAYOUT, total, 1, secure())


class Recorder:
    """What one release does; the outputs of the first are given to the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outputs: list[Any] = []
        self.steps: list[tuple[Any, ...]] = []
        self.scores: list[list[int]] = []
        self._at: int | None = None
        release, choose, pay = TableNoise.release, Exponential.choose, Purse.pay

        def released(noise: TableNoise, counts: Any, bits: Any) -> Any:
            self.steps.append(("table", noise.sensitivity, noise.sigma, np.shape(counts)))
            return self._given(lambda: release(noise, counts, bits))

        def chosen(choice: Exponential, options: Any, *, scores: Any, bits: Any) -> Any:
            self.steps.append(("choice", choice.factor, tuple(options)))
            self.scores.append(list(scores))
            return self._given(lambda: choose(choice, options, scores=scores, bits=bits))

        def paid(purse: Purse, cost: Fraction) -> None:
            self.steps.append(("paid", cost))
            pay(purse, cost)

        monkeypatch.setattr(TableNoise, "release", released)
        monkeypatch.setattr(Exponential, "choose", chosen)
        monkeypatch.setattr(Purse, "pay", paid)

    def _given(self, drawn: Callable[[], Any]) -> Any:
        if self._at is None:
            self.outputs.append(drawn())
            return self.outputs[-1]
        self._at += 1
        return self.outputs[self._at - 1]

    def again(self) -> tuple[list[tuple[Any, ...]], list[list[int]]]:
        """What was done so far; from here on recorded outputs are given."""
        done = self.steps, self.scores
        self.steps, self.scores, self._at = [], [], 0
        return done


@pytest.mark.parametrize("method", [by_aim, by_residual])
@pytest.mark.parametrize("total", [Fraction(1, 1_000), Fraction(1, 20), Fraction(20)])
def test_only_scores_see_a_neighbour(
    method: Callable[[Tables, Fraction], Release], total: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(monkeypatch)
    data = people(200)
    first = method(exact_of(data), total)
    steps, scores = recorder.again()
    second = method(exact_of({name: own[:-1] for name, own in data.items()}), total)
    again, moved = recorder.again()
    assert steps == again
    assert first.to_text() == second.to_text()  # the same outputs make the same model, whoever is in the rows
    weight = max(CANDIDATES.values()) if method is by_aim else 1
    seen = [abs(a - b) for one, other in zip(scores, moved, strict=True) for a, b in zip(one, other, strict=True)]
    assert 0 < max(seen) <= scoring.sensitivity(1, weight)
