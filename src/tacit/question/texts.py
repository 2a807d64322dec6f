"""Texts in SQL's many words: concat and ||, trim, left, substring, starts_with, contains, ends_with.

Promise: as in `scalars`, every argument of a node is read or refused. A function with a meaning of its own becomes a
call of a listed function; one that is only another word becomes nodes that mean the same on every value. A text with a
character that LIKE treats specially (% _ \\) is refused, because engines disagree about escaping it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader, call, scalar

_PATTERNS: Mapping[type[exp.Expr], str] = MappingProxyType(
    {exp.StartsWith: "{}%", exp.Contains: "%{}%", exp.EndsWith: "%{}"}
)


def _beside(node: exp.Expr) -> tree.Scalar:
    """a || b || c, as one call."""
    parts: list[exp.Expr] = []
    open_nodes = [node]
    while open_nodes:
        part = open_nodes.pop()
        if isinstance(part, exp.DPipe):
            only(part, "this", "expression", "safe")
            open_nodes += [part.expression, part.this]
        else:
            parts.append(part)
    return call(node, "concat", tuple(map(scalar, parts)))


def _concat(node: exp.Expr) -> tree.Scalar:
    """concat(a, b): NULL is ignored."""
    only(node, "expressions", "safe", "coalesce")
    parts = tuple(map(scalar, node.expressions))
    if node.args.get("coalesce"):
        parts = tuple(part if isinstance(part, tree.Literal) else _or_nothing(part) for part in parts)
    return call(node, "concat", parts)


def _or_nothing(part: tree.Scalar) -> tree.Scalar:
    text = tree.Cast(part, "text")
    return tree.Case((tree.Branch(tree.Not(tree.IsNull(part)), text),), tree.Literal(""))


def _trim(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression", "position")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    given = [node.this, *([node.expression] if node.args.get("expression") is not None else [])]
    return call(node, name, tuple(map(scalar, given)))


def _left(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    return call(node, "substring", (scalar(node.this), tree.Literal(1), scalar(node.expression)))


def part_of_text(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    part = scalar(node.expression)
    if not isinstance(part, tree.Literal) or not isinstance(part.value, str):
        raise refused(node, f"{shown(node)!r} needs a constant text", "Write it in quotes.")
    if set(part.value) & set("%_\\"):
        raise refused(node, f"{shown(node)!r} looks for % or _ or \\", "Use = or IN, or substring for a part of it.")
    return tree.Like(scalar(node.this), _PATTERNS[type(node)].format(part.value), ignore_case=False)


def _substring(node: exp.Expr) -> tree.Scalar:
    """A part of a text; its places may be computed from constants, as programs that write SQL do."""
    only(node, "this", "start", "length")
    places = [_folded(scalar(node.args[name])) for name in ("start", "length") if node.args.get(name) is not None]
    return call(node, "substring", (scalar(node.this), *places))


def _folded(node: tree.Scalar) -> tree.Scalar:
    """The node, with sums of whole constants and choices between constants computed."""
    if isinstance(node, tree.Arithmetic) and node.op in ("+", "-"):
        left, right = _integer(_folded(node.left)), _integer(_folded(node.right))
        if left is not None and right is not None:
            return tree.Literal(left + right if node.op == "+" else left - right)
    if isinstance(node, tree.Case) and isinstance(node.branches[0].condition, tree.Compare):
        asked = node.branches[0].condition
        left, right = _integer(_folded(asked.left)), _integer(_folded(asked.right))
        if asked.op == ">=" and left is not None and right is not None:
            if left >= right:
                return _folded(node.branches[0].value)
            return _folded(tree.Case(node.branches[1:], node.otherwise) if node.branches[1:] else node.otherwise)
    return node


def _integer(node: tree.Scalar) -> int | None:
    return node.value if isinstance(node, tree.Literal) and type(node.value) is int else None


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType(
    {
        exp.DPipe: _beside,
        exp.Concat: _concat,
        exp.Trim: _trim,
        exp.Left: _left,
        exp.Substring: _substring,
        **dict.fromkeys(_PATTERNS, part_of_text),
    }
)
