"""How many rows of a public source one row may meet in a join, and what the answer says where that leaves rows out.

A public table's rows are public, and so is how many of them agree in the columns that are joined on. It is counted when
the engine opens (`Table.meets`), for single columns and for pairs; no more rows agree in more columns than in fewer.
The owner may state a smaller number, for less noise: then rows can be left out. Where no table was opened (estimates
from a policy file) one row is assumed, and a note says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values.scope import Place, quoted

MOST_COUNTED: Final = 10_000
_FIRST: Final = "tacit_first"


@dataclass(frozen=True, slots=True)
class FanOut:
    """At most this many rows are met; `notes` says what that leaves out."""

    rows: int
    notes: tuple[str, ...] = ()


def fan_out(place: Place, keys: Sequence[str]) -> FanOut:
    """The bound where the public source is joined on these of its columns."""
    stated = None if place.table is None else place.table.fan_out
    if not keys and (stated is None or stated == 1):
        raise QuestionError(
            f"Table {place.shown!r} can be joined on an equality with one of its columns: "
            f"ON a.x = {place.shown}.y AND ... Or the policy states its fan_out."
        )
    counted = most_alike(place.meets, keys)
    alike = f"rows of the public {place.shown!r}" + (f" that agree in {_listed(keys)}" if keys else "")
    if stated is not None:
        if counted is None:
            return FanOut(stated, (f"Of the {alike} each row meets at most {stated:,}, and more are left out",))
        if counted <= stated:
            return FanOut(stated)
        return FanOut(
            stated,
            (f"Of up to {counted:,} {alike} each row meets {stated:,} (the policy's fan_out): the rest is left out",),
        )
    if counted is None:
        return FanOut(1, (_assumed(place, alike),))
    if counted > MOST_COUNTED:
        raise QuestionError(
            f"Up to {counted:,} {alike}, so that noise would grow {counted:,} times. Join on more columns, or state in "
            f"the policy how many to keep: fan_out = 10, say (without it at most {MOST_COUNTED:,} are taken)."
        )
    return FanOut(counted)


def most_alike(meets: Mapping[tuple[str, ...], int] | None, keys: Sequence[str]) -> int | None:
    """How many rows agree in these columns, at most; None where they were not counted."""
    found = [most for columns, most in (meets or {}).items() if set(columns) <= set(keys)]
    return max(1, min(found)) if found else None


def renamed(
    meets: Mapping[tuple[str, ...], int] | None, names: Mapping[str, Sequence[str]]
) -> Mapping[tuple[str, ...], int] | None:
    """The same for a SELECT that shows columns under other names (perhaps several), or leaves rows out."""
    if meets is None:
        return None
    found: dict[tuple[str, ...], int] = {}
    for columns, most in meets.items():
        options: list[tuple[str, ...]] = [()]
        for column in columns:
            options = [(*one, name) for one in options for name in names.get(column, ())]
        found |= {tuple(sorted(one)): most for one in options}
    return found


def _assumed(place: Place, alike: str) -> str:
    if place.table is None:
        return f"Of the {alike} each row meets one: others, if there are any, are left out"
    return f"Assumed: no two {alike}; once the policy is opened, they are counted"


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys)


def first_of_each(place: Place, keys: Sequence[str], most: int) -> exp.Expr:
    """The source with at most this many of the rows that agree in these columns, always the same ones."""
    columns = [exp.column(quoted(name)) for name in place.columns]
    # as the join compares them: a number held to its bounds may equal one that was within them
    partition = [place.columns[name].sql.copy() for name in keys]
    ranked = exp.alias_(
        exp.Window(
            this=exp.RowNumber(),
            partition_by=partition,
            order=exp.Order(expressions=[exp.Ordered(this=column.copy(), nulls_first=False) for column in columns]),
        ),
        _FIRST,
    )
    source = place.sql.copy()
    inner = exp.select(*columns, ranked).from_(source).subquery("tacit_ranked")
    number = exp.Literal.number(most)
    first = (exp.EQ if most == 1 else exp.LTE)(this=exp.column(_FIRST), expression=number)
    outer = exp.select(*(column.copy() for column in columns)).from_(inner).where(first)
    return outer.subquery(quoted(place.alias))
