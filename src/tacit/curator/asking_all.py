"""Several questions at one price: planned together, paid once, stored and replayed as one.

Theorem. Every question of a family is computed from the noisy numbers of its plan, so a family costs what its plan
costs; the families' plans are separate releases about the same units, and together cost the composition of their
events, which is charged before any of them runs. The shares of epsilon and delta add up to what was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit import parameters
from tacit.errors import QuestionError
from tacit.loss.events import Composed, Event
from tacit.plan import KnownKeys, Plan
from tacit.plan.asked import Asked
from tacit.plan.make import affordable, plan_asked
from tacit.plan.rewrites.name_keys import name_keys
from tacit.policy import Policy
from tacit.question import tree
from tacit.question.shared_scan import Family, alone, families


@dataclass(frozen=True, slots=True)
class FamilyPlans:
    """The families of a set of questions, each with its plan."""

    plans: tuple[tuple[Family, Plan], ...]

    @property
    def event(self) -> Event:
        """What all of it costs."""
        return Composed(tuple(plan.event for _, plan in self.plans))


def plan_together(
    questions: Sequence[tree.Question], policy: Policy, epsilon: Fraction | None, delta: Fraction
) -> FamilyPlans:
    """The plans of all questions for one epsilon, shared by the number of questions that each plan answers."""
    if not questions:
        raise QuestionError("ask_all needs at least one question.")
    if any(question.privacy is not None for question in questions):
        raise QuestionError("Questions asked together have one price: give it to ask_all, not to a single question.")
    questions = [name_keys(question, policy) for question in questions]  # all must mean the same
    whole = policy.default_epsilon if epsilon is None else epsilon
    affordable(policy, whole, "epsilon", epsilon)  # the whole price, not only each question's share
    if parameters.probability("delta", delta) == 1:
        raise parameters.refuse("delta", "a number of at least 0 and below 1", delta)
    found: list[tuple[Family, Plan]] = []
    for family in families(questions):
        share = Fraction(len(family.members), len(questions))
        plan = _planned(family, policy, whole * share, delta * share)
        if plan is not None:
            found.append((family, plan))
            continue
        for member in family.members:  # a family that does not go together after all is planned one by one
            (single,) = alone([questions[member.place]])
            one = Fraction(1, len(questions))
            by_itself = plan_asked(single.question, policy, Asked(whole * one, delta * one))
            found.append((_at(single, member.place), by_itself))
    return FamilyPlans(tuple(found))


def _planned(family: Family, policy: Policy, epsilon: Fraction, delta: Fraction) -> Plan | None:
    try:
        plan = plan_asked(family.question, policy, Asked(epsilon, delta))
    except QuestionError:
        if len(family.members) == 1 and family.members[0].cell is None:
            raise
        return None
    return plan if _has_cells(family, plan) else None


def _has_cells(family: Family, plan: Plan) -> bool:
    """Whether every value that a question asks for is one of the known keys; other values would have no cell."""
    cells = [member.cell for member in family.members if member.cell is not None]
    if not cells:
        return True
    if not isinstance(plan.keys, KnownKeys) or plan.summary is not None:  # its keys are only some of the plan's
        return False
    columns = plan.keys.columns
    return all(
        columns[key].values is not None
        and columns[key].step == 1
        and columns[key].meaning in ("number", "text")
        and value in columns[key].values  # type: ignore[operator]
        for key, value in cells
    )


def _at(family: Family, place: int) -> Family:
    return Family(family.question, tuple(replace(member, place=place) for member in family.members))
