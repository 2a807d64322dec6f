"""Other words for what the tree already has: make_date, starts_with, contains, ends_with, power, ...

Promise: each becomes nodes that exist and mean the same on every value; a form that would not is refused. A text with
a sign that LIKE reads in its own way (% _ \\) is such a form, because engines disagree about escaping it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.aggregates import NAMED_AGGREGATES, count_different
from tacit.question.further_words import NAMED
from tacit.question.histograms import read_histogram
from tacit.question.picks import percentile
from tacit.question.refusals import histogram, is_histogram, only, refused, shown
from tacit.question.scalars import Reader, call, scalar, unknown

_MOST_POWER = 4
_PATTERNS: Mapping[type[exp.Expr], str] = MappingProxyType(
    {exp.StartsWith: "{}%", exp.Contains: "%{}%", exp.EndsWith: "%{}"}
)


def _moment(node: exp.Expr) -> tree.Scalar:
    """make_date(2024, 5, 31) and make_timestamp(2024, 5, 31, 12, 0, 0.5), of constants."""
    names = ("year", "month", "day") if isinstance(node, exp.DateFromParts) else _TIMESTAMP
    only(node, *names)
    parts = [_whole(node, name) for name in names[:5]]
    try:
        if isinstance(node, exp.DateFromParts):
            return tree.Literal(datetime.date(*parts))
        seconds = _constant(node, "sec") * 1_000_000
        whole = datetime.datetime(*parts)  # type: ignore[arg-type]  # times without a zone are UTC
        if seconds.denominator == 1 and 0 <= seconds < 60_000_000:
            return tree.Literal(whole + datetime.timedelta(microseconds=int(seconds)))
    except (ValueError, OverflowError):
        pass  # no such day or hour
    raise refused(node, f"{shown(node)!r} is no date or time", "Write it like DATE '2024-05-31'.")


_TIMESTAMP = ("year", "month", "day", "hour", "min", "sec")


def _constant(node: exp.Expr, name: str) -> Fraction:
    value = node.args.get(name)
    found = None if value is None else scalar(value)
    if isinstance(found, tree.Literal) and isinstance(found.value, (int, Fraction)) and type(found.value) is not bool:
        return Fraction(found.value)
    raise refused(node, f"{shown(node)!r} needs constants", "Write it like DATE '2024-05-31'.")


def _whole(node: exp.Expr, name: str) -> int:
    found = _constant(node, name)
    if found.denominator != 1:
        raise refused(node, f"{shown(node)!r} needs whole numbers", "Write it like DATE '2024-05-31'.")
    return int(found)


def _part_of_text(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    part = scalar(node.expression)
    if not isinstance(part, tree.Literal) or not isinstance(part.value, str):
        raise refused(node, f"{shown(node)!r} needs a constant text", "Write it in quotes.")
    if set(part.value) & set("%_\\"):
        raise refused(node, f"{shown(node)!r} looks for % or _ or \\", "Use = or IN, or substring for a part of it.")
    return tree.Like(scalar(node.this), _PATTERNS[type(node)].format(part.value), ignore_case=False)


def _anonymous(node: exp.Expr) -> tree.Scalar:
    """suffix(x, 'a') is how DuckDB calls ends_with; magnitude is our own."""
    if str(node.this).upper() in NAMED:
        only(node, "this", "expressions")
        return NAMED[str(node.this).upper()](node)
    if str(node.this).upper() == "SUFFIX" and len(node.expressions) == 2:
        only(node, "this", "expressions")
        return _part_of_text(exp.EndsWith(this=node.expressions[0], expression=node.expressions[1]))
    if str(node.this).upper() == "MAGNITUDE":
        only(node, "this", "expressions")
        return call(node, "magnitude", tuple(map(scalar, node.expressions)))
    assert isinstance(node, exp.Anonymous)
    only(node, "this", "expressions")
    if str(node.this).upper() == "HISTOGRAM":
        return read_histogram(node)
    if str(node.this).upper() in NAMED_AGGREGATES:
        return percentile(node)
    raise histogram(node) if is_histogram(node) else unknown(node)


def _distinct(node: exp.Expr) -> tree.Scalar:
    """approx_count_distinct: the noise is what is approximate, not the count."""
    only(node, "this")
    return count_different(scalar(node.this))


def _power(node: exp.Expr) -> tree.Scalar:
    """x to a small whole power, as a product."""
    only(node, "this", "expression")
    base, power = scalar(node.this), scalar(node.expression)
    value = power.value if isinstance(power, tree.Literal) else None
    if type(value) is not int or not 1 <= value <= _MOST_POWER:
        raise refused(node, f"{shown(node)!r} needs a constant power from 1 to {_MOST_POWER}")
    product = base
    for _ in range(value - 1):
        product = tree.Arithmetic("*", product, base)
    return product


def _substring(node: exp.Expr) -> tree.Scalar:
    """A part of a text; its places may be computed from constants, as programs that write SQL do."""
    only(node, "this", "start", "length")
    places = [folded(scalar(node.args[name])) for name in ("start", "length") if node.args.get(name) is not None]
    return call(node, "substring", (scalar(node.this), *places))


def folded(node: tree.Scalar) -> tree.Scalar:
    """The node with sums of whole constants, and choices that constants decide, worked out."""
    if isinstance(node, tree.Arithmetic) and node.op in ("+", "-"):
        left, right = _integer(folded(node.left)), _integer(folded(node.right))
        if left is not None and right is not None:
            return tree.Literal(left + right if node.op == "+" else left - right)
    if isinstance(node, tree.Case) and isinstance(node.branches[0].condition, tree.Compare):
        asked = node.branches[0].condition
        left, right = _integer(folded(asked.left)), _integer(folded(asked.right))
        if asked.op == ">=" and left is not None and right is not None:
            if left >= right:
                return folded(node.branches[0].value)
            return folded(tree.Case(node.branches[1:], node.otherwise) if node.branches[1:] else node.otherwise)
    return node


def _integer(node: tree.Scalar) -> int | None:
    return node.value if isinstance(node, tree.Literal) and type(node.value) is int else None


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType(
    {
        exp.DateFromParts: _moment,
        exp.TimestampFromParts: _moment,
        exp.Pow: _power,
        exp.Anonymous: _anonymous,
        exp.ApproxDistinct: _distinct,
        exp.Substring: _substring,
        **dict.fromkeys(_PATTERNS, _part_of_text),
    }
)
