"""A question asked over and over of a table that grows in time: paid once, answered after every period.

    watch = clinic.watch("SELECT ward, count(*) AS n FROM visits GROUP BY ward", every="1 day", epsilon=1, delta=1e-6)
    for period in watch.catch_up(now="2026-03-01"): period.totals, period.new

Theorem. The question tells counts, sums or means by public keys (`watched`). Each period's rows, those whose time lies
in the period, are counted when the period is over, or `wait` later; running totals are released by
`mechanisms.continual`, for neighbours that add or remove one unit. Where every row is a unit, it is counted in one
period: `one_event`. Where a unit has several rows, it may be counted in every period, each time by as much as the
question's plan says for one question: `one_user` with all periods.
The copy that is read keeps at most `rows_per_unit` rows of a unit, but which ones may change whenever it is made
again, so that nothing less is promised. A period is counted once, whatever comes later: late rows, rows that are
removed, rows whose time is changed. So all that a unit adds is decided period by period, as the theorem wants.

Promise. Charged before any row is read, once, for all periods. What left for a period is in the watch's journal,
beside the ledger (of one in a database: beside its head, on the host that paid), and is what is sent for it ever after,
also by another process, whatever the table has become. The journal names the charge that it was made for. A watch that
failed, was killed while it counted, or whose journal is gone, or is of no charge, is never gone on with, here or on
another host: nobody could tell what had been drawn, and that it did not end is something sent.
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
from tacit.curator.watched import Reach, reach_of, watched
from tacit.engines.exact import Columns, Keys
from tacit.engines.process import FAILED
from tacit.errors import EngineError, LedgerError, QuestionError
from tacit.ledger import Receipt
from tacit.ledger.journal import Journal
from tacit.mechanisms.continual import RunningTotals, one_event, one_user
from tacit.plan import Plan
from tacit.plan.make import affordable
from tacit.policy import RowUnit
from tacit.question import canonical

if TYPE_CHECKING:
    from tacit.curator.curator import Curator

_EVERY: Final = re.compile(r"\s*(\d+)\s*(day|week|hour)s?\s*")
_TIMES: Final = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class Period:
    """What is told when a period is over: for each cell the running total, and what is new in this period."""

    number: int
    start: dt.datetime
    end: dt.datetime
    names: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    totals: tuple[tuple[float | None, ...], ...]
    """None for a mean of so few rows that there may be none."""
    new: tuple[tuple[float | None, ...], ...]
    within_95: tuple[tuple[float | None, ...], ...]
    """A total is off by no more than this, each of them 95 times of 100."""


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
            if number > self._journal.time and end + self._plans.wait > moment:
                return
            sent = self._journal.sent(number) if number <= self._journal.time else self._counted(number)
            yield self._told(number, sent, before)
            before = sent

    def _counted(self, number: int) -> list[float]:
        plan = self._plans.of(number)

        def counts(keys: Keys, columns: Columns) -> list[int]:
            return self._plans.watched.counted(plan, keys, columns)

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
        own = self._plans.watched
        totals, off = own.told(sent, reach_of(self.totals, number))
        new, _ = own.told([now - then for now, then in zip(sent, before, strict=True)], self._far(number))
        start, end = self._plans.span(number)
        return Period(number, start, end, self._plans.names, own.shown, totals, new, off)

    def _far(self, number: int) -> Reach:
        """How far a difference of two totals is off: both may be."""
        now, then = reach_of(self.totals, number), reach_of(self.totals, max(number - 1, 1))
        return lambda weights, level: now(weights, (1 + level) / 2) + then(weights, (1 + level) / 2)

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
        if sqlglot.parse_one(sql, dialect="duckdb").find(exp.Distinct) is not None:
            raise QuestionError(
                "A watch adds up its periods: what is in two of them would count twice. Leave out DISTINCT."
            )
        self.base, self.watched = whole, watched(whole)
        self.names = tuple(each.name for each in self.watched.outputs)
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

    @property
    def wait(self) -> dt.timedelta:
        """How long after its end a period is counted."""
        return self._span.wait

    def of(self, number: int) -> Plan:
        """The plan of one period; the same cells, and no more sensitive than what was paid for."""
        asked = sqlglot.parse_one(self._sql, dialect="duckdb")
        assert isinstance(asked, exp.Select)
        column = exp.column(self.time, quoted=True)
        start, end = (self._literal(each) for each in self.span(number))
        plan = self._curator.plan(asked.where(column >= start, column < end).sql("duckdb"), self._epsilon)
        if not self.watched.same(plan):
            raise QuestionError("The policy has changed since this watch was paid for. Begin another watch.")
        return plan

    def _literal(self, moment: dt.datetime) -> exp.Expression:
        text = moment.date().isoformat() if self._kind == "date" else moment.isoformat(sep=" ")
        return exp.cast(exp.Literal.string(text), self._kind)


@dataclass(frozen=True, slots=True)
class _Span:
    every: dt.timedelta
    wait: dt.timedelta
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
    wait: str | None,
    analyst: str | None,
) -> Watch:
    """Pay for a watch, or go on with one that was paid for."""
    exact, slip = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
    affordable(curator.policy, exact, "epsilon", epsilon)
    span = _Span(
        _length("every", every),
        dt.timedelta(0) if wait is None else _length("wait", wait),
        None if since is None else _moment("since", since),
        None if until is None else _moment("until", until),
    )
    plans = _Plans(curator, sql, exact, time, span)
    alone = isinstance(curator.policy.unit_of(plans.base.tables[0]).unit, RowUnit)
    for number in (1, plans.periods):
        plans.of(number)  # a question whose periods are not planned alike is refused before the charge
    totals = RunningTotals(
        plans.periods,
        epsilon=exact,
        delta=slip,
        width=plans.watched.width,
        protects=one_event() if alone else one_user(plans.periods),
        change=plans.watched.change,
        largest=None,
    )
    asked = {
        "study": "watch",
        "question": canonical(plans.base.question),
        "time": plans.time,
        "every": str(span.every),
        "wait": str(span.wait),
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
        charge = f"{receipt.sequence} {order.key}"
        if receipt.repeated and journal.charge != charge:
            raise LedgerError(
                f"This watch was paid for at entry {receipt.sequence}. Its journal {journal.path.name!r} is gone, or "
                "lies on another host: nobody can tell what was drawn. Go on there, put the journal back, or begin "
                "another watch, at another price."
            )
        if not receipt.repeated:
            journal.bind(charge)
    except BaseException:
        journal.close(forget=journal.is_new)
        raise
    return Watch(curator, plans, totals, journal, receipt)


def _length(name: str, said: str) -> dt.timedelta:
    found = _EVERY.fullmatch(str(said))
    if found is None or int(found[1]) == 0:
        raise parameters.refuse(name, 'a length such as "1 day", "2 weeks" or "6 hours"', said)
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
