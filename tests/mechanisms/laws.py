"""The whole law of a mechanism that draws by races, found by taking every branch of every draw."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.mechanisms import quantiles, rank_choice


class _Branch(Exception):
    """A draw that the script does not cover: these are its outcomes, with their weights."""

    def __init__(self, outcomes: list[tuple[Any, float]]) -> None:
        super().__init__()
        self.outcomes = outcomes


class Draws:
    """Stands in for the samplers: plays a script, and stops where it ends."""

    def __init__(self) -> None:
        self.script: list[Any] = []
        self.place = 0

    def _draw(self, outcomes: list[tuple[Any, float]]) -> Any:
        if self.place == len(self.script):
            raise _Branch(outcomes)
        self.place += 1
        return self.script[self.place - 1]

    def runs(self, tops: Any, steps: Any, lengths: Any, factor: Fraction) -> Any:
        assert tops.dtype == np.int64
        assert (tops <= 0).all()
        assert (steps >= 0).all()
        outcomes = [
            ((run, place), math.exp(factor * (int(tops[run]) - place * int(steps[run]))))
            for run in range(len(tops))
            for place in range(int(lengths[run]))
        ]
        return lambda bits, count: (self._draw(outcomes) for _ in range(count))

    def bernoulli_exp(self, exponent: Fraction, size: None, bits: object) -> bool:
        assert exponent >= 0
        kept = math.exp(-exponent)
        return True if exponent == 0 else bool(self._draw([(True, kept), (False, 1 - kept)]))

    def law(self, choose: Callable[[], Hashable]) -> dict[Hashable, float]:
        """Every outcome of `choose` with its probability."""
        found: dict[Hashable, float] = defaultdict(float)

        def explore(script: list[Any], probability: float) -> None:
            self.script, self.place = script, 0
            try:
                found[choose()] += probability
                return
            except _Branch as branch:
                outcomes = branch.outcomes
            total = math.fsum(weight for _, weight in outcomes)
            for outcome, weight in outcomes:
                explore([*script, outcome], probability * weight / total)

        explore([], 1.0)
        return dict(found)


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Draws:
    """The samplers of quantiles, replaced."""
    playing = Draws()
    stand_in = SimpleNamespace(secure=lambda: None, bernoulli_exp=playing.bernoulli_exp)
    for module in (quantiles, rank_choice):
        monkeypatch.setattr(module, "noise", stand_in)
    monkeypatch.setattr(rank_choice, "drawing_from_runs", playing.runs)
    return playing
