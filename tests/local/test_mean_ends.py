"""Intervals of means that surveys tell: variances by enumeration, and coverage where reports hardly differ.

Coverage: 200 runs each, of which 190 are expected to cover; fewer than 165 once in 1e8.
"""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit import local
from tacit.local.laws import told_variance
from tacit.local.mean_ends import least_variance
from tacit.local.numbers import steps_told
from tests.local.laws_by_enumeration import law_of
from tests.local.test_client import EITHER, SMALL

SOME = {"sign": SMALL["sign"][0], "window": SMALL["window"][0], "either": EITHER}
RUNS, LEAST = 200, 165


@pytest.mark.parametrize("name", SOME)
def test_the_variance_of_a_report_is_that_of_its_law(name: str) -> None:
    law = SOME[name]
    steps = law.get("steps") or law["parts"][0]["steps"]
    for answer in range(steps + 1):
        exact = law_of(law, answer)
        reports = np.array(list(exact), dtype=np.int64)
        told = steps_told(law, reports if name == "either" else reports[:, 0])
        chances = np.array([float(each) for each in exact.values()])
        assert chances @ told == pytest.approx(answer)
        assert told_variance(law, answer) == pytest.approx(chances @ (told - answer) ** 2)


@pytest.mark.parametrize("epsilon", ["0.7", "2", "8"])
@pytest.mark.parametrize("name", ["piecewise", "hybrid", "distribution"])
def test_no_answers_of_a_mean_have_less_variance_than_is_said(name: str, epsilon: str) -> None:
    law = local.Survey(tacit.between(0, 1), epsilon=epsilon, protocol=name).law
    steps = float(law.get("steps") or law["parts"][0]["steps"])
    rng = np.random.default_rng(1)
    for _ in range(200):
        answers = steps * rng.beta(*rng.uniform(0.1, 3, 2), 5)
        found = float(np.mean([told_variance(law, each) for each in answers]))
        assert least_variance(law, float(answers.mean()), steps) <= found * (1 + 1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [4, 12])
@pytest.mark.parametrize("name", ["sign", "piecewise", "hybrid", "variance"])
def test_means_near_an_end_are_held_where_hardly_a_report_differs(name: str, epsilon: int) -> None:
    """All at 3 %, or few at the other end: intervals from the reports' spread alone held 0 to 60 of 100."""
    people = 30 if name != "variance" else 90
    asked = local.Survey(tacit.between(0, 100), epsilon=epsilon, protocol=name)
    for answers in (np.full(people, 3.0), np.where(np.arange(people) < people // 15, 100.0, 0.0)):
        truths = {"mean": float(answers.mean()), "variance": float(answers.var())}
        held = dict.fromkeys(truths, 0)
        for _ in range(RUNS):
            for column, (ends,) in asked.collect(asked.simulate(answers)).intervals().items():
                assert ends is not None
                assert ends[0] <= ends[1]
                held[column] += ends[0] - 1e-3 <= truths[column] <= ends[1] + 1e-3
        assert held["mean"] >= LEAST
        assert name != "variance" or held["variance"] >= LEAST
