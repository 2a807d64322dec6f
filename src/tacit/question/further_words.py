"""Further words that analysts use: intervals, date_diff, text functions, logarithms, IS DISTINCT FROM, sum_if.

Promise: as in `scalars`, every argument of a node is read or refused. What has a meaning of its own becomes a call of a
listed function; what is only another word becomes nodes that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.functions import DATE_PARTS
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader, call, scalar

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_UNITS = ("day", "week", "month", "quarter", "year", "hour", "minute", "second", "millisecond", "microsecond")


def _unit(node: exp.Expr, unit: object) -> str:
    name = str(getattr(unit, "name", unit) or "").lower().removesuffix("s")
    if name not in _UNITS:
        raise refused(node, f"The unit {name!r} is not understood", f"Known: {', '.join(_UNITS)}.")
    return name


def _interval(node: exp.Expr) -> tree.Scalar:
    """INTERVAL 7 DAY, INTERVAL '2 months'."""
    only(node, "this", "unit")
    text = node.this.name if isinstance(node.this, exp.Literal) else ""
    amount = text.removeprefix("-")
    if not amount.isascii() or not amount.isdigit() or len(amount) > 9:
        raise refused(node, f"{shown(node)!r} is no interval that is understood", "Write INTERVAL 7 DAY.")
    size = -int(amount) if text.startswith("-") else int(amount)
    return call(node, "interval", (tree.Literal(size), tree.Literal(_unit(node, node.args.get("unit")))))


def _moved(node: exp.Expr) -> tree.Scalar:
    """date_add(day, INTERVAL 7 DAY), and date_sub."""
    only(node, "this", "expression", "unit")
    by = node.expression
    if not isinstance(by, exp.Interval):
        by = exp.Interval(this=by, unit=node.args.get("unit") or exp.Var(this="DAY"))
    sign: tree.ArithmeticSign = "-" if isinstance(node, (exp.DateSub, exp.TimestampSub)) else "+"
    return tree.Arithmetic(sign, scalar(node.this), _interval(by))


def _difference(node: exp.Expr) -> tree.Scalar:
    """date_diff(unit, a, b) in DuckDB's words: how many units begin between a and b."""
    only(node, "this", "expression", "unit", "date_part_boundary")
    unit = _unit(node, node.args.get("unit") or "day")
    if unit != "day" and not node.args.get("date_part_boundary"):
        raise refused(node, f"{shown(node)!r} counts {unit}s in this dialect in its own way", "Take the days.")
    return call(node, "date_diff", (tree.Literal(unit), scalar(node.expression), scalar(node.this)))


def _strftime(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "format")
    pattern = scalar(node.args["format"])
    if not isinstance(pattern, tree.Literal) or not isinstance(pattern.value, str):
        raise refused(node, f"{shown(node)!r} needs a constant pattern", "Write it like '%Y-%m'.")
    return call(node, "strftime", (scalar(node.this), pattern))


