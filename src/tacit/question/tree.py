"""The tree of a question: the few kinds of things that can be asked.

Promise: every node is a frozen value, equal to any other node that says the same. What SQL has many words for is one
thing here (BETWEEN is two comparisons, COALESCE is a CASE), so that whoever reads the tree has few cases to prove.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias, TypeVar

Constant: TypeAlias = int | Fraction | str | bool | datetime.date | datetime.datetime | None
ArithmeticSign: TypeAlias = OneOf["+", "-", "*", "/", "//", "%"]
CompareSign: TypeAlias = OneOf["=", "<>", "<", "<=", ">", ">="]
CastKind: TypeAlias = OneOf["integer", "real", "date", "timestamp", "boolean", "text"]
AggregateKind: TypeAlias = OneOf[
    "count_rows", "count", "count_units", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop"
]


@dataclass(frozen=True, slots=True)
class Scalar:
    """The root of everything that has one value on one row (or, in an output, on one cell)."""


@dataclass(frozen=True, slots=True)
class Name(Scalar):
    """A column, of the table with this name or alias."""

    table: str | None
    column: str


@dataclass(frozen=True, slots=True)
class Literal(Scalar):
    """A constant; None is NULL."""

    value: Constant


@dataclass(frozen=True, slots=True)
class Negate(Scalar):
    """-x."""

    operand: Scalar


@dataclass(frozen=True, slots=True)
class Arithmetic(Scalar):
    """left op right; "//" is the quotient without its fraction."""

    op: ArithmeticSign
    left: Scalar
    right: Scalar


@dataclass(frozen=True, slots=True)
class Compare(Scalar):
    """left op right, NULL where either is."""

    op: CompareSign
    left: Scalar
    right: Scalar


@dataclass(frozen=True, slots=True)
class And(Scalar):
    """All of them, by SQL's three-valued logic."""

    parts: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Or(Scalar):
    """Any of them, by SQL's three-valued logic."""

    parts: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Not(Scalar):
    """The contrary; NULL stays NULL."""

    operand: Scalar


@dataclass(frozen=True, slots=True)
class In(Scalar):
    """Whether x is one of some constants."""

    operand: Scalar
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Like(Scalar):
    """Whether a text has the form of a pattern (% any text, _ one character)."""

    operand: Scalar
    pattern: str
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class IsNull(Scalar):
    """Whether there is no value."""

    operand: Scalar


@dataclass(frozen=True, slots=True)
class Branch:
    """One WHEN of a CASE."""

    condition: Scalar
    value: Scalar


@dataclass(frozen=True, slots=True)
class Case(Scalar):
    """The value of the first branch whose condition holds."""

    branches: tuple[Branch, ...]
    otherwise: Scalar


@dataclass(frozen=True, slots=True)
class Call(Scalar):
    """A function from `functions.FUNCTIONS`."""

    function: str
    arguments: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Cast(Scalar):
    """x read as another kind; NULL where it cannot be."""

    operand: Scalar
    kind: CastKind


@dataclass(frozen=True, slots=True)
class Aggregate(Scalar):
    """One number from all rows of a cell. `count_units` names the unit's column as its argument."""

    kind: AggregateKind
    argument: Scalar | None


@dataclass(frozen=True, slots=True)
class KeyValue(Scalar):
    """The value of the question's key with this place; it stands only in outputs whose names are resolved."""

    place: int


@dataclass(frozen=True, slots=True)
class Key:
    """Something to group by."""

    name: str
    expression: Scalar


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: an expression over aggregates and keys."""

    name: str
    expression: Scalar


@dataclass(frozen=True, slots=True)
class Join:
    """Another table beside the first."""

    table: str
    alias: str
    on: Scalar
    kind: OneOf["inner", "left"]


@dataclass(frozen=True, slots=True)
class Order:
    """One sort key of the answer."""

    expression: Scalar
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked. Names are as written until a plan resolves them."""

    table: str
    alias: str
    joins: tuple[Join, ...]
    where: Scalar | None
    keys: tuple[Key, ...]
    outputs: tuple[Output, ...]
    having: Scalar | None
    order: tuple[Order, ...]
    limit: int | None
    rows_per_unit: int | None


_Node = TypeVar("_Node")


def children(node: object) -> Iterator[object]:
    """The nodes right below a node."""
    for field in fields(node):  # type: ignore[arg-type]
        value = getattr(node, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, (Scalar, Branch)):
                yield item


def walk(node: object) -> Iterator[object]:
    """The node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: _Node, change: Callable[[Scalar], Scalar | None]) -> _Node:
    """The tree with every scalar replaced that `change` has another one for; what it leaves (None) is entered."""

    def visit(item: object) -> object:
        if isinstance(item, tuple):
            return tuple(visit(part) for part in item)
        if isinstance(item, Scalar):
            changed = change(item)
            return _rebuilt(item, visit) if changed is None else changed
        return _rebuilt(item, visit) if isinstance(item, Branch) else item

    return visit(node)  # type: ignore[return-value]


def _rebuilt(node: object, visit: Callable[[object], object]) -> object:
    parts = {field.name: visit(getattr(node, field.name)) for field in fields(node)}  # type: ignore[arg-type]
    return replace(node, **parts)  # type: ignore[type-var]
