"""Our own noise, measured through the public surface: `open`, `estimate`, `ask`.

Every ask is a release of its own, charged to the question's own fresh ledger: the texts differ in their LIMIT, which
changes neither the plan nor the query (it is looked at when everything is noisy), so no stored answer is replayed.
The sampling error of a standard deviation over N draws is sqrt((k - 1)/(4 N)) of it, k the kurtosis of the draws: 1.6 %
for Gaussian and 2.5 % for Laplace noise at N = 2,000. An output found more than 5 % off is therefore asked four times
as often again and judged on all draws: a true 0 % is then found outside with probability below 1e-5 (4.4 sampling
errors of Laplace noise), a true 10 % inside with about the same.
"""

from __future__ import annotations

import math
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tacit
from _accuracy_questions import ASKS, Question, write
from tacit.answer import Estimate

NEAR = 0.05
THREADS = 4


@dataclass(frozen=True, slots=True)
class Noise:
    """One output (or several that are planned alike): planned and measured deviation, and how sure the last is."""

    question: Question
    outputs: tuple[str, ...]
    planned: float
    measured: float
    uncertainty: float
    draws: int
    law: str
    said: float  # what the answers themselves say, on average

    @property
    def ratio(self) -> float:
        return self.measured / self.planned

    @property
    def is_near(self) -> bool:
        return abs(self.ratio - 1) <= NEAR


def measure(question: Question, asks: int = ASKS) -> list[Noise]:
    """The noise of every output of one question, with a ledger that nothing else is charged to."""
    # The ledger's flushes are half of the time; a disk in memory draws the same noise.
    memory = Path("/dev/shm")
    place = str(memory) if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        tempfile.tempdir = folder
        try:
            with tacit.open(write(Path(folder))) as curator:
                expected = curator.estimate(question.sql, question.epsilon, rows=question.rows, **question.options())
                draws = _draws(curator, question, range(asks))
                found = _summary(question, expected, draws)
                if not all(each.is_near for each in found):
                    draws += _draws(curator, question, range(asks, 5 * asks))
                    found = _summary(question, expected, draws)
        finally:
            tempfile.tempdir = None
    return found


Draw = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]


def _draws(curator: tacit.Curator, question: Question, numbers: range) -> list[Draw]:
    """One answer for each number, several asked at a time: they wait for the ledger and the engine most of the time."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda number: _draw(curator, question, number), numbers))


def _draw(curator: tacit.Curator, question: Question, number: int) -> Draw:
    answer = curator.ask(f"{question.sql} LIMIT {10_000 + number}", question.epsilon, **question.options())
    spreads = dict(zip(answer.names, answer.deviations, strict=True))
    return {name: (np.array(answer[name], dtype=float), np.array(spreads[name])) for name in question.outputs}


def _summary(question: Question, estimate: Estimate, draws: list[Draw]) -> list[Noise]:
    planned = {each.name: each.deviation for each in estimate.errors}
    alike: dict[str, list[str]] = {}
    for name in question.outputs:
        alike.setdefault(f"{planned[name]:.9g}", []).append(name)
    laws = {type(each.mechanism).__name__ for each in estimate.plan.measures}
    found = []
    for names in alike.values():
        # asks x cells; independent noise in every cell, and nearly so in the outputs that are planned alike
        values = np.concatenate([np.stack([draw[name][0] for draw in draws]) for name in names], axis=1)
        said = np.concatenate([np.stack([draw[name][1] for draw in draws]) for name in names], axis=1)
        centred = values - values.mean(axis=0)
        variance = float(np.mean(centred**2)) * len(draws) / (len(draws) - 1)
        kurtosis = float(np.mean(centred**4)) / variance**2
        found.append(
            Noise(
                question,
                tuple(names),
                planned[names[0]],
                math.sqrt(variance),
                math.sqrt((kurtosis - 1) / (4 * values.size)),
                values.size,
                "Gaussian" if laws == {"Gaussian"} else "Laplace",
                float(said.mean()),
            )
        )
    return found
