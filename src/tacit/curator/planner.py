"""The free half of the walk: from a question to its plan, and what the plan tells.

Promise: a planner holds a policy and nothing else, neither rows nor a ledger, so nothing it says can cost anything or
depend on the data. A curator is a planner that can also answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tacit import parameters
from tacit.answer import Estimate, reasons
from tacit.answer.standing import share_of
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import Steps
from tacit.curator.uniting import plan_united
from tacit.loss.budget import Budget
from tacit.loss.filters import Filter, choose_filter
from tacit.loss.spent import Spent
from tacit.parameters import Number
from tacit.plan import Plan, UnitedPlan, make_plan
from tacit.plan.levers import Levers, merged
from tacit.plan.within import epsilon_for
from tacit.policy import Policy
from tacit.question import United, read, read_asked
from tacit.question.stack import room


class Planner:
    """What a policy's answers would cost and be worth: `plan`, `estimate`, `explain` and `why`."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def table(self, name: str) -> Steps:
        """A question about one table, step by step: `.table("visits").where("age > 30").count().estimate(0.5)`."""
        return Steps(self, name)

    @room()
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
        question = read(sql_of(sql))
        shares = {name: parameters.price("weights", each) for name, each in weights.items()} if weights else None
        exact_delta = None if delta is None else parameters.slip("delta", delta)
        exact = None if epsilon is None else parameters.price("epsilon", epsilon)
        if within is not None:
            stated, levers = merged(question, Levers(exact, exact_delta, rows_per_unit, groups_per_unit))
            for name, value in (("epsilon", levers.epsilon), ("rho", rho), ("weights", weights)):
                if value is not None:
                    raise parameters.refuse(name, "left out where within is given", value)
            if levers.rows_per_unit is not None:
                most = parameters.whole("rows_per_unit", levers.rows_per_unit, least=1)
                stated = replace(stated, rows_per_unit=most)
            if levers.groups_per_unit is not None:
                groups = parameters.whole("groups_per_unit", levers.groups_per_unit, least=1)
                stated = replace(stated, groups_per_unit=groups)
            exact = epsilon_for(stated, self.policy, within, delta=levers.delta or 0, rows=rows)
        return make_plan(
            question,
            self.policy,
            epsilon=exact,
            rho=None if rho is None else parameters.price("rho", rho),
            delta=exact_delta,
            weights=shares,
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
        )

    @room()
    def planned(self, sql: object, epsilon: Number | None = None, **options: Any) -> Plan | UnitedPlan:
        """As `plan`, also for a UNION ALL of answers, which has a plan for each of its SELECTs or for some together."""
        asked = read_asked(sql_of(sql))
        if isinstance(asked, United):
            return plan_united(asked, self.policy, epsilon, **options)
        return self.plan(sql, epsilon, **options)

    def estimate(
        self, sql: object, epsilon: Number | None = None, *, rows: int | None = None, **options: Any
    ) -> Estimate:
        """Cost and error before spending. `rows` is a guess of how many rows a cell has, for means and the like."""
        plan = self.planned(sql, epsilon, rows=rows, **options)
        committed, limit = _rule(self.policy.budget)
        price = committed.price(plan.event)
        errors = plan.errors if rows is None else plan.errors_at(parameters.whole("rows", rows, least=1))
        return Estimate(plan, errors, None if price is None else share_of(price, limit))

    @room()
    def explain(self, sql: object, epsilon: Number | None = None, **options: Any) -> str:
        """The plan in numbered sentences, and the query that will run."""
        plan = self.planned(sql, epsilon, **options)
        return "\n".join([*plan.sentences, *(f"\n{query.text(pretty=True)}" for query in plan.queries)])

    def why(self, sql: object, epsilon: Number | None = None, *, rows: int = 1000, **options: Any) -> str:
        """Why the answer will be as imprecise as it is, and what to change, with how much it would help."""
        parameters.whole("rows", rows, least=1)
        plan = self.plan(sql, epsilon, rows=rows, **options)
        changes: list[tuple[str, dict[str, Any]]] = []
        if plan.rows_per_unit > 1:
            changes.append(("rows_per_unit=1 (one row of each unit is read)", {"rows_per_unit": 1}))
        if plan.epsilon is not None and 2 * plan.epsilon <= self.policy.largest_epsilon:
            changes.append(("twice the epsilon", {"epsilon": 2 * plan.epsilon, "within": None}))
        if plan.epsilon is not None and plan.delta == 0 and self.policy.budget.delta > 0:
            tenth = self.policy.budget.delta / 10
            changes.append((f"delta={float(tenth):.3g}", {"epsilon": plan.epsilon, "within": None, "delta": tenth}))
        basis = {"epsilon": epsilon, "rows": rows, **options}
        return reasons(plan, rows, [(words, self.plan(sql, **{**basis, **change})) for words, change in changes])


@lru_cache(maxsize=16)
def _rule(budget: Budget) -> tuple[Filter, Spent]:
    """The filter that a dataset with this budget commits to, and its limit."""
    committed = choose_filter(budget)
    return committed, committed.limit
