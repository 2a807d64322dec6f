"""Scalar expressions: parsed nodes from an allow-list become nodes of our tree; all others are refused by name.

Promise: every argument of a node is read or refused (`only`), so nothing that was written is dropped silently.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import cast

from sqlglot import exp

from tacit.question import tree
from tacit.question.functions import DATE_PARTS, FUNCTIONS, OF_NODES, TRUNCATIONS
from tacit.question.refusals import only, refused, shown

_LONGEST_TEXT = 1_000
_LONGEST_NAME = 250
_LONGEST_NUMBER = 40
_MOST_VALUES = 1_000

_SIGNS: Mapping[type[exp.Expr], tree.ArithmeticSign] = MappingProxyType(
    {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%"}
)
_COMPARES: Mapping[type[exp.Expr], tree.CompareSign] = MappingProxyType(
    {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
)
_KINDS: Mapping[exp.DType, tree.CastKind] = MappingProxyType(
    {
        exp.DType.TINYINT: "integer",
        exp.DType.SMALLINT: "integer",
        exp.DType.INT: "integer",
        exp.DType.BIGINT: "integer",
        exp.DType.INT128: "integer",
        exp.DType.FLOAT: "real",
        exp.DType.DOUBLE: "real",
        exp.DType.DATE: "date",
        exp.DType.TIMESTAMP: "timestamp",
        exp.DType.TIMESTAMPNTZ: "timestamp",
        exp.DType.DATETIME: "timestamp",
        exp.DType.BOOLEAN: "boolean",
        exp.DType.TEXT: "text",
        exp.DType.VARCHAR: "text",
    }
)

Reader = Callable[[exp.Expr], tree.Scalar]


def scalar(node: exp.Expr) -> tree.Scalar:
    """The node as a scalar of our tree."""
    reader = _readers().get(type(node))
    if reader is None:
        raise unknown(node)
    return reader(node)


@cache
def _readers() -> Mapping[type[exp.Expr], Reader]:
    from tacit.question.readers import READERS  # imported here, because it imports all readers, and they call `scalar`

    return READERS


def identifier(node: object) -> str:
    """The name that an identifier spells."""
    if not isinstance(node, exp.Identifier) or not isinstance(node.this, str) or not node.this:
        raise refused(node if isinstance(node, exp.Expr) else None, "A plain name is needed here")
    if len(node.this) > _LONGEST_NAME:
        raise refused(node, f"A name of {len(node.this):,} characters is too long", f"Use at most {_LONGEST_NAME}.")
    return node.this


def _column(node: exp.Expr) -> tree.Scalar:
    if isinstance(node.this, exp.Star):
        raise star(node)
    only(node, "this", "table")
    table = node.args.get("table")
    return tree.Name(None if table is None else identifier(table), identifier(node.this))


def star(node: exp.Expr) -> Exception:
    """SELECT * shows rows."""
    advice = "Name what you want to know, e.g. count(*) or avg(a_column). Rows themselves never leave."
    return refused(node, "'*' stands for whole rows", advice)


def _literal(node: exp.Expr) -> tree.Scalar:
    text = str(node.this)
    if node.args.get("is_string"):
        if len(text) > _LONGEST_TEXT:
            raise refused(node, f"A text of {len(text):,} characters is too long", f"Use at most {_LONGEST_TEXT:,}.")
        if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text):  # from an escape
            raise refused(node, "A text holds NUL or half of a surrogate pair, which tables do not", "Leave it out.")
        return tree.Literal(text)
    return tree.Literal(_number(node, text))


def _number(node: exp.Expr, text: str) -> int | Fraction:
    advice = f"Use at most {_LONGEST_NUMBER} digits and a power of ten from -30 to 30."
    if len(text) > _LONGEST_NUMBER:
        raise refused(node, "A number is too long", advice)
    _, _, exponent = text.lower().partition("e")
    try:
        if exponent and abs(int(exponent)) > 30:
            raise refused(node, f"The number {text} is too large or too small", advice)
        exact = Fraction(text)
    except ValueError:
        raise refused(node, f"{text!r} is no number that is understood", advice) from None
    return exact.numerator if exact.denominator == 1 else exact


def _boolean(node: exp.Expr) -> tree.Scalar:
    return tree.Literal(bool(node.this))


def _null(node: exp.Expr) -> tree.Scalar:
    return tree.Literal(None)


def _paren(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return scalar(node.this)


def _negate(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    inside = scalar(node.this)
    if isinstance(inside, tree.Literal) and type(inside.value) in (int, Fraction):
        return tree.Literal(-cast(Fraction, inside.value))
    return tree.Negate(inside)


def _arithmetic(node: exp.Expr) -> tree.Scalar:
    # `typed` and `safe` only record the dialect's rules for division, which the plan replaces by its own
    only(node, "this", "expression", "typed", "safe")
    return tree.Arithmetic(_SIGNS[type(node)], scalar(node.this), scalar(node.expression))


def _compare(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    return tree.Compare(_COMPARES[type(node)], scalar(node.this), scalar(node.expression))


def _and(node: exp.Expr) -> tree.Scalar:
    return tree.And(tuple(scalar(part) for part in _chain(node, exp.And)))


def _or(node: exp.Expr) -> tree.Scalar:
    return tree.Or(tuple(scalar(part) for part in _chain(node, exp.Or)))


def _chain(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The parts of a AND b AND c ..., in order, without recursion: the parser nests them to the left."""
    parts, open_nodes = [], [node]
    while open_nodes:
        part = open_nodes.pop()
        if type(part) is kind:
            only(part, "this", "expression")
            open_nodes += [part.expression, part.this]
        elif isinstance(part, exp.Paren) and type(part.this) is kind:
            open_nodes.append(part.this)
        else:
            parts.append(part)
    return parts


