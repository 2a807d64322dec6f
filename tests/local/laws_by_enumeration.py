"""The exact law of what a client sends, found by trying every outcome of every draw. Knows nothing of the formulas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any
from unittest import mock

from tacit.local import client


class _Ended(Exception):
    """The draws of this run are used up: the next one branches."""

    def __init__(self, outcomes: int) -> None:
        super().__init__()
        self.outcomes = outcomes


class _Scripted:
    """Stands in for `secrets`: gives the scripted outcomes, and says how many the next draw has."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.at, self.chance = script, 0, Fraction(1)

    def randbelow(self, outcomes: int) -> int:
        if outcomes == 1:
            return 0
        if self.at == len(self.script):
            raise _Ended(outcomes)
        self.at += 1
        self.chance /= outcomes
        return self.script[self.at - 1]

    def randbits(self, count: int) -> int:
        return self.randbelow(1 << count)

    def SystemRandom(self) -> _Scripted:
        return self

    def sample(self, population: range, count: int) -> list[int]:
        left, found = list(population), []
        for _ in range(count):
            found.append(left.pop(self.randbelow(len(left))))
        return found


def _runs(
    law: Mapping[str, Any], truth: int, script: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    scripted = _Scripted(script)
    try:
        with mock.patch.object(client, "secrets", scripted):
            report = client.randomised(law, truth)
    except _Ended as ended:
        for outcome in range(ended.outcomes):
            yield from _runs(law, truth, (*script, outcome))
        return
    yield report, scripted.chance


def law_of(law: Mapping[str, Any], truth: int) -> dict[tuple[int, ...], Fraction]:
    """The probability of every report of this true answer."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for report, chance in _runs(law, truth):
        found[report] += chance
    return dict(found)
