"""How well a policy fits the rows it speaks of: what is unreadable, clamped, dropped, unlisted, trimmed.

NOT FOR RELEASE. For the owner alone: these are exact counts of private rows, without any noise, as `tacit risk` gives.
No question, no ledger and no answer ever sees them. They are read with the very expressions that registration uses
(`registration` and an engine's `Flavour`), so that the counts here are about what registration does with the rows. The
SQL is plain enough for every engine; `check_rows` opens them.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tacit.engines import cleaning, quoting
from tacit.engines.registration import Flavour, unit_and_columns
from tacit.engines.sources import Relation
from tacit.policy.columns import Column
from tacit.policy.exact_facts import NOT_FOR_RELEASE
from tacit.policy.policy import Policy, Table

WARNING: Final = NOT_FOR_RELEASE


@dataclass(frozen=True, slots=True)
class ColumnQuality:
    """What happens to a column's values: the number of rows of each kind, and the listed values that never occur."""

    name: str
    present: int  # the source has something there
    unreadable: int  # it has something that cannot be read as the column's type
    outside: int  # it can be read, and lies outside the bounds: clamped, or dropped where the policy says so
    unlisted: int  # it can be read, and is not among the values of one_of: counts as missing
    never_met: tuple[object, ...]  # values of one_of that no row has

    def problems(self) -> Iterator[str]:
        """What an owner should look at, in words."""
        if self.present and self.unreadable == self.present:
            yield f"{self.name}: nothing can be read as its type ({self.unreadable:,} values); the type may be wrong"
        elif self.unreadable:
            yield f"{self.name}: {self.unreadable:,} of {self.present:,} values cannot be read as its type"
        if self.outside:
            yield f"{self.name}: {self.outside:,} of {self.present:,} values lie outside its bounds"
        if self.unlisted:
            yield f"{self.name}: {self.unlisted:,} of {self.present:,} values are not among those of one_of"
        if self.never_met:
            yield f"{self.name}: no row has {', '.join(map(repr, self.never_met))} of one_of"


@dataclass(frozen=True, slots=True)
class TableQuality:
    """What happens to a table's rows."""

    name: str
    rows: int
    without_unit: int  # rows whose unit is missing
    incomplete: int  # rows left out because a column that must not miss values misses one there
    units: int
    trimmed: int  # rows beyond rows_per_unit
    trimmed_units: int  # units that have such rows
    columns: tuple[ColumnQuality, ...]

    def problems(self) -> Iterator[str]:
        """What an owner should look at, in words."""
        if self.without_unit:
            yield f"{self.without_unit:,} of {self.rows:,} rows have no unit and are left out"
        if self.incomplete:
            yield f"{self.incomplete:,} rows are left out because a column that is not nullable has no value there"
        if self.trimmed:
            yield f"{self.trimmed:,} rows of {self.trimmed_units:,} units are beyond rows_per_unit and are left out"
        for column in self.columns:
            yield from column.problems()


@dataclass(frozen=True, slots=True)
class Quality:
    """The report; it prints as text that begins and ends with the warning."""

    tables: tuple[TableQuality, ...]

    def __str__(self) -> str:
        lines = [WARNING]
        for table in self.tables:
            found = list(table.problems())
            lines += [f"{table.name}: {table.rows:,} rows of {table.units:,} units"]
            lines += [f"  {problem}." for problem in found] or ["  Everything fits the policy."]
        return "\n".join([*lines, WARNING])


@dataclass(frozen=True, slots=True)
class Reader:
    """An open engine: how it runs a query, and its own SQL."""

    rows: Callable[[str], Sequence[Sequence[Any]]]
    flavour: Flavour
    double: Callable[[float], str]


