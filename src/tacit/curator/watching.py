"""A question asked over and over of a table that grows in time: paid once, answered after every period.

    watch = clinic.watch("SELECT ward, count(*) AS n FROM visits GROUP BY ward", every="1 day", epsilon=1, delta=1e-6)
    for period in watch.catch_up(now="2026-03-01"): period.totals, period.new

Theorem. The question counts rows by public keys. Each period's rows, those whose time lies in the period, are counted
when the period is over; running totals are released by `mechanisms.continual`, for neighbours that add or remove one
unit. Where every row is a unit, it is counted in one period: `one_event`. Where a unit has several rows, it may be
counted in every period, each time by as much as the question's plan says for one question: `one_user` with all periods.
The copy that is read keeps at most `rows_per_unit` rows of a unit, but which ones may change whenever it is made
again, so that nothing less is promised. A period is counted once, whatever comes later: late rows, rows that are
removed, rows whose time is changed. So all that a unit adds is decided period by period, as the theorem wants.

Promise. Charged before any row is read, once, for all periods. What left for a period is in the watch's journal,
beside the ledger, and is what is sent for it ever after, also by another process, whatever the table has become. A
watch that failed, was killed while it counted, or whose journal is gone, is never gone on with: nobody could tell what
had been drawn, and that it did not end is something sent.
Late rows (those that come after their period was counted) are not counted, and neither are rows without a time. A table
must not move a row from a period that is over to one that is not: it would be counted again.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp

from tacit import parameters
from tacit.curator.held import beside_ledger
from tacit.curator.keys import Price, order_of_study
from tacit.engines.exact import Columns, Keys
from tacit.engines.process import FAILED
from tacit.errors import EngineError, LedgerError, QuestionError
from tacit.ledger import Receipt
from tacit.ledger.journal import Journal
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms.continual import Change, RunningTotals, one_event, one_user
from tacit.plan import KnownKeys, Plan
from tacit.plan.answers.finish import read_key
from tacit.plan.make import affordable
from tacit.policy import RowUnit
from tacit.question import canonical

if TYPE_CHECKING:
    from tacit.curator.curator import Curator

_EVERY: Final = re.compile(r"\s*(\d+)\s*(day|week|hour)s?\s*")
_COUNTS: Final = ("count_rows", "count")
_TIMES: Final = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class Period:
    """What is told when a period is over: for each cell the running total, and what is new in this period."""

    number: int
    start: dt.datetime
    end: dt.datetime
    names: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    totals: tuple[tuple[float, ...], ...]
    new: tuple[tuple[float, ...], ...]
    within_95: float
    """A total is off by no more than this, 95 times of 100."""


class Watch:
    """A question that was paid for, and its periods."""

    def __init__(
        self, curator: Curator, plans: _Plans, totals: RunningTotals, journal: Journal, receipt: Receipt
    ) -> None:
        self._curator, self._plans, self.totals = curator, plans, totals
        self._journal, self.receipt = journal, receipt
        self._failed = False

    @property
    def periods(self) -> int:
        """How many periods were paid for."""
        return self._plans.periods

    @property
    def over(self) -> int:
        """How many of them have been counted."""
        return self._journal.time

    def catch_up(self, now: Any = None) -> list[Period]:
        """Count every period that is over by `now` (the clock, unless said), and give all that have been counted."""
        return list(self.each(now))

    def each(self, now: Any = None) -> Iterator[Period]:
        """As `catch_up`, one period after the other."""
        if self._failed:
            raise EngineError(FAILED)  # also where not even that could be stored
        moment = dt.datetime.now() if now is None else _moment("now", now)  # as the table's times are
        before = [0.0] * self.totals.width
        for number in range(1, self.periods + 1):
            _, end = self._plans.span(number)
            if number > self._journal.time and end > moment:
                return
            sent = self._journal.sent(number) if number <= self._journal.time else self._counted(number)
            yield self._told(number, sent, before)
            before = sent

    def _counted(self, number: int) -> list[float]:
        plan = self._plans.of(number)

        def counts(keys: Keys, columns: Columns) -> list[int]:
            rows = {key: row for row, key in enumerate(keys)}
            return [
                int(columns[measure.name][rows[cell]]) if cell in rows else 0
                for measure in plan.measures
                for cell in self._plans.cells
            ]

        till = self._curator._till  # that of the tables as they were last copied
        till.fresh()
        session = till.go_on(self.receipt)
        self._journal.begin()
        self._failed = True
        exact = session.run(plan.query)
        sent = session.guarded(lambda: self._journal.step(number, exact.open_for(counts)))
        self._failed = False
        return sent

    def _told(self, number: int, sent: list[float], before: list[float]) -> Period:
        cells, many = self._plans.cells, len(self._plans.names)
        new = [now - then for now, then in zip(sent, before, strict=True)]

        def by_cell(values: list[float]) -> tuple[tuple[float, ...], ...]:
            return tuple(
                tuple(values[measure * len(cells) + cell] for measure in range(many)) for cell in range(len(cells))
            )

        start, end = self._plans.span(number)
        reach = self.totals.within(number)
        return Period(number, start, end, self._plans.names, self._plans.shown, by_cell(sent), by_cell(new), reach)

    def close(self) -> None:
        """Let go of the journal."""
        self._journal.close()

    def __repr__(self) -> str:
        return f"Watch({self.over} of {self.periods} periods counted)"


class _Plans:
    """The question of each period."""

    def __init__(self, curator: Curator, sql: str, epsilon: Fraction, time: str | None, span: _Span) -> None:
        self._curator, self._sql, self._epsilon, self._span = curator, sql, epsilon, span
        whole = curator.plan(sql, epsilon)
        self.base = whole
        keys = _counts_by_public_keys(whole)
        self.cells = keys.cells
        self.shown = tuple(
            tuple(read_key(column, part) for column, part in zip(keys.columns, cell, strict=True))
            for cell in keys.cells
        )
        self.names = tuple(each.name for each in whole.outputs if each.name not in {c.name for c in keys.columns})
        table = curator.policy.tables[whole.tables[0]]
        times = [name for name, each in table.columns.items() if each.kind in _TIMES]
        if time is None and len(times) != 1:
            raise parameters.refuse("time", f"one of {', '.join(times) or 'no columns: the table has no times'}", time)
        self.time = times[0] if time is None else str(time)
        if self.time not in times:
            raise parameters.refuse("time", f"a column of dates or timestamps: {', '.join(times) or 'none'}", time)
        column = table.columns[self.time]
        if column.lower is None or column.upper is None:
            raise parameters.refuse("time", "a column with bounds in the policy", self.time)
        self._kind = column.kind
        self.since = span.since or _moment("since", column.lower)
        last = dt.timedelta(days=1) if self._kind == "date" else dt.timedelta(microseconds=1)  # the bound is included
        self.until = span.until or _moment("until", column.upper) + last
        if self.until <= self.since:
            raise parameters.refuse("until", f"after {self.since}", self.until)
        self.periods = -((self.since - self.until) // span.every)
        if self._kind == "date" and (span.every % dt.timedelta(days=1) or self.since.time() != dt.time()):
            raise parameters.refuse("every", "whole days, where the time is a date", span.every)

    def span(self, number: int) -> tuple[dt.datetime, dt.datetime]:
        """When a period begins and ends."""
        start = self.since + (number - 1) * self._span.every
        return start, start + self._span.every

    def of(self, number: int) -> Plan:
        """The plan of one period; the same cells, and no more sensitive than what was paid for."""
        asked = sqlglot.parse_one(self._sql, dialect="duckdb")
        assert isinstance(asked, exp.Select)
        column = exp.column(self.time, quoted=True)
        start, end = (self._literal(each) for each in self.span(number))
        plan = self._curator.plan(asked.where(column >= start, column < end).sql("duckdb"), self._epsilon)
        keys = _counts_by_public_keys(plan)
        same = [(each.kind, each.name) for each in plan.measures] == [
            (each.kind, each.name) for each in self.base.measures
        ]
        if (
            keys.cells != self.cells
            or not same
            or any(
                now.l1 > then.l1 or now.l2 > then.l2 or now.sensitivity.l0 > then.sensitivity.l0
                for now, then in zip(plan.measures, self.base.measures, strict=True)
            )
        ):
            raise QuestionError("The policy has changed since this watch was paid for. Begin another watch.")
        return plan

    def _literal(self, moment: dt.datetime) -> exp.Expression:
        text = moment.date().isoformat() if self._kind == "date" else moment.isoformat(sep=" ")
        return exp.cast(exp.Literal.string(text), self._kind)


@dataclass(frozen=True, slots=True)
class _Span:
    every: dt.timedelta
    since: dt.datetime | None
    until: dt.datetime | None


def watch(
    curator: Curator,
    sql: str,
    epsilon: Any,
    delta: Any,
    every: str,
    since: Any,
    until: Any,
    time: str | None,
    analyst: str | None,
) -> Watch:
    """Pay for a watch, or go on with one that was paid for."""
    exact, slip = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
    affordable(curator.policy, exact, "epsilon", epsilon)
    span = _Span(
        _length(every),
        None if since is None else _moment("since", since),
        None if until is None else _moment("until", until),
    )
    plans = _Plans(curator, sql, exact, time, span)
    alone = isinstance(curator.policy.unit_of(plans.base.tables[0]).unit, RowUnit)
    measures = plans.base.measures
    change = Change(
        sum(each.l1 for each in measures),
        sqrt_up(sum((each.l2**2 for each in measures), Fraction(0))),
        sum(each.sensitivity.l0 for each in measures),
    )
    totals = RunningTotals(
        plans.periods,
        epsilon=exact,
        delta=slip,
        width=len(measures) * len(plans.cells),
        protects=one_event() if alone else one_user(plans.periods),
        change=change,
    )
    asked = {
        "study": "watch",
        "question": canonical(plans.base.question),
        "time": plans.time,
        "every": str(span.every),
        "since": plans.since.isoformat(),
        "until": plans.until.isoformat(),
        "rows_per_unit": plans.base.rows_per_unit,
    }
    # not the state of the table, which is to change: the same watch of the same policy is one watch
    order = order_of_study(asked, Price(totals.event, exact, slip), list(curator._till.stated))
    journal = Journal(beside_ledger(curator._stated, curator._held.scratch, f"watch-{order.key[:24]}"), totals)
    try:
        session = curator._till.open(order, curator._asker(analyst))
        receipt = session.receipt
        if journal.cut_off:
            raise session.failed()
        if receipt.repeated and journal.is_new:
            raise LedgerError(
                f"This watch was paid for at entry {receipt.sequence}, and its journal {journal.path.name!r} was gone: "
                "nobody can tell what was drawn. Put the journal back, or begin another watch, at another price."
            )
    except BaseException:
        journal.close(forget=journal.is_new)
        raise
    return Watch(curator, plans, totals, journal, receipt)


def _counts_by_public_keys(plan: Plan) -> KnownKeys:
    plain = (
        isinstance(plan.keys, KnownKeys)
        and plan.keys.levels is None
        and len(plan.tables) == 1
        and not (plan.picks or plan.inner or plan.bundles)
        and plan.having is None
        and plan.qualify is None
        and plan.summary is None
        and plan.measures
        and all(each.kind in _COUNTS and each.step == 1 and each.levels is None for each in plan.measures)
        and len(plan.outputs) == len(plan.keys.columns) + len(plan.measures)
    )
    if not plain:
        raise QuestionError(
            "A watch counts rows of one table by keys whose values the policy lists, e.g. SELECT ward, count(*) FROM "
            "visits GROUP BY ward. For other questions use ask."
        )
    assert isinstance(plan.keys, KnownKeys)
    return plan.keys


def _length(every: str) -> dt.timedelta:
    found = _EVERY.fullmatch(str(every))
    if found is None or int(found[1]) == 0:
        raise parameters.refuse("every", 'a length such as "1 day", "2 weeks" or "6 hours"', every)
    return dt.timedelta(**{f"{found[2]}s": int(found[1])})


def _moment(name: str, value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    try:
        return dt.datetime.fromisoformat(str(value)).replace(tzinfo=None)
    except ValueError:
        raise parameters.refuse(name, "a date or a time, e.g. 2026-01-31", value) from None
