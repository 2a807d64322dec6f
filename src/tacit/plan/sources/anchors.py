"""Joins that read all of their sources, whatever rows these have.

Why. Where one side of a join is empty, engines do not read the other side. So if only one person satisfies a condition,
that person would cause a scan that would not happen otherwise, and the time would show it.

How. Every source of a FROM with joins gets one more row, which belongs to no one: the anchor. All its columns are NULL
but its unit and `tacit_anchor`, which is 1 for it and 0 for all other rows. Anchors meet anchors, and nothing else:

- every join also compares `tacit_anchor`, with that of the source that its condition speaks of;
- an equality is made to hold between anchors by giving both sides a constant there, so that it stays an equality, by
  which engines look rows up; any other condition of a join, and of WHERE, is made to hold for anchors too;
- a part of WHERE that speaks of one source, which no outer join can leave empty, is tested inside that source, on its
  own rows only;
- after all joins, rows of which any part is an anchor are left out. The condition adds up what all sources say, so that
  no engine can test it earlier, on one source. It has a column of its own for this, `tacit_out`: engines write one side
  of an equality for the other, and then the sum of all would be twice what one of them says.

Theorem. The rows that remain are those of the same SELECT without anchors. Proof: a row of a source meets the same rows
as before, since `tacit_anchor` is 0 on both sides and the conditions are unchanged where it is 0; whether it meets
none, which LEFT, RIGHT and FULL JOIN ask, is unchanged too. Anchors meet only each other, so what they add is one row,
all of whose parts are anchors, which the last condition leaves out.

Consequence. No side of a join is ever empty, and no intermediate result is, whatever the rows are.

`unit IN (SELECT ...)` is such a join as well: a LEFT JOIN with the list of those units, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.plan.values.scope import UNIT, column_of, quoted
from tacit.plan.values.value import integer
from tacit.question.sql_nodes import every_node

ANCHOR = "tacit_anchor"
_OUT = "tacit_out"
NOBODY = "nobody"
"""The mark of the constant that is an anchor's unit: where units are not whole numbers, an engine writes another."""
_THERE = "tacit_there"
_LIST = "tacit_in"


@dataclass(frozen=True, slots=True)
class Tie:
    """A part of a join's condition; for an equality, `text` says what it compares."""

    sql: exp.Expr
    text: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """What stands in FROM or JOIN under an alias; `near` is the earlier source whose anchor its own must meet.

    `optional`: in the end an outer join may have left it empty.
    """

    alias: str
    sql: exp.Expr
    side: str | None = None
    ties: tuple[Tie, ...] = ()
    near: str = ""
    optional: bool = False


def put_together(
    sources: Sequence[Source], selected: Sequence[exp.Expr], where: exp.Expr | None, kept: Sequence[exp.Expr] = ()
) -> exp.Select:
    """SELECT these FROM the sources WHERE the condition holds, and all of `kept`.

    The nodes in `selected` and `kept` become part of the query; the condition and the sources are copied.
    """
    conditions = [] if where is None else where.flatten() if isinstance(where, exp.And) else [where]
    parts, shown = [*(part.copy() for part in conditions), *kept], list(selected)
    lists = _lists([*shown, *parts])
    if len(sources) == 1 and not lists:
        # node by node, because the library's builders inspect everything that they are given
        query = exp.Select(expressions=shown, from_=exp.From(this=sources[0].sql.copy()))
        if parts:
            query.set("where", exp.Where(this=parts[0] if len(parts) == 1 else exp.and_(*parts, copy=False)))
        return query
    every = list(_with_lists(sources, lists))
    shown, parts = ([_replaced(each, lists) for each in some] for some in (shown, parts))
    inside: dict[str, list[exp.Expr]] = {}
    above: list[exp.Expr] = []
    for part in parts:
        owner = _alone(part, every)
        (above if owner is None else inside.setdefault(owner, [])).append(part)
    ties = [tie.sql for source in every for tie in source.ties]
    first = every[0]
    used = _columns([*shown, *parts, *ties])
    query = exp.select(*shown, copy=False).from_(_anchored(first, used, inside), copy=False)
    for source in every[1:]:
        join = exp.Join(this=_anchored(source, used, inside), on=_condition(source, every), side=source.side, kind=None)
        query.append("joins", join)
    late = [_or_anchor(part, first) for part in above]
    sums: exp.Expr = _somebody(first)
    for source in every[1:]:
        sums = exp.Add(this=sums, expression=_somebody(source))
    return query.where(*late, exp.EQ(this=sums, expression=exp.Literal.number(0)), copy=False)


