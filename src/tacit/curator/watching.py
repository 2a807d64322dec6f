"""A question that is asked repeatedly of a table that grows in time: paid once, answered after every period.

    watch = clinic.watch("SELECT ward, count(*) AS n FROM visits GROUP BY ward", every="1 day", epsilon=1, delta=1e-6)
    for period in watch.catch_up(now="2026-03-01"): period.totals, period.new

Theorem. The question is about counts, sums or means by public keys (`watched`). Each period's rows, those whose time
lies in the period, are counted when the period is over, or `wait` later; running totals are released by
`mechanisms.continual`, for neighbours that add or remove one unit. Where every row is a unit, it is counted in one
period: `one_event`. Where a unit has several rows, it may be counted in every period, each time by as much as the
question's plan says for one question: `one_user` with all periods.
The copy keeps at most `rows_per_unit` rows of a unit, but it may keep other ones whenever it is made again, so no
smaller bound is promised. A period is counted once, whatever comes later: late rows, rows that are removed, rows whose
time is changed. So everything that a unit adds is decided period by period, as the theorem requires.

Promise. Charged before any row is read, once, for all periods. The totals that left for a period are kept in the
watch's journal, next to the ledger (for a ledger in a database: next to its head, on the host that paid). The same
totals are sent for that period from then on, even by another process, however the table has changed. The journal names
the charge that it was made for. A watch that failed, was killed while it counted, or whose journal is gone or belongs
to no charge, is never continued, here or on another host: it would not be known what had been drawn, and the failure
itself may say something about the rows. Late rows (those that come after their period was counted) are not counted, and
neither are rows without a time. A table must not move a row from a period that is over to one that is not: it would be
counted again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit import parameters
from tacit.curator.held import beside_ledger
from tacit.curator.keys import Price, purchase_of_study
from tacit.curator.periods import Periods, Span, instant, length
from tacit.curator.watched import Reach, reach_of
from tacit.engines.exact import Columns, Keys
from tacit.engines.process import FAILED
from tacit.errors import EngineError, LedgerError
from tacit.ledger import Receipt
from tacit.ledger.journal import Journal
from tacit.mechanisms.continual import RunningTotals, one_event, one_user
from tacit.plan.make import affordable
from tacit.policy import RowUnit
from tacit.question import canonical

if TYPE_CHECKING:
    from tacit.curator.curator import Curator


@dataclass(frozen=True, slots=True)
class Period:
    """What is released when a period is over: for each cell the running total, and what is new in this period."""

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
        self, curator: Curator, plans: Periods, totals: RunningTotals, journal: Journal, receipt: Receipt
    ) -> None:
        self._curator, self._plans, self.totals = curator, plans, totals
        self._journal, self.receipt = journal, receipt
        self._failed = False
        self._told_already: list[Period] = []  # released totals of a period never change

    @property
    def periods(self) -> int:
        """How many periods were paid for."""
        return self._plans.periods

    @property
    def counted(self) -> int:
        """How many of them have been counted."""
        return self._journal.time

    def catch_up(self, now: Any = None) -> list[Period]:
        """Count every period that is over by `now` (by default the present), and return all that have been counted."""
        return list(self.each(now))

    def each(self, now: Any = None) -> Iterator[Period]:
        """Like `catch_up`, one period after the other."""
        if self._failed:
            raise EngineError(FAILED)  # also where not even that could be stored
        now_is = dt.datetime.now() if now is None else instant("now", now)  # as the table's times are
        over = self._plans.over_by(now_is)
        before: list[float] | None = None
        for number in range(1, max(over, self._journal.time) + 1):
            if number <= len(self._told_already):
                yield self._told_already[number - 1]
                continue
            if number > self._journal.time:
                self._count(number, min(over, number + self._plans.at_once - 1))
            sent = self._journal.sent(number)
            if before is None:
                before = [0.0] * self.totals.width if number == 1 else self._journal.sent(number - 1)
            told = self._told(number, sent, before)
            if number == len(self._told_already) + 1:  # two threads that count the same periods give the same totals
                self._told_already.append(told)
            yield told
            before = sent

    def _count(self, first: int, last: int) -> None:
        """Count these periods, and keep what leaves for them: one flush for all."""
        stretch, own = self._plans.stretch(first, last), self._plans.watched

        def counted(keys: Keys, columns: Columns) -> list[list[int]]:
            return stretch.counted(own, keys, columns)

        till = self._curator._till  # the till of the tables as they were last copied
        till.fresh()
        session = till.go_on(self.receipt)
        self._journal.begin()
        self._failed = True
        exact = [session.run(query) for query in stretch.queries]
        session.guarded(
            lambda: self._journal.extend(first, [row for found in exact for row in found.open_for(counted)])
        )
        self._failed = False

    def _told(self, number: int, sent: list[float], before: list[float]) -> Period:
        own = self._plans.watched
        totals, off = own.told(sent, reach_of(self.totals, number))
        new, _ = own.told([now - then for now, then in zip(sent, before, strict=True)], self._far(number))
        start, end = self._plans.span(number)
        return Period(number, start, end, self._plans.names, own.shown, totals, new, off)

    def _far(self, number: int) -> Reach:
        """How far a difference of two totals is off, as both may be off."""
        now, then = reach_of(self.totals, number), reach_of(self.totals, max(number - 1, 1))
        return Reach(lambda level: now.one((1 + level) / 2) + then.one((1 + level) / 2), now.in_squares)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def __repr__(self) -> str:
        return f"Watch({self.counted} of {self.periods} periods counted)"


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
    """Pay for a watch, or continue one that was paid for."""
    exact, slip = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
    affordable(curator.policy, exact, "epsilon", epsilon)
    span = Span(
        length("every", every),
        dt.timedelta(0) if wait is None else length("wait", wait),
        None if since is None else instant("since", since),
        None if until is None else instant("until", until),
    )
    plans = Periods(curator, sql, exact, time, span)
    alone = isinstance(curator.policy.unit_of(plans.base.tables[0]).unit, RowUnit)
    for number in (1, plans.periods):
        plans.stretch(number, number)  # a question whose periods are planned differently is refused before the charge
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
    purchase = purchase_of_study(asked, Price(totals.event, exact, slip), list(curator._till.stated))
    journal = Journal(beside_ledger(curator._stated, curator._held.scratch, f"watch-{purchase.key[:24]}"), totals)
    try:
        session = curator._till.open(purchase, curator._asker(analyst))
        receipt = session.receipt
        if journal.cut_off:
            raise session.failed()
        charge = f"{receipt.sequence} {purchase.key}"
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