def table_quality(reader: Reader, policy: Policy, table: Table, relations: Mapping[str, Relation]) -> TableQuality:
    """Read every row of a table, and count."""
    unit, joins, columns = unit_and_columns(policy, table, relations, reader.flavour)
    names = list(table.columns)
    parts = [f"{unit} AS tacit_key"]
    for place, (raw, read) in enumerate(columns):
        parts += [f"{raw} IS NOT NULL AS p{place}", f"{read} AS t{place}"]
    typed = f"SELECT {', '.join(parts)} FROM {relations[table.name].sql} AS tacit_row{joins}"
    bounds = [
        f"{cleaning.bound(table.columns[name], f't{place}', reader.flavour.words)} AS b{place}"
        for place, name in enumerate(names)
    ]
    rows_of = f"(SELECT tacit_typed.*{_listed(bounds)} FROM ({typed}) AS tacit_typed) AS tacit_quality"
    counts = ["count(*)", "count(*) FILTER (WHERE tacit_key IS NULL)"]
    for place, name in enumerate(names):
        counts += _counts(reader, table.columns[name], place)
    ((rows, without, *found),) = reader.rows(f"SELECT {', '.join(counts)} FROM {rows_of}")
    if table.public:
        without = 0
    kept = [f"b{place} IS NOT NULL" for place, name in enumerate(names) if not table.columns[name].nullable]
    owned = " AND ".join(["TRUE" if table.public else "tacit_key IS NOT NULL", *kept])
    ((complete,),) = reader.rows(f"SELECT count(*) FROM {rows_of} WHERE {owned}")
    units, trimmed, trimmed_units = rows, 0, 0
    if not table.public and policy.unit_of(table.name).unit is not None and unit != "1":
        most = int(table.rows_per_unit)
        ((units, trimmed, trimmed_units),) = reader.rows(
            f"SELECT count(*), coalesce(sum(greatest(n - {most:d}, 0)), 0), count(*) FILTER (WHERE n > {most:d}) FROM "
            f"(SELECT count(*) AS n FROM {rows_of} WHERE {owned} GROUP BY tacit_key) AS tacit_each"
        )
    described = []
    for place, name in enumerate(names):
        present, unreadable, outside, unlisted = map(int, found[4 * place : 4 * place + 4])
        never = _never_met(reader, table, name, f"SELECT DISTINCT b{place} FROM {rows_of}")
        described.append(ColumnQuality(name, present, unreadable, outside, unlisted, never))
    incomplete = rows - without - complete
    return TableQuality(
        table.name, rows, without, incomplete, int(units), int(trimmed), int(trimmed_units), tuple(described)
    )


def _listed(parts: list[str]) -> str:
    return "".join(f", {part}" for part in parts)


def _counts(reader: Reader, column: Column, place: int) -> list[str]:
    """How many values there are, and how many of these are unreadable, outside or unlisted."""
    real = column.kind == "real"
    readable = f"t{place} IS NOT NULL"
    if real:  # NaN is above every number on all engines
        largest = sys.float_info.max
        readable += f" AND t{place} >= {reader.double(-largest)} AND t{place} <= {reader.double(largest)}"
    outside, unlisted = "FALSE", "FALSE"
    if column.values is not None:
        unlisted = f"{readable} AND b{place} IS NULL"
    elif column.lower is not None and column.upper is not None:
        low, high = column.lower, column.upper
        least, most = (
            (reader.double(float(low)), reader.double(float(high)))  # type: ignore[arg-type]
            if real
            else (quoting.whole(int(column.to_grid(low))), quoting.whole(int(column.to_grid(high))))
        )
        outside = f"{readable} AND (t{place} < {least} OR t{place} > {most})"
    return [
        f"count(*) FILTER (WHERE p{place})",
        f"count(*) FILTER (WHERE p{place} AND NOT ({readable}))",
        f"count(*) FILTER (WHERE {outside})",
        f"count(*) FILTER (WHERE {unlisted})",
    ]


def _never_met(reader: Reader, table: Table, name: str, values: str) -> tuple[object, ...]:
    column = table.columns[name]
    if column.values is None or column.grid_values is None:
        return ()
    met = {row[0] for row in reader.rows(values)}
    return tuple(value for value, held in zip(column.values, column.grid_values, strict=True) if held not in met)
