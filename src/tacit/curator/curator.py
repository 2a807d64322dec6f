"""A question's whole walk: read, planned, and bought at the till, where it is charged, run, released, stored and sent.

Promise: nothing about the data decides what happens before the charge, and after the charge nothing leaves but the
answer or one fixed error. A repeated question gets what is stored, the answer or the error, and is charged nothing.

`walk` and `planner` are the free half of the walk, `purse` the budget, `lifetime` opening and closing, `offers` what
there is besides questions, and `till` the one place where something is charged and drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from tacit.answer import Answer
from tacit.answer.leaves import Run
from tacit.answer.members import answers_of
from tacit.answer.release import released
from tacit.answer.united import united_answer
from tacit.curator.asking_all import plan_together
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import AskedSteps
from tacit.curator.in_words import in_words
from tacit.curator.keys import purchase_of, purchase_of_all, with_units
from tacit.curator.lifetime import Lifetime
from tacit.curator.offers import Offers
from tacit.ledger import Receipt
from tacit.parameters import Number
from tacit.plan import Plan, UnitedPlan
from tacit.plan.asked import Asked
from tacit.policy import RowUnit
from tacit.question import read
from tacit.question.shared_scan import Family
from tacit.question.stack import room


class Curator(Lifetime, Offers):
    """A private database: register once, ask in SQL, pay from one ledger.

    `progress` is called during a registration with the table that is being copied, the steps done, and all steps.

    >>> import pandas, tacit
    >>> frame = pandas.DataFrame({"who": [1, 2, 3], "age": [31, 40, 52]})
    >>> with tacit.protect(frame, unit="who", columns={"age": (0, 110)}, budget=1) as people:
    ...     first = people.ask("SELECT avg(age) FROM data", "0.25")
    ...     again = people.ask("select AVG(age) from data", "1/4")
    >>> again.repeated, list(again.rows()) == list(first.rows())
    (True, True)

    In the examples of its methods `clinic` is `tacit.open("clinic.toml")`: a curator of one table, `visits`, with the
    columns day, ward and charge.
    """

    def table(self, name: str) -> AskedSteps:
        """A question about one table, step by step: `.table("visits").group_by("sex").count().ask(0.5)`.

        >>> steps = clinic.table("visits").where("day >= DATE '2024-06-01'").group_by("ward").count()
        >>> steps.estimate("0.1").cost
        'Would cost epsilon 0.1, 2 % of the whole budget.'
        """
        return AskedSteps(self, name)

    @in_words
    @room()  # all of it: a query too deep to be written would be found out only after the charge
    def ask(self, sql: object, asked: Asked) -> Answer:
        """The answer, paid for; or the stored one, free, where the same was asked before.

        Say what it may cost (epsilon, or rho), or the accuracy you need (`within`, e.g. 100 or "5%" with `rows`).

        >>> answer = clinic.ask("SELECT ward, count(*) AS visits FROM visits GROUP BY ward", "0.1")
        >>> answer["ward"], answer.receipt["epsilon"]
        (('north', 'south'), '1/10')
        >>> clinic.ask("select WARD, count(*) visits from visits group by ward", "0.1").repeated  # nothing was charged
        True
        """
        plan = self.walk(sql).plan(asked)
        if isinstance(plan, UnitedPlan):
            return united_answer(self._all_of(plan.plans, asked.analyst), plan)
        return self._bought(plan, asked.analyst)

    @room()
    def ask_all(
        self,
        questions: Sequence[object],
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        analyst: str | None = None,
    ) -> tuple[Answer, ...]:
        """The answers to several questions for one epsilon, planned together, paid once; asked again, free.

        Questions about the same rows share one scan and their counts, and agree: parts add up to their totals.

        >>> parts, whole = clinic.ask_all(
        ...     ["SELECT ward, count(*) AS n FROM visits GROUP BY ward", "SELECT count(*) AS n FROM visits"], "0.1"
        ... )
        >>> sum(parts["n"]) == whole["n"][0]
        True
        """
        asked = Asked.of(epsilon, delta=delta, analyst=analyst)
        read_all = [read(sql_of(each)) for each in questions]
        together = plan_together(read_all, self.policy, asked.epsilon, asked.delta or Fraction(0))
        return self._all_of(together.plans, asked.analyst)

    def _bought(self, plan: Plan, analyst: str | None) -> Answer:
        """The answer of one plan: released for a charge, or the stored one."""
        purchase = purchase_of(plan, self._till.data())
        payer = self._asker(analyst)
        stored, repeated = self._till.buy(purchase, partial(self._released, plan), payer, plan.queries)
        names = tuple(output.name for output in plan.outputs)
        return Answer.from_bytes(stored, repeated=repeated).named(names, plan.notes)

    def _all_of(self, plans: Sequence[tuple[Family, Plan]], analyst: str | None) -> tuple[Answer, ...]:
        """The answers of all members of these plans, in order: released for one charge, or the stored ones."""
        purchase = purchase_of_all([plan for _, plan in plans], self._till.data())

        def compute(run: Run, receipt: Receipt) -> bytes:
            return json.dumps([self._released(plan, run, receipt).decode() for _, plan in plans]).encode()

        queries = [query for _, plan in plans for query in plan.queries]
        stored, repeated = self._till.buy(purchase, compute, self._asker(analyst), queries)
        return answers_of(plans, json.loads(stored), repeated)

    def _released(self, plan: Plan, run: Run, receipt: Receipt) -> bytes:
        """A plan's answer as it is stored. The till calls this once it is paid for."""
        unit = self.policy.unit_of(plan.tables[0]).unit
        whose = "one row" if isinstance(unit, RowUnit) else f"all rows of one {getattr(unit, 'column', 'unit')}"
        return released(plan, lambda query: run(with_units(query)), receipt, whose)
