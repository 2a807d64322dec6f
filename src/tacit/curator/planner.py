"""The free half of the walk: from a question to its plan, and what the plan says.

Promise: a planner holds a policy and nothing else, neither rows nor a ledger, so nothing it says can cost anything or
depend on the data. A curator is a planner that can also answer.
"""

from __future__ import annotations

from functools import lru_cache

from tacit.answer import Estimate
from tacit.answer.standing import share_of
from tacit.curator.fluent import Steps
from tacit.curator.in_words import in_words
from tacit.curator.walk import Walk
from tacit.loss.budget import Budget
from tacit.loss.filters import Filter, choose_filter
from tacit.loss.spent import Spent
from tacit.plan import Plan, UnitedPlan
from tacit.plan.asked import Asked
from tacit.policy import Policy
from tacit.question.stack import room


class Planner:
    """What a policy's answers would cost and be worth: `plan`, `estimate`, `explain` and `why`.

    >>> from tacit.curator import check_policy
    >>> print(Planner(check_policy("clinic.toml")).estimate("SELECT count(*) AS n FROM visits", "0.1"))
    Would cost epsilon 0.1, 2 % of the whole budget.
    n: +/- 60 (95 of 100 times)
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def table(self, name: str) -> Steps:
        """A question about one table, step by step: `.table("visits").where("age > 30").count().estimate(0.5)`."""
        return Steps(self, name)

    def walk(self, sql: object) -> Walk:
        """A text, or an Ibis expression, that is read once, for whoever looks at its plans before it is asked.

        Every method here takes a walk in the place of the text.
        """
        return sql.under(self.policy) if isinstance(sql, Walk) else Walk(sql, self.policy)

    @in_words
    def plan(self, sql: object, asked: Asked) -> Plan:
        """How the question would be answered.

        `sql` is a text or an Ibis expression. Say what it may cost (epsilon, or rho), or how exact it must be
        (`within`, e.g. 100 or "5%" with `rows`); the text may say it too. Where it may be a UNION ALL of answers, ask
        for `planned`.

        >>> plan = clinic.plan("SELECT count(*) AS n FROM visits", within=100)
        >>> round(float(plan.epsilon), 3), plan.tables
        (0.06, ('visits',))
        """
        return self.walk(sql).plan_of_one(asked)

    @in_words
    def planned(self, sql: object, asked: Asked) -> Plan | UnitedPlan:
        """As `plan`, also for a UNION ALL of answers, which has a plan for each of its SELECTs or for some together."""
        return self.walk(sql).plan(asked)

    @in_words
    def estimate(self, sql: object, asked: Asked) -> Estimate:
        """Cost and error before spending. `rows` is a guess of how many rows a cell has, for means and the like.

        >>> print(clinic.estimate("SELECT ward, count(*) AS n FROM visits GROUP BY ward", "0.1"))
        Would cost epsilon 0.1, 2 % of the whole budget.
        n: +/- 60 (95 of 100 times)
        """
        plan = self.walk(sql).plan(asked)
        committed, limit = _rule(self.policy.budget)
        price = committed.price(plan.event)
        errors = plan.errors if asked.rows is None else plan.errors_at(asked.rows)
        return Estimate(plan, errors, None if price is None else share_of(price, limit))

    @in_words
    def explain(self, sql: object, asked: Asked) -> str:
        """The plan in numbered sentences, and the query that will run.

        >>> clinic.explain("SELECT count(*) AS n FROM visits", "0.1").splitlines()[1]
        '2. Of each unit at most 2 rows are read; fewer (tacit_rows_per_unit) mean less noise.'
        """
        with room():
            plan = self.walk(sql).plan(asked)
            return "\n".join([*plan.sentences, *(f"\n{query.text(pretty=True)}" for query in plan.queries)])

    @in_words
    def why(self, sql: object, asked: Asked) -> str:
        """Why the answer will be as imprecise as it is, and what to change, with how much it would help.

        `rows` is a guess of how many rows a cell has; 1000 unless said.

        >>> print(clinic.why("SELECT count(*) AS n FROM visits", "0.1"))
        n is off by +/- 60, 95 of 100 times, in a cell of 1,000 rows.
          100% of its noise is that of the count of rows (one unit can move it by 2).
          rows_per_unit=1 (one row of each unit is read): 2.0 times less noise.
          twice the epsilon: 2.0 times less noise.
        """
        return self.walk(sql).why(asked)


@lru_cache(maxsize=16)
def _rule(budget: Budget) -> tuple[Filter, Spent]:
    """The filter that a dataset with this budget commits to, and its limit."""
    committed = choose_filter(budget)
    return committed, committed.limit
