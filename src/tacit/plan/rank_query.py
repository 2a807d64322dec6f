"""The query behind quantiles: of every cell the values whose ranks lie near the wanted ones, with their exact ranks.

It returns keys, and for each value near a wanted rank: the value's place on the grid (v), the rows below it (below), at
it (rows), and in the cell (total). Nothing else of the column leaves the engine.

How. A first pass counts rows in about 1,000 equal stretches of the grid; running sums of these few numbers tell which
stretches reach into a window around a wanted rank. The rows in those are kept, counted in stretches 128 times as
short, and so on down to single points. No pass sorts rows, and all but the first see few of them. A stretch that is
left out lies beyond all windows altogether, so every value near a wanted rank is found, and its rank is exact.
Small grids (4,096 points and fewer) take the first pass alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.plan.values import bare, cast_to

POINT, BELOW, ROWS, TOTAL = "v", "below", "rows", "total"
_SMALL = 12
_FIRST, _NEXT = 10, 7


@dataclass(frozen=True, slots=True)
class Window:
    """Ranks within `reach` of p n/d, or (`capped`) of min(cap, n)/2, counted from the greatest where `from_top`."""

    numerator: int
    denominator: int
    reach: int
    cap: int | None = None
    from_top: bool = False


def rank_query(
    rows: exp.Select, keys: Sequence[str], nullable: Sequence[bool], points: int, windows: Sequence[Window] | None
) -> exp.Select:
    """The query over `rows`, which has the columns `keys` and `v` (0 to points - 1). Without windows: all values."""
    shifts = _shifts(points)
    builder = _Builder(list(keys), list(nullable), windows)
    query = builder.final(len(shifts) - 1)
    # read where it is needed, twice: writing all rows down would cost more
    query = query.with_("r0", as_=rows, materialized=False, copy=False)
    for level, shift in enumerate(shifts):
        above = shifts[level - 1] if level else None
        query = query.with_(f"b{level}", as_=builder.counted(level, shift), copy=False)
        query = query.with_(f"c{level}", as_=builder.summed(level, shift, above), copy=False)
        query = query.with_(f"w{level}", as_=builder.near(level), copy=False)
        if level < len(shifts) - 1:
            query = query.with_(f"r{level + 1}", as_=builder.kept(level, shift), materialized=True, copy=False)
    return query


def _shifts(points: int) -> list[int]:
    """How many bits of a point each pass leaves out."""
    width = (points - 1).bit_length()
    if width <= _SMALL:
        return [0]
    shifts = [width - _FIRST]
    while shifts[-1] > 0:
        shifts.append(max(0, shifts[-1] - _NEXT))
    return shifts


@dataclass(frozen=True, slots=True)
class _Builder:
    keys: list[str]
    nullable: list[bool]
    windows: Sequence[Window] | None

    def counted(self, level: int, shift: int) -> exp.Select:
        """Rows in each stretch."""
        kept = self._keys()
        selected = [*kept, exp.alias_(_shifted(_name(POINT), shift), "b"), exp.alias_(exp.Count(this=exp.Star()), ROWS)]
        if level:
            selected += [exp.alias_(exp.Min(this=_name(name)), name) for name in (BELOW, TOTAL)]
        places = (bare(place + 1) for place in range(len(kept) + 1))
        return exp.select(*selected).from_(f"r{level}").group_by(*places)

    def summed(self, level: int, shift: int, above: int | None) -> exp.Select:
        """The rows below each stretch: running sums inside the stretch above, and what lies below that."""
        within = self._keys()
        if above is not None:
            within.append(_shifted(_name("b"), above - shift))
        running = exp.Window(
            this=exp.Sum(this=_name(ROWS)),
            partition_by=within,
            order=exp.Order(expressions=[exp.Ordered(this=_name("b"), nulls_first=False)]),
            spec=exp.WindowSpec(
                kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW", end_side=None
            ),
        )
        upto: exp.Expr = cast_to(running, "BIGINT")
        total: exp.Expr = _name(TOTAL)
        if above is None:
            whole = exp.Window(this=exp.Sum(this=_name(ROWS)), partition_by=self._keys())
            total = exp.alias_(cast_to(whole, "BIGINT"), TOTAL)
        else:
            upto = exp.Add(this=_name(BELOW), expression=upto)
        below = exp.alias_(exp.Sub(this=upto, expression=_name(ROWS)), BELOW)
        return exp.select(*self._keys(), _name("b"), _name(ROWS), below, total).from_(f"b{level}")

    def near(self, level: int) -> exp.Select:
        """The stretches that reach into a window."""
        query = exp.select(*self._keys(), *map(_name, ("b", ROWS, BELOW, TOTAL))).from_(f"c{level}")
        if self.windows is None:
            return query
        return query.where(exp.or_(*(_reaches(window) for window in self.windows)))

    def kept(self, level: int, shift: int) -> exp.Select:
        """The rows in those stretches."""
        conditions: list[exp.Expr] = []
        for key, nullable in zip(self.keys, self.nullable, strict=True):
            sides = {"this": _name(key, "r"), "expression": _name(key, "w")}
            conditions.append(exp.NullSafeEQ(**sides) if nullable else exp.EQ(**sides))
        conditions.append(exp.EQ(this=_shifted(_name(POINT, "r"), shift), expression=_name("b", "w")))
        selected = [*(_name(key, "r") for key in (*self.keys, POINT)), _name(BELOW, "w"), _name(TOTAL, "w")]
        rows = exp.select(*selected).from_(exp.alias_(exp.to_table(f"r{level}"), "r", table=True))
        return rows.join(exp.alias_(exp.to_table(f"w{level}"), "w", table=True), on=exp.and_(*conditions))

    def final(self, level: int) -> exp.Select:
        """What is returned."""
        selected = [*self._keys(), exp.alias_(_name("b"), POINT), *map(_name, (BELOW, ROWS, TOTAL))]
        return exp.select(*selected).from_(f"w{level}")

    def _keys(self) -> list[exp.Expr]:
        return [_name(key) for key in self.keys]


def _reaches(window: Window) -> exp.Expr:
    """Whether the ranks from `below` to `below + rows` come within reach of the wanted one (all times d)."""
    times = window.denominator
    wanted: exp.Expr
    if window.cap is None:
        wanted = exp.Mul(this=_name(TOTAL), expression=bare(window.numerator))
    else:
        wanted = exp.Least(this=_name(TOTAL), expressions=[cast_to(bare(window.cap), "BIGINT")], ignore_nulls=True)
        if window.from_top:
            doubled = exp.Mul(this=_name(TOTAL), expression=bare(times))
            wanted = exp.Sub(this=doubled, expression=wanted)
    reach = cast_to(bare(times * window.reach), "BIGINT")
    top = exp.paren(exp.Add(this=_name(BELOW), expression=_name(ROWS)))
    under = exp.LTE(
        this=exp.Mul(this=_name(BELOW), expression=bare(times)), expression=exp.Add(this=wanted, expression=reach)
    )
    over = exp.GTE(
        this=exp.Mul(this=top, expression=bare(times)),
        expression=exp.Sub(this=exp.paren(wanted.copy()), expression=reach.copy()),
    )
    return exp.and_(under, over)


def _shifted(sql: exp.Expr, shift: int) -> exp.Expr:
    return exp.IntDiv(this=sql, expression=bare(1 << shift)) if shift else sql


def _name(column: str, table: str | None = None) -> exp.Expr:
    return exp.column(column, table)
