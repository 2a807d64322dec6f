"""The other queries behind quantiles: what must be known about the inside of a few leaves of a few cells.

A probe asks for the rows on either side of a point inside a leaf. For each point it returns its number, the rows of its
cell in its leaf below it and at it, one more than the greatest value below it (0 where there is none), and the least
value above it (0 where there is none). A point whose leaf has no rows is left out. The query is one pass over the rows,
joined by equality, and sorts nothing.

A reading asks for all rows of some stretches, in any order: for each row one number, that of its stretch times the
points of the grid, and its own point.

The points travel as one text, some numbers for each, because engines take long to read thousands of constants. So do
keys that are numbers; keys that are texts are constants of their own, listed once for each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from tacit.plan.columns import RawKey
from tacit.plan.picks.rank_query import POINT, Keyed, aliased, divided, name_of
from tacit.plan.values.value import NARROW, bare, cast_to, integer

NUMBER, UNDER, AT, BEFORE, AFTER = "asked", "under", "at_point", "before_point", "after_point"
PROBED = (UNDER, AT, BEFORE, AFTER)
VALUES = "listed"
_CELL, _STRETCH, _FIRST, _LAST, _POINT = "cell", "stretch", "first_point", "last_point", "point"
_COLUMNS = (NUMBER, _CELL, _STRETCH, _FIRST, _LAST, _POINT)


@dataclass(frozen=True, slots=True)
class Probe:
    """A point of a leaf (its points `first` to `last`) in a cell, which is a place in a list of cells."""

    cell: int
    first: int
    last: int
    point: int


def probe_query(table: Keyed, cells: Sequence[tuple[RawKey, ...]], probes: Sequence[Probe]) -> exp.Select:
    """The query for the rows on either side of these points."""
    value, point = name_of(POINT, "r"), name_of(_POINT, "q")
    lower, equal, upper = (kind(this=value.copy(), expression=point.copy()) for kind in (exp.LT, exp.EQ, exp.GT))
    selected: list[exp.Expr] = [
        exp.alias_(exp.Count(this=_when(lower, integer(1))), UNDER),
        exp.alias_(exp.Count(this=_when(equal, integer(1))), AT),
        exp.alias_(exp.Max(this=_when(lower, exp.Add(this=value.copy(), expression=integer(1)))), BEFORE),
        exp.alias_(exp.Min(this=_when(upper, value)), AFTER),
    ]
    query = _gathered(table, cells, probes, [name_of(NUMBER, "q"), *selected])
    return query.group_by(name_of(NUMBER, "q"), copy=False)


def reading_query(table: Keyed, cells: Sequence[tuple[RawKey, ...]], stretches: Sequence[Probe]) -> exp.Select:
    """The query for all rows of these stretches."""
    times = exp.Mul(this=name_of(NUMBER, "q"), expression=integer(table.points))
    return _gathered(table, cells, stretches, [exp.alias_(exp.Add(this=times, expression=name_of(POINT, "r")), VALUES)])


def _gathered(
    table: Keyed, cells: Sequence[tuple[RawKey, ...]], probes: Sequence[Probe], selected: Sequence[exp.Expr]
) -> exp.Select:
    """The `selected` columns of the rows in each probe's leaf."""
    shift = _shift(probes)
    query = exp.select(*selected).from_(aliased("r0", "r"))
    query = query.join(aliased("q0", "q"), on=_inside(table, shift), copy=False)
    query = query.with_("r0", as_=table.rows.copy(), materialized=table.are_joined, copy=False)
    query = query.with_("p0", as_=_lines(table, cells, probes, shift), copy=False)
    query = query.with_("p1", as_=_numbers(table, cells), copy=False)
    texts = [place for place, text in enumerate(table.texts) if text]
    asked = exp.select(*(name_of(column, "p") for column in _COLUMNS)).from_(aliased("p1", "p"))
    asked = asked.select(
        *(name_of(key, "t" if text else "p") for key, text in zip(table.keys, table.texts, strict=True))
    )
    if texts:
        query = query.with_("t0", as_=_texts(table, texts, cells, probes), copy=False)
        same = exp.EQ(this=name_of(_CELL, "p"), expression=name_of(_CELL, "t"))
        asked = asked.join(aliased("t0", "t"), on=same, copy=False)
    return query.with_("q0", as_=asked, materialized=True, copy=False)


