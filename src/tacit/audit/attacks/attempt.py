"""What an attack achieved against the naive target, against tacit and by guessing, and the most that is possible.

Theorem (identification). Let a secret be one of m values, equally likely to an attacker who knows all the rest. Let the
release be (epsilon, delta)-indistinguishable for any two of the values. Then no attack names the secret with
probability above (exp(epsilon) + (m - 1) delta)/(m - 1 + exp(epsilon)).
Proof. Let A_i be the outcomes at which the attacker says i; they are disjoint. For every j other than i,
P_i(A_i) <= exp(epsilon) P_j(A_i) + delta. Summed over those j, with exp(epsilon) P_i(A_i) added to both sides:
(m - 1 + exp(epsilon)) P_i(A_i) <= exp(epsilon) sum_j P_j(A_i) + (m - 1) delta. Sum over i and divide by m.

For m = 2 and delta = 0 this is exp(epsilon)/(1 + exp(epsilon)). Whether one unit is in the data is such a pair at the
price of the release. The value of a unit is such a pair at the price of one removal and one addition: see `replacing`.

Several secrets in one release. Under pure epsilon the bound holds for each secret given the outcome and all the others,
so the number of right guesses is at most binomial, as if every guess were a trial of its own (Steinke, Nasr,
Jagielski 2023). `most_plausible` uses that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit import parameters
from tacit.answer.chart import SCHEMA
from tacit.loss import Budget, group_budget
from tacit.parameters import Number


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve that belongs to an attack.

    >>> Point("2 answers a bit", 0.5, 0.0).curve
    '2 answers a bit'
    """

    curve: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves next to the bars: how the attack depends on something.

    >>> Curves("noise", "share of wrong bits", (Point("2 answers a bit", 0.5, 0.0),)).x
    'noise'
    """

    x: str
    y: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attack run twice. Rates are shares of `trials` in which the aim was reached.

    `naive` is the rate against raw answers or a naive implementation, `private` the rate against tacit, `guessing` the
    rate without any release, and `ceiling` the most that any attack can reach against (epsilon, delta).

    >>> from tacit.audit import attacks
    >>> done = attacks.linkage(epsilon=1, people=500, patients=50)
    >>> done.naive, done.guessing, round(done.ceiling, 2)
    (1.0, 0.05, 0.28)
    """

    attack: str
    aim: str
    naive: float
    private: float
    guessing: float
    ceiling: float
    epsilon: float
    delta: float
    trials: int
    seconds: float
    words: str
    curves: Curves | None = None

    def __str__(self) -> str:
        return (
            f"{self.attack}: {self.aim}. Against the naive target {self.naive:.1%}, against tacit at epsilon "
            f"{self.epsilon:.4g} {self.private:.1%}; guessing gives {self.guessing:.1%}, and no attack can pass "
            f"{self.ceiling:.1%}. {self.words} ({self.trials} trials, {self.seconds:.1f} s)"
        )

    def most_plausible(self, failure: float) -> float:
        """The rate against tacit that chance alone passes with probability at most `failure`, by Hoeffding's bound."""
        return min(1.0, self.ceiling + math.sqrt(math.log(1 / failure) / (2 * self.trials)))

    def chart_spec(self) -> dict[str, Any]:
        """Four bars, or the curves of the attack where it has some, as Vega-Lite."""
        return _bars(self) if self.curves is None else _lines(self, self.curves)


def _bars(attempt: Attempt) -> dict[str, Any]:
    rates = (
        ("naive target", attempt.naive),
        ("tacit", attempt.private),
        ("ceiling at this epsilon", attempt.ceiling),
        ("guessing", attempt.guessing),
    )
    share = {"type": "quantitative", "title": "success", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    return {
        "$schema": SCHEMA,
        "title": f"{attempt.attack}, epsilon {attempt.epsilon:.4g}",
        "data": {"values": [{"against": name, "rate": rate} for name, rate in rates]},
        "mark": "bar",
        "encoding": {
            "x": {"field": "against", "type": "nominal", "sort": None, "title": None},
            "y": {"field": "rate", **share},
        },
    }


def _lines(attempt: Attempt, curves: Curves) -> dict[str, Any]:
    return {
        "$schema": SCHEMA,
        "title": attempt.attack,
        "data": {"values": [{"curve": each.curve, "x": each.x, "y": each.y} for each in curves.points]},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": curves.x},
            "y": {"field": "y", "type": "quantitative", "title": curves.y},
            "color": {"field": "curve", "type": "nominal", "sort": None, "title": None},
        },
    }


def ceiling(budget: Budget, candidates: int = 2) -> float:
    """The highest rate at which attacks name one of `candidates` values right, any two of them within `budget`.

    >>> import math
    >>> from tacit import Budget
    >>> round(ceiling(Budget(math.log(3))), 6)  # odds of 3 to 1
    0.75
    """
    others = parameters.whole("candidates", candidates, least=2) - 1
    if budget.epsilon > 700:
        return 1.0
    grown = math.exp(float(budget.epsilon))
    return min(1.0, (grown + others * float(budget.delta)) / (others + grown))


def replacing(budget: Budget) -> Budget:
    """What a release that costs `budget` to add or remove a unit costs where one is exchanged for another.

    >>> replacing(Budget(1)).epsilon
    Fraction(2, 1)
    """
    return group_budget(budget, 2)


@dataclass(frozen=True, slots=True)
class Rates:
    """What an attack's own code found; `attempted` adds the rest."""

    naive: float
    private: float
    guessing: float
    trials: int
    words: str
    curves: Curves | None = None


def attempted(
    attack: str,
    aim: str,
    run: Callable[[], Rates],
    *,
    epsilon: Number,
    delta: Number = 0,
    most: Callable[[Budget], float] = ceiling,
) -> Attempt:
    """Run it, time it, and add the ceiling."""
    budget = Budget(epsilon, delta)
    start = time.perf_counter()
    found = run()
    return Attempt(
        attack,
        aim,
        found.naive,
        found.private,
        found.guessing,
        most(budget),
        float(budget.epsilon),
        float(budget.delta),
        found.trials,
        time.perf_counter() - start,
        found.words,
        found.curves,
    )