# -- sources -----------------------------------------------------------------------------------------------


def _anchored(source: Source, used: dict[str, list[str]], inside: dict[str, list[exp.Expr]]) -> exp.Expr:
    """(SELECT columns, 0 FROM source WHERE its own conditions hold UNION ALL SELECT NULL, ..., 1) AS alias."""
    names = [name for name in used.get(source.alias, []) if name != UNIT]
    unit = UNIT in used.get(source.alias, [])
    own: list[exp.Expr] = [exp.column(UNIT, quoted(source.alias))] if unit else []
    own += [column_of(source.alias, name) for name in names]
    rows = exp.select(*own, *_marks(0), copy=False).from_(source.sql.copy(), copy=False)
    if source.alias in inside:
        rows = rows.where(exp.and_(*inside[source.alias], copy=False), copy=False)
    nothing: list[exp.Expr] = [exp.alias_(_nobody(), UNIT)] if unit else []
    nothing += [exp.alias_(exp.Null(), quoted(name)) for name in names]
    anchor = exp.select(*nothing, *_marks(1), copy=False)
    both = exp.Union(this=rows, expression=anchor, distinct=False)
    return exp.Subquery(this=both, alias=exp.TableAlias(this=quoted(source.alias)))


def _columns(sqls: Sequence[exp.Expr]) -> dict[str, list[str]]:
    """For each source, the columns that are named."""
    found: dict[str, list[str]] = {}
    for sql in sqls:
        for column in _own_columns(sql):
            names = found.setdefault(column.table, [])
            if column.name not in names:
                names.append(column.name)
    return found


def _own_columns(sql: exp.Expr) -> Iterator[exp.Column]:
    """The columns that it names itself: those inside a SELECT are of other sources, which may have the same names."""
    for node in every_node(sql, but_inside=exp.Query):
        if isinstance(node, exp.Column):
            yield node


def _nobody() -> exp.Expr:
    unit = integer(0)
    unit.meta[NOBODY] = True
    return unit


def _marks(anchor: int) -> list[exp.Expr]:
    return [exp.alias_(integer(anchor), name) for name in (ANCHOR, _OUT)]


def _somebody(source: Source) -> exp.Expr:
    return exp.Coalesce(this=exp.column(_OUT, quoted(source.alias)), expressions=[integer(0)])


def _anchor(source: Source, *, sure: bool = False) -> exp.Expr:
    """Whether a row of this source is its anchor; `sure`: 0 where an outer join left it empty."""
    own = exp.column(ANCHOR, quoted(source.alias))
    return exp.Coalesce(this=own, expressions=[integer(0)]) if sure else own


# -- conditions --------------------------------------------------------------------------------------------


def _condition(source: Source, every: Sequence[Source]) -> exp.Expr:
    near = next(each for each in every if each.alias == source.near)
    own = _anchor(source)
    same = exp.EQ(this=_anchor(near, sure=True) if near.optional else _anchor(near), expression=own)
    return exp.and_(*(_tied(tie, source) for tie in source.ties), same, copy=False)


def _tied(tie: Tie, source: Source) -> exp.Expr:
    """The part of a condition, made to hold where both sides are anchors: there all sources have `tacit_anchor` = 1."""
    sql = tie.sql.copy()
    if not isinstance(sql, exp.EQ) or not _is_equality(sql, source.alias):
        return _or_anchor(sql, source)
    sides = [side if _is_unit(side) else _or_constant(side, tie.text) for side in (sql.this, sql.expression)]
    return exp.EQ(this=sides[0], expression=sides[1])