def _inside(table: Keyed, shift: int) -> exp.Expr:
    """Whether a row lies in a leaf. The stretch is compared so that the join has an equality."""
    value = name_of(POINT, "r")
    return exp.and_(
        *table.same_cell("r", "q"),
        exp.EQ(this=divided(value.copy(), shift), expression=name_of(_STRETCH, "q")),
        exp.GTE(this=value.copy(), expression=name_of(_FIRST, "q")),
        exp.LTE(this=value, expression=name_of(_LAST, "q")),
    )


def _shift(probes: Sequence[Probe]) -> int:
    """The shortest stretches of which the leaves together have few, so that few rows share one with a leaf."""
    first, last = (np.array([getattr(probe, end) for probe in probes], dtype=np.int64) for end in ("first", "last"))
    shift = 0
    while int(((last >> shift) - (first >> shift) + 1).sum()) > 3 * len(probes) + 50:
        shift += 1
    return shift


def _lines(table: Keyed, cells: Sequence[tuple[RawKey, ...]], probes: Sequence[Probe], shift: int) -> exp.Select:
    """The lines of one text as rows: one for each point and stretch. A NULL is an empty word."""
    places = [place for place, text in enumerate(table.texts) if not text]
    lines = []
    for number, probe in enumerate(probes):
        keys = [cells[probe.cell][place] for place in places]
        end = " ".join(["", *("" if key is None else str(key) for key in keys)])
        for stretch in range(probe.first >> shift, (probe.last >> shift) + 1):
            lines.append(f"{number} {probe.cell} {stretch} {probe.first} {probe.last} {probe.point}{end}")
    text = exp.StringToArray(this=exp.Literal.string(";".join(lines)), expression=exp.Literal.string(";"))
    return exp.select(exp.alias_(exp.Explode(this=text), "packed"))


def _numbers(table: Keyed, cells: Sequence[tuple[RawKey, ...]]) -> exp.Select:
    """The numbers of each line."""
    columns = [*_COLUMNS, *(key for key, text in zip(table.keys, table.texts, strict=True) if not text)]
    wide = any(isinstance(key, int) and abs(key) >= NARROW for cell in cells for key in cell)
    parts = []
    for place, column in enumerate(columns, start=1):
        word: exp.Expr = exp.SplitPart(
            this=name_of("packed"), delimiter=exp.Literal.string(" "), part_index=bare(place)
        )
        if place > len(_COLUMNS):
            word = exp.Nullif(this=word, expression=exp.Literal.string(""))
        parts.append(exp.alias_(cast_to(word, "INT128" if wide and place > len(_COLUMNS) else "BIGINT"), column))
    return exp.select(*parts).from_("p0")


def _texts(
    table: Keyed, texts: Sequence[int], cells: Sequence[tuple[RawKey, ...]], probes: Sequence[Probe]
) -> exp.Select:
    """The keys that are texts, of each cell."""
    columns = [_CELL, *(table.keys[place] for place in texts)]
    rows = []
    for number in sorted({probe.cell for probe in probes}):
        words = [cells[number][place] for place in texts]
        constants = [cast_to(exp.Null(), "TEXT") if word is None else exp.Literal.string(word) for word in words]
        rows.append(exp.Tuple(expressions=[integer(number), *constants]))
    alias = exp.TableAlias(this=exp.to_identifier("t1"), columns=[exp.to_identifier(column) for column in columns])
    listed = exp.select(*(name_of(column, "t1") for column in columns))
    return listed.from_(exp.Values(expressions=rows, alias=alias), copy=False)


def _when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value)])
