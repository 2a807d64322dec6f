"""A question's whole walk: read, planned, and bought at the till, where it is charged, run, released, stored and sent.

Promise: nothing about the data decides what happens before the charge, and after the charge nothing leaves but the
answer or one fixed error. A repeated question gets what is stored, the answer or the error, and is charged nothing.

`planner` is the free half of the walk, `purse` the budget, `lifetime` opening and closing, `till` the one place where
something is charged and drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tacit import parameters
from tacit.answer import Answer
from tacit.answer.leaves import Run
from tacit.answer.members import answers_of
from tacit.answer.release import released
from tacit.answer.united import united_answer
from tacit.curator.asking_all import plan_together
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import AskedSteps
from tacit.curator.keys import order_of, order_of_all, with_units
from tacit.curator.lifetime import Lifetime
from tacit.curator.publish import Publication, publish
from tacit.curator.studies import Rows, rows_of
from tacit.curator.suggest import Suggestion, question_for, suggestion
from tacit.curator.watching import Watch, watch
from tacit.ledger import Receipt
from tacit.parameters import Number
from tacit.plan import Plan, UnitedPlan
from tacit.plan.asked import Asked
from tacit.policy import RowUnit
from tacit.question import read
from tacit.question.shared_scan import Family
from tacit.question.stack import room


class Curator(Lifetime):
    """A private database: register once, ask in SQL, pay from one ledger.

    `progress` is called during a registration with the table that is being copied, the steps done, and all steps.

    >>> import pandas, tacit
    >>> frame = pandas.DataFrame({"who": [1, 2, 3], "age": [31, 40, 52]})
    >>> with tacit.protect(frame, unit="who", columns={"age": (0, 110)}, budget=1) as people:
    ...     first = people.ask("SELECT avg(age) FROM data", "0.25")
    ...     again = people.ask("select AVG(age) from data", "1/4")
    >>> again.repeated, list(again.rows()) == list(first.rows())
    (True, True)
    """

    def table(self, name: str) -> AskedSteps:
        """A question about one table, step by step: `.table("visits").group_by("sex").count().ask(0.5)`."""
        return AskedSteps(self, name)

    @room()  # for all of it: a query too deep to be written would otherwise fail only after the charge
    def ask(
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
        analyst: str | None = None,
    ) -> Answer:
        """The answer, paid for; or the stored one, free, where the same was asked before.

        Say what it may cost (epsilon, or rho), or the accuracy you need (`within`, e.g. 100 or "5%" with `rows`).
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
            analyst=analyst,
        )
        plan = self._walk(sql, asked)
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
        """
        exact = None if epsilon is None else parameters.price("epsilon", epsilon)
        exact_delta = Fraction(0) if delta is None else parameters.slip("delta", delta)
        together = plan_together([read(sql_of(each)) for each in questions], self.policy, exact, exact_delta)
        return self._all_of(together.plans, analyst)

    def _bought(self, plan: Plan, analyst: str | None) -> Answer:
        """The answer of one plan: released for a charge, or the stored one."""
        order = order_of(plan, self._till.data())
        payer = self._asker(analyst)
        stored, repeated = self._till.buy(order, partial(self._released, plan), payer, plan.queries)
        names = tuple(output.name for output in plan.outputs)
        return Answer.from_bytes(stored, repeated=repeated).named(names, plan.notes)

    def _all_of(self, plans: Sequence[tuple[Family, Plan]], analyst: str | None) -> tuple[Answer, ...]:
        """The answers of all members of these plans, in order: released for one charge, or the stored ones."""
        order = order_of_all([plan for _, plan in plans], self._till.data())

        def compute(run: Run, receipt: Receipt) -> bytes:
            return json.dumps([self._released(plan, run, receipt).decode() for _, plan in plans]).encode()

        queries = [query for _, plan in plans for query in plan.queries]
        stored, repeated = self._till.buy(order, compute, self._asker(analyst), queries)
        return answers_of(plans, json.loads(stored), repeated)

    def _released(self, plan: Plan, run: Run, receipt: Receipt) -> bytes:
        """A plan's answer as it is stored. The till calls this once it is paid for."""
        unit = self.policy.unit_of(plan.tables[0]).unit
        whose = "one row" if isinstance(unit, RowUnit) else f"all rows of one {getattr(unit, 'column', 'unit')}"
        return released(plan, lambda query: run(with_units(query)), receipt, whose)

    def rows(self, sql: str, columns: Sequence[str] | None = None, *, rows_per_unit: int | None = None) -> Rows:
        """Rows for a study: `clinic.rows("SELECT age FROM visits")`, or `clinic.rows("visits", ["age"])`. Free."""
        return rows_of(self, sql, columns, rows_per_unit)

    def publish(
        self,
        statistics: Mapping[str, object] | Iterable[object],
        epsilon: Number,
        *,
        delta: Number = 0,
        to: str | Path | None = None,
        title: str = "Statistics",
        level: Number = "0.95",
        analyst: str | None = None,
    ) -> Publication:
        """Release questions in SQL and planned studies together, for one charge, and write them `to` a folder.

        There: index.html with drawings, statistics.json with all intervals, and a CSV for each statistic.
        """
        return publish(self, statistics, epsilon, delta, to, title, level, analyst)

    def watch(
        self,
        sql: str,
        epsilon: Number,
        *,
        every: str,
        delta: Number = 0,
        since: Any = None,
        until: Any = None,
        time: str | None = None,
        wait: str | None = None,
        analyst: str | None = None,
    ) -> Watch:
        """Counts, sums and means of a table that grows in time, released after every period and paid for once.

        Periods begin at `since` and end at `until` (the bounds of the `time` column, unless said), and are counted when
        they are over, `wait` later where rows come late. The same watch, started again, goes on where it was.
        """
        return watch(self, sql, epsilon, delta, every, since, until, time, wait, analyst)

    @room()
    def suggest(
        self,
        column: str,
        epsilon: Number | None = None,
        *,
        rows_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Suggestion:
        """Bounds for a column that has none yet, bought: `clinic.suggest("visits.charge", epsilon=0.1)`."""
        sql, table, found = question_for(self.policy, column)
        plan = self.plan(sql, epsilon, rows_per_unit=rows_per_unit)
        return suggestion(plan, self._bought(plan, analyst), table, found)
