"""A question's whole walk: read, planned, and bought at the till, where it is charged, run, released, stored and sent.

Promise: nothing about the data decides what happens before the charge, and after the charge nothing leaves but the
answer or one fixed error. A question asked again gets what is stored, the answer or the error, and is charged nothing.
"""

from __future__ import annotations

import html
import json
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tacit import parameters
from tacit.answer import Answer, Standing
from tacit.answer.members import answers_of
from tacit.answer.pages import fragment
from tacit.answer.release import released
from tacit.answer.standing import charges_of, share_of
from tacit.answer.united import united_answer
from tacit.curator.asking_all import plan_together
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import AskedSteps
from tacit.curator.keys import order_of, order_of_all, with_units
from tacit.curator.ledgers import head_of, ledger_of
from tacit.curator.owner import refuse_refresh
from tacit.curator.planner import Planner
from tacit.curator.public_keys import with_public_keys
from tacit.curator.publish import Publication, publish
from tacit.curator.studies import Rows, rows_of
from tacit.curator.suggest import Suggestion, question_for, suggestion
from tacit.curator.till import Run, Till
from tacit.engines.engine import Engine, open_engine
from tacit.engines.working_copy import Progress, digest
from tacit.ledger import Entry, Ledger, Receipt
from tacit.loss.events import Event
from tacit.loss.spent import Spent
from tacit.loss.worth import more_like
from tacit.parameters import Number
from tacit.plan import Plan, UnitedPlan
from tacit.policy import Policy, RowUnit
from tacit.question import read
from tacit.question.stack import room
from tacit.question.together import Family


