"""What all nodes of a question have in common, and how to walk and rewrite them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Scalar:
    """The root of everything that has one value on one row (or, in an output, on one cell)."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One WHEN of a CASE."""

    condition: Scalar
    value: Scalar


@dataclass(frozen=True, slots=True)
class Order:
    """One sort key."""

    expression: Scalar
    descending: bool
    nulls_first: bool


_NODES = (Scalar, Branch, Order)
PLAIN = frozenset({type(None), str, int, bool, float})
"""Plain types; most fields hold one."""
_Node = TypeVar("_Node")


_FIELDS: dict[object, tuple[str, ...]] = {}  # by kind of node; there are few


def field_names(node: object) -> tuple[str, ...]:
    """The fields of a node."""
    found = _FIELDS.get(type(node))
    if found is None:
        found = _FIELDS[type(node)] = tuple(field.name for field in fields(node))  # type: ignore[arg-type]
    return found


def children(node: object) -> list[object]:
    """The nodes right below a node."""
    found: list[object] = []
    for name in field_names(node):
        value = getattr(node, name)
        if type(value) in PLAIN:
            continue
        if isinstance(value, tuple):
            found += [item for item in value if isinstance(item, _NODES)]
        elif isinstance(value, _NODES):
            found.append(value)
    return found


def walk(node: object) -> Iterator[object]:
    """The node and everything below it, from the top and from the left."""
    waiting = [node]
    while waiting:
        next_node = waiting.pop()
        yield next_node
        waiting += reversed(children(next_node))


def rewrite(node: _Node, change: Callable[[Scalar], Scalar | None]) -> _Node:
    """The tree with the scalars replaced for which `change` gives others; where it gives None, parts are visited."""

    def visit(item: object) -> object:
        if isinstance(item, tuple):
            parts = [visit(part) for part in item]
            return item if all(map(operator.is_, parts, item)) else tuple(parts)
        if isinstance(item, Scalar):
            changed = change(item)
            return _rebuilt(item, visit) if changed is None else changed
        return _rebuilt(item, visit) if isinstance(item, (Branch, Order)) else item

    return visit(node)  # type: ignore[return-value]


def _rebuilt(node: object, visit: Callable[[object], object]) -> object:
    """The node with its parts visited; itself where nothing changed."""
    changes = {}
    for name in field_names(node):
        value = getattr(node, name)
        if type(value) not in PLAIN and (after := visit(value)) is not value:
            changes[name] = after
    return replace(node, **changes) if changes else node  # type: ignore[type-var]
