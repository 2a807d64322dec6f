"""Asking step by step in Python: `clinic.table("visits").where("age > 30").group_by("sex").count().ask(epsilon=0.5)`.

Promise: every step gives a new value and changes none. All that the steps make is a text (`sql`), from quoted names
and from expressions that stay inside their brackets; it is asked like any other text. There is no second path into a
plan, so everything that holds for SQL holds here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from tacit import parameters
from tacit.errors import QuestionError
from tacit.question.pieces import expression, is_word, name

if TYPE_CHECKING:
    from tacit.answer import Answer, Estimate
    from tacit.curator.planner import Planner
    from tacit.parameters import Number
    from tacit.plan import Plan


_HABITS: Final = {
    "mean": ".avg('age')",
    "average": ".avg('age')",
    "std": ".stddev('age')",
    "var": ".variance('age')",
    "groupby": ".group_by('sex')",
    "filter": ".where('age > 30')",
    "query": ".where('age > 30')",
    "agg": ".aggregate(mean_age='avg(age)')",
    "nunique": ".count_distinct('sex')",
    "value_counts": ".group_by('sex').count()",
    "sort_values": ".order_by('age')",
    "head": ".limit(5)",
    "size": ".count()",
    "median": ".aggregate(middle='median(age)')",
    "min": ".aggregate(least='min(age)')",
    "max": ".aggregate(most='max(age)')",
    "quantile": ".aggregate(upper='quantile(age, 0.75)')",
    "describe": "tacit.statistics",
    "collect": ".ask(epsilon=0.1)",
}
"""Habits of other libraries, and what to write here."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A question about one table in the making, with a planner that can plan it."""

    planner: Planner
    source: str
    conditions: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    cell_conditions: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    most: int | None = None

    # -- the steps -------------------------------------------------------------------------------------

    def where(self, *conditions: str) -> Self:
        """Only rows on which all these conditions hold: `.where("age > 30", "sex = 'F'")`."""
        return replace(self, conditions=(*self.conditions, *map(expression, conditions)))

    def group_by(self, *keys: str, **named: str) -> Self:
        """One row of the answer for each value: `.group_by("sex", decade="floor(age / 10) * 10")`."""
        shown = [expression(key) if is_word(key) else _shown(key, key.strip()) for key in map(_text, keys)]
        return replace(self, keys=(*self.keys, *shown, *(_shown(key, called) for called, key in named.items())))

    def count(self, of: str | None = None, *, name: str | None = None) -> Self:
        """How many rows, or how many with a value of this."""
        if of is None:
            return replace(self, outputs=(*self.outputs, _called("count(*)", name or "count")))
        return self._with("count", of, name)

    def count_distinct(self, of: str, *, name: str | None = None) -> Self:
        """How many different values, or units where it is the unit's column."""
        return self._with("count", of, name, distinct=True)

    def sum(self, of: str, *, name: str | None = None) -> Self:
        """The sum."""
        return self._with("sum", of, name)

    def avg(self, of: str, *, name: str | None = None) -> Self:
        """The mean."""
        return self._with("avg", of, name)

    def variance(self, of: str, *, name: str | None = None) -> Self:
        """The sample variance."""
        return self._with("var_samp", of, name)

    def stddev(self, of: str, *, name: str | None = None) -> Self:
        """The sample standard deviation."""
        return self._with("stddev_samp", of, name)

    def aggregate(self, **named: str) -> Self:
        """Anything that SELECT may show: `.aggregate(share="sum(charge) / count(*)")`."""
        return replace(self, outputs=(*self.outputs, *(_shown(text, called) for called, text in named.items())))

    def having(self, *conditions: str) -> Self:
        """Only rows of the answer on which all these conditions hold; they may name its columns."""
        return replace(self, cell_conditions=(*self.cell_conditions, *map(expression, conditions)))

    def order_by(self, *orders: str, descending: bool = False) -> Self:
        """Sort the answer."""
        way = " DESC" if descending else ""
        return replace(self, orders=(*self.orders, *(f"({expression(each)}){way}" for each in orders)))

    def limit(self, rows: int) -> Self:
        """Show the first rows of the answer only."""
        return replace(self, most=parameters.whole("rows", rows))

    def _with(self, function: str, of: str, called: str | None, *, distinct: bool = False) -> Self:
        inside = f"{'DISTINCT ' if distinct else ''}{expression(of)}"
        if called is None:
            kind = "count_distinct" if distinct else function.removesuffix("_samp").replace("var", "variance")
            called = f"{kind}_{of.strip()}" if is_word(of) else f"{kind}({of.strip()})"
        return replace(self, outputs=(*self.outputs, _called(f"{function}({inside})", called)))

    def __getattr__(self, habit: str) -> Any:
        # only reached for missing names
        written = _HABITS.get(habit)
        hint = f" Write {written}." if written else " Steps: where, group_by, count, sum, avg, aggregate, ask, ..."
        raise AttributeError(f"A question has no step {habit!r}.{hint}")

    # -- what they make --------------------------------------------------------------------------------

    @property
    def sql(self) -> str:
        """The question as text."""
        if not self.keys and not self.outputs:
            raise QuestionError("Nothing is asked yet. Add .count(), .sum(...), .avg(...) or .group_by(...).")
        parts = [f"SELECT {', '.join((*self.keys, *self.outputs))}", f"FROM {name(self.source)}"]
        if self.conditions:
            parts.append(f"WHERE {_all_of(self.conditions)}")
        if self.keys:
            parts.append(f"GROUP BY {', '.join(str(place + 1) for place in range(len(self.keys)))}")
        if self.cell_conditions:
            parts.append(f"HAVING {_all_of(self.cell_conditions)}")
        if self.orders:
            parts.append(f"ORDER BY {', '.join(self.orders)}")
        if self.most is not None:
            parts.append(f"LIMIT {self.most}")
        return " ".join(parts)

    def plan(self, epsilon: Number | None = None, **options: Any) -> Plan:
        """How it would be answered; the options of `Planner.plan`."""
        return self.planner.plan(self.sql, epsilon, **options)

    def estimate(self, epsilon: Number | None = None, **options: Any) -> Estimate:
        """Cost and error before spending; free."""
        return self.planner.estimate(self.sql, epsilon, **options)

    def explain(self, epsilon: Number | None = None, **options: Any) -> str:
        """The plan in sentences; free."""
        return self.planner.explain(self.sql, epsilon, **options)


@dataclass(frozen=True, slots=True)
class AskedSteps(Steps):
    """The same, with a curator that can also answer it."""

    planner: Any  # a curator, here or behind a server

    def ask(self, epsilon: Number | None = None, **options: Any) -> Answer:
        """The answer, paid for; the options of `Curator.ask`."""
        answer: Answer = self.planner.ask(self.sql, epsilon, **options)
        return answer


def _text(given: str) -> str:
    expression(given)  # refuses anything but text
    return given


def _shown(text: str, called: str) -> str:
    return _called(f"({expression(text)})", called)


def _called(text: str, called: str) -> str:
    return f"{text} AS {name(called)}"


def _all_of(conditions: tuple[str, ...]) -> str:
    return " AND ".join(f"({condition})" for condition in conditions)