def _dayname(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return _named(call(node, "isodow", (scalar(node.this),)), _DAYS)


def _monthname(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    return _named(call(node, "month", (scalar(node.this),)), _MONTHS)


def _named(number: tree.Scalar, names: tuple[str, ...]) -> tree.Scalar:
    """The word for 1, 2, 3, ...; the last stands for every other number, so that only what is missing has none."""
    *first, last = names
    branches = (
        tree.Branch(tree.Compare("=", number, tree.Literal(place)), tree.Literal(name))
        for place, name in enumerate(first, start=1)
    )
    present = tree.Branch(tree.Not(tree.IsNull(number)), tree.Literal(last))
    return tree.Case((*branches, present), tree.Literal(None))


def _logarithm(node: exp.Expr) -> tree.Scalar:
    """log(x) and log10(x); log2(x). (A dialect whose log is the natural one is parsed as ln.)"""
    only(node, "this", "expression")
    if node.args.get("expression") is None:
        return call(node, "log10", (scalar(node.this),))
    base = scalar(node.this)
    names = {10: "log10", 2: "log2"}
    if not isinstance(base, tree.Literal) or base.value not in names:
        raise refused(node, f"{shown(node)!r} has a base that is not understood", "Use ln, log10 or log2.")
    return call(node, names[base.value], (scalar(node.expression),))  # type: ignore[index]


def _beside(node: exp.Expr) -> tree.Scalar:
    """a || b || c, as one call."""
    parts: list[exp.Expr] = []
    open_nodes = [node]
    while open_nodes:
        part = open_nodes.pop()
        if isinstance(part, exp.DPipe):
            only(part, "this", "expression", "safe")
            open_nodes += [part.expression, part.this]
        else:
            parts.append(part)
    return call(node, "concat", tuple(map(scalar, parts)))


def _concat(node: exp.Expr) -> tree.Scalar:
    """concat(a, b): NULL is passed over."""
    only(node, "expressions", "safe", "coalesce")
    parts = tuple(map(scalar, node.expressions))
    if node.args.get("coalesce"):
        parts = tuple(part if isinstance(part, tree.Literal) else _or_nothing(part) for part in parts)
    return call(node, "concat", parts)


def _or_nothing(part: tree.Scalar) -> tree.Scalar:
    text = tree.Cast(part, "text")
    return tree.Case((tree.Branch(tree.Not(tree.IsNull(part)), text),), tree.Literal(""))


def _trim(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression", "position")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    given = [node.this, *([node.expression] if node.args.get("expression") is not None else [])]
    return call(node, name, tuple(map(scalar, given)))


def _left(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "expression")
    return call(node, "substring", (scalar(node.this), tree.Literal(1), scalar(node.expression)))


def _same(node: exp.Expr) -> tree.Scalar:
    """a IS NOT DISTINCT FROM b, and IS DISTINCT FROM: never NULL."""
    only(node, "this", "expression")
    a, b = scalar(node.this), scalar(node.expression)
    neither = tree.And((tree.IsNull(a), tree.IsNull(b)))
    both = tree.And((tree.Not(tree.IsNull(a)), tree.Not(tree.IsNull(b)), tree.Compare("=", a, b)))
    alike = tree.Or((both, neither))
    return alike if isinstance(node, exp.NullSafeEQ) else tree.Not(alike)


def _date_part(node: exp.Expr) -> tree.Scalar:
    """date_part('month', day)."""
    if len(node.expressions) != 2 or not isinstance(node.expressions[0], exp.Literal):
        raise refused(node, f"{shown(node)!r} needs a part in quotes and a date", "Write date_part('month', day).")
    part = node.expressions[0].name.lower()
    name = {"dow": "dayofweek", "doy": "dayofyear"}.get(part, part)
    if name not in (*DATE_PARTS, "epoch"):
        raise refused(node, f"The date part {part!r} is not understood", f"Known: {', '.join(sorted(DATE_PARTS))}.")
    return call(node, name, (scalar(node.expressions[1]),))


def _summed_if(kind: tree.AggregateKind) -> Reader:
    """sum_if(x, condition): the rows where the condition does not hold count as NULL."""

    def read(node: exp.Expr) -> tree.Scalar:
        if len(node.expressions) != 2:
            raise refused(node, f"{shown(node)!r} needs a number and a condition")
        value, condition = map(scalar, node.expressions)
        if any(isinstance(part, tree.Aggregate) for side in (value, condition) for part in tree.walk(side)):
            raise refused(node, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
        return tree.Aggregate(kind, tree.Case((tree.Branch(condition, value),), tree.Literal(None)))

    return read


def _iff(node: exp.Expr) -> tree.Scalar:
    """iff(condition, a, b)."""
    if len(node.expressions) != 3:
        raise refused(node, f"{shown(node)!r} needs a condition and two values")
    condition, value, otherwise = map(scalar, node.expressions)
    return tree.Case((tree.Branch(condition, value),), otherwise)


NAMED: Mapping[str, Callable[[exp.Expr], tree.Scalar]] = MappingProxyType(
    {
        "DATE_PART": _date_part,
        "DATEPART": _date_part,
        "IFF": _iff,
        "SUM_IF": _summed_if("sum"),
        "SUMIF": _summed_if("sum"),
        "AVG_IF": _summed_if("avg"),
        "AVGIF": _summed_if("avg"),
    }
)
"""Functions that the parser knows only by their names."""

READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType(
    {
        exp.Interval: _interval,
        exp.DateAdd: _moved,
        exp.DateSub: _moved,
        exp.TimestampAdd: _moved,
        exp.TimestampSub: _moved,
        exp.DateDiff: _difference,
        exp.TimeToStr: _strftime,
        exp.Dayname: _dayname,
        exp.Monthname: _monthname,
        exp.Log: _logarithm,
        exp.DPipe: _beside,
        exp.Concat: _concat,
        exp.Trim: _trim,
        exp.Left: _left,
        exp.NullSafeEQ: _same,
        exp.NullSafeNEQ: _same,
    }
)
