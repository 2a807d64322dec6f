"""Which columns a question can name, what each of them is on a row, and how many rows of one unit there can be.

A `Place` is one source of rows under its alias. For a private one the promise is: it has a column `tacit_unit`, at most
`rows` rows of each unit, and its rows of a unit depend on that unit's rows in the working copy alone. All sensitivities
rest on this; every function that makes a place says in its docstring why it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.plan.values.intervals import Interval
from tacit.plan.values.value import EVERY_INTEGER, Meaning, Number, Text, Value, cast_to
from tacit.plan.work import NONE, Work
from tacit.policy import Column, Table
from tacit.policy.cells import LAST
from tacit.question import tree

COPY = "tacit_copy"
"""The schema that a plan reads: for each table of the policy one of its name, as registration leaves it."""
UNIT = "tacit_unit"
RANK = "tacit_rank"
_MEANINGS: Mapping[str, Meaning] = {
    "integer": "number",
    "real": "number",
    "date": "date",
    "timestamp": "timestamp",
    "boolean": "boolean",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A source of rows: its columns, and the SQL that stands for it in FROM.

    `unit` is the name that the unit's column has in it, or None where it cannot be named. `rows` is None for public
    sources. `table` is the policy's table behind it, where there is exactly one. `optional`: a join may leave it empty.
    `kind` names the kind of unit, so that units of different kinds are never mistaken for each other.
    """

    alias: str
    shown: str
    sql: exp.Expr
    columns: Mapping[str, Value]
    rows: int | None
    unit: str | None = None
    kind: str | None = None
    table: Table | None = None
    optional: bool = False
    sources: tuple[str, ...] = ()  # the private tables it is made from
    work: Work = NONE  # the work of making its rows of one unit
    meets: Mapping[tuple[str, ...], int] | None = None  # for a public source: how many rows agree in these columns
    met: int = 1  # for a joined public source: how many of its rows one row meets at most

    @property
    def public(self) -> bool:
        """Whether no row of it belongs to anyone."""
        return self.rows is None

    @property
    def unit_sql(self) -> exp.Expr:
        """The unit of a row."""
        return exp.column(UNIT, quoted(self.alias))

    def find(self, name: str) -> str | None:
        """The column of this name, whatever its case."""
        if name in self.columns:
            return name
        folded = name.casefold()
        return next((column for column in self.columns if column.casefold() == folded), None)


@dataclass(frozen=True, slots=True)
class Opened:
    """A SELECT inside, as a query: its columns (c0, c1, ... in SQL), and whose rows they are."""

    query: exp.Query
    columns: Mapping[str, Value]  # their SQL is the bare name of the column
    rows: int | None
    unit: str | None
    kind: str | None
    sources: tuple[str, ...]
    work: Work
    meets: Mapping[tuple[str, ...], int] | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources of a question by alias, and the SELECTs that stand in its conditions."""

    places: Mapping[str, Place]
    opened: Mapping[tree.Rows | tree.Union, Opened] = field(default_factory=dict)

    @property
    def lengths(self) -> dict[tuple[str, str], int]:
        """How long the texts of columns can be, by alias and name."""
        return {
            (place.alias, name): value.length
            for place in self.places.values()
            for name, value in place.columns.items()
            if isinstance(value, Text)
        }

    @property
    def lists(self) -> Work:
        """The most work of one of the SELECTs in conditions."""
        works = [opened.work for opened in self.opened.values()]
        return Work(
            max((each.rows for each in works), default=0),
            max((each.plain for each in works), default=0),
            max((each.values for each in works), default=0),
            max((each.characters for each in works), default=0),
        )

    def value(self, name: tree.Name) -> Value:
        """What a resolved name is on a row."""
        assert name.table is not None
        place = self.places[name.table]
        found = place.columns[name.column]
        return replace(found, nullable=True) if place.optional else found


def quoted(name: str) -> exp.Identifier:
    """A name that means itself, whatever it is."""
    return exp.Identifier(this=name, quoted=True)


def column_of(alias: str, name: str) -> exp.Column:
    """A column of the source under this alias."""
    return exp.Column(this=quoted(name), table=quoted(alias))


def table_columns(table: Table, alias: str) -> dict[str, Value]:
    """The columns of a table of the working copy: bounds, grid and values as the policy states them."""
    found: dict[str, Value] = {}
    for name, column in table.columns.items():
        value = column_value(column, column_of(alias, name))
        if table.public and isinstance(value, Number) and value.stated:
            value = _held(value)
        found[name] = value
    return found


def column_value(column: Column, sql: exp.Expr) -> Number | Text:
    """A column of the working copy."""
    if column.kind == "text":
        values = column.grid_values
        return Text(sql, column.nullable, None if values is None else tuple(str(value) for value in values))
    low, high = column.grid_lower, column.grid_upper
    if column.auto:
        return Number(sql, Interval(-LAST, LAST), nullable=column.nullable, points=column.cells, coded=True)
    bounds = EVERY_INTEGER if low is None or high is None else Interval(low, high)
    points = column.grid_values
    return Number(
        sql,
        bounds,
        column.step,
        _MEANINGS[column.kind],
        nullable=column.nullable,
        rounded=column.kind == "real",
        stated=low is not None,
        points=None if points is None else tuple(sorted(int(point) for point in points)),
    )


def _held(number: Number) -> Number:
    """A public table's number held to its bounds here as well: sensitivities rest on it, and the table was not checked.

    NULL stays NULL: neither comparison holds for it.
    """
    low, high = number.bounds.low, number.bounds.high
    below = exp.LT(this=number.sql.copy(), expression=exp.Literal.number(low))
    above = exp.GT(this=number.sql.copy(), expression=exp.Literal.number(high))
    low_sql, high_sql = (cast_to(exp.Literal.number(end), "BIGINT") for end in (low, high))
    sql = exp.Case().when(below, low_sql).when(above, high_sql).else_(number.sql)
    return replace(number, sql=sql)
