"""The Spark dialect: what `dialects` changes in a plan's tree so that Spark gives the same exact whole numbers.

Promise: for every query a plan makes, the text gives what the tree means, and evaluating it raises nothing on any row.
One small function for each difference:

    INT128           DECIMAL(38, 0). Plans keep numbers below 2**100 < 10**31, where Spark's sums, differences and
                     products of whole decimals are exact: their type is cut to DECIMAL(38, 0), which drops no digit.
    a // b, wide     Spark's `div` stops at 64 bits. a - a % b is divisible by b and its quotient is whole;
                     DECIMAL / DECIMAL is DECIMAL(38, 6), with room for 32 digits before the point: exact.
    SUM of BIGINT    wraps at 64 bits in Spark, and a sum of decimals is slow. x = a 2**44 + b 2**22 + c with b and c
                     from 0 to 2**22 - 1 and |a| <= 2**19: three sums that hold for 2**41 rows.
    DATE - DATE      is an interval in Spark; datediff counts days.
    DATE_TRUNC       gives a timestamp; trunc gives a date. Weeks begin on Monday in both.
    DOW, ISODOW      Spark counts Sunday as 1, and calls the other DAYOFWEEK_ISO.
    LIKE             has the backslash as its escape: each one is doubled. Several pieces between % are written as a
                     pattern in which each is found once, the first place where it is: Spark's own goes back and tries
                     the next one, which for one text of a thousand letters is a million times.
    texts            are written as bytes, see `spark.quoting`.
    a join with few  says so (BROADCAST): Spark is told that everything from files is large.

A number that is not known to be narrow counts as wide: only speed depends on it, never the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from tacit.engines.process import FAILED
from tacit.engines.spark import quoting
from tacit.engines.widths import is_wide
from tacit.errors import EngineError

if TYPE_CHECKING:
    from tacit.engines.dialects import Place

_LIMB: Final = 22
_PAIR: Final = "tacit_pair"
FEW: Final = "few"
"""The mark that a plan puts on a join with few rows."""


def _divided(node: exp.IntDiv, _: Place) -> exp.Expr:
    if not (is_wide(node.this) or is_wide(node.expression)):
        return node
    # Both sides are needed twice. They are named once in a function, so that nested divisions do not double at every
    # level.
    sides = (
        exp.Literal.string("a"),
        _decimal(node.this.copy()),
        exp.Literal.string("b"),
        _decimal(node.expression.copy()),
    )
    a, b = exp.column("a", _PAIR), exp.column("b", _PAIR)
    divisible = exp.paren(exp.Sub(this=a, expression=exp.Mod(this=a.copy(), expression=b)))
    quotient = exp.Div(this=divisible, expression=b.copy(), typed=True, safe=False)
    function = exp.Lambda(this=quotient, expressions=[exp.to_identifier(_PAIR)])
    pair = _call("ARRAY", _call("NAMED_STRUCT", *sides))
    return _decimal(_call("ELEMENT_AT", _call("TRANSFORM", pair, function), exp.Literal.number(1)))


def _summed(node: exp.Sum, _: Place) -> exp.Expr:
    if is_wide(node.this) or isinstance(node.parent, (exp.Window, exp.Filter)):
        return exp.Sum(this=_decimal(node.this.copy()))
    number = exp.Cast(this=node.this.copy(), to=exp.DataType(this=exp.DType.BIGINT, nested=False))
    mask = exp.Literal.number((1 << _LIMB) - 1)
    limbs = (
        _call("SHIFTRIGHT", number, exp.Literal.number(2 * _LIMB)),
        exp.BitwiseAnd(
            this=_call("SHIFTRIGHT", number.copy(), exp.Literal.number(_LIMB)),
            expression=mask,
        ),
        exp.BitwiseAnd(this=number.copy(), expression=mask.copy()),
    )
    high, middle, low = (_decimal(exp.Sum(this=limb)) for limb in limbs)
    shifted = exp.Add(this=_times(high, 1 << 2 * _LIMB), expression=_times(middle, 1 << _LIMB))
    return exp.paren(exp.Add(this=shifted, expression=low))


def _times(number: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=number, expression=_decimal(exp.Literal.number(factor)))


def _retyped(node: exp.DataType, _: Place) -> exp.Expr:
    return _wide_type() if node.this == exp.DType.INT128 else node


def _subtracted(node: exp.Sub, _: Place) -> exp.Expr:
    if all(isinstance(side, exp.Cast) and side.to.this == exp.DType.DATE for side in (node.this, node.expression)):
        return _call("DATEDIFF", node.this.copy(), node.expression.copy())
    return node


def _truncated(node: exp.TimestampTrunc, _: Place) -> exp.Expr:
    return _call("TRUNC", node.this.copy(), exp.Literal.string(node.args["unit"].name))


def _extracted(node: exp.Extract, _: Place) -> exp.Expr:
    if node.name == "ISODOW":
        return exp.Extract(this=exp.Var(this="DAYOFWEEK_ISO"), expression=node.expression.copy())
    if node.name == "DOW":
        from_one = exp.Extract(this=exp.Var(this="DAYOFWEEK"), expression=node.expression.copy())
        return exp.paren(exp.Sub(this=from_one, expression=exp.Literal.number(1)))
    return node


def _like(node: exp.Like | exp.ILike, _: Place) -> exp.Expr:
    pattern = node.expression
    if not isinstance(pattern, exp.Literal):
        raise EngineError(FAILED)
    if isinstance(node, exp.Like) and in_pieces(pattern.name):
        return exp.RegexpLike(this=node.this.copy(), expression=exp.Literal.string(one_after_the_other(pattern.name)))
    doubled = pattern.name.replace("\\", "\\\\")
    return type(node)(this=node.this.copy(), expression=exp.Literal.string(doubled))


def in_pieces(pattern: str) -> bool:
    """Whether more than one piece must be searched. A beginning, an end and one piece need no backtracking."""
    pieces = pattern.split("%")
    return "_" not in pattern and len(pieces) > 2 and sum(map(bool, pieces)) > 1


def one_after_the_other(pattern: str) -> str:
    """A LIKE pattern as a Java pattern that never goes back before a piece that was found.

    Pieces have a fixed length, so where there is any way to place them all, the first place for each is one. (?>...)
    keeps the first that is found, and the last piece is compared with the end.
    """
    first, *between, last = ("".join(map(_plainly, piece)) for piece in pattern.split("%"))
    found = "".join(f"(?>.*?{piece})" for piece in between if piece)
    return f"(?s)\\A{first}{found}.*{last}\\z"


def _plainly(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{ord(letter):x}}}"


def _split(node: exp.StringToArray, _: Place) -> exp.Expr:
    """Spark splits at a pattern: the signs that a plan splits at are escaped, so that they mean themselves."""
    return _call("SPLIT", node.this.copy(), node.expression.copy())


def _listed(node: exp.In, _: Place) -> exp.Expr:
    if node.expressions or node.args.get("query") is not None:
        return node
    return exp.paren(exp.NEQ(this=node.this.copy(), expression=node.this.copy()))  # false on every value, NULL on NULL


def _named(node: exp.CTE, _: Place) -> exp.Expr:
    """Spark has no word for keeping a query that WITH names; it puts the query in place by itself."""
    node.set("materialized", None)
    return node


def _sent_round(node: exp.Join, _: Place) -> exp.Expr:
    select = node.parent
    if node.meta.get(FEW) and isinstance(select, exp.Select):
        few = exp.JoinHint(this="BROADCAST", expressions=[exp.to_table(node.alias_or_name)])
        select.set("hint", exp.Hint(expressions=[few]))
    return node


def _viewed(node: exp.Table, place: Place) -> exp.Expr:
    if not node.db:
        return node
    if not node.args.get("alias"):
        node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
    node.set("this", exp.to_identifier(place.views[node.name]))
    node.set("db", None)
    return node


def _literal(node: exp.Literal, _: Place) -> exp.Expr:
    if not node.is_string:
        return node
    return exp.Cast(
        this=exp.HexString(this=quoting.hexadecimal(node.name)), to=exp.DataType(this=exp.DType.TEXT, nested=False)
    )


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _wide_type() -> exp.Expr:
    return exp.DataType(
        this=exp.DType.DECIMAL,
        expressions=[exp.DataTypeParam(this=exp.Literal.number(places)) for places in (38, 0)],
        nested=False,
    )


def _decimal(number: exp.Expr) -> exp.Expr:
    return exp.Cast(this=number, to=_wide_type())


CHANGES: Final[tuple[tuple[type[exp.Expr], Callable[[Any, Place], exp.Expr]], ...]] = (
    (exp.IntDiv, _divided),
    (exp.Sum, _summed),
    (exp.DataType, _retyped),
    (exp.Sub, _subtracted),
    (exp.TimestampTrunc, _truncated),
    (exp.Extract, _extracted),
    (exp.Like, _like),
    (exp.ILike, _like),
    (exp.In, _listed),
    (exp.StringToArray, _split),
    (exp.CTE, _named),
    (exp.Join, _sent_round),
    (exp.Table, _viewed),
    (exp.Literal, _literal),
)
