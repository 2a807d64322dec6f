"""a SEMI JOIN b ON c: the rows of a that meet one of b. It becomes a WHERE EXISTS (SELECT ... FROM b WHERE c).

Promise: what comes back has the same rows and no SEMI JOIN; an ANTI JOIN, the rows that meet none, becomes NOT EXISTS.
Only the last joins of a SELECT may be one: before another join, a condition on rows would not always mean the same.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.question.refusals import only, refused


def as_exists(statement: exp.Expr) -> exp.Expr:
    """The statement with every SEMI and ANTI JOIN in it as a condition."""
    for select in list(statement.find_all(exp.Select)):
        joins: list[exp.Join] = list(select.args.get("joins") or ())
        while joins and _kind(joins[-1]) in ("SEMI", "ANTI"):
            _move(select, joins.pop())
        if len(joins) < len(select.args.get("joins") or ()):
            select.set("joins", joins or None)
    return statement


def _kind(join: exp.Join) -> str:
    return str(join.args.get("kind") or "").upper()


def _move(select: exp.Select, join: exp.Join) -> None:
    only(join, "this", "on", "kind")
    on = join.args.get("on")
    if on is None:
        raise refused(join, f"A {_kind(join)} JOIN needs ON", "Write a SEMI JOIN b ON a.x = b.x, or IN (SELECT ...).")
    inner = exp.select(exp.Literal.number(1)).from_(join.this.copy()).where(on.copy())
    exists = exp.Exists(this=inner)
    select.where(exp.Not(this=exists) if _kind(join) == "ANTI" else exists, copy=False)
