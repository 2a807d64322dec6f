"""How a question will be answered: sensitivities, noise, cost, the one query, and the words to explain them.

    from tacit.plan import make_plan
    plan = make_plan(read("SELECT sex, avg(age) FROM visits GROUP BY sex"), policy, epsilon="0.5")
    plan.query.text(), plan.event, plan.errors, plan.sentences

Pure: a plan is made from the question and the policy, and reads no row.
"""

from __future__ import annotations

from tacit.plan.answers.finish import Finished, finish
from tacit.plan.answers.united import UnitedPlan, unite_plans
from tacit.plan.make import RULES, make_plan
from tacit.plan.plan import Expected, KnownKeys, Measure, OutputPlan, Plan, Query, UnknownKeys

__all__ = [
    "RULES",
    "Expected",
    "Finished",
    "KnownKeys",
    "Measure",
    "OutputPlan",
    "Plan",
    "Query",
    "UnitedPlan",
    "UnknownKeys",
    "finish",
    "make_plan",
    "unite_plans",
]
