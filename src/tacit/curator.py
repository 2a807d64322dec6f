"""The curator: where all rooms meet, and a question walks through them in one direction.

    question = read(sql)                      text to a small tree; unknown things are refused here
    plan     = make_plan(question, policy)    pure, reads no row: sensitivity, noise, loss, expected error
    receipt  = ledger.charge(plan)            durable BEFORE any row is read
    exact    = engine.run(plan.query)         one pushed-down query; exact whole numbers come back
    answer   = release(plan, exact)           noise, then everything that is free; stored before it is sent

Promise: nothing about the data decides what happens before the charge, and after the charge nothing leaves but the
answer or one fixed error. A question asked again gets the stored answer and is charged nothing. `estimate`, `explain`
and `why` stop after the plan: they cost nothing and touch no data.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from tacit import parameters
from tacit.answer import Answer, Estimate, Standing, reasons
from tacit.answer.release import release, released
from tacit.answer.standing import share_of
from tacit.engines import sources
from tacit.engines.discover import discover
from tacit.engines.duckdb_engine import STALE, DuckDBEngine
from tacit.engines.frames import kinds_of_frame
from tacit.engines.working_copy import describe, digest
from tacit.errors import EngineError, LedgerError, PolicyError
from tacit.ledger import Entry, Ledger, Report, verify
from tacit.loss.budget import Budget, written
from tacit.loss.filters import Filter, Spent, choose_filter
from tacit.parameters import Number
from tacit.plan import Plan, make_plan
from tacit.plan.within import epsilon_for
from tacit.policy import ColumnUnit, Policy, RowUnit, Source, Table
from tacit.policy.check import check, did_you_mean
from tacit.policy.read import read as read_policy
from tacit.policy.write import write as write_policy
from tacit.question import canonical, read

__all__ = ["Curator", "Estimate", "open_policy", "protect", "release"]

_HUGE = re.compile(r"[eE][+-]?\d{4,}")


class Curator:
    """A private database: register once, ask in SQL, pay from one ledger."""

    def __init__(self, policy: Policy, *, analyst: str = "owner", frames: Mapping[str, Any] | None = None) -> None:
        self.policy = policy
        self.analyst = analyst
        self._scratch = None if policy.ledger is not None else tempfile.mkdtemp(prefix="tacit-")
        try:
            path = Path(self._scratch or policy.directory) / (policy.ledger or "ledger")
            head = Path(self._scratch) / "head" if self._scratch else _head_of(path)
            self._ledger = Ledger.open(path, head=head, budget=policy.budget, analysts=policy.analysts)
            try:
                self._engine = DuckDBEngine.register(policy, frames=frames)
            except BaseException:
                self._ledger.close()
                raise
        except BaseException:
            _remove(self._scratch)
            raise
        # A table in memory has no fingerprint: its answers are for this registration and are not replayed to another.
        frame = any(table.source.format == "frame" for table in policy.tables.values())
        self._tables = [digest(policy), secrets.token_hex(16) if frame else ""]
        self._end = weakref.finalize(self, _end, self._engine, self._ledger, self._scratch)

    # -- asking ----------------------------------------------------------------------------------------

    def ask(
        self,
        sql: str,
        epsilon: Number | None = None,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        within: Number | None = None,
        rows: int | None = None,
        weights: Mapping[str, Number] | None = None,
        rows_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Answer:
        """The answer, paid for; or the stored one, free, where the same was asked before.

        Say what it may cost (epsilon, or rho), or how exact it must be (`within`, e.g. 100 or "5%" with `rows`).
        """
        plan = self.plan(
            sql, epsilon, delta=delta, rho=rho, within=within, rows=rows, weights=weights, rows_per_unit=rows_per_unit
        )
        names = tuple(output.name for output in plan.outputs)
        asker = self.analyst if analyst is None else analyst
        if self.policy.analysts:
            self._ledger.filter(asker)  # who may not ask is refused here, whether or not the answer is stored
        key, text = _key(plan, [*self._tables, sources.fingerprint(self.policy)])
        stored = self._ledger.answer(key)
        if stored is not None:
            return Answer.from_bytes(stored, repeated=True).named(names)
        if self._engine.is_stale():
            raise EngineError(STALE)
        receipt = self._ledger.charge(asker, key, text, plan.event)
        payload = released(plan, lambda: self._engine.run(_with_units(plan)), receipt, self._unit(plan))
        return Answer.from_bytes(self._ledger.store_answer(receipt, payload)).named(names)

    def plan(
        self,
        sql: str,
        epsilon: Number | None = None,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        within: Number | None = None,
        rows: int | None = None,
        weights: Mapping[str, Number] | None = None,
        rows_per_unit: int | None = None,
    ) -> Plan:
        """How `ask` would answer: free, and without a look at the data."""
        question = read(sql)
        exact_delta = _as_written("delta", delta)
        if within is not None:
            for name, value in (("epsilon", epsilon), ("rho", rho), ("weights", weights)):
                if value is not None:
                    raise parameters.refuse(name, "left out where within is given", value)
            if rows_per_unit is not None:
                question = replace(question, rows_per_unit=parameters.whole("rows_per_unit", rows_per_unit, least=1))
            epsilon = epsilon_for(question, self.policy, within, delta=exact_delta, rows=rows)
        return make_plan(
            question,
            self.policy,
            epsilon=None if epsilon is None else _as_written("epsilon", epsilon),
            rho=None if rho is None else _as_written("rho", rho),
            delta=exact_delta,
            weights=weights,
            rows_per_unit=rows_per_unit,
        )

    def estimate(self, sql: str, epsilon: Number | None = None, *, rows: int | None = None, **options: Any) -> Estimate:
        """Cost and error before spending. `rows` is a guess of how many rows a cell has, for means and the like."""
        plan = self.plan(sql, epsilon, rows=rows, **options)
        committed, limit = _rule(self.policy.budget)
        price = committed.price(plan.event)
        errors = plan.errors if rows is None else plan.errors_at(parameters.whole("rows", rows, least=1))
        return Estimate(plan, errors, None if price is None else share_of(price, limit))

    def explain(self, sql: str, epsilon: Number | None = None, **options: Any) -> str:
        """The plan in numbered sentences, and the query that will run."""
        plan = self.plan(sql, epsilon, **options)
        return "\n".join([*plan.sentences, "", plan.query.text(pretty=True)])

    def why(self, sql: str, epsilon: Number | None = None, *, rows: int = 1000, **options: Any) -> str:
        """Why the answer will be as imprecise as it is, and what to change, with how much it would help."""
        parameters.whole("rows", rows, least=1)
        plan = self.plan(sql, epsilon, rows=rows, **options)
        changes: list[tuple[str, dict[str, Any]]] = []
        if plan.rows_per_unit > 1:
            changes.append(("rows_per_unit=1 (one row of each unit is read)", {"rows_per_unit": 1}))
        if plan.epsilon is not None and 2 * plan.epsilon <= self.policy.largest_epsilon:
            changes.append(("twice the epsilon", {"epsilon": 2 * plan.epsilon, "within": None}))
        if plan.delta == 0 and self.policy.budget.delta > 0:
            tenth = self.policy.budget.delta / 10
            changes.append((f"delta={float(tenth):.3g}", {"epsilon": plan.epsilon, "within": None, "delta": tenth}))
        basis = {"epsilon": epsilon, "rows": rows, **options}
        return reasons(plan, rows, [(words, self.plan(sql, **{**basis, **change})) for words, change in changes])

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
        unit = self.policy.unit_of(plan.question.table).unit
        return "one row" if isinstance(unit, RowUnit) else f"all rows of one {getattr(unit, 'column', 'unit')}"


def _with_units(plan: Plan) -> Any:
    """The query, asked also for its units where the rule for unknown keys needs them."""
    query = plan.query
    if query.unit_column is None:
        return query
    return replace(query, measure_columns=(*query.measure_columns, query.unit_column))


def _key(plan: Plan, data: list[str]) -> tuple[str, str]:
    """What stands for the question and everything that shapes its answer, and the question's canonical text.

    `data` says which tables are meant, in which state. Noise is in the key beside the event: equal events may be
    priced alike and yet be shared differently over the measures.
    """
    text = canonical(plan.question)
    noise = [[each.kind, str(each.centre), str(each.step), repr(each.mechanism)] for each in plan.measures]
    shaping = [text, plan.event.to_json(), noise, plan.rows_per_unit, data, parameters.as_text(plan.delta)]
    return hashlib.sha256(json.dumps(shaping).encode()).hexdigest(), text


@lru_cache(maxsize=16)
def _rule(budget: Budget) -> tuple[Filter, Spent]:
    """The filter that a dataset with this budget commits to, and its limit."""
    committed = choose_filter(budget)
    return committed, committed.limit


def _as_written(name: str, value: Number) -> Fraction:
    """A number as a person wrote it (0.1 is a tenth), refused where writing it out would take all memory."""
    if isinstance(value, (str, Decimal)) and (len(str(value)) > 100 or _HUGE.search(str(value))):
        raise parameters.refuse(name, "a number of at most 100 characters and 3 digits of exponent", value)
    return parameters.rational(name, written(value))


def _head_of(path: Path) -> Path:
    """Where the ledger's head is kept: apart from the file, so that an older copy put back is noticed."""
    state = Path(os.environ.get("TACIT_STATE") or Path.home() / ".local" / "state" / "tacit")
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        raise LedgerError(
            f"The folder for ledger heads cannot be made: {state}. Name another one in TACIT_STATE."
        ) from None
    return state / (hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32] + ".head")


