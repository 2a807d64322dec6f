"""The exact laws of choices by score, for a few candidates: an independent truth for the studies that choose."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest

from tacit import noise
from tacit.mechanisms import PermuteAndFlip

Law: TypeAlias = Callable[[Fraction, Sequence[int]], list[float]]


def permute_and_flip(factor: Fraction, scores: Sequence[int]) -> list[float]:
    """In random order, each is accepted with probability exp(factor (score - best)), until one is."""
    best = max(scores)
    accepted = [math.exp(float(factor * (int(score) - int(best)))) for score in scores]
    found = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for place in order:
            found[place] += left * accepted[place]
            left *= 1 - accepted[place]
    return [each / math.factorial(len(scores)) for each in found]


def exponential(factor: Fraction, scores: Sequence[int]) -> list[float]:
    """In proportion to exp(factor * score)."""
    best = max(scores)
    weights = [math.exp(float(factor * (int(score) - int(best)))) for score in scores]
    return [each / sum(weights) for each in weights]


def in_order(law: Law, factor: Fraction, scores: Sequence[int], k: int) -> dict[tuple[int, ...], float]:
    """The law of k choices, each of what is left."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(k):
        longer = {}
        for chosen, mass in found.items():
            left = [place for place in range(len(scores)) if place not in chosen]
            for place, share in zip(left, law(factor, [scores[each] for each in left]), strict=True):
                longer[(*chosen, place)] = mass * share
        found = longer
    return found


def worst(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest privacy loss between two laws."""
    return max(abs(math.log(a / b)) for a, b in zip(one, other, strict=True))


class Watched:
    """What the mechanisms of a study were given: factors, and scores (losses with the sign turned)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[Fraction, list[int]]] = []

        def choose(
            mechanism: PermuteAndFlip, candidates: Any, *, scores: Any = None, losses: Any = None, bits: Any
        ) -> Any:
            values = scores if scores is not None else [-int(each) for each in losses]
            self.seen.append((mechanism.factor, [int(each) for each in values]))
            return candidates[0]

        def race(scores: Any, factor: Fraction, bits: Any, prior: Any = None) -> int:
            self.seen.append((factor, [int(each) for each in scores]))
            return int(np.argmax(scores))

        monkeypatch.setattr(PermuteAndFlip, "choose", choose)
        monkeypatch.setattr(noise, "exponential_race", race)
        monkeypatch.setattr(noise, "one_sided_race", race)

    def of(self, study: Callable[[], Any]) -> tuple[Fraction, list[int]]:
        """The first choice of a study."""
        self.seen.clear()
        study()
        return self.seen[0]
