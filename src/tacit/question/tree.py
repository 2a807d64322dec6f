"""The tree of a question: the few kinds of things that can be asked.

Promise: every node is a frozen value, equal to any other node that says the same. What SQL has many words for is one
thing here (BETWEEN is two comparisons, COALESCE is a CASE), so that code that reads the tree has few cases to handle.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias

from tacit.question.kinds import AggregateKind, ArithmeticSign, CastKind, CompareSign, TotalFunction, WindowFunction
from tacit.question.nodes import Branch, Order, Scalar, children, rewrite, walk

__all__ = [  # what is not defined here
    "AggregateKind",
    "ArithmeticSign",
    "Branch",
    "CastKind",
    "CompareSign",
    "Order",
    "Scalar",
    "TotalFunction",
    "WindowFunction",
    "children",
    "rewrite",
    "walk",
]

Constant: TypeAlias = int | Fraction | str | bool | datetime.date | datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Name(Scalar):
    """A column, of the table with this name or alias."""

    table: str | None
    column: str


@dataclass(frozen=True, slots=True)
class Literal(Scalar):
    """A constant; None is NULL."""

    value: Constant


@dataclass(frozen=True, slots=True)
class Negate(Scalar):
    """-x."""

    operand: Scalar


@dataclass(frozen=True, slots=True)
class Arithmetic(Scalar):
    """left op right; "//" is the quotient without its fraction."""

    op: ArithmeticSign
    left: Scalar
    right: Scalar


@dataclass(frozen=True, slots=True)
class Compare(Scalar):
    """left op right, NULL where either is."""

    op: CompareSign
    left: Scalar
    right: Scalar


@dataclass(frozen=True, slots=True)
class And(Scalar):
    """All of them, by SQL's three-valued logic."""

    parts: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Or(Scalar):
    """Any of them, by SQL's three-valued logic."""

    parts: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Not(Scalar):
    """The negation; NULL stays NULL."""

    operand: Scalar


@dataclass(frozen=True, slots=True)
class In(Scalar):
    """Whether x is one of some constants."""

    operand: Scalar
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Like(Scalar):
    """Whether a text has the form of a pattern (% any text, _ one character)."""

    operand: Scalar
    pattern: str
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class IsNull(Scalar):
    """Whether the value is missing."""

    operand: Scalar


@dataclass(frozen=True, slots=True)
class Case(Scalar):
    """The value of the first branch whose condition holds."""

    branches: tuple[Branch, ...]
    otherwise: Scalar


@dataclass(frozen=True, slots=True)
class Call(Scalar):
    """A function from `functions.FUNCTIONS`."""

    function: str
    arguments: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Cast(Scalar):
    """x read as another kind; NULL where that is not possible."""

    operand: Scalar
    kind: CastKind


@dataclass(frozen=True, slots=True)
class Aggregate(Scalar):
    """One number from all rows of a cell. `count_units` names the unit's column as its argument.

    `second` is the second column of aggregates of two, such as corr(y, x), the share of a quantile, the ends of the
    bins of a histogram, and the condition of count(DISTINCT ...) FILTER (WHERE ...).
    """

    kind: AggregateKind
    argument: Scalar | None
    second: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Several(Scalar):
    """A list of values, which is one column of the answer: several quantiles of one column."""

    items: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class LeftOut(Scalar):
    """1 on rows of the answer whose set of keys leaves out this one (GROUPING), 0 on others."""

    key: Scalar


@dataclass(frozen=True, slots=True)
class Frame:
    """ROWS BETWEEN start AND end, counted from the current row; None is without end."""

    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Over(Scalar):
    """A window function over the rows of the answer."""

    function: WindowFunction
    argument: Scalar | None
    offset: int
    partition: tuple[Scalar, ...]
    order: tuple[Order, ...]
    frame: Frame | None


@dataclass(frozen=True, slots=True)
class Total(Scalar):
    """An aggregate over the rows of an answer; without an argument the number of them."""

    function: TotalFunction
    argument: Scalar | None