def _not(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return tree.Not(scalar(node.this))


def values_in(node: exp.Expr) -> tree.Scalar:
    """x IN (1, 2, 3)."""
    only(node, "this", "expressions")
    values = tuple(scalar(item) for item in node.expressions)
    if len(values) > _MOST_VALUES:
        raise refused(node, f"IN has {len(values):,} values", f"Use at most {_MOST_VALUES:,}.")
    for value, item in zip(values, node.expressions, strict=True):
        if not isinstance(value, tree.Literal) or value.value is None:
            raise refused(node, f"IN needs constants that are not NULL, and {shown(item)!r} is none", "Use OR instead.")
    return tree.In(scalar(node.this), cast(tuple[tree.Literal, ...], values))


def _like(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression", "negate")
    pattern = scalar(node.expression)
    if not isinstance(pattern, tree.Literal) or not isinstance(pattern.value, str):
        raise refused(node, "LIKE needs a constant pattern", "Write it in quotes: name LIKE 'A%'.")
    found = tree.Like(scalar(node.this), pattern.value, isinstance(node, exp.ILike))
    return tree.Not(found) if node.args.get("negate") else found


def _is(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    inside = scalar(node.this)
    if isinstance(node.expression, exp.Null):
        return tree.IsNull(inside)
    if isinstance(node.expression, exp.Boolean):
        wanted = inside if node.expression.this else tree.Not(inside)
        return tree.And((tree.Not(tree.IsNull(inside)), wanted))
    raise refused(node, f"{shown(node)!r} is not understood", "IS goes with NULL, TRUE or FALSE.")


def _between(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "low", "high")
    inside = scalar(node.this)
    low, high = scalar(node.args["low"]), scalar(node.args["high"])
    return tree.And((tree.Compare(">=", inside, low), tree.Compare("<=", inside, high)))


def _case(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "ifs", "default")
    operand = node.args.get("this")
    branches = []
    for part in node.args["ifs"]:
        only(part, "this", "true")
        condition = scalar(part.this)
        if operand is not None:
            condition = tree.Compare("=", scalar(operand), condition)
        branches.append(tree.Branch(condition, scalar(part.args["true"])))
    default = node.args.get("default")
    return tree.Case(tuple(branches), tree.Literal(None) if default is None else scalar(default))


def _if(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "true", "false")
    other = node.args.get("false")
    otherwise = tree.Literal(None) if other is None else scalar(other)
    return tree.Case((tree.Branch(scalar(node.this), scalar(node.args["true"])),), otherwise)


def _coalesce(node: exp.Expr) -> tree.Scalar:
    *first, last = map(scalar, _alternatives(node))
    branches = tuple(tree.Branch(tree.Not(tree.IsNull(item)), item) for item in first)
    return tree.Case(branches, last) if branches else last


def _alternatives(node: exp.Expr) -> Iterator[exp.Expr]:
    """The values that a COALESCE chooses from; one inside another only adds to the list, wherever it stands."""
    only(node, "this", "expressions", "is_nvl")
    for item in (node.this, *node.expressions):
        inside = item.unnest()
        if isinstance(inside, exp.Coalesce):
            yield from _alternatives(inside)
        else:
            yield item


def _nullif(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    left = scalar(node.this)
    equal = tree.Compare("=", left, scalar(node.expression))
    return tree.Case((tree.Branch(equal, tree.Literal(None)),), left)


def _call(node: exp.Expr) -> tree.Scalar:
    """A function whose node and arguments stand in the table."""
    function = OF_NODES[type(node)]
    only(node, *function.arguments, "ignore_nulls")  # least and greatest always ignore NULL
    given: list[exp.Expr] = []
    for part in function.arguments:
        value = node.args.get(part)
        given += value if isinstance(value, list) else [] if value is None else [value]
    return call(node, function.name, tuple(map(scalar, given)))


def call(node: exp.Expr, name: str, arguments: tuple[tree.Scalar, ...]) -> tree.Scalar:
    """A call of a listed function with an allowed number of arguments."""
    function = FUNCTIONS[name]
    if not function.least <= len(arguments) <= function.most:
        raise refused(node, f"{name} takes {function.least} to {function.most} arguments and got {len(arguments)}")
    return tree.Call(name, arguments)


def _extract(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    part = str(node.this.name).lower()
    names = {"dow": "dayofweek", "doy": "dayofyear"}
    name = names.get(part, part)
    if name not in (*DATE_PARTS, "epoch"):
        raise refused(node, f"The date part {part!r} is not understood", f"Known: {', '.join(sorted(DATE_PARTS))}.")
    return call(node, name, (scalar(node.expression),))


def _truncate(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "unit", "input_type_preserved")
    unit = str(node.args["unit"].name).lower()
    if unit.startswith("week"):
        unit = "week"
    if unit not in TRUNCATIONS:
        raise refused(node, f"date_trunc to {unit!r} is not understood", f"Known: {', '.join(TRUNCATIONS)}.")
    return call(node, "date_trunc", (tree.Literal(unit), scalar(node.this)))


def _cast(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "to", "safe")
    if node.args["to"].this == exp.DType.DECIMAL:
        return _decimal(node)
    kind = _KINDS.get(node.args["to"].this)
    if kind is None or node.args["to"].expressions:
        raise refused(node, f"A cast to {shown(node.args['to'])} is not understood", "Try BIGINT, DOUBLE or DATE.")
    inside = scalar(node.this)
    if isinstance(inside, tree.Literal) and isinstance(inside.value, str) and kind in ("date", "timestamp"):
        return tree.Literal(moment(inside.value, kind, node))
    return tree.Cast(inside, kind)


def _decimal(node: exp.Expr) -> tree.Scalar:
    """DECIMAL(p, s) rounds to s decimals. Without them nothing is rounded: numbers are exact here anyway."""
    places = [scalar(part.this) for part in node.args["to"].expressions]
    if not places:
        return tree.Cast(scalar(node.this), "real")
    return call(node, "round", (scalar(node.this), places[1] if len(places) > 1 else tree.Literal(0)))


def moment(text: str, kind: str, node: exp.Expr | None = None) -> datetime.date | datetime.datetime:
    """A constant date or time from its ISO text; times are UTC."""
    try:
        if kind == "date":
            return datetime.date.fromisoformat(text.strip())
        read = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        form = "2024-05-31" if kind == "date" else "2024-05-31 12:00:00"
        raise refused(node, f"{text[:40]!r} is no {kind}", f"Write it like {form!r}.") from None
    return read if read.tzinfo is None else read.astimezone(datetime.UTC).replace(tzinfo=None)


def unknown(node: exp.Expr) -> Exception:
    """The refusal of a node that is on no list."""
    if isinstance(node, exp.Anonymous):
        advice = f"Known: {', '.join(sorted(FUNCTIONS))}, and CASE, COALESCE, NULLIF, EXTRACT, CAST."
        return refused(node, f"The function {str(node.this)[:40]!r} is not on the list", advice)
    if isinstance(node, exp.Star):
        return star(node)
    if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
        return refused(node, "A SELECT is not understood here", "It goes into FROM, IN, EXISTS or WITH.")
    if isinstance(node, exp.Window):
        return refused(node, "Window functions (OVER) show single rows", "Use GROUP BY with count, sum or avg.")
    return refused(node, f"{type(node).__name__} is not understood ({shown(node)!r})", "It is not on the list.")


READERS: Mapping[type[exp.Expr], Reader] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Neg: _negate,
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Is: _is,
    exp.Between: _between,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    **dict.fromkeys(_SIGNS, _arithmetic),
    **dict.fromkeys(_COMPARES, _compare),
    **dict.fromkeys(OF_NODES, _call),
}
