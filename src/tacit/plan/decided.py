"""Conditions on rows that the policy decides by itself: no row, or every row, can satisfy them. Told free of charge.

Promise: made from the question and the policy alone (values listed with one_of, stated bounds, columns without gaps),
so it says nothing about a row. It is a note and no refusal: an answer of nothing but noise may be what is wanted, and
what was asked stays what is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import singledispatch

from tacit.plan.scope import Scope
from tacit.plan.translate import value_of
from tacit.plan.values import Nothing, Number, Text, Value
from tacit.policy.check import did_you_mean
from tacit.question import tree

_MIRROR = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBERS = ("number", "boolean")
_LISTED = 8


def decided(question: tree.Question, scope: Scope) -> Iterator[str]:
    """What to know about the conditions on rows, each once: of WHERE, and inside aggregates (FILTER, CASE)."""
    conditions = [] if question.where is None else [question.where]
    for output in question.outputs:
        for node in tree.walk(output.expression):
            if isinstance(node, tree.Aggregate):
                conditions += [each for each in (node.argument, node.second) if each is not None]
    yield from dict.fromkeys(note for each in conditions for node in tree.walk(each) for note in _notes(node, scope))


def _notes(node: object, scope: Scope) -> Iterator[str]:
    return _about(node, scope) if isinstance(node, tree.Scalar) else iter(())


@singledispatch
def _about(node: tree.Scalar, scope: Scope) -> Iterator[str]:
    """Notes on one condition."""
    yield from ()


@_about.register
def _(node: tree.Compare, scope: Scope) -> Iterator[str]:
    left, right = value_of(node.left, scope), value_of(node.right, scope)
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        yield "A comparison with NULL is never true, so it leaves no row: write IS NULL or IS NOT NULL"
        return
    op: str = node.op
    named = node.left
    if _constant(left) is not None:
        left, right, op, named = right, left, _MIRROR[op], node.right
    yield from _against(op, left, right, named)


@_about.register
def _(node: tree.In, scope: Scope) -> Iterator[str]:
    operand = value_of(node.operand, scope)
    for value in node.values:
        yield from _against("=", operand, value_of(value, scope), node.operand)


@_about.register
def _(node: tree.IsNull, scope: Scope) -> Iterator[str]:
    if isinstance(node.operand, tree.Name) and not value_of(node.operand, scope).nullable:
        yield f"{_named(node.operand)} has a value on every row, by the policy: IS NULL holds on none of them"


def _constant(value: Value) -> object:
    return value.constant if isinstance(value, (Number, Text)) else None


def _against(op: str, value: Value, constant: Value, named: tree.Scalar) -> Iterator[str]:
    if not isinstance(named, tree.Name) or _constant(constant) is None or _constant(value) is not None:
        return
    if isinstance(value, Text) and isinstance(constant, Text) and value.values is not None:
        assert constant.constant is not None
        yield from _text(op, value.values, constant.constant, _named(named))
    if isinstance(value, Number) and isinstance(constant, Number) and value.stated and not value.coded:
        assert constant.constant is not None
        if value.meaning in _NUMBERS and constant.meaning in _NUMBERS:
            yield from _number(op, value, constant.constant * constant.step, _named(named))


def _text(op: str, known: tuple[str, ...], found: str, name: str) -> Iterator[str]:
    if op not in ("=", "<>") or found in known:
        return
    near = next((each for each in known if each.casefold().strip() == found.casefold().strip()), None)
    hint = f" Did you mean {near!r}?" if near is not None else did_you_mean(found, known)
    hint = f" ({hint.strip()})" if hint else ""
    listed = ", ".join(map(repr, known[:_LISTED])) + (", ..." if len(known) > _LISTED else "")
    rows = "no row has it" if op == "=" else "every row that has a value differs from it"
    yield f"{found!r} is not among the values of {name} that the policy lists ({listed}), so {rows}{hint}"


def _number(op: str, value: Number, found: Fraction, name: str) -> Iterator[str]:
    low, high = value.bounds.low * value.step, value.bounds.high * value.step
    points = None if value.points is None else [point * value.step for point in value.points]
    if op in ("=", "<>") and points is not None and found not in points and low <= found <= high:
        rows = "no row has it" if op == "=" else "every row that has a value differs from it"
        yield f"{_shown(found)} is not among the values of {name} that the policy lists, so {rows}"
        return
    checks: dict[str, tuple[Callable[[], bool], Callable[[], bool]]] = {
        # never true; always true, where there is a value
        "=": (lambda: not low <= found <= high, lambda: low == high == found),
        "<>": (lambda: low == high == found, lambda: not low <= found <= high),
        "<": (lambda: low >= found, lambda: high < found),
        "<=": (lambda: low > found, lambda: high <= found),
        ">": (lambda: high <= found, lambda: low > found),
        ">=": (lambda: high < found, lambda: low >= found),
    }
    never, always = checks[op]
    if never() or always():
        rows = "no row" if never() else "every row that has a value"
        yield (
            f"{name} lies between {_shown(low)} and {_shown(high)}, by the policy, "
            f"so {name} {op} {_shown(found)} holds on {rows}"
        )


def _named(column: tree.Name) -> str:
    return column.column


def _shown(exact: Fraction) -> str:
    return str(exact) if exact.denominator == 1 else f"{float(exact):.6g}"
