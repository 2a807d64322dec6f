"""WHERE narrows the keys: GROUP BY c WHERE c IN ('a', 'b') has two cells, whatever else the policy lists.

Theorem. A value of a key is left out only where a part of WHERE cannot be true of any row that has it, whatever the
row's other values are. So no row that is counted is in a cell that is left out. The question's text and the policy
alone decide. A condition that is not understood here (functions of the key, other columns) may always be true: then the
value stays, at worst with an empty cell.

A part that says which values there can be (c = 'a', c IN (...), and OR of these) also makes a key known whose values
the policy does not list: the question lists them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tacit.errors import QuestionError
from tacit.plan.columns import KeyColumn, RawKey, read_key
from tacit.plan.sources.names import conjuncts
from tacit.question import tree
from tacit.question.scalars import moment

_MOST = 2_000_000  # values times parts of a condition: beyond it, all values stay
_MOST_LISTED = 10_000

Outcomes = frozenset[bool | None]
"""What a condition can be: true, false, NULL."""

_ANY: Outcomes = frozenset({True, False, None})
_NULL: Outcomes = frozenset({None})


def narrowed(
    columns: Sequence[KeyColumn], keys: Sequence[tree.Key], where: tree.Scalar | None
) -> tuple[KeyColumn, ...]:
    """The keys without the values that WHERE rules out."""
    parts = list(conjuncts(where))
    return tuple(_narrowed(column, key.expression, parts) for column, key in zip(columns, keys, strict=True))


def _narrowed(column: KeyColumn, key: tree.Scalar, parts: Sequence[tree.Scalar]) -> KeyColumn:
    values = column.values
    if values is None:
        values = _listed(column, key, parts)
    if values is None:
        return column
    for part in parts:
        size = _size(part)
        if any(node == key for node in tree.walk(part)) and size * len(values) <= _MOST:
            values = tuple(raw for raw in values if True in _outcomes(part, key, column, raw))
    return replace(column, values=values)


def _size(part: tree.Scalar) -> int:
    return sum(1 for _ in itertools.islice(tree.walk(part), _MOST))


# -- the values that a question itself lists ----------------------------------------------------------------


def _listed(column: KeyColumn, key: tree.Scalar, parts: Sequence[tree.Scalar]) -> tuple[RawKey, ...] | None:
    if column.meaning not in ("text", "number") or column.step != 1:
        return None
    for part in parts:
        found = _constants(part, key)
        kind = str if column.meaning == "text" else int
        if found is not None and len(found) <= _MOST_LISTED and all(type(value) is kind for value in found):
            return tuple(sorted(set(found)))
    return None


def _constants(part: tree.Scalar, key: tree.Scalar) -> list[Any] | None:
    """The constants that a condition allows as the key; None where it allows anything else."""
    if isinstance(part, tree.In) and part.operand == key:
        return [each.value for each in part.values if each.value is not None]
    if isinstance(part, tree.Compare) and part.op == "=":
        for mine, other in ((part.left, part.right), (part.right, part.left)):
            if mine == key and isinstance(other, tree.Literal):
                return [] if other.value is None else [other.value]
    if isinstance(part, tree.Or):
        found = [_constants(each, key) for each in part.parts]
        return None if any(each is None for each in found) else [value for each in found for value in each or ()]
    return None


# -- what a condition can be where the key has a value ------------------------------------------------------


def _outcomes(node: tree.Scalar, key: tree.Scalar, column: KeyColumn, raw: RawKey) -> Outcomes:
    if isinstance(node, tree.Literal) and isinstance(node.value, bool):
        return frozenset({node.value})
    if node == key:  # a truth value by itself
        return _ANY if column.meaning != "boolean" else frozenset({None if raw is None else bool(raw)})
    if isinstance(node, (tree.And, tree.Or)):
        return _together([_outcomes(part, key, column, raw) for part in node.parts], isinstance(node, tree.And))
    if isinstance(node, tree.Not):
        return frozenset(None if each is None else not each for each in _outcomes(node.operand, key, column, raw))
    if isinstance(node, tree.IsNull) and node.operand == key:
        return frozenset({raw is None})
    if isinstance(node, tree.In) and node.operand == key:
        return _among(node.values, column, raw)
    if isinstance(node, tree.Compare):
        return _compared(node, key, column, raw)
    return _ANY


def _together(parts: Sequence[Outcomes], all_of_them: bool) -> Outcomes:
    """AND, or OR, of independent conditions, by three-valued logic."""
    deciding = not all_of_them
    found: set[bool | None] = {deciding} if any(deciding in part for part in parts) else set()
    rest = [part - {deciding} for part in parts]
    if all(rest):  # no part has to decide
        if any(None in part for part in rest):
            found.add(None)
        if all(all_of_them in part for part in rest):
            found.add(all_of_them)
    return frozenset(found)


def _among(values: Iterable[tree.Literal], column: KeyColumn, raw: RawKey) -> Outcomes:
    if raw is None:
        return _NULL
    mine = read_key(column, raw)
    found = [_equal(mine, each.value, column) for each in values]
    return _together(found, all_of_them=False)


def _compared(node: tree.Compare, key: tree.Scalar, column: KeyColumn, raw: RawKey) -> Outcomes:
    for mine, other, turned in ((node.left, node.right, False), (node.right, node.left, True)):
        if mine == key and isinstance(other, tree.Literal):
            return _beside(_TURNED.get(node.op, node.op) if turned else node.op, other.value, column, raw)
    return _ANY


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _beside(op: str, other: Any, column: KeyColumn, raw: RawKey) -> Outcomes:
    if raw is None or other is None:
        return _NULL
    mine = read_key(column, raw)
    same = _equal(mine, other, column)
    if op == "=" or same == _ANY:
        return same
    if op == "<>":
        return frozenset(None if each is None else not each for each in same)
    if column.meaning == "text":  # the engine decides which of two texts comes first
        return frozenset({op in ("<=", ">=")}) if same == frozenset({True}) else _ANY
    theirs = _read(other, column)
    held = {"<": mine < theirs, "<=": mine <= theirs, ">": mine > theirs, ">=": mine >= theirs}.get(op)
    return _ANY if held is None else frozenset({bool(held)})


def _equal(mine: Any, other: Any, column: KeyColumn) -> Outcomes:
    if other is None:
        return _NULL
    theirs = _read(other, column)
    return _ANY if theirs is None else frozenset({bool(mine == theirs)})


def _read(other: Any, column: KeyColumn) -> Any:
    """A constant as the key has it; None where it is of another kind."""
    if column.meaning == "text":
        return other if isinstance(other, str) else None
    if column.meaning == "boolean":
        return other if isinstance(other, bool) else None
    if column.meaning == "number":
        plain = isinstance(other, (int, Fraction)) and not isinstance(other, bool)
        return other if plain else None
    try:
        read = moment(other, column.meaning) if isinstance(other, str) else other
    except QuestionError:
        return None
    wanted = type(read_key(column, 0))
    return read if type(read) is wanted else None
