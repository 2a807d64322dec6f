"""Noise comes in whole steps: intervals hold the truth where a step is as large as the noise itself.

Every noise that can be drawn is put into an answer, with its probability, so that how often the interval of 95 % holds
the truth is computed and not simulated. What one step is worth, and of what a value is the nearest whole number,
depends on the question: 10 * count(*) is off by tens, and a count beside the sum of a column from 0 to 2 by halves.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacit.answer import Answer
from tacit.answer.release import finished_words
from tacit.curator import Curator
from tacit.loss import Budget
from tacit.mechanisms import Gaussian
from tacit.plan import finish
from tacit.plan.answers.chosen import reach
from tacit.policy import Column, ColumnUnit, Policy, Source, Table

ROWS = 101  # odd: halves are rounded to even numbers, away from this one
TABLE = pa.table({"who": range(ROWS), "x": [each % 3 for each in range(ROWS)], "g": [each % 2 for each in range(ROWS)]})
COLUMNS = [Column("x", "integer", 0, 2, nullable=False), Column("g", "integer", 0, 1, nullable=False)]


@pytest.fixture(scope="module")
def curator() -> Any:
    table = Table("people", Source("frame", "people"), ColumnUnit("who"), 1, {each.name: each for each in COLUMNS})
    policy = Policy("clinic", {"people": table}, Budget(10**6, Fraction(1, 10)), largest_epsilon=Fraction(10**6))
    with Curator(policy, frames={"people": TABLE}) as opened:
        yield opened


def weights(mechanism: Any, points: np.ndarray) -> np.ndarray:
    scale = mechanism.scale
    far = np.square(points / scale) / 2 if isinstance(mechanism, Gaussian) else np.abs(points) / scale
    found = np.exp(-far)
    return np.asarray(found / found.sum())


def held(curator: Curator, sql: str, truth: float, **price: Any) -> float:
    """The probability that the interval of the column `a`, on all rows, holds the truth: every noise is tried."""
    plan: Any = curator.planned(sql, **price)
    run: Any = curator._engine.run(plan.query)
    exact = run.open_for(lambda keys, columns: {name: int(column[0]) for name, column in columns.items()})
    points = np.arange(-40, 41) if len(plan.measures) < 3 else np.arange(-8, 9)
    grid = np.meshgrid(*[points] * len(plan.measures), indexing="ij")
    draws = np.stack([each.ravel() for each in grid], axis=1)
    laws = [weights(each.mechanism, points) for each in plan.measures]
    chance = functools.reduce(np.multiply.outer, laws).ravel()
    noisy = [exact[each.name] + draws[:, place] for place, each in enumerate(plan.measures)]
    table = finish(plan, [()] * len(draws), noisy)
    spread = tuple(None if each is None else tuple(each) for each in table.deviations)
    heavy = not all(isinstance(each.mechanism, Gaussian) for each in plan.measures)
    columns = tuple(map(tuple, table.columns))
    answer = Answer(table.names, table.kinds, columns, spread, heavy, {}, False, *finished_words(table))
    inside = [ends is None or ends[0] - 1e-9 <= truth <= ends[1] + 1e-9 for ends in answer.intervals()["a"]]
    return float(chance[np.array(inside)].sum())


QUESTIONS = {
    "SELECT count(*) AS a, sum(x) AS s FROM people": ROWS,
    "SELECT 10 * count(*) AS a FROM people": 10 * ROWS,
    "SELECT 10 * count(*) - count_if(g = 0) AS a FROM people": 10 * ROWS - 51,
    "SELECT count(*) / 2 + count_if(g = 0) / 2 AS a FROM people": 76.0,
    "SELECT count_if(g = 0) / count(*) AS a FROM people": 51 / 101,
    "SELECT sum(x) AS a FROM people": 100,
    "SELECT avg(x) AS a FROM people": 100 / 101,
}


@pytest.mark.parametrize("sql", QUESTIONS)
def test_an_interval_holds_the_truth_where_noise_is_about_a_step(curator: Curator, sql: str) -> None:
    for step in range(9):
        epsilon = Fraction(1 + step)
        assert held(curator, sql, QUESTIONS[sql], epsilon=epsilon) >= 0.95 - 1e-6, epsilon
        assert held(curator, sql, QUESTIONS[sql], rho=epsilon**2 / 4, delta=1e-6) >= 0.95 - 1e-6, epsilon


POINTS = np.arange(-160, 161)


def law(scale: float, *, heavy: bool) -> tuple[np.ndarray, float]:
    """Discrete noise, and the deviation that a plan tells of it."""
    found = np.exp(-np.abs(POINTS) / scale) if heavy else np.exp(-np.square(POINTS / scale) / 2)
    found = found / found.sum()
    return found, math.sqrt(float((found * np.square(POINTS)).sum())) if heavy else scale


@pytest.mark.parametrize("factors", [(1.0, 0.0), (1.0, 1.0), (1.0, 0.5), (2.0, 1.0), (3.0, 2.0), (10.0, 1.0)])
@pytest.mark.parametrize("heavy", [False, True])
def test_half_of_the_largest_step_is_enough_for_sums_of_noises(factors: tuple[float, float], heavy: bool) -> None:
    off = np.abs(factors[0] * POINTS[:, None] + factors[1] * POINTS[None, :])
    for scale, ratio in itertools.product(np.geomspace(0.1, 6, 30), (0.5, 1, 2)):
        (one, first), (other, second) = law(scale, heavy=heavy), law(scale * ratio, heavy=heavy)
        deviation = math.hypot(factors[0] * first, factors[1] * second) + 0.26 * max(factors)
        for level in (0.95, 0.99, 1 - 0.05 / 60):
            missed = (one[:, None] * other[None, :])[off > reach(level, heavy) * deviation].sum()
            assert missed <= 1 - level, (scale, ratio, level)
