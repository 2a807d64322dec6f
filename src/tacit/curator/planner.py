"""The free half of the walk: from a question to its plan, and what the plan says.

Promise: a planner holds a policy and nothing else, neither rows nor a ledger, so nothing it says can cost anything or
depend on the data. A curator is a planner that can also answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tacit.answer import Estimate, reasons
from tacit.answer.standing import share_of
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import Steps
from tacit.curator.united import plan_united
from tacit.loss.budget import Budget
from tacit.loss.filters import Filter, choose_filter
from tacit.loss.spent import Spent
from tacit.parameters import Number
from tacit.plan import Plan, UnitedPlan
from tacit.plan.asked import Asked
from tacit.plan.make import plan_asked
from tacit.plan.within import plan_within
from tacit.policy import Policy
from tacit.question import Question, United, read, read_asked
from tacit.question.stack import room


class Planner:
    """What a policy's answers would cost and be worth: `plan`, `estimate`, `explain` and `why`."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def table(self, name: str) -> Steps:
        """A question about one table, step by step: `.table("visits").where("age > 30").count().estimate(0.5)`."""
        return Steps(self, name)

    def plan(
        self,
        sql: object,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        rows: int | None = None,
        weights: Mapping[str, Number] | None = None,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
    ) -> Plan:
        """How the question would be answered.

        `sql` is a text or an Ibis expression. Say what it may cost (epsilon, or rho), or how exact it must be
        (`within`, e.g. 100 or "5%" with `rows`); the text may say it too. Where it may be a UNION ALL of answers, ask
        for `planned`.
        """
        asked = Asked.of(
            epsilon,
            delta=delta,
            rho=rho,
            within=within,
            rows=rows,
            weights=weights,
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
        )
        with room():
            return self._plan(read(sql_of(sql)), asked)

    def planned(self, sql: object, epsilon: Number | None = None, **options: Any) -> Plan | UnitedPlan:
        """Like `plan`, and for a UNION ALL of answers too, which has a plan for each SELECT or for some together."""
        return self._walk(sql, Asked.of(epsilon, **options))

    def estimate(self, sql: object, epsilon: Number | None = None, **options: Any) -> Estimate:
        """Cost and error before spending. `rows` is a guess of how many rows a cell has, for means and the like."""
        asked = Asked.of(epsilon, **options)
        plan = self._walk(sql, asked)
        committed, limit = _rule(self.policy.budget)
        price = committed.price(plan.event)
        errors = plan.errors if asked.rows is None else plan.errors_at(asked.rows)
        return Estimate(plan, errors, None if price is None else share_of(price, limit))

    def explain(self, sql: object, epsilon: Number | None = None, **options: Any) -> str:
        """The plan in numbered sentences, and the query that will run."""
        with room():
            plan = self._walk(sql, Asked.of(epsilon, **options))
            return "\n".join([*plan.sentences, *(f"\n{query.text(pretty=True)}" for query in plan.queries)])

    def why(self, sql: object, epsilon: Number | None = None, *, rows: int = 1000, **options: Any) -> str:
        """Why the answer will be as imprecise as it is, and what to change, with how much it would help."""
        question, asked = read(sql_of(sql)), Asked.of(epsilon, rows=rows, **options)
        with room():
            plan = self._plan(question, asked)
            changes: list[tuple[str, Asked]] = []
            if plan.rows_per_unit > 1:
                changes.append(("rows_per_unit=1 (one row of each unit is read)", replace(asked, rows_per_unit=1)))
            at = replace(asked, epsilon=plan.epsilon, within=None)
            if plan.epsilon is not None and 2 * plan.epsilon <= self.policy.largest_epsilon:
                changes.append(("twice the epsilon", replace(at, epsilon=2 * plan.epsilon)))
            if plan.epsilon is not None and plan.delta == 0 and self.policy.budget.delta > 0:
                tenth = self.policy.budget.delta / 10
                changes.append((f"delta={float(tenth):.3g}", replace(at, delta=tenth)))
            return reasons(plan, rows, [(words, self._plan(question, change)) for words, change in changes])

    def _walk(self, sql: object, asked: Asked) -> Plan | UnitedPlan:
        """The walk as far as the plan: the text is read once, and planned once."""
        with room():
            question = read_asked(sql_of(sql))
            if isinstance(question, United):
                return plan_united(question, self.policy, asked)
            return self._plan(question, asked)

    def _plan(self, question: Question, asked: Asked) -> Plan:
        plan = plan_asked if asked.within is None else plan_within
        return plan(question, self.policy, asked)


@lru_cache(maxsize=16)
def _rule(budget: Budget) -> tuple[Filter, Spent]:
    """The filter that a dataset with this budget commits to, and its limit."""
    committed = choose_filter(budget)
    return committed, committed.limit
