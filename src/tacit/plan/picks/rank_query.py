"""The query behind quantiles: for every cell the stretches of the grid near the wanted ranks, with their exact ranks.

It returns keys, and for each such leaf: its first and last point, the rows below it (below), in it (rows), and in the
cell (total). Nothing else of the column is returned here (`rank_probe` reads more where a choice needs it): near a
wanted rank a leaf is one point, or has few rows, as many as one choice can handle (`grain`), and small leaves that lie
side by side are returned as one. So what is returned has the size of the windows divided by the grain, however many
rows there are.

How. A first pass counts rows in about 500 equal stretches of the grid; running sums of these few numbers tell which
stretches reach into a window around a wanted rank. Those likely to be chosen from (`RankWindow.likely`) with more than
three times the rows of the grain are counted again in stretches 32 times as short, and so on, down to single points. No
pass sorts or writes rows, and each one reads them, even a pass for which nothing is left: the grid alone decides how
often they are read. A stretch that is left out lies completely beyond all windows, so every returned rank is exact.
Where there are many windows, and so many rows near one, the stretches of the first two passes are up to 512 times as
short where the rows of all cells together lie close, which saves most of the passes after them. Small grids (512 points
and fewer) take one pass, and their points are returned one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from tacit.plan.values.value import bare, cast_to, integer

FIRST, LAST, BELOW, ROWS, TOTAL = "first_point", "last_point", "below", "held", "total"
LEAF = (FIRST, LAST, BELOW, ROWS, TOTAL)
POINT, STRETCH = "v", "b"
_SHORTER = "c"
_WIDTH, _SHORT = "width", "short"
_EQUAL, _LEAST, _GREATEST = "equal_stretch", "least_point", "greatest_point"
_AGAIN = "again"
_SMALL = _FIRST = 9
SMALL_GRID = 1 << _SMALL
"""A grid of this many points takes one pass, and its leaves are points."""
_NEXT = 5
_FINER, _STRETCHES = 9, 900
_MOST = 1_000_000
FEW = "few"
"""The mark of a join with few rows, whatever the estimate of its size: an engine that must choose sends all of them to
where the other rows are."""


@dataclass(frozen=True, slots=True)
class RankWindow:
    """Ranks within `reach` of p n/d, or (`capped`) of min(cap, n)/2, counted from the greatest where `from_top`.

    Only within `likely` of it (all of `reach` where that is None) stretches are counted again.
    """

    numerator: int
    denominator: int
    reach: int
    cap: int | None = None
    from_top: bool = False
    likely: int | None = None


@dataclass(frozen=True, slots=True)
class Keyed:
    """Rows with the columns `keys` (which are texts, which may be NULL) and `v`, a place on a grid of `points`."""

    rows: exp.Select
    keys: tuple[str, ...]
    texts: tuple[bool, ...]
    nullable: tuple[bool, ...]
    points: int

    @property
    def are_joined(self) -> bool:
        """Whether the rows come from several sources: then they are written down once.

        Rows of one source are read where they are needed, once for each pass: writing them down would cost more. With
        several sources, an engine could first join one of them with what is still to be counted, and not read the
        others where that gives nothing.
        """
        return bool(self.rows.args.get("joins"))

    def same_cell(self, left: str, right: str) -> list[exp.Expr]:
        """Conditions that two tables' rows are of one cell."""
        found: list[exp.Expr] = []
        for key, nullable in zip(self.keys, self.nullable, strict=True):
            sides = {"this": name_of(key, left), "expression": name_of(key, right)}
            found.append(exp.NullSafeEQ(**sides) if nullable else exp.EQ(**sides))
        return found


def rank_query(table: Keyed, windows: Sequence[RankWindow], grain: int) -> exp.Select:
    """The leaves that reach into the windows."""
    # few windows have few rows, so the passes after the first are cheap
    finer = len(windows) > 2 and table.points > 1 << _SMALL
    shifts = _shifts(table.points, finer)
    builder = _Builder(table, list(table.keys), windows, grain, shifts, finer)
    query = builder.merged() if len(shifts) > 1 and grain > 1 else builder.plain()
    query = query.with_("r0", as_=table.rows.copy(), materialized=table.are_joined, copy=False)
    if finer:
        query = query.with_("g", as_=builder.crowds(), copy=False)
        query = query.with_("z", as_=builder.widths(), materialized=True, copy=False)
        query = query.with_("r1", as_=builder.placed("inner"), materialized=False, copy=False)
        query = query.with_("r2", as_=builder.placed("left"), materialized=False, copy=False)
    for level in range(len(shifts)):
        query = query.with_(f"b{level}", as_=builder.counted(level), copy=False)
        query = query.with_(f"s{level}", as_=builder.summed(level), copy=False)
        query = query.with_(f"c{level}", as_=builder.near(level), materialized=True, copy=False)
        if level < len(shifts) - 1:
            query = query.with_(f"w{level}", as_=builder.large(level), copy=False)
    return query.with_("leaves", as_=builder.leaves(), copy=False)