def _end(engine: DuckDBEngine, ledger: Ledger, scratch: str | None) -> None:
    engine.close()
    ledger.close()
    _remove(scratch)


def _remove(scratch: str | None) -> None:
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)


def open_policy(path: str | os.PathLike[str], *, analyst: str = "owner") -> Curator:
    """The database of a policy file."""
    return Curator(read_policy(Path(path)), analyst=analyst)


def protect(
    frame: Any,
    *,
    unit: str | Literal["row"],
    columns: Mapping[str, Any],
    budget: Budget,
    rows_per_unit: int = 1,
    table: str = "data",
    analysts: Mapping[str, Budget] | None = None,
    default_epsilon: Number | None = None,
    largest_epsilon: Number | None = None,
    ledger: str | None = None,
) -> Curator:
    """A private database over one pandas, polars or Arrow table in memory.

    `columns` says what is public about each column (`between`, `one_of`, ...); others cannot be asked about.
    """
    kinds = kinds_of_frame(table, frame)
    described = {}
    for name, facts in columns.items():
        kind = kinds.get(name)
        if kind is None:
            raise PolicyError(
                f"Column {name!r} is not in the table. Columns: {', '.join(kinds)}.{did_you_mean(name, kinds)}"
            )
        described[name] = facts.column(name, kind)
    most = budget.epsilon if largest_epsilon is None else Budget(largest_epsilon).epsilon
    policy = Policy(
        name=table,
        tables={
            table: Table(
                table,
                Source("frame", table),
                RowUnit() if unit == "row" else ColumnUnit(unit),
                rows_per_unit,
                described,
            )
        },
        budget=budget,
        analysts=analysts or {},
        default_epsilon=min(Fraction(1, 10), most) if default_epsilon is None else Budget(default_epsilon).epsilon,
        largest_epsilon=most,
        ledger=ledger,
    )
    return Curator(policy, frames={table: frame})