@dataclass(frozen=True, slots=True)
class KeyValue(Scalar):
    """The value of the question's key with this place; only in outputs whose names are resolved."""

    place: int


@dataclass(frozen=True, slots=True)
class UnitOf(Scalar):
    """The unit of a row of this source; only in conditions whose names are resolved."""

    table: str


@dataclass(frozen=True, slots=True)
class Key:
    """Something to group by.

    `written` is a name that stood in GROUP BY and is also an output's: where a source has a column of that name, it
    means that column, otherwise the output, which is the `expression` (`plan.sources.name_keys` decides).
    """

    name: str
    expression: Scalar
    written: Name | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: an expression over aggregates and keys."""

    name: str
    expression: Scalar


@dataclass(frozen=True, slots=True)
class Every:
    """SELECT * in a SELECT inside: every column, or every column of one table, but these."""

    table: str | None
    but: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """The root of everything that rows are read from."""


@dataclass(frozen=True, slots=True)
class Named(Source):
    """A table of the policy, and how many rows of a unit to read of it (None: as many as there may be)."""

    table: str
    alias: str
    rows_per_unit: int | None = None


@dataclass(frozen=True, slots=True)
class Derived(Source):
    """A SELECT that stands in FROM."""

    rows: Rows | Union
    alias: str


@dataclass(frozen=True, slots=True)
class Join:
    """A joined source; without ON, WHERE holds the join condition."""

    source: Source
    on: Scalar | None
    kind: OneOf["inner", "left", "right", "full"]
    using: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """A SELECT inside another: rows to go on with, not an answer. With keys, one row for each group."""

    source: Source
    joins: tuple[Join, ...]
    where: Scalar | None
    keys: tuple[Key, ...]
    outputs: tuple[Output | Every, ...]
    having: Scalar | None
    distinct: bool
    sets: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all parts, one after the other (UNION ALL)."""

    parts: tuple[Rows, ...]


@dataclass(frozen=True, slots=True)
class InRows(Scalar):
    """Whether x is among the values of a SELECT with one column."""

    operand: Scalar
    rows: Rows | Union


@dataclass(frozen=True, slots=True)
class Inner(Scalar):
    """The one value of a question inside another."""

    question: Question


@dataclass(frozen=True, slots=True)
class Exists(Scalar):
    """Whether a SELECT, which may name tables outside it, has a row."""

    rows: Rows | Union


@dataclass(frozen=True, slots=True)
class Privacy:
    """What the text itself says about its price and its bounds, exactly as written; None where it says nothing.

    `unit` is what the asker believes to be protected; the policy decides.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    unit: str | None = None
    of_select: bool = field(default=False, compare=False)  # written after the word SELECT, and so about that one


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary: the answer's rows are added up by some of its keys, and some of the groups are shown."""

    keys: tuple[Scalar, ...] = ()
    having: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked. Names are as written until a plan resolves them.

    `rows_per_unit` holds for every private table that does not say it itself. `sets` lists which keys (by place) go
    together where there are several sets of them (ROLLUP, CUBE); `qualify` is a condition after window functions.
    `output_sets` says for each output in which sets it is used, where that is not all of them. With a `summary` the
    outputs and `order` are about totals of the answer's rows. `offset` rows are skipped before `limit` are shown.
    """

    source: Source
    joins: tuple[Join, ...]
    where: Scalar | None
    keys: tuple[Key, ...]
    outputs: tuple[Output, ...]
    having: Scalar | None
    order: tuple[Order, ...]
    limit: int | None
    rows_per_unit: int | None
    sets: tuple[tuple[int, ...], ...] = ()
    qualify: Scalar | None = None
    groups_per_unit: int | None = None
    output_sets: tuple[tuple[int, ...], ...] = ()
    privacy: Privacy | None = None
    offset: int = 0
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class Sorted:
    """One sort key of answers put together: the column at this place."""

    place: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class United:
    """The answers of several questions, one below the other (UNION ALL); the names are those of the first."""

    parts: tuple[Question, ...]
    order: tuple[Sorted, ...] = ()
    limit: int | None = None
    offset: int = 0
    privacy: Privacy | None = None
