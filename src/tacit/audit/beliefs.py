"""What an attacker can come to believe: the range of posteriors, as numbers, words and a chart.

Bayes' rule with a likelihood ratio within exp(+-epsilon) moves a prior p to between p/(p + (1 - p) exp(epsilon)) and
p exp(epsilon)/(p exp(epsilon) + 1 - p); `tacit.loss.belief_after` proves it, rounds outward, and says what a delta
changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tacit import parameters
from tacit.answer.chart import SCHEMA
from tacit.loss import Budget, belief_after
from tacit.parameters import Number

_POINTS: Final = 50
_LARGEST: Final = 1000


@dataclass(frozen=True, slots=True)
class Posterior:
    """A belief of `prior` before the release lies in [lower, upper] after it, except with probability `failure`.

    >>> posterior("0.5", epsilon="1").prior
    0.5
    """

    prior: float
    epsilon: float
    delta: float
    lower: float
    upper: float
    failure: float

    def __str__(self) -> str:
        but = "" if not self.failure else f", except with probability {self.failure:.3g}"
        return (
            f"Whoever believed it with {self.prior:.4g} before believes it with {self.lower:.4g} to {self.upper:.4g} "
            f"after a release at epsilon {self.epsilon:.4g}{but}."
        )

    def chart_spec(self) -> dict[str, Any]:
        """The range for every prior at this epsilon, as Vega-Lite: a band, the line of no change, and this prior."""
        budget = Budget(Fraction(self.epsilon), Fraction(self.delta))
        values = []
        for place in range(_POINTS + 1):
            prior = Fraction(place, _POINTS)
            belief = belief_after(prior, budget, Fraction(self.failure))
            values.append({"prior": float(prior), "lower": belief.lower, "upper": belief.upper})
        x = {"field": "prior", "type": "quantitative", "title": "belief before"}
        y = {"type": "quantitative", "title": "belief after", "scale": {"domain": [0, 1]}}
        here = {"prior": self.prior, "lower": self.lower, "upper": self.upper}
        ends = {"y": {"field": "lower", **y}, "y2": {"field": "upper"}}
        return {
            "$schema": SCHEMA,
            "title": f"What an attacker can come to believe, epsilon {self.epsilon:.4g}",
            "data": {"values": values},
            "layer": [
                {"mark": {"type": "area", "opacity": 0.3}, "encoding": {"x": x, **ends}},
                {"mark": {"type": "line", "strokeDash": [4, 4]}, "encoding": {"x": x, "y": {"field": "prior", **y}}},
                {"data": {"values": [here]}, "mark": {"type": "rule", "size": 3}, "encoding": {"x": x, **ends}},
            ],
        }


def posterior(prior: Number, epsilon: Number, delta: Number = 0, failure: Number = 0) -> Posterior:
    """Where a belief of `prior` can move; with a delta, except with a probability `failure` that you accept.

    >>> after = posterior("0.5", epsilon="1")
    >>> round(after.upper, 3)  # odds of e to 1
    0.731
    """
    budget = Budget(epsilon, delta)
    if budget.epsilon > _LARGEST:
        raise parameters.refuse("epsilon", f"at most {_LARGEST}, which allows any belief already", epsilon)
    belief = belief_after(prior, budget, failure)
    exact = float(parameters.probability("prior", prior))
    return Posterior(exact, float(budget.epsilon), float(budget.delta), belief.lower, belief.upper, belief.failure)
