"""Which columns a question can name, and what each of them is on a row of the working copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.plan.intervals import Interval
from tacit.plan.values import EVERY_INTEGER, Meaning, Number, Text, Value, cast_to
from tacit.policy import Column, Table
from tacit.question import tree

_MEANINGS: Mapping[str, Meaning] = {
    "integer": "number",
    "real": "number",
    "date": "date",
    "timestamp": "timestamp",
    "boolean": "boolean",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A table in the question, under the alias it has there; `optional` where a left join may leave it empty."""

    table: Table
    alias: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables of a question, by alias."""

    places: Mapping[str, Place]

    def value(self, name: tree.Name) -> Value:
        """What a resolved name is on a row."""
        assert name.table is not None
        place = self.places[name.table]
        column = place.table.columns[name.column]
        found = column_value(column, exp.column(exp.to_identifier(column.name, True), _quoted(place.alias)))
        if place.table.public and isinstance(found, Number) and found.stated:
            found = _held(found)
        return replace(found, nullable=True) if place.optional else found


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def column_value(column: Column, sql: exp.Expr) -> Number | Text:
    """A column of the working copy: bounds, grid and values as the policy states them."""
    if column.kind == "text":
        values = column.grid_values
        return Text(sql, column.nullable, None if values is None else tuple(str(value) for value in values))
    low, high = column.grid_lower, column.grid_upper
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
    """A public table's number held to its bounds here as well: sensitivities rest on it, and nobody checked the table.

    NULL stays NULL: neither comparison holds for it.
    """
    low, high = number.bounds.low, number.bounds.high
    below = exp.LT(this=number.sql.copy(), expression=exp.Literal.number(low))
    above = exp.GT(this=number.sql.copy(), expression=exp.Literal.number(high))
    low_sql, high_sql = (cast_to(exp.Literal.number(end), "BIGINT") for end in (low, high))
    sql = exp.Case().when(below, low_sql).when(above, high_sql).else_(number.sql)
    return replace(number, sql=sql)
