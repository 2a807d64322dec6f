"""A question on its walk: read once, and planned once at each price, whoever looks at its plans on the way.

A door that must know a plan before the question is asked (to tell a mistake before tables are registered, to compare
two prices, to say why) makes a walk and hands the same walk on:

    walk = planner.walk("SELECT count(*) FROM visits")
    walk.plan(asked)                 told before anything is opened
    curator.ask(walk, asked)         not read and not planned again

Promise: a walk is trusted with no more than the text that it was made of. It takes a text and a policy, and makes its
tree and its plans itself, by the same pure functions as everybody: nobody hands it a tree or a plan, so none can be
made up. A tree depends on the text alone. A plan depends on the policy too, and a curator takes plans for its own
policy alone, which must be the very same object: the policy of a file and the policy of an open database differ where
tables are public, and then what was read is planned anew (`under`). What is charged is the event of that plan, and only
the curator brings it to the till. Code that would reach into a walk runs in the owner's process, where it could reach
into the till as well; what comes from outside comes as text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

from tacit.answer import reasons
from tacit.curator.expressions import sql_of
from tacit.curator.united import plan_united
from tacit.plan import Plan, UnitedPlan
from tacit.plan.asked import Asked
from tacit.plan.make import Planning
from tacit.plan.within import plan_within
from tacit.policy import Policy
from tacit.question import Question, United, one_question, read_asked
from tacit.question.stack import room


@final
class Walk:
    """One question under one policy, as far as its plans."""

    def __init__(self, sql: object, policy: Policy) -> None:
        self.text = text_of(sql)
        self._question: Question | United = sql._question if isinstance(sql, Walk) else read_asked(self.text)
        self._policy = policy
        self._planning: Planning | None = None
        self._plans: list[tuple[Asked, Plan | UnitedPlan]] = []

    def under(self, policy: Policy) -> Walk:
        """The same question under a policy; what was planned under another one is forgotten."""
        return self if policy is self._policy else Walk(self, policy)

    def plan(self, asked: Asked) -> Plan | UnitedPlan:
        """How it would be answered; of a UNION ALL, how all of its SELECTs would."""
        priced = _priced(asked)
        for known, plan in self._plans:
            if known == priced:
                return plan
        with room():
            found = self._planned(self._question, priced)
        self._plans.append((priced, found))
        return found

    def plan_of_one(self, asked: Asked) -> Plan:
        """How it would be answered, where it must be one question."""
        one_question(self._question)
        plan = self.plan(asked)
        assert isinstance(plan, Plan)
        return plan

    def why(self, asked: Asked) -> str:
        """Why the answer will be as imprecise as it is, and what to change, with how much it would help."""
        rows = 1000 if asked.rows is None else asked.rows
        asked = replace(asked, rows=rows)
        plan = self.plan_of_one(asked)
        changes: list[tuple[str, Asked]] = []
        if plan.rows_per_unit > 1:
            changes.append(("rows_per_unit=1 (one row of each unit is read)", replace(asked, rows_per_unit=1)))
        at = replace(asked, epsilon=plan.epsilon, within=None)
        if plan.epsilon is not None and 2 * plan.epsilon <= self._policy.largest_epsilon:
            changes.append(("twice the epsilon", replace(at, epsilon=2 * plan.epsilon)))
        if plan.epsilon is not None and plan.delta == 0 and self._policy.budget.delta > 0:
            tenth = self._policy.budget.delta / 10
            changes.append((f"delta={float(tenth):.3g}", replace(at, delta=tenth)))
        with room():
            return reasons(plan, rows, [(words, self.plan_of_one(change)) for words, change in changes])

    def _planned(self, question: Question | United, asked: Asked) -> Plan | UnitedPlan:
        if isinstance(question, United):
            return plan_united(question, self._policy, asked)
        self._planning = self._planning or Planning(question, self._policy)
        return self._planning.plan(asked) if asked.within is None else plan_within(self._planning, asked)


def text_of(sql: object) -> Any:
    """The text of a walk, or of whatever else may be asked."""
    return sql.text if isinstance(sql, Walk) else sql_of(sql)


def _priced(asked: Asked) -> Asked:
    """What a plan depends on: not on who asks, and on the rows of a cell only where an accuracy is wanted."""
    return replace(asked, analyst=None, rows=None if asked.within is None else asked.rows)
