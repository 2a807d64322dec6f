"""The periods of a watch: their times, and the query that counts them.

Theorem. The question is planned once, for all times from the first period's start to the last one's end. Its query is
one SELECT over one table, whose condition ends with `time >= a AND time < b`; a and b are whole numbers, as the copy
keeps times. Periods i, ..., j are counted by the same query with the ends of that stretch, and one more key, (time - a)
divided by the length of a period, rounded down: each row of the stretch is in exactly one period, and each period has
exactly the rows that the query would find between its own ends. So the numbers are those of j - i + 1 questions, each
no more sensitive than the one that was planned: a unit adds to a period what some of its rows add.

Where the query has another form (rows of a unit are picked inside it), every period has a query of its own, with
its own ends, and its own plan.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from tacit import parameters
from tacit.curator.watched import Watched, watched
from tacit.engines.exact import Columns, Keys
from tacit.errors import QuestionError
from tacit.plan import Plan
from tacit.plan.asked import Asked
from tacit.plan.make import plan_asked
from tacit.plan.plan import Query
from tacit.policy.dates import EPOCH
from tacit.question import read_with_select, tree
from tacit.question.stack import room

if TYPE_CHECKING:
    from tacit.curator.curator import Curator

_EVERY: Final = re.compile(r"\s*(\d+)\s*(day|week|hour)s?\s*")
_TIMES: Final = ("date", "timestamp")
_PERIOD: Final = "period"
_CELLS_AT_ONCE: Final = 1 << 16
_TICK: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    every: dt.timedelta
    wait: dt.timedelta
    since: dt.datetime | None
    until: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Periods that are counted now: by one query with the period as its last key, or by one query each."""

    periods: int
    queries: tuple[Query, ...]
    together: bool

    def counted(self, own: Watched, keys: Keys, columns: Columns) -> list[list[int]]:
        """The exact numbers of the periods of one query: for the journal's noise alone."""
        if not self.together:
            return [own.counted(keys, columns)]
        rows: list[dict[Any, int]] = [{} for _ in range(self.periods)]
        for row, key in enumerate(keys):
            rows[int(key[-1] or 0)][key[:-1]] = row
        return [own.numbers(each, columns) for each in rows]