class Curator(Planner):
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
        self._stated = policy
        self.analyst = analyst
        self._scratch = None if policy.ledger is not None else tempfile.mkdtemp(prefix="tacit-")
        try:
            where = Path(self._scratch) / "ledger" if self._scratch else ledger_of(policy)
            head = Path(self._scratch) / "head" if self._scratch else head_of(where)
            self._ledger = Ledger.open(where, head=head, budget=policy.budget, analysts=policy.analysts)
            try:
                self._engine = open_engine(policy, frames=frames, progress=progress)
                try:
                    self.policy = with_public_keys(policy, self._engine)
                    self._till = Till(self._ledger, self._engine, _told_apart(policy), bool(policy.analysts))
                except BaseException:
                    self._engine.close()
                    raise
            except BaseException:
                self._ledger.close()
                raise
        except BaseException:
            _remove(self._scratch)
            raise
        self._end = weakref.finalize(self, _end, self._engine, self._ledger, self._scratch)

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

        Say what it may cost (epsilon, or rho), or how exact it must be (`within`, e.g. 100 or "5%" with `rows`).
        """
        plan = self.planned(
            sql,
            epsilon,
            delta=delta,
            rho=rho,
            within=within,
            rows=rows,
            weights=weights,
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
        )
        if isinstance(plan, UnitedPlan):
            return united_answer(self._all_of(plan.plans, analyst), plan)
        order = order_of(plan, self._till.data())
        stored, repeated = self._till.buy(order, partial(self._released, plan), self._asker(analyst))
        return Answer.from_bytes(stored, repeated=repeated).named(tuple(output.name for output in plan.outputs))

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

    def _all_of(self, plans: Sequence[tuple[Family, Plan]], analyst: str | None) -> tuple[Answer, ...]:
        """The answers of all members of these plans, in order: released for one charge, or the stored ones."""
        order = order_of_all([plan for _, plan in plans], self._till.data())

        def compute(run: Run, receipt: Receipt) -> bytes:
            return json.dumps([self._released(plan, run, receipt).decode() for _, plan in plans]).encode()

        stored, repeated = self._till.buy(order, compute, self._asker(analyst))
        return answers_of(plans, json.loads(stored), repeated)

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
        answer = self.ask(sql, epsilon, rows_per_unit=rows_per_unit, analyst=analyst)
        return suggestion(plan, answer, table, found)

    # -- the budget ------------------------------------------------------------------------------------

    def budget(self, analyst: str | None = None) -> Standing:
        """How the dataset's budget stands, or one analyst's own: which share is spent and which is left."""
        payer = "The dataset" if analyst is None else f"Analyst {analyst!r}"
        charges, failures = charges_of(self._ledger.entries(analyst)), self._failures(analyst)
        failed = failures[-1].sequence if failures else None
        committed, spent = self._ledger.filter(analyst), self._ledger.spent(analyst)
        standing = Standing.of(payer, committed, spent, charges, failed, "dataset" if analyst is None else "analyst")
        if analyst is None or standing.more is None:
            return standing
        # an analyst's own budget lies within the dataset's, which may be the shorter one
        whole, price = self._ledger.filter(), charges[-1].cost
        rest = None if price is None else more_like(self._ledger.spent(), price, whole.limit)
        return standing if rest is None else replace(standing, more=min(standing.more, rest))

    def afford(self, event: Event) -> tuple[Fraction | None, int | None]:
        """Which share of the whole budget an event would take, and how many like it what is left covers. Free."""
        committed = self._ledger.filter()
        price = committed.price(event)
        if price is None:
            return None, 0
        return share_of(price, committed.limit), more_like(self._ledger.spent(), price, committed.limit)

    def number_of(self, sequence: object) -> int | None:
        """Which question an entry of the ledger is, counted 1, 2, 3, ... among those that are to be seen here."""
        for number, each in enumerate(charges_of(self.ledger()), start=1):
            if str(each.sequence) == str(sequence):
                return number
        return None

    def spent(self, analyst: str | None = None) -> Spent:
        """What has been spent, in the unit of the committed filter."""
        return self._ledger.spent(analyst)

    def remaining(self, analyst: str | None = None) -> Spent:
        """What is left, in the unit of the committed filter."""
        return self._ledger.remaining(analyst)

    def ledger(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """Who asked what, when, and what it cost: everything for the owner, an analyst's own for an analyst."""
        if self.analyst != "owner":
            if analyst not in (None, self.analyst):
                raise parameters.refuse("analyst", f"{self.analyst!r}, who is asking", analyst)
            analyst = self.analyst
        return self._ledger.entries(analyst)

    def resume(self, analyst: str | None = None, *, entry: int | None = None) -> tuple[Entry, ...]:
        """The owner's word, recorded, that what failed was looked at: one analyst, or all, may go on asking.

        `entry` is the last failure that was looked at: if one came after it, nothing is resumed.
        """
        if self.analyst != "owner":
            raise parameters.refuse("analyst", "the owner, who alone resumes", self.analyst)
        return self._till.resume(analyst, entry)

    # -- coming and going ------------------------------------------------------------------------------

    def refresh(self, *, progress: Progress | None = None) -> None:
        """Register the tables anew, whether or not a change of them was noticed: who was erased leaves the copy."""
        refuse_refresh(self._stated)
        fresh = open_engine(self._stated, progress=progress, anew=True)
        try:
            self.policy = with_public_keys(self._stated, fresh)
        except BaseException:
            fresh.close()
            raise
        before, self._engine = self._engine, fresh
        self._till = Till(self._ledger, fresh, _told_apart(self._stated), bool(self._stated.analysts))
        self._end.detach()
        self._end = weakref.finalize(self, _end, fresh, self._ledger, self._scratch)
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

    def _failures(self, analyst: str | None) -> tuple[Entry, ...]:
        """What stops somebody; for an analyst only what stops that one."""
        if self.analyst != "owner" and analyst not in (None, self.analyst):
            return ()
        return self._ledger.failures(analyst if self.analyst == "owner" else self.analyst)

    def _asker(self, analyst: str | None) -> str:
        """Who pays. The owner may ask for others; nobody else may."""
        if self.analyst != "owner" and analyst not in (None, self.analyst):
            raise parameters.refuse("analyst", f"{self.analyst!r}, who is asking", analyst)
        return self.analyst if analyst is None else analyst

    def _released(self, plan: Plan, run: Run, receipt: Receipt) -> bytes:
        """A plan's answer as it is stored. Called by the till, once it is paid for."""
        unit = self.policy.unit_of(plan.tables[0]).unit
        whose = "one row" if isinstance(unit, RowUnit) else f"all rows of one {getattr(unit, 'column', 'unit')}"
        return released(plan, lambda query: run(with_units(query)), receipt, whose)


def _told_apart(policy: Policy) -> list[str]:
    """What says, besides the state of the sources, which tables are meant: part of every key."""
    # A table in memory has no fingerprint: its answers are for this registration and are not replayed to another.
    frame = any(table.source.format == "frame" for table in policy.tables.values())
    # of public tables the question reads no more rows than this: the copy is the same, the answer is not
    most = [f"{name} {each.fan_out}" for name, each in policy.tables.items() if each.fan_out not in (None, 1)]
    return [digest(policy), secrets.token_hex(16) if frame else "", *most]


def _end(engine: Engine, ledger: Ledger, scratch: str | None) -> None:
    engine.close()
    ledger.close()
    _remove(scratch)


def _remove(scratch: str | None) -> None:
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
