"""One text for all ways to ask the same thing: the key under which an answer is stored and found again.

Promise: questions with equal texts have equal trees and must get equal answers, so replaying one for the other is
right. White space, letter case of names, aliases of tables, names of outputs and the order of AND, OR and IN do not
matter. Give it a question whose names are resolved (`Plan.question`): only then do `x` and `v.x` read alike.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

from tacit.question import tree

# Fields that were added later: where they are empty, the text is the same as before they existed.
_LATER = {"offset": 0, "summary": None}


def canonical(question: tree.Question) -> str:
    """Stable JSON text of a question."""
    return json.dumps(
        _plain(replace(question, rows_per_unit=None, privacy=None)), sort_keys=True, separators=(",", ":")
    )


@singledispatch
def _plain(node: Any) -> Any:
    return {"is": type(node).__name__, **{field.name: _plain(getattr(node, field.name)) for field in fields(node)}}


@_plain.register(tree.Question)
def _(node: tree.Question) -> Any:
    """The names of outputs and keys of the answer do not matter. (Inside, columns are found by their names.)"""
    content = {field.name: getattr(node, field.name) for field in fields(node)}
    content["outputs"] = tuple(output.expression for output in node.outputs)
    content["keys"] = tuple(key.expression for key in node.keys)
    for name, usual in _LATER.items():
        if content[name] == usual:
            del content[name]
    return {"is": "Question", **{name: _plain(value) for name, value in content.items()}}


@_plain.register(tree.Key)
def _(node: tree.Key) -> Any:
    """It was decided before whether a name is a column's or an output's."""
    return {"is": "Key", "name": node.name, "expression": _plain(node.expression)}


@_plain.register(tuple)
def _(node: tuple[Any, ...]) -> Any:
    return [_plain(item) for item in node]


@_plain.register(tree.And)
@_plain.register(tree.Or)
def _(node: tree.And | tree.Or) -> Any:
    return {"is": type(node).__name__, "parts": _in_any_order(_flat(node))}


@_plain.register(tree.In)
def _(node: tree.In) -> Any:
    return {"is": "In", "operand": _plain(node.operand), "values": _in_any_order(node.values)}


def _in_any_order(parts: Iterable[tree.Scalar]) -> list[Any]:
    """The parts sorted by their text, each once."""
    plain = [_plain(part) for part in parts]
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
def _(node: str) -> Any:
    return node


@_plain.register(tree.Literal)
def _(node: tree.Literal) -> Any:
    return {"is": "Literal", "kind": type(node.value).__name__, "value": _constant(node.value)}


@_plain.register(bool)
@_plain.register(int)
@_plain.register(type(None))
def _(node: Any) -> Any:
    return node


def _constant(value: tree.Constant) -> Any:
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return str(value) if isinstance(value, Fraction) else value