# -- for the owner, before and beside the questions: nothing below reads a row -----------------------------


class Preview(Curator):
    """A curator that only plans: `estimate` and `explain` of a policy, without its data and without its ledger."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy


def describe_sources(paths: Iterable[str], *, name: str, directory: str = ".") -> str:
    """A policy to start from, for these files. It will lie in `directory`, and its paths are relative to that."""
    found, schema = discover(paths)
    moved = {
        table: source if os.path.isabs(source.path) else replace(source, path=os.path.relpath(source.path, directory))
        for table, source in found.items()
    }
    return write_policy(name, moved, schema)


def check_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of this file, if it holds together and speaks of tables and columns that are there."""
    policy = read_policy(Path(path))
    check(policy, describe(policy, {}))
    return policy


def open_ledger(policy: Policy) -> Ledger:
    """The ledger of this policy, which must exist. No data is opened."""
    path = _ledger_of(policy)
    return Ledger.open(path, head=_head_of(path))


def verify_ledger(policy: Policy) -> Report:
    """What a full check of the ledger finds, also where it is too damaged to be opened."""
    path = _ledger_of(policy)
    return verify(path, head=_head_of(path))


def _ledger_of(policy: Policy) -> Path:
    if policy.ledger is None:
        raise PolicyError('The policy keeps its ledger in memory. Name a file for it: ledger = "spent.ledger".')
    return Path(policy.directory) / policy.ledger
