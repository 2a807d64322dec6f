"""UNION ALL of answers: planned together like several questions, paid once, and put one below the other.

Theorem. Its SELECTs are questions asked together (`asking_all`): their shares of epsilon and delta add up to what was
asked, and the composition of their events is charged before any of them runs. Everything done with the answers
afterwards uses only released values.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tacit.curator.asking_all import plan_together
from tacit.errors import QuestionError
from tacit.plan import UnitedPlan, unite_plans
from tacit.plan.asked import Asked
from tacit.policy import Policy
from tacit.question import United


def plan_united(united: United, policy: Policy, asked: Asked) -> UnitedPlan:
    """The plans of all its SELECTs for one epsilon and delta. `asked.rows` is for estimates alone."""
    for name, value in (("rho", asked.rho), ("within", asked.within), ("weights", asked.weights)):
        if value is not None:
            raise QuestionError(
                f"{name!r} does not go with a UNION ALL of answers, of which each has a share of one epsilon. "
                "Say what it may cost: epsilon=..."
            )
    said = asked.with_words_of(united.privacy)  # the text's words about its price are about all of it
    parts = tuple(said.bounded(part) for part in united.parts)
    together = plan_together(parts, policy, said.epsilon, said.delta or Fraction(0))
    return unite_plans(replace(united, parts=parts, privacy=None), together.plans)
