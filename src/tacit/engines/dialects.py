"""Dialects: the plan's one tree as the text that each engine understands.

Promise: the text means the same on every engine, on every row, as `plan.values` states it. The plan knows no dialect;
each difference of an engine is one small function here that changes one kind of node, innermost nodes first. The
translations of the parser's library are not relied on: the conformance tests run every kind of node that a plan can
hold on every engine, and compare.

What a plan's tree means, beyond plain SQL:
- whole numbers are BIGINT, or INT128 where they could be wider (NUMERIC in PostgreSQL, which is exact at any width);
- IntDiv cuts the fraction off towards zero, and Mod has the sign of its left side;
- text is compared, ordered and grouped by code point; LIKE has no escape character; letters are those of Unicode;
- LEAST and GREATEST ignore NULL, and TimestampTrunc of a date is the midnight of the first day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from sqlglot import exp

from tacit.engines.spark import dialect as spark_dialect
from tacit.engines.widths import is_wide
from tacit.plan.sources.anchors import NOBODY
from tacit.plan.sources.scope import COPY

Dialect = Literal["duckdb", "postgres", "spark"]
_C: Final = "C"


@dataclass(frozen=True, slots=True)
class Place:
    """The properties of one database: where its copy lies, and which of its collations knows all letters.

    `queries` names for each table the query (of a WITH) that stands for it where there is no copy.
    """

    schema: str = COPY
    letters: str = _C
    queries: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)  # on Spark: the view that stands for each table


Change = Callable[[exp.Expr, Place], exp.Expr]


def text(query: exp.Expr, dialect: Dialect, place: Place | None = None) -> str:
    """The query in an engine's own words."""
    # not copied again: writing the nodes of a plan changes none of them
    return translated(query, dialect, place).sql(dialect=dialect, copy=False)


def translated(query: exp.Expr, dialect: Dialect, place: Place | None = None) -> exp.Expr:
    """The query's tree as the engine needs it; the plan's own tree is left as it is."""
    changes = _CHANGES[dialect]
    if not changes:
        return query
    tree = query.copy()
    for kind, change in changes:
        for node in reversed(list(tree.find_all(kind))):
            changed = change(node, place or Place())
            if changed is not node:
                node.replace(changed)
    return tree


def _collated(node: exp.Expr, name: str) -> exp.Expr:
    # in brackets outside too: POSITION(... IN ...) takes no bare COLLATE
    # with its schema: otherwise a user who may create collations could put one of this name before ours
    collation = exp.Dot.build([exp.to_identifier("pg_catalog"), exp.to_identifier(name, quoted=True)])
    return exp.paren(exp.Collate(this=exp.paren(node), expression=collation))


def _whole_division(node: exp.Expr, _: Place) -> exp.Expr:
    """BIGINT / BIGINT cuts towards zero by itself; for NUMERIC only DIV does."""
    sides = [node.this.copy(), node.expression.copy()]
    if is_wide(node.this) or is_wide(node.expression):
        return exp.Anonymous(this="DIV", expressions=sides)
    return exp.Div(this=sides[0], expression=sides[1], typed=True, safe=False)


def _numeric(node: exp.Expr, _: Place) -> exp.Expr:
    return exp.DataType(this=exp.DType.DECIMAL, nested=False) if node.this == exp.DType.INT128 else node


def _by_code_point(node: exp.Expr, _: Place) -> exp.Expr:
    """Columns of the copy have the collation already; a constant would bring the database's own."""
    plain = not node.args.get("is_string") or isinstance(node.parent, exp.Cast)
    return node if plain else _collated(node.copy(), _C)


def _text_by_code_point(node: exp.Expr, _: Place) -> exp.Expr:
    """A number as a text would bring the database's own collation."""
    return _collated(node.copy(), _C) if isinstance(node, exp.Cast) and node.to.this == exp.DType.TEXT else node


def _nobody(node: exp.Expr, _: Place) -> exp.Expr:
    """A unit that belongs to no one, as a constant without a type: units are numbers here, or texts."""
    return exp.Var(this="'0'") if node.meta.get(NOBODY) else node


def _letters(node: exp.Expr, place: Place) -> exp.Expr:
    """The collation "C" would change the 26 letters of ASCII only."""
    return _collated(type(node)(this=_collated(node.this.copy(), place.letters)), _C)


def _any_case(node: exp.Expr, _: Place) -> exp.Expr:
    return exp.Like(this=exp.Lower(this=node.this.copy()), expression=exp.Lower(this=node.expression.copy()))


def _no_escape(node: exp.Expr, _: Place) -> exp.Expr:
    return exp.Escape(this=node.copy(), expression=exp.Literal.string(""))


def _first_day(node: exp.Expr, _: Place) -> exp.Expr:
    """DATE_TRUNC would first turn a date into a time with a zone."""
    plain = exp.Cast(this=node.this.copy(), to=exp.DataType(this=exp.DType.TIMESTAMP, nested=False))
    return exp.Anonymous(this="DATE_TRUNC", expressions=[exp.Literal.string(node.args["unit"].name.lower()), plain])


def _there(node: exp.Expr, place: Place) -> exp.Expr:
    if not isinstance(node, exp.Table) or node.db != COPY:
        return node
    if node.name in place.queries:
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        node.set("this", exp.to_identifier(place.queries[node.name], quoted=True))
        node.set("db", None)
    else:
        node.set("db", exp.to_identifier(place.schema, quoted=True))
    return node


_CHANGES: Final[Mapping[Dialect, tuple[tuple[type[exp.Expr], Change], ...]]] = {
    "duckdb": (),
    "postgres": (
        (exp.IntDiv, _whole_division),
        (exp.DataType, _numeric),
        (exp.ILike, _any_case),
        (exp.Lower, _letters),
        (exp.Upper, _letters),
        (exp.Literal, _by_code_point),
        (exp.Cast, _text_by_code_point),
        (exp.Cast, _nobody),
        (exp.Like, _no_escape),
        (exp.TimestampTrunc, _first_day),
        (exp.Table, _there),
    ),
    "spark": spark_dialect.CHANGES,
}