class Periods:
    """The question of each period."""

    def __init__(self, curator: Curator, sql: str, epsilon: Fraction, time: str | None, span: Span) -> None:
        self._curator, self._epsilon, self._span = curator, epsilon, span
        question, select = read_with_select(sql)
        whole = self._planned(question)
        self._question = replace(question, privacy=None)  # what the text says of its price is in `whole`
        if select.find(exp.Distinct) is not None:
            raise QuestionError(
                "A watch adds up its periods: what is in two of them would count twice. Leave out DISTINCT."
            )
        self.base, self.watched = whole, watched(whole)
        self.names = tuple(each.name for each in self.watched.outputs)
        table = curator.policy.tables[whole.tables[0]]
        times = [name for name, each in table.columns.items() if each.kind in _TIMES]
        if not times:
            hint = f"Table {whole.tables[0]!r} has none in the policy, and a watch counts rows by their time."
            raise QuestionError(f"A watch needs a column of dates or timestamps. {hint} Use ask, or add the column.")
        if time is None and len(times) != 1:
            raise parameters.refuse("time", f"one of {', '.join(times)}", time)
        self.time = times[0] if time is None else str(time)
        if self.time not in times:
            raise parameters.refuse("time", f"a column of dates or timestamps: {', '.join(times)}", time)
        column = table.columns[self.time]
        if column.lower is None or column.upper is None:
            raise parameters.refuse("time", "a column with bounds in the policy", self.time)
        self._kind = column.kind
        self._bounds = instant("time", column.lower), instant("time", column.upper)
        self.since = span.since or instant("since", column.lower)
        last = dt.timedelta(days=1) if self._kind == "date" else dt.timedelta(microseconds=1)  # the bound is included
        self.until = span.until or instant("until", column.upper) + last
        if self.until <= self.since:
            raise parameters.refuse("until", f"after {self.since}", self.until)
        self.periods = -((self.since - self.until) // span.every)
        if self._kind == "date" and (span.every % dt.timedelta(days=1) or self.since.time() != dt.time()):
            raise parameters.refuse("every", "whole days, where the time is a date", span.every)

        self._template = self._found(self._between(self.since, self.until))

    def span(self, number: int) -> tuple[dt.datetime, dt.datetime]:
        """When a period begins and ends."""
        start = self.since + (number - 1) * self._span.every
        return start, min(start + self._span.every, self.until)

    def over_by(self, now: dt.datetime) -> int:
        """How many periods can be counted by then: those that ended `wait` before."""
        whole = (now - self._span.wait - self.since) // self._span.every
        if now >= self.until + self._span.wait:
            whole = self.periods
        return min(max(whole, 0), self.periods)

    @property
    def at_once(self) -> int:
        """How many periods are counted by one query at most."""
        return max(1, _CELLS_AT_ONCE // len(self.watched.keys.cells))

    def stretch(self, first: int, last: int) -> Stretch:
        """The query, or queries, that count these periods."""
        together = self._together(first, last)
        if together is not None:
            return Stretch(last - first + 1, (together,), True)
        own = tuple(self._between(*self.span(number)).query for number in range(first, last + 1))
        return Stretch(len(own), own, False)

    def _together(self, first: int, last: int) -> Query | None:
        if self._template is None:
            return None
        ast = self._template.ast.copy()
        found = _condition(ast, self.time)
        assert found is not None
        at_least, below = found
        start, end = self._number(self.span(first)[0]), self._number(self.span(last)[1])
        at_least.set("expression", exp.Literal.number(start))
        below.set("expression", exp.Literal.number(end))
        long = self._span.every // dt.timedelta(days=1) if self._kind == "date" else self._span.every // _TICK
        since = exp.paren(exp.Sub(this=at_least.this.copy(), expression=exp.Literal.number(start)))
        number = exp.cast(exp.IntDiv(this=since, expression=exp.Literal.number(long)), "bigint")
        keys = len(self._template.key_columns)
        ast.set("expressions", [*ast.expressions[:keys], exp.alias_(number, _PERIOD), *ast.expressions[keys:]])
        ast.set("group", exp.Group(expressions=[exp.Literal.number(place + 1) for place in range(keys + 1)]))
        return replace(self._template, ast=ast, key_columns=(*self._template.key_columns, _PERIOD))

    def _found(self, plan: Plan) -> Query | None:
        """The query from which those of all periods are made; None where it has another form."""
        ast, keys = plan.query.ast, len(plan.query.key_columns)
        group = ast.args.get("group")
        plain = (
            plan.query.unit_column is None
            and len(list(ast.find_all(exp.Select, exp.Table, exp.Join, exp.Window))) == 2  # itself, and its table
            and not any(ast.args.get(name) for name in ("having", "qualify", "order", "limit", "distinct", "with_"))
            and len(group.expressions if group else []) == keys
        )
        found = _condition(ast, self.time) if plain else None
        if found is None:
            return None
        lower, upper = self._bounds
        for literal, end in zip(found, (self.since, self.until), strict=True):
            # beyond the bounds, where there are no rows, a plan may use a nearer number
            if lower <= end <= upper and int(literal.expression.this) != self._number(end):
                return None
        return plan.query

    def _number(self, moment: dt.datetime) -> int:
        """A moment as the copy keeps it: days or millionths of a second since 1970."""
        return (moment - EPOCH) // (dt.timedelta(days=1) if self._kind == "date" else _TICK)

    def _between(self, start: dt.datetime, end: dt.datetime) -> Plan:
        """The plan of one stretch of time; the same cells, and no more sensitive than what was paid for."""
        column, before = tree.Name(None, self.time), self._question.where
        ends = tree.Compare(">=", column, self._literal(start)), tree.Compare("<", column, self._literal(end))
        both = tree.And(ends if before is None else (before, *ends))
        plan = self._planned(replace(self._question, where=both))
        if not self.watched.same(plan):
            raise QuestionError("The policy has changed since this watch was paid for. Begin another watch.")
        return plan

    def _planned(self, question: tree.Question) -> Plan:
        with room():
            return plan_asked(question, self._curator.policy, Asked(self._epsilon))

    def _literal(self, moment: dt.datetime) -> tree.Literal:
        return tree.Literal(moment.date() if self._kind == "date" else moment)


def _condition(ast: exp.Select, time: str) -> tuple[exp.GTE, exp.LT] | None:
    """The last two conditions, if they are `time >= number` and `time < number`."""
    where = ast.args.get("where")
    both = where.this if where else None
    if not isinstance(both, exp.And):
        return None
    below, before = both.expression, both.this
    at_least = before.expression if isinstance(before, exp.And) else before
    if not isinstance(below, exp.LT) or not isinstance(at_least, exp.GTE) or below.this != at_least.this:
        return None
    named = isinstance(below.this, exp.Column) and below.this.name == time
    numbers = all(isinstance(each.expression, exp.Literal) and each.expression.is_int for each in (below, at_least))
    return (at_least, below) if named and numbers else None


def length(name: str, said: str) -> dt.timedelta:
    """The length of "1 day"."""
    found = _EVERY.fullmatch(str(said))
    if found is None or int(found[1]) == 0:
        raise parameters.refuse(name, 'a length such as "1 day", "2 weeks" or "6 hours"', said)
    return dt.timedelta(**{f"{found[2]}s": int(found[1])})


def instant(name: str, value: Any) -> dt.datetime:
    """A date or a time, as one moment without a zone."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    try:
        return dt.datetime.fromisoformat(str(value)).replace(tzinfo=None)
    except ValueError:
        raise parameters.refuse(name, "a date or a time, e.g. 2026-01-31", value) from None