def _is_equality(sql: exp.EQ, alias: str) -> bool:
    """Whether it compares something of this source with something of others."""
    sides = [{column.table for column in _own_columns(side)} for side in (sql.this, sql.expression)]
    return all(sides) and ({alias} in sides) and sum(alias in side for side in sides) == 1


def _is_unit(sql: exp.Expr) -> bool:
    return isinstance(sql, exp.Column) and sql.name == UNIT


def _or_constant(sql: exp.Expr, text: bool) -> exp.Expr:
    alias = next(column.table for column in _own_columns(sql))
    is_anchor = exp.EQ(this=exp.column(ANCHOR, quoted(alias)), expression=exp.Literal.number(1))
    constant: exp.Expr = exp.Literal.string("") if text else integer(0)
    return exp.Case(ifs=[exp.If(this=is_anchor, true=constant)], default=sql.copy())


def _or_anchor(sql: exp.Expr, source: Source) -> exp.Expr:
    is_anchor = exp.EQ(this=_anchor(source, sure=source.optional), expression=exp.Literal.number(1))
    return exp.paren(exp.or_(exp.paren(sql), is_anchor, copy=False))


def _alone(part: exp.Expr, every: Sequence[Source]) -> str | None:
    """The one source that a condition is about, where its rows can be left out before joining."""
    tables = {column.table for column in _own_columns(part)}
    found = [source for source in every if source.alias in tables]
    asks = any(each.args.get("query") is not None for each in part.find_all(exp.In))
    return found[0].alias if len(found) == 1 and not asks and not found[0].optional else None


# -- lists of units ----------------------------------------------------------------------------------------


def _lists(sqls: Sequence[exp.Expr]) -> dict[str, tuple[str, exp.Expr, exp.Expr]]:
    """unit IN (SELECT ...), by text: the name that its list gets, the unit, and the list."""
    found: dict[str, tuple[str, exp.Expr, exp.Expr]] = {}
    for node in _asked(sqls):
        found.setdefault(node.sql(), (f"{_LIST}{len(found)}", node.this, node.args["query"]))
    return found


def _asked(sqls: Sequence[exp.Expr]) -> Iterator[exp.In]:
    """The lists of the SELECT itself: a SELECT inside was put together by itself."""
    for sql in sqls:
        for node in every_node(sql, but_inside=exp.Query):
            if isinstance(node, exp.In) and node.args.get("query") is not None and _is_unit(node.this):
                yield node


def _with_lists(sources: Sequence[Source], lists: dict[str, tuple[str, exp.Expr, exp.Expr]]) -> Iterator[Source]:
    """The sources, and after each of them the lists of units that its rows are looked up in."""
    for source in sources:
        yield source
        for name, unit, listed in lists.values():
            assert isinstance(unit, exp.Column)
            if unit.table != source.alias:
                continue
            units = exp.select(exp.column(UNIT), exp.alias_(integer(1), _THERE)).distinct()
            rows = units.from_(
                exp.Subquery(this=listed.copy().unnest(), alias=exp.TableAlias(this=quoted("tacit_listed"))), copy=False
            )
            tie = Tie(exp.EQ(this=unit.copy(), expression=exp.column(UNIT, quoted(name))))
            yield Source(name, rows.subquery(quoted(name)), "LEFT", (tie,), source.alias, optional=True)


def _replaced(sql: exp.Expr, lists: dict[str, tuple[str, exp.Expr, exp.Expr]]) -> exp.Expr:
    """The condition with the result of each list in place of the question for it."""
    for node in list(_asked([sql])) if lists else ():
        name = lists[node.sql()][0]
        there = exp.paren(exp.not_(exp.Is(this=exp.column(_THERE, quoted(name)), expression=exp.Null())))
        if node is sql:
            return there
        node.replace(there)
    return sql


__all__ = ["ANCHOR", "NOBODY", "Source", "Tie", "put_together"]