def passes(points: int) -> int:
    """How often the rows are read at most."""
    return len(_shifts(points, finer=False)) + 1


def _shifts(points: int, finer: bool) -> list[int]:
    """How many bits of a point each pass leaves out. Where they are `finer`, the first two leave out fewer."""
    width = (points - 1).bit_length()
    if width <= _SMALL:
        return [0]
    shifts = [width - _FIRST]
    while shifts[-1] > 0:
        step = _NEXT + _FINER if finer and len(shifts) == 2 else _NEXT
        shifts.append(max(0, shifts[-1] - step))
    return shifts


@dataclass(frozen=True, slots=True)
class _Builder:
    table: Keyed
    keys: list[str]
    windows: Sequence[RankWindow]
    grain: int
    shifts: list[int]
    finer: bool

    def crowds(self) -> exp.Select:
        """All cells' rows in each of the equal stretches, and the least and greatest point that they have."""
        selected = [
            exp.alias_(divided(name_of(POINT), self.shifts[0]), _EQUAL),
            exp.alias_(exp.Count(this=exp.Star()), ROWS),
            exp.alias_(exp.Min(this=name_of(POINT)), _LEAST),
            exp.alias_(exp.Max(this=name_of(POINT)), _GREATEST),
        ]
        return exp.select(*selected).from_("r0").group_by(bare(1))

    def widths(self) -> exp.Select:
        """How long a stretch of the first two passes is, in each of the equal ones: up to 512 times shorter.

        As the mask that takes a point to the first of its stretch: minus a power of two.
        """
        whole = cast_to(exp.Window(this=exp.Sum(this=name_of(ROWS))), "BIGINT")
        times = exp.Mul(this=name_of(ROWS), expression=bare(_STRETCHES))
        selected: list[exp.Expr] = [*map(name_of, (_EQUAL, _LEAST, _GREATEST))]
        for size, name in ((1 << self.shifts[0], _WIDTH), (1 << self.shifts[1], _SHORT)):
            ifs = []
            for bits in range(_FINER, 0, -1):
                limit = exp.Mul(this=whole.copy(), expression=bare(1 << bits))
                ifs.append(
                    exp.If(this=exp.GT(this=times.copy(), expression=limit), true=integer(-max(size >> bits, 1)))
                )
            selected.append(exp.alias_(exp.Case(ifs=ifs, default=integer(-size)), name))
        return exp.select(*selected).from_("g")

    def placed(self, join: str) -> exp.Select:
        """The rows, each with the first points of its stretches in the first two passes.

        Every row has its match. An inner join is faster; an outer one keeps engines from joining the rows of a later
        pass by their keys alone before it.
        """
        point = name_of(POINT, "r")
        selected = [*self._keys("r"), point]
        for width, name in ((_WIDTH, STRETCH), (_SHORT, _SHORTER)):
            selected.append(exp.alias_(exp.BitwiseAnd(this=point.copy(), expression=name_of(width, "z")), name))
        on = exp.EQ(this=divided(point.copy(), self.shifts[0]), expression=name_of(_EQUAL, "z"))
        rows = exp.select(*selected).from_(aliased("r0", "r"))
        return _with_few(rows.join(exp.to_table("z"), on=on, join_type=join, copy=False))

    def counted(self, level: int) -> exp.Select:
        """Rows in each stretch, and after the first pass the least and greatest point that they have."""
        selected = [*self._keys("r"), exp.alias_(self._number(level), STRETCH)]
        selected.append(exp.alias_(exp.Count(this=exp.Star()), ROWS))
        if level:
            selected.append(exp.alias_(exp.Min(this=name_of(POINT, "r")), FIRST))
            selected.append(exp.alias_(exp.Max(this=name_of(POINT, "r")), LAST))
            # this is the same for all rows of the stretch above; joining it again would double the query at every pass
            selected += [exp.alias_(exp.Min(this=name_of(each, "w")), each) for each in (BELOW, TOTAL)]
        rows = ("r1" if level == 0 else "r2") if self.finer and level < 3 else "r0"
        query = exp.select(*selected).from_(aliased(rows, "r"))
        if level:
            inside = exp.EQ(this=self._number(level - 1), expression=name_of(STRETCH, "w"))
            on = exp.and_(*self.table.same_cell("r", "w"), inside)
            query = _with_few(query.join(aliased(f"w{level - 1}", "w"), on=on, copy=False))
        return query.group_by(*(bare(place + 1) for place in range(len(self.keys) + 1)), copy=False)

    def _number(self, level: int) -> exp.Expr:
        """What identifies the stretches of a pass: a number, or their first point."""
        if self.finer and level < 2:
            return name_of(_SHORTER if level else STRETCH, "r")
        return divided(name_of(POINT, "r"), self.shifts[level])

    def summed(self, level: int) -> exp.Select:
        """The rows below each stretch: running sums inside the stretch above, and what lies below that."""
        within = self._keys()
        if level:
            within.append(name_of(BELOW))  # of the stretch above: different in each stretch of a cell
        running = exp.Window(
            this=exp.Sum(this=name_of(ROWS)),
            partition_by=within,
            order=exp.Order(expressions=[exp.Ordered(this=name_of(STRETCH), nulls_first=False)]),
            spec=exp.WindowSpec(
                kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW", end_side=None
            ),
        )
        upto: exp.Expr = cast_to(running, "BIGINT")
        first, last, total = name_of(FIRST), name_of(LAST), name_of(TOTAL)
        if level:
            upto = exp.Add(this=name_of(BELOW), expression=upto)
        else:
            whole = exp.Window(this=exp.Sum(this=name_of(ROWS)), partition_by=self._keys())
            total = exp.alias_(cast_to(whole, "BIGINT"), TOTAL)
            first, last = self._ends()
        below = exp.alias_(exp.Sub(this=upto, expression=name_of(ROWS)), BELOW)
        selected = [*self._keys(), name_of(STRETCH), first, last, name_of(ROWS), below, total]
        query = exp.select(*selected).from_(f"b{level}")
        if level or not self.finer:
            return query
        on = exp.EQ(this=divided(name_of(STRETCH), self.shifts[0]), expression=name_of(_EQUAL))
        return _with_few(query.join(exp.to_table("z"), on=on, copy=False))

    def near(self, level: int) -> exp.Select:
        """The stretches that reach into a window."""
        query = exp.select(*self._keys(), name_of(STRETCH), *map(name_of, LEAF)).from_(f"s{level}")
        if level < len(self.shifts) - 1:
            likely = [
                window if window.likely is None else replace(window, reach=window.likely) for window in self.windows
            ]
            again = exp.and_(self._is_large(), exp.or_(*map(_reaches, likely), copy=False), copy=False)
            marked = exp.Case(ifs=[exp.If(this=again, true=bare(1))], default=bare(0))
            query = query.select(exp.alias_(marked, _AGAIN, copy=False), copy=False)
        return query.where(exp.or_(*map(_reaches, self.windows), copy=False), copy=False)

    def large(self, level: int) -> exp.Expr:
        """The stretches that are counted again. One that the limit leaves out is asked for when it is needed.

        The limit is there because engines expect as many of these few stretches as there are rows, and would look them
        up in a slow way. One extra stretch belongs to no cell and holds no row: without any stretch, engines would not
        read the rows, and the time would reveal how the rows lie.
        """
        names = [*self.keys, STRETCH, BELOW, TOTAL]
        few = exp.select(*map(name_of, names)).from_(f"c{level}").where(_again(1), copy=False).limit(_MOST, copy=False)
        keys: list[exp.Expr] = [exp.Literal.string("") if text else integer(0) for text in self.table.texts]
        nothing = [*keys, integer(-1), integer(0), integer(0)]
        none = exp.select(*(exp.alias_(value, name) for value, name in zip(nothing, names, strict=True)))
        rows = exp.select(*map(name_of, names)).from_(few.subquery("l"))
        return exp.Union(this=rows, expression=none, distinct=False)

    def leaves(self) -> exp.Expr:
        """The stretches of all passes that are not counted again."""
        parts: list[exp.Expr] = []
        for level in range(len(self.shifts)):
            part = exp.select(*self._keys(), *map(name_of, LEAF)).from_(f"c{level}")
            parts.append(part if level == len(self.shifts) - 1 else part.where(_again(0), copy=False))
        return reduce(lambda one, other: exp.Union(this=one, expression=other, distinct=False), parts)

    def plain(self) -> exp.Select:
        """All leaves, unchanged."""
        return exp.select(*self._keys(), *map(name_of, LEAF)).from_("leaves")

    def merged(self) -> exp.Select:
        """Leaves of few rows that begin within the same `grain` of ranks become one; those of more stay by themselves.

        Leaves that become one have no large leaf between them, or they would not begin so near each other.
        """
        top = exp.Add(this=name_of(BELOW), expression=name_of(ROWS))
        held = exp.Sub(this=exp.Max(this=top), expression=exp.Min(this=name_of(BELOW)))
        selected = [
            *self._keys(),
            exp.alias_(exp.Min(this=name_of(FIRST)), FIRST),
            exp.alias_(exp.Max(this=name_of(LAST)), LAST),
            exp.alias_(exp.Min(this=name_of(BELOW)), BELOW),
            exp.alias_(held, ROWS),
            exp.alias_(exp.Min(this=name_of(TOTAL)), TOTAL),
        ]
        alone = exp.Case(
            ifs=[exp.If(this=exp.GT(this=name_of(ROWS), expression=bare(self.grain)), true=name_of(BELOW))],
            default=integer(-1),
        )
        together = exp.IntDiv(this=name_of(BELOW), expression=bare(self.grain))
        inner = exp.select(*self._keys(), *map(name_of, LEAF), exp.alias_(alone, "alone"), exp.alias_(together, "near"))
        query = exp.select(*selected).from_(inner.from_("leaves").subquery("l"))
        return query.group_by(*self._keys(), name_of("near"), name_of("alone"), copy=False)

    def _is_large(self) -> exp.Expr:
        several = exp.LT(this=name_of(FIRST), expression=name_of(LAST))
        return exp.paren(exp.and_(exp.GT(this=name_of(ROWS), expression=bare(3 * self.grain)), several))

    def _ends(self) -> tuple[exp.Expr, exp.Expr]:
        """The ends of a stretch of the first pass."""
        size = 1 << self.shifts[0]
        stretch = name_of(STRETCH)
        if size == 1:
            return exp.alias_(stretch, FIRST), exp.alias_(stretch.copy(), LAST)
        if self.finer:
            # it ends with the rows of the equal stretch that it lies in, or before the next one begins
            order = exp.Order(expressions=[exp.Ordered(this=stretch, nulls_first=False)])
            following = exp.Window(this=exp.Lead(this=stretch.copy()), partition_by=self._keys(), order=order)
            before = exp.Sub(this=following, expression=integer(1))
            first = exp.Greatest(this=stretch.copy(), expressions=[name_of(_LEAST)], ignore_nulls=True)
            last = exp.Least(this=name_of(_GREATEST), expressions=[before], ignore_nulls=True)
            return exp.alias_(first, FIRST), exp.alias_(last, LAST)
        start = exp.Mul(this=stretch, expression=integer(size))
        stop = exp.Add(this=start.copy(), expression=integer(size - 1))
        last = exp.Least(this=stop, expressions=[integer(self.table.points - 1)], ignore_nulls=True)
        return exp.alias_(start, FIRST), exp.alias_(last, LAST)

    def _keys(self, table: str | None = None) -> list[exp.Expr]:
        return [name_of(key, table) for key in self.keys]


