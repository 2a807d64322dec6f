"""Widths: could this whole number be wider than 64 bits where it stands in a query?

Promise: false only for what certainly is a BIGINT (or narrower) when the engine computes it. Anything not known here
counts as wide, which costs time but never a digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from sqlglot import exp

_WIDE = (exp.DType.INT128, exp.DType.DECIMAL)
_MADE_OF_PARTS = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.Neg,
    exp.Abs,
    exp.Paren,
    exp.Coalesce,
    exp.Least,
    exp.Greatest,
    exp.Min,
    exp.Max,
)


@singledispatch
def is_wide(node: exp.Expr) -> bool:
    """Whether the node may be wider than 64 bits."""
    return not isinstance(node, (exp.Null, exp.Count, exp.Length, exp.RowNumber)) and (
        not isinstance(node, _MADE_OF_PARTS) or any(is_wide(part) for part in _parts(node))
    )


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    yield node.this
    if isinstance(node.args.get("expression"), exp.Expr):
        yield node.expression
    yield from node.args.get("expressions") or ()


@is_wide.register
def _(node: exp.Cast) -> bool:
    return node.to.this in _WIDE


@is_wide.register
def _(node: exp.Literal) -> bool:
    return bool(node.args.get("is_string")) or not str(node.this).isdigit() or int(node.this) >= 1 << 63


@is_wide.register
def _(node: exp.Case) -> bool:
    branches = [branch.args["true"] for branch in node.args["ifs"]]
    return any(is_wide(part) for part in [*branches, node.args.get("default")] if part is not None)


@is_wide.register
def _(node: exp.Column) -> bool:
    source = _source(node)
    if isinstance(source, exp.Table) and source.args.get("db") is not None:
        return False  # numbers of the working copy are BIGINT
    return True if source is None else _column_is_wide(source, node.name)


def _source(column: exp.Column) -> exp.Expr | None:
    """The table or query behind a column, in the nearest query that has it."""
    here = column.find_ancestor(exp.Select)
    if isinstance(here, exp.Select) and not column.table:
        # a bare name is looked up in the nearest query first, but only a query inside says which names it has
        sources = [_unnamed(source) for source in _sources(here)]
        found = [each for each in sources if each is not None and column.name in _names(each)]
        return found[0] if len(found) == len(sources) == 1 else None
    while isinstance(here, exp.Select):
        for source in _sources(here):
            if source.alias_or_name == column.table:
                return _unnamed(source)
        here = here.find_ancestor(exp.Select)
    return None


def _sources(query: exp.Select) -> list[exp.Expr]:
    start = query.args.get("from_")
    return ([start.this] if start is not None else []) + [join.this for join in query.args.get("joins") or ()]


def _unnamed(source: exp.Expr) -> exp.Expr | None:
    """A name without a schema stands for a query that WITH defines."""
    if not isinstance(source, exp.Table) or source.args.get("db") is not None:
        return source
    holder = source.find_ancestor(exp.Select, exp.SetOperation)
    while holder is not None:
        defined = holder.args.get("with_")
        for cte in defined.expressions if defined is not None else ():
            if cte.alias == source.name:
                return cte if isinstance(cte, exp.CTE) else None
        holder = holder.find_ancestor(exp.Select, exp.SetOperation)
    return None


def _names(source: exp.Expr) -> list[str]:
    inside = source.this if isinstance(source, (exp.Subquery, exp.CTE)) else None
    return inside.named_selects if isinstance(inside, (exp.Select, exp.SetOperation)) else []


def _column_is_wide(source: exp.Expr, name: str) -> bool:
    if name not in _names(source):
        return True
    place = _names(source).index(name)
    return any(is_wide(each.selects[place].unalias()) for each in _selects(source.this))


def _selects(query: exp.Expr) -> Iterator[exp.Select]:
    if isinstance(query, exp.Select):
        yield query
    elif isinstance(query, exp.SetOperation):
        yield from _selects(query.this.unnest())
        yield from _selects(query.expression.unnest())
