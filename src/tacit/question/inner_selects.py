"""SELECTs inside a question: derived tables, UNION ALL, IN (SELECT ...), EXISTS (SELECT ...), and the joins of all.

Promise: as everywhere in this room, what is read is read whole or refused. ORDER BY inside has no meaning and is
allowed where nothing follows from it; LIMIT inside would let other people's rows decide which rows are taken, and is
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from tacit.question import clauses, tree
from tacit.question.groups import groups_of
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader, identifier, scalar, values_in

_CLAUSES = frozenset({"expressions", "from_", "joins", "where", "group", "having", "distinct", "order"})
_SIDES = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}
_KINDS = ("", "INNER", "OUTER", "CROSS")


def source_of(node: exp.Expr) -> tree.Source:
    """A table, or a SELECT in brackets."""
    if isinstance(node, exp.Table):
        return clauses.table_of(node)
    if isinstance(node, exp.Subquery):
        only(node, "this", "alias")
        alias = node.args.get("alias")
        if alias is not None:
            only(alias, "this")
        return tree.Derived(rows_of(node.this), "" if alias is None else identifier(alias.this))
    raise refused(node, f"FROM takes a table or a SELECT in brackets, and {shown(node)!r} is neither")


def joins_of(select: exp.Select) -> tuple[tree.Join, ...]:
    """The joined sources, in order."""
    return tuple(_join(node) for node in select.args.get("joins") or ())


def _join(node: exp.Join) -> tree.Join:
    only(node, "this", "on", "using", "side", "kind")
    side, kind = (node.args.get("side") or "").upper(), (node.args.get("kind") or "").upper()
    if side not in _SIDES or kind not in _KINDS:
        advice = "Use JOIN, LEFT JOIN, RIGHT JOIN or FULL JOIN; IN (SELECT ...) for a semi-join."
        raise refused(node, f"A {side or kind} JOIN is not understood", advice)
    on = node.args.get("on")
    if on is not None:
        clauses.no_aggregate(on, "ON")
    using = tuple(identifier(name) for name in node.args.get("using") or ())
    if side and on is None and not using:
        raise refused(node, f"A {side} JOIN needs ON or USING", "Say which rows belong together.")
    return tree.Join(source_of(node.this), None if on is None else scalar(on), _SIDES[side], using)  # type: ignore[arg-type]


def rows_of(node: exp.Expr) -> tree.Rows | tree.Union:
    """A SELECT inside, or several put together."""
    if isinstance(node, exp.Subquery):
        only(node, "this")
        return rows_of(node.this)
    if isinstance(node, exp.Union):
        return _union(node)
    if not isinstance(node, exp.Select):
        raise refused(node, f"A SELECT is needed inside the brackets, and {shown(node)!r} is none")
    for name, value in node.args.items():
        if value and name not in _CLAUSES:
            raise refused(node, f"{name.strip('_').upper()} is not understood in a SELECT inside", _advice(name))
    if node.args.get("from_") is None:
        raise refused(node, "A SELECT inside reads from no table", "Add FROM a_table.")
    only(node.args["from_"], "this")
    distinct = node.args.get("distinct")
    if distinct is not None:
        only(distinct)
    outputs = outputs_of_rows(node)
    named = [output for output in outputs if isinstance(output, tree.Output)]
    keys, sets = groups_of(node, named)
    return tree.Rows(
        source_of(node.args["from_"].this),
        joins_of(node),
        clauses.where_of(node),
        keys,
        outputs,
        clauses.having_of(node, named, keys),
        distinct is not None,
        sets,
    )


def _advice(name: str) -> str:
    if name in ("limit", "offset"):
        return "Which rows come first depends on other people's rows. Use WHERE, or tacit_rows_per_unit."
    return "Leave it out."


def _union(node: exp.Union) -> tree.Union:
    if node.args.get("distinct") or node.args.get("by_name") or node.args.get("with_"):
        raise refused(node, "UNION removes rows that are alike, whoever they belong to", "Use UNION ALL.")
    only(node, "this", "expression", "distinct")
    parts: list[tree.Rows] = []
    for side in (node.this, node.expression):
        found = rows_of(side)
        parts += found.parts if isinstance(found, tree.Union) else (found,)
    return tree.Union(tuple(parts))


def outputs_of_rows(select: exp.Select) -> tuple[tree.Output | tree.Every, ...]:
    """The columns of a SELECT inside, each with a name of its own; * stays as it is."""
    found: list[tree.Output | tree.Every] = []
    taken: set[str] = set()
    for node in select.expressions:
        if isinstance(node, exp.Star):
            found.append(tree.Every(None, _excluded(node)))
            continue
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            found.append(tree.Every(identifier(node.args["table"]), _excluded(node.this)))
            continue
        inside = node.this if isinstance(node, exp.Alias) else node
        name = identifier(node.args["alias"]) if isinstance(node, exp.Alias) else clauses.default_name(node)
        if name.lower() in taken:
            raise refused(node, f"Two columns are called {name!r} in a SELECT inside", "Give one another name: AS ...")
        taken.add(name.lower())
        found.append(tree.Output(name, scalar(inside)))
    return tuple(found)


def _excluded(star: exp.Star) -> tuple[str, ...]:
    """The names in * EXCLUDE (a, b)."""
    only(star, "except_")
    named = star.args.get("except_") or ()
    for column in named:
        if not isinstance(column, exp.Column) or column.args.get("table") is not None:
            raise refused(star, "EXCLUDE takes plain names of columns")
    return tuple(identifier(column.this) for column in named)


def _in(node: exp.Expr) -> tree.Scalar:
    query = node.args.get("query")
    if query is None:
        return values_in(node)
    only(node, "this", "query")
    return tree.InRows(scalar(node.this), rows_of(query))


def _exists(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return tree.Exists(rows_of(node.this))


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType({exp.In: _in, exp.Exists: _exists})
