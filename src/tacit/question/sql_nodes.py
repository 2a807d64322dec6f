"""The nodes of an SQL expression, as the parser made it or as a plan writes it.

sqlglot has generators for the same walk. Questions are walked a dozen times on their way, and a list takes a third of
the time.
"""

from __future__ import annotations

from sqlglot import exp

_LEAVES = frozenset({exp.Identifier, exp.Literal, exp.Null, exp.Boolean})
"""Kinds of nodes without nodes below them: half of all nodes."""


def below(node: exp.Expr) -> list[exp.Expr]:
    """The nodes right below a node, in order."""
    found: list[exp.Expr] = []
    if type(node) in _LEAVES:
        return found
    for value in node.args.values():
        if value is None or value is False:  # most clauses are absent
            continue
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, exp.Expr)]
    return found


def every_node(root: exp.Expr, but_inside: type[exp.Expr] | None = None) -> list[exp.Expr]:
    """The root and everything below it, level by level; nodes below a node `but_inside` are left out."""
    found = [root]
    for node in found:  # grows while it is read
        if type(node) not in _LEAVES and (but_inside is None or not isinstance(node, but_inside)):
            found += below(node)
    return found
