"""A question's whole walk: read, planned, charged, run, released, stored, sent.

Promise: nothing about the data decides what happens before the charge, and after the charge nothing leaves but the
answer or one fixed error. A question asked again gets the stored answer and is charged nothing.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit import parameters
from tacit.answer import Answer, Standing
from tacit.answer.members import member_answer
from tacit.answer.release import released
from tacit.answer.united import united_answer
from tacit.curator.asking_all import plan_together
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import AskedSteps
from tacit.curator.keys import key_of, with_units
from tacit.curator.ledgers import head_of, ledger_of
from tacit.curator.planner import Planner
from tacit.curator.public_keys import with_public_keys
from tacit.curator.publish import Publication, publish
from tacit.curator.studies import Rows, rows_of
from tacit.curator.suggest import Suggestion, question_for, suggestion
from tacit.curator.written import as_written
from tacit.engines.engine import STALE, Engine, open_engine
from tacit.engines.working_copy import Progress, digest
from tacit.errors import EngineError
from tacit.ledger import Entry, Ledger
from tacit.loss.events import Composed
from tacit.loss.filters import Spent
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
                except BaseException:
                    self._engine.close()
                    raise
            except BaseException:
                self._ledger.close()
                raise
        except BaseException:
            _remove(self._scratch)
            raise
        # A table in memory has no fingerprint: its answers are for this registration and are not replayed to another.
        frame = any(table.source.format == "frame" for table in policy.tables.values())
        self._tables = [digest(policy), secrets.token_hex(16) if frame else ""]
        # of public tables the question reads no more rows than this: the copy is the same, the answer is not
        self._tables += [
            f"{name} {each.fan_out}" for name, each in policy.tables.items() if each.fan_out not in (None, 1)
        ]
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
        asker = self.analyst if analyst is None else analyst
        if self.policy.analysts:
            self._ledger.filter(asker)  # who may not ask is refused here, whether or not the answer is stored
        if isinstance(plan, UnitedPlan):
            return united_answer(self._all_of(plan.plans, asker), plan)
        names = tuple(output.name for output in plan.outputs)
        key, text = key_of(plan, [*self._tables, self._engine.fingerprint()])
        stored = self._ledger.answer(key)
        if stored is not None:
            return Answer.from_bytes(stored, repeated=True).named(names)
        if self._engine.is_stale():
            raise EngineError(STALE)
        receipt = self._ledger.charge(asker, key, text, plan.event)
        with self._engine.moment() as run:
            payload = released(plan, lambda query: run(with_units(query)), receipt, self._unit(plan))
        return Answer.from_bytes(self._ledger.store_answer(receipt, payload)).named(names)

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
        exact = None if epsilon is None else as_written("epsilon", epsilon)
        exact_delta = Fraction(0) if delta is None else as_written("delta", delta)
        together = plan_together([read(sql_of(each)) for each in questions], self.policy, exact, exact_delta)
        asker = self.analyst if analyst is None else analyst
        if self.policy.analysts:
            self._ledger.filter(asker)
        return self._all_of(together.plans, asker)

    def _all_of(self, plans: Sequence[tuple[Family, Plan]], asker: str) -> tuple[Answer, ...]:
        """The answers of all members of these plans, in order: released for one charge, or the stored ones."""
        data = [*self._tables, self._engine.fingerprint()]
        keyed = [key_of(plan, data) for _, plan in plans]
        key = hashlib.sha256(json.dumps([each for each, _ in keyed]).encode()).hexdigest()
        text = json.dumps({"is": "Questions", "questions": [json.loads(said) for _, said in keyed]})
        stored = self._ledger.answer(key)
        repeated = stored is not None
        if stored is None:
            if self._engine.is_stale():
                raise EngineError(STALE)
            receipt = self._ledger.charge(asker, key, text, Composed(tuple(plan.event for _, plan in plans)))
            with self._engine.moment() as run:
                payloads = [
                    released(plan, lambda query: run(with_units(query)), receipt, self._unit(plan)) for _, plan in plans
                ]
            stored = self._ledger.store_answer(receipt, json.dumps([each.decode() for each in payloads]).encode())
        answers: dict[int, Answer] = {}
        for (family, _), payload in zip(plans, json.loads(stored), strict=True):
            whole = Answer.from_bytes(payload.encode(), repeated=repeated)
            answers |= {member.place: member_answer(whole, family, member) for member in family.members}
        return tuple(answers[place] for place in sorted(answers))

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
        return Standing.of(payer, self._ledger.filter(analyst), self._ledger.spent(analyst))

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

    # -- coming and going ------------------------------------------------------------------------------

    def close(self) -> None:
        """End the engine and let go of the ledger. Everything charged is durable already."""
        self._end()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unit(self, plan: Plan) -> str:
        unit = self.policy.unit_of(plan.tables[0]).unit
        return "one row" if isinstance(unit, RowUnit) else f"all rows of one {getattr(unit, 'column', 'unit')}"


def _end(engine: Engine, ledger: Ledger, scratch: str | None) -> None:
    engine.close()
    ledger.close()
    _remove(scratch)


def _remove(scratch: str | None) -> None:
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
