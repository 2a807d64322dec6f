"""Units: whose row is this? The answer decides what one person can change, and so how much noise is needed.

Promise: neighbours are two databases that differ in all the rows of one unit: one has them, the other has not. A row
belongs to exactly one unit or is left out of the working copy: a row whose unit is missing, or whose path leads to no
unit or to several.
A value of a unit column means the same unit in every table of the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tacit.errors import PolicyError


@dataclass(frozen=True, slots=True)
class RowUnit:
    """Every row is a unit of its own.

    >>> resolve("readings", {"readings": RowUnit()}).path
    ()
    """


@dataclass(frozen=True, slots=True)
class ColumnUnit:
    """The column names the unit.

    >>> resolve("visits", {"visits": ColumnUnit("patient")}).unit
    ColumnUnit(column='patient')
    """

    column: str


@dataclass(frozen=True, slots=True)
class PathUnit:
    """The row belongs to the unit of the row of `table` whose `their_key` equals this row's `key`.

    >>> bills = PathUnit("visit", "visits", "id")
    >>> resolve("bills", {"bills": bills, "visits": ColumnUnit("patient")}).table
    'visits'
    """

    key: str
    table: str
    their_key: str


Unit: TypeAlias = RowUnit | ColumnUnit | PathUnit


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a table's units come from: the path walked, and the table and unit at its end.

    >>> resolve("visits", {"visits": ColumnUnit("patient")})
    Resolved(path=(), table='visits', unit=ColumnUnit(column='patient'))
    """

    path: tuple[PathUnit, ...]
    table: str
    unit: RowUnit | ColumnUnit


def resolve(name: str, units: Mapping[str, Unit | None]) -> Resolved:
    """Follow the path from the table `name` to the table that holds its unit. `units` has None for public tables."""
    path: list[PathUnit] = []
    seen = [name]
    here = name
    while True:
        unit = units[here]
        if unit is None:
            raise PolicyError(f"The path from table {name!r} to its unit ends in the public table {here!r}.")
        if not isinstance(unit, PathUnit):
            return Resolved(tuple(path), here, unit)
        if unit.table not in units:
            raise PolicyError(
                f"The path from table {name!r} to its unit goes through {unit.table!r}, which is no table."
            )
        if unit.table in seen:
            raise PolicyError(f"The path from table {name!r} to its unit goes in a circle through {unit.table!r}.")
        path.append(unit)
        seen.append(unit.table)
        here = unit.table