def _with_few(query: exp.Select) -> exp.Select:
    query.args["joins"][-1].meta[FEW] = True
    return query


def _again(times: int) -> exp.Expr:
    return exp.EQ(this=name_of(_AGAIN), expression=bare(times))


def _reaches(window: RankWindow) -> exp.Expr:
    """Whether the ranks from `below` to `below + rows` come within reach of the wanted one (all times d)."""
    times = window.denominator
    wanted: exp.Expr
    if window.cap is None:
        wanted = exp.Mul(this=name_of(TOTAL), expression=bare(window.numerator))
    else:
        wanted = exp.Least(this=name_of(TOTAL), expressions=[cast_to(bare(window.cap), "BIGINT")], ignore_nulls=True)
        if window.from_top:
            doubled = exp.Mul(this=name_of(TOTAL), expression=bare(times))
            wanted = exp.Sub(this=doubled, expression=wanted)
    reach = cast_to(bare(times * window.reach), "BIGINT")
    top = exp.paren(exp.Add(this=name_of(BELOW), expression=name_of(ROWS)))
    under = exp.LTE(
        this=exp.Mul(this=name_of(BELOW), expression=bare(times)), expression=exp.Add(this=wanted, expression=reach)
    )
    over = exp.GTE(
        this=exp.Mul(this=top, expression=bare(times)),
        expression=exp.Sub(this=exp.paren(wanted.copy()), expression=reach.copy()),
    )
    return exp.and_(under, over, copy=False)


def divided(sql: exp.Expr, shift: int) -> exp.Expr:
    """The number of the stretch of 2**shift points that a point lies in."""
    return exp.IntDiv(this=sql, expression=bare(1 << shift)) if shift else sql


def name_of(column: str, table: str | None = None) -> exp.Expr:
    """A column."""
    return exp.column(column, table)


def aliased(table: str, name: str) -> exp.Expr:
    """A table of a WITH, under a shorter name."""
    found: exp.Expr = exp.alias_(exp.to_table(table), name, table=True)
    return found
