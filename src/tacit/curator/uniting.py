"""UNION ALL of answers: planned together as several questions are, paid once, and put one below the other.

Theorem. Its SELECTs are questions asked together (`asking_all`): their shares of epsilon and delta add up to what was
asked, and the composition of their events is charged before any of them runs. What is done with the answers afterwards
looks at released values alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from tacit import parameters
from tacit.curator.asking_all import plan_together
from tacit.errors import QuestionError
from tacit.parameters import Number
from tacit.plan import UnitedPlan, unite_plans
from tacit.plan.levers import Levers, merged
from tacit.policy import Policy
from tacit.question import United


def plan_united(
    asked: United,
    policy: Policy,
    epsilon: Number | None = None,
    *,
    delta: Number | None = None,
    rho: Number | None = None,
    within: Number | None = None,
    rows: int | None = None,
    weights: Mapping[str, Number] | None = None,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
) -> UnitedPlan:
    """The plans of all its SELECTs for one epsilon and delta. `rows` is for estimates alone, and shapes no plan."""
    for name, value in (("rho", rho), ("within", within), ("weights", weights)):
        if value is not None:
            raise QuestionError(
                f"{name!r} does not go with a UNION ALL of answers, of which each has a share of one epsilon. "
                "Say what it may cost: epsilon=..."
            )
    exact = None if epsilon is None else parameters.price("epsilon", epsilon)
    exact_delta = None if delta is None else parameters.slip("delta", delta)
    # what the text says about its price is about all of it
    whole = replace(asked.parts[0], privacy=asked.privacy)
    _, levers = merged(whole, Levers(exact, exact_delta, rows_per_unit, groups_per_unit))
    parts = asked.parts
    if levers.rows_per_unit is not None:
        most = parameters.whole("rows_per_unit", levers.rows_per_unit, least=1)
        parts = tuple(replace(part, rows_per_unit=most) for part in parts)
    if levers.groups_per_unit is not None:
        groups = parameters.whole("groups_per_unit", levers.groups_per_unit, least=1)
        parts = tuple(replace(part, groups_per_unit=groups) for part in parts)
    price = None if levers.epsilon is None else parameters.positive("epsilon", levers.epsilon)
    chance = Fraction(0) if levers.delta is None else parameters.probability("delta", levers.delta)
    together = plan_together(parts, policy, price, chance)
    return unite_plans(replace(asked, parts=parts, privacy=None), together.plans)
