"""Conditions that the policy alone decides: no row, or every row, can satisfy them. A free note says so.

Promise: made from the question and the policy alone (values listed with one_of, stated bounds, columns without gaps),
so it says nothing about a row. It is a note, not a refusal: an answer that is only noise may be wanted, and the
question is answered as it was asked. WHERE, ON, HAVING, keys and outputs are checked, with CASE and FILTER in them;
conditions on noisy numbers are not about rows, and are left out.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from types import MappingProxyType

from tacit.errors import QuestionError
from tacit.plan.values.arithmetic import MIRRORED
from tacit.plan.values.comparisons import as_moment
from tacit.plan.values.dates import calendar_date
from tacit.plan.values.scope import Scope
from tacit.plan.values.translate import value_of
from tacit.plan.values.value import Nothing, Number, Text, Value
from tacit.policy.check import did_you_mean
from tacit.policy.dates import DAY, EPOCH
from tacit.question import tree

_NUMBERS = ("number", "boolean")
_LISTED = 8
_CONDITIONS = (tree.Compare, tree.In, tree.Like, tree.IsNull)
_NOT_OF_A_ROW = (tree.Aggregate, tree.Over, tree.Total, tree.KeyValue, tree.Inner, tree.InRows, tree.Exists)


def decided(question: tree.Question, scope: Scope) -> Iterator[str]:
    """What to know about the conditions on rows, each once."""
    places = [question.where, *(join.on for join in question.joins), *(key.expression for key in question.keys)]
    places += [*(output.expression for output in question.outputs), question.having]
    conditions = [each for each in places if each is not None]
    nodes = [node for each in conditions for node in tree.walk(each) if isinstance(node, _CONDITIONS)]
    yield from dict.fromkeys(note for node in nodes for note in _notes(_of_keys(node, question.keys), scope))


def _of_keys(node: object, keys: tuple[tree.Key, ...]) -> object:
    """A condition with each key replaced by its expression (HAVING contains keys)."""
    if not keys:
        return node
    if isinstance(node, tree.Compare):
        return replace(node, left=_key(node.left, keys), right=_key(node.right, keys))
    if isinstance(node, (tree.In, tree.Like, tree.IsNull)):
        return replace(node, operand=_key(node.operand, keys))
    return node


def _key(scalar: tree.Scalar, keys: tuple[tree.Key, ...]) -> tree.Scalar:
    return keys[scalar.place].expression if isinstance(scalar, tree.KeyValue) else scalar


def _notes(node: object, scope: Scope) -> Iterator[str]:
    if not isinstance(node, _CONDITIONS) or any(isinstance(each, _NOT_OF_A_ROW) for each in tree.walk(node)):
        return
    try:
        yield from _about(node, scope)
    except QuestionError:  # an output's own name in HAVING; unreadable conditions are refused where they are read
        return


@singledispatch
def _about(node: tree.Scalar, scope: Scope) -> Iterator[str]:
    """Notes on one condition."""
    yield from ()


def _may_tell(*sides: tree.Scalar) -> bool:
    """Whether these can give a note: only columns and NULLs can. The rest is not read again, level by level."""
    return any(
        isinstance(side, tree.Name)
        or any(isinstance(each, tree.Literal) and each.value is None for each in tree.walk(side))
        for side in sides
    )


@_about.register
def _(node: tree.Compare, scope: Scope) -> Iterator[str]:
    if not _may_tell(node.left, node.right):
        return
    left, right = value_of(node.left, scope), value_of(node.right, scope)
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        yield "A comparison with NULL is never true, so it leaves no row: write IS NULL or IS NOT NULL"
        return
    op: str = node.op
    named = node.left
    if _constant(left) is not None:
        left, right, op, named = right, left, MIRRORED[op], node.right
    yield from _against(op, left, right, named)


@_about.register
def _(node: tree.In, scope: Scope) -> Iterator[str]:
    if not isinstance(node.operand, tree.Name):
        return
    operand = value_of(node.operand, scope)
    for value in node.values:
        yield from _against("=", operand, value_of(value, scope), node.operand)


@_about.register
def _(node: tree.Like, scope: Scope) -> Iterator[str]:
    if not isinstance(node.operand, tree.Name):
        return
    operand = value_of(node.operand, scope)
    if not isinstance(operand, Text) or operand.values is None:
        return
    if not node.pattern.isascii() or not all(each.isascii() for each in operand.values):
        return  # engines differ in the case of other letters
    found = [bool(_like(node.pattern, node.ignore_case).fullmatch(each)) for each in operand.values]
    word = "ILIKE" if node.ignore_case else "LIKE"
    if all(found) or not any(found):
        which, rows = ("every", "every row that has a value") if all(found) else ("no", "no row")
        listed = ", ".join(map(repr, operand.values[:_LISTED])) + (", ..." if len(operand.values) > _LISTED else "")
        yield (
            f"{which} value of {_named(node.operand)} that the policy lists ({listed}) fits {word} {node.pattern!r}, "
            f"so it holds on {rows}"
        )


def _like(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """The pattern: % is any text, _ any character, and a backslash makes the next character mean itself."""
    parts, rest = [], iter(pattern)
    for each in rest:
        parts.append(".*" if each == "%" else "." if each == "_" else re.escape(next(rest) if each == "\\" else each))
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


@_about.register
def _(node: tree.IsNull, scope: Scope) -> Iterator[str]:
    if isinstance(node.operand, tree.Name) and not value_of(node.operand, scope).nullable:
        yield f"{_named(node.operand)} has a value on every row, by the policy: IS NULL holds on none of them"


def _constant(value: Value) -> object:
    return value.constant if isinstance(value, (Number, Text)) else None


def _against(op: str, value: Value, constant: Value, named: tree.Scalar) -> Iterator[str]:
    constant = as_moment(constant, value)
    if not isinstance(named, tree.Name) or _constant(constant) is None or _constant(value) is not None:
        return
    if isinstance(value, Text) and isinstance(constant, Text) and value.values is not None:
        assert constant.constant is not None
        yield from _text(op, value.values, constant.constant, _named(named))
    if isinstance(value, Number) and isinstance(constant, Number) and value.stated and not value.coded:
        assert constant.constant is not None
        numbers = value.meaning in _NUMBERS and constant.meaning in _NUMBERS
        if numbers or (value.meaning == constant.meaning and value.meaning in _DATES):
            yield from _number(op, value, constant.constant * constant.step, _named(named))
        elif (value.meaning, constant.meaning) == ("timestamp", "date"):
            yield from _number(op, value, Fraction(constant.constant * DAY), _named(named))


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
    shown = _DATES.get(value.meaning, _shown)
    points = None if value.points is None else [point * value.step for point in value.points]
    if op in ("=", "<>") and points is not None and found not in points and low <= found <= high:
        rows = "no row has it" if op == "=" else "every row that has a value differs from it"
        yield f"{shown(found)} is not among the values of {name} that the policy lists, so {rows}"
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
            f"{name} lies between {shown(low)} and {shown(high)}, by the policy, "
            f"so {name} {op} {shown(found)} holds on {rows}"
        )


def _named(column: tree.Name) -> str:
    return column.column


def _shown(exact: Fraction) -> str:
    return str(exact) if exact.denominator == 1 else f"{float(exact):.6g}"


def _day(exact: Fraction) -> str:
    return str(calendar_date(int(exact)))


def _time(exact: Fraction) -> str:
    return str(EPOCH + datetime.timedelta(microseconds=int(exact)))


_DATES: Mapping[str, Callable[[Fraction], str]] = MappingProxyType({"date": _day, "timestamp": _time})
