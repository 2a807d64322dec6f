"""One text for all ways to ask the same thing: the key under which an answer is stored and found again.

Promise: equal texts mean equal answers are owed (the tree says the same), so replaying one for the other is right.
White space, letter case of names, aliases of tables, names of outputs and the order of AND, OR and IN do not matter.
Give it a question whose names are resolved (`Plan.question`): only then do `x` and `v.x` read alike.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from fractions import Fraction
from functools import singledispatch
from typing import Any

from tacit.question import tree


def canonical(question: tree.Question) -> str:
    """Stable JSON text of a question."""
    aliases = _aliases(question)
    return json.dumps(_plain(question, aliases), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _aliases(question: tree.Question) -> dict[str, str]:
    """Alias -> a name that does not depend on it: the table's, with a number where a table comes again."""
    names: dict[str, str] = {}
    for table, alias in [(question.table, question.alias), *((join.table, join.alias) for join in question.joins)]:
        again = sum(name.split("#")[0] == table.lower() for name in names.values())
        names[alias.lower()] = table.lower() + (f"#{again + 1}" if again else "")
    return names


@singledispatch
def _plain(node: Any, aliases: dict[str, str]) -> Any:
    skipped = "name" if isinstance(node, (tree.Output, tree.Key)) else ""
    content = {field.name: getattr(node, field.name) for field in fields(node) if field.name != skipped}
    return {"is": type(node).__name__, **{name: _plain(value, aliases) for name, value in content.items()}}


@_plain.register(tree.Question)
@_plain.register(tree.Join)
def _(node: tree.Question | tree.Join, aliases: dict[str, str]) -> Any:
    content = {field.name: getattr(node, field.name) for field in fields(node) if field.name != "alias"}
    content["table"] = node.table.lower()
    return {"is": type(node).__name__, **{name: _plain(value, aliases) for name, value in content.items()}}


@_plain.register(tuple)
def _(node: tuple[Any, ...], aliases: dict[str, str]) -> Any:
    return [_plain(item, aliases) for item in node]


@_plain.register(tree.Name)
def _(node: tree.Name, aliases: dict[str, str]) -> Any:
    table = None if node.table is None else aliases.get(node.table.lower(), node.table.lower())
    return {"is": "Name", "table": table, "column": node.column.lower()}


@_plain.register(tree.And)
@_plain.register(tree.Or)
def _(node: tree.And | tree.Or, aliases: dict[str, str]) -> Any:
    return {"is": type(node).__name__, "parts": _in_any_order(_flat(node), aliases)}


@_plain.register(tree.In)
def _(node: tree.In, aliases: dict[str, str]) -> Any:
    return {"is": "In", "operand": _plain(node.operand, aliases), "values": _in_any_order(node.values, aliases)}


def _in_any_order(parts: Iterable[tree.Scalar], aliases: dict[str, str]) -> list[Any]:
    """The parts sorted by their text, each once."""
    plain = [_plain(part, aliases) for part in parts]
    return list({json.dumps(part, sort_keys=True): part for part in sorted(plain, key=_text)}.values())


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True)


def _flat(node: tree.And | tree.Or) -> Iterator[tree.Scalar]:
    """The parts of a chain, and of the chains of the same kind in it."""
    for part in node.parts:
        if type(part) is type(node):
            yield from _flat(part)
        else:
            yield part


@_plain.register(str)
def _(node: str, aliases: dict[str, str]) -> Any:
    return node


@_plain.register(tree.Literal)
def _(node: tree.Literal, aliases: dict[str, str]) -> Any:
    return {"is": "Literal", "kind": type(node.value).__name__, "value": _constant(node.value)}


@_plain.register(bool)
@_plain.register(int)
@_plain.register(type(None))
def _(node: Any, aliases: dict[str, str]) -> Any:
    return node


def _constant(value: tree.Constant) -> Any:
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return str(value) if isinstance(value, Fraction) else value
