"""a SEMI JOIN b ON c: the rows of a that meet one of b. It becomes a WHERE EXISTS (SELECT ... FROM b WHERE c).

Promise: what comes back has the same rows and no SEMI JOIN. Only the last joins of a SELECT may be one: before another
join, a condition on rows would not always mean the same.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.question.refusals import only, refused


def as_exists(statement: exp.Expr) -> exp.Expr:
    """The statement with every SEMI JOIN in it as a condition."""
    for select in list(statement.find_all(exp.Select)):
        joins: list[exp.Join] = list(select.args.get("joins") or ())
        while joins and (joins[-1].args.get("kind") or "").upper() == "SEMI":
            join = joins.pop()
            _move(select, join)
        if len(joins) < len(select.args.get("joins") or ()):
            select.set("joins", joins or None)
    return statement


def _move(select: exp.Select, join: exp.Join) -> None:
    only(join, "this", "on", "kind")
    on = join.args.get("on")
    if on is None:
        raise refused(join, "A SEMI JOIN needs ON", "Write a SEMI JOIN b ON a.x = b.x, or IN (SELECT ...).")
    inner = exp.select(exp.Literal.number(1)).from_(join.this.copy()).where(on.copy())
    select.where(exp.Exists(this=inner), copy=False)
