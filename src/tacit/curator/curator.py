"""A question's whole walk: read, planned, and bought at the till, where it is charged, run, released, stored and sent.

Promise: nothing about the data decides what happens before the charge, and after the charge nothing leaves but the
answer or one fixed error. A question asked again gets what is stored, the answer or the error, and is charged nothing.

`planner` is the free half of the walk, `purse` the budget, `till` the one place where something is charged and drawn.
"""

from __future__ import annotations

import copy
import html
import json
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tacit import parameters
from tacit.answer import Answer
from tacit.answer.members import answers_of
from tacit.answer.pages import fragment
from tacit.answer.release import released
from tacit.answer.united import united_answer
from tacit.curator.asking_all import plan_together
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import AskedSteps
from tacit.curator.held import hold, told_apart
from tacit.curator.keys import order_of, order_of_all, with_units
from tacit.curator.owner import refuse_refresh
from tacit.curator.public_keys import with_public_keys
from tacit.curator.publish import Publication, publish
from tacit.curator.purse import Purse
from tacit.curator.studies import Rows, rows_of
from tacit.curator.suggest import Suggestion, question_for, suggestion
from tacit.curator.till import Run, Till
from tacit.curator.watching import Watch, watch
from tacit.engines.duckdb.working_copy import Progress
from tacit.engines.engine import Engine, open_engine
from tacit.ledger import Receipt
from tacit.parameters import Number
from tacit.plan import Plan, UnitedPlan
from tacit.plan.asked import Asked
from tacit.policy import Policy, RowUnit
from tacit.question import read
from tacit.question.shared_scan import Family
from tacit.question.stack import room


class Curator(Purse):
    """A private database: register once, ask in SQL, pay from one ledger.

    `progress` is told of a registration: the table that is being copied, the steps done, and the steps in all.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        analyst: str = "owner",
        frames: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(policy)
        self._stated, self.analyst = policy, analyst
        self._held = hold(policy, frames, progress)
        self._ledger = self._held.ledger
        try:
            self._begin(self._held.engine)
        except BaseException:
            self._held.close()
            raise
        self._end = weakref.finalize(self, self._held.close)

    def _begin(self, engine: Engine) -> None:
        """Questions are asked of this engine from now on."""
        policy = with_public_keys(self._stated, engine)
        till = Till(self._ledger, engine, told_apart(self._stated), bool(self._stated.analysts))
        self.policy, self._engine, self._till = policy, engine, till

    # -- asking ----------------------------------------------------------------------------------------

    def table(self, name: str) -> AskedSteps:
        """A question about one table, step by step: `.table("visits").group_by("sex").count().ask(0.5)`."""
        return AskedSteps(self, name)

    @room()  # all of it: a query too deep to be written would be found out only after the charge
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
        stored, repeated = self._till.buy(order, partial(self._released, plan), self._asker(analyst))
        return Answer.from_bytes(stored, repeated=repeated).named(tuple(output.name for output in plan.outputs))

    def _all_of(self, plans: Sequence[tuple[Family, Plan]], analyst: str | None) -> tuple[Answer, ...]:
        """The answers of all members of these plans, in order: released for one charge, or the stored ones."""
        order = order_of_all([plan for _, plan in plans], self._till.data())

        def compute(run: Run, receipt: Receipt) -> bytes:
            return json.dumps([self._released(plan, run, receipt).decode() for _, plan in plans]).encode()

        stored, repeated = self._till.buy(order, compute, self._asker(analyst))
        return answers_of(plans, json.loads(stored), repeated)

    def _released(self, plan: Plan, run: Run, receipt: Receipt) -> bytes:
        """A plan's answer as it is stored. Called by the till, once it is paid for."""
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
        analyst: str | None = None,
    ) -> Watch:
        """Counts by public keys of a table that grows in time, told after every period and paid for once.

        Periods begin at `since` and end at `until` (the bounds of the `time` column, unless said). The same watch again
        goes on where it was.
        """
        return watch(self, sql, epsilon, delta, every, since, until, time, analyst)

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

    def seen_by(self, analyst: str) -> Curator:
        """The same database as this analyst sees it: whoever asks there is charged under this name, and nobody else.

        For the owner, who lets others in. It shares the engine and the ledger: close the owner's, not this one.
        """
        if self.analyst != "owner":
            raise parameters.refuse("analyst", "the owner, who alone lets others in", self.analyst)
        seen = copy.copy(self)
        seen.analyst = analyst
        return seen

    # -- coming and going ------------------------------------------------------------------------------

    def refresh(self, *, progress: Progress | None = None) -> None:
        """Register the tables anew, whether or not a change of them was noticed: who was erased leaves the copy."""
        refuse_refresh(self._stated)
        fresh, before = open_engine(self._stated, progress=progress, anew=True), self._engine
        try:
            self._begin(fresh)
        except BaseException:
            fresh.close()
            raise
        self._held = replace(self._held, engine=fresh)
        self._end.detach()
        self._end = weakref.finalize(self, self._held.close)
        before.close()

    def close(self) -> None:
        """End the engine and let go of the ledger. Everything charged is durable already."""
        self._end()

    def __getattr__(self, habit: str) -> Any:
        # only reached for what is not there
        raise AttributeError(
            f"A curator has no {habit!r}. Ask in SQL with .ask(...), or step by step: "
            ".table('visits').group_by('sex').count().ask(0.1). Studies are in tacit.statistics."
        )

    def __str__(self) -> str:
        tables = ", ".join(self.policy.tables)
        if not self._end.alive:
            return f"A private database of {tables}, closed."
        return f"A private database of {tables}, asked by {self.analyst}. {self.budget()}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(', '.join(table.columns) or 'no columns')}</td></tr>"
            for name, table in self.policy.tables.items()
        )
        listed = f"<table><tr><th>table</th><th>what may be asked about</th></tr>{rows}</table>"
        return fragment(listed) + (self.budget()._repr_html_() if self._end.alive else "<p>Closed.</p>")

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
