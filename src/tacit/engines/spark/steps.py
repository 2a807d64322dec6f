"""A query in steps: what its WITH marks as written down is computed once, by itself, and later steps read it.

Spark puts what WITH names in place wherever it is read. Where each of several passes reads the one before
(`rank_query`), that makes the first pass part of the plan once for every later one: five passes became fifteen, in one
plan that took Spark seconds to make, and whose jobs ran side by side or not, as it happened. In steps each pass is a
small plan.

Promise: pure; the result is what the whole query gives. How many steps there are follows from the query alone. A step
is marked by the plan (`materialized`) and reads a table; a list of constants is not worth a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Steps:
    """Queries to be kept under names, in this order, and the last query, which reads them and gives the result."""

    kept: tuple[tuple[str, exp.Expr], ...]
    last: exp.Expr


def in_steps(query: exp.Expr, prefix: str) -> Steps:
    """The query's steps, kept under names that begin with `prefix`."""
    named = query.args.get("with_")
    if named is None or any(each.this.args.get("with_") for each in named.expressions):
        return Steps((), query)
    known: dict[str, exp.Expr] = {}
    kept: list[tuple[str, exp.Expr]] = []
    for each in named.expressions:
        known[each.alias] = each.this
        if each.args.get("materialized") and each.this.find(exp.Table) is not None:
            place = f"{prefix}_{len(kept)}"
            kept.append((place, _whole(each.this, known)))
            known[each.alias] = exp.select("*").from_(exp.to_table(place))
    last = query.copy()
    last.set("with_", None)
    return Steps(tuple(kept), _whole(last, known))


def _whole(query: exp.Expr, known: Mapping[str, exp.Expr]) -> exp.Expr:
    """The query, with the known queries that it reads in front of it."""
    wanted: set[str] = set()
    waiting = [query]
    while waiting:
        for table in waiting.pop().find_all(exp.Table):
            if not table.db and table.name in known and table.name not in wanted:
                wanted.add(table.name)
                waiting.append(known[table.name])
    whole = query.copy()
    if wanted:
        ctes = [
            exp.CTE(this=each.copy(), alias=exp.TableAlias(this=exp.to_identifier(name)))
            for name, each in known.items()
            if name in wanted
        ]
        whole.set("with_", exp.With(expressions=ctes))
    return whole
