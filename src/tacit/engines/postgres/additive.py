"""Sums over a bounded table, as sums over all its rows, less the sums over the rows that the bound cuts off.

Promise: `less_cut` gives the query in that form, with the same result, or None. It is for one SELECT over one table of
the copy whose columns are keys and formulas of counts and sums. For such a formula every count and sum is additive over
rows, all numbers are whole and exact, so f(sum over all - sum over cut) is f(sum over the copy). A group whose rows are
all cut is left out, as it would be in the copy. A sum must be inside COALESCE(..., 0), so that it is 0 here too where
there are no values.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

_HELD: Final = "tacit_held"
_CLAUSES: Final = frozenset({"expressions", "from", "from_", "where", "group", "kind", "hint"})


def less_cut(query: exp.Expr, cut: str) -> exp.Expr | None:
    """The query over its table, less itself over the rows that are named `cut`."""
    if not _is_plain(query):
        return None
    assert isinstance(query, exp.Select)
    keys = len(_places(query))
    found = _sums(query.expressions[keys:])
    if found is None:
        return None
    parts = []
    for sign in (1, -1):
        table = next(query.find_all(exp.Table)).copy()
        if sign < 0:
            table.set("db", None)
            table.set("this", exp.to_identifier(cut, quoted=True))
        part = query.copy()
        part.find(exp.From).set("this", table)  # type: ignore[union-attr]
        sums = [exp.alias_(_signed(each.copy(), sign), f"a{place}") for place, each in enumerate(found.values())]
        held = exp.alias_(_signed(exp.Count(this=exp.Star()), sign), _HELD)
        part.set("expressions", [*(each.copy() for each in query.expressions[:keys]), *sums, held])
        parts.append(part)
    both = exp.Subquery(
        this=exp.Union(this=parts[0], expression=parts[1], distinct=False),
        alias=exp.TableAlias(this=exp.to_identifier("tacit_parts")),
    )
    shown: list[exp.Expr] = [exp.column(each.alias) for each in query.expressions[:keys]]
    shown += [_of_parts(each, list(found)) for each in query.expressions[keys:]]
    whole = exp.select(*shown, copy=False).from_(both, copy=False)
    if not keys:
        return whole
    there = exp.GT(this=exp.Sum(this=exp.column(_HELD)), expression=exp.Literal.number(0))
    return whole.group_by(*map(exp.Literal.number, range(1, keys + 1)), copy=False).having(there, copy=False)


def _is_plain(query: exp.Expr) -> bool:
    """Whether it is one SELECT from one table, whose groups are its first columns."""
    if not isinstance(query, exp.Select) or {name for name, value in query.args.items() if value} - _CLAUSES:
        return False
    source = query.find(exp.From)
    if source is None or not isinstance(source.this, exp.Table) or not source.this.alias:
        return False
    places = _places(query)
    alone = sum(1 for _ in query.find_all(exp.Query)) == 1 and not any(query.find_all(exp.Window, exp.Distinct))
    return alone and places == list(range(1, len(places) + 1)) and all(each.alias for each in query.expressions)


def _places(query: exp.Select) -> list[int]:
    """The places of the columns that it groups by, with an impossible place for anything else."""
    group = query.args.get("group")
    if group is None:
        return []
    if {name for name, value in group.args.items() if value} - {"expressions"}:
        return [0]
    return [int(each.name) if isinstance(each, exp.Literal) and not each.is_string else 0 for each in group.expressions]


def _sums(measures: list[exp.Expr]) -> dict[str, exp.Expr] | None:
    """The sums and counts that formulas are made of, each once, by their text. None where there are others."""
    found: dict[str, exp.Expr] = {}
    for measure in measures:
        for node in measure.find_all(exp.AggFunc):
            if isinstance(node, exp.Sum):
                parent = node.parent
                if not isinstance(parent, exp.Coalesce) or parent.this is not node:
                    return None
            elif not isinstance(node, exp.Count):
                return None
            found.setdefault(node.sql(), node)
    return found or None


def _signed(sql: exp.Expr, sign: int) -> exp.Expr:
    return sql if sign > 0 else exp.Neg(this=sql)


def _of_parts(measure: exp.Expr, names: list[str]) -> exp.Expr:
    """The formula with sums of the parts in place of its sums; a missing part counts as 0."""
    changed = measure.copy()
    for node in list(changed.find_all(exp.AggFunc)):
        part = exp.Sum(this=exp.column(f"a{names.index(node.sql())}"))
        node.replace(exp.Coalesce(this=part, expressions=[exp.Literal.number(0)]))
    return changed
