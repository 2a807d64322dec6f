"""Dates and times in SQL's many words: intervals, date_add, date_diff, date_part, strftime, make_date, dayname.

Promise: as in `scalars`, every argument of a node is read or refused. What has a meaning of its own becomes a call of a
listed function; what is only another word becomes nodes that exist.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from fractions import Fraction
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
_TIMESTAMP = ("year", "month", "day", "hour", "min", "sec")


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
    """The word for 1, 2, 3, ...; the last stands for all other numbers, so that only missing ones have none."""
    *first, last = names
    branches = (
        tree.Branch(tree.Compare("=", number, tree.Literal(place)), tree.Literal(name))
        for place, name in enumerate(first, start=1)
    )
    present = tree.Branch(tree.Not(tree.IsNull(number)), tree.Literal(last))
    return tree.Case((*branches, present), tree.Literal(None))


def date_part(node: exp.Expr) -> tree.Scalar:
    """date_part('month', day)."""
    if len(node.expressions) != 2 or not isinstance(node.expressions[0], exp.Literal):
        raise refused(node, f"{shown(node)!r} needs a part in quotes and a date", "Write date_part('month', day).")
    part = node.expressions[0].name.lower()
    name = {"dow": "dayofweek", "doy": "dayofyear"}.get(part, part)
    if name not in (*DATE_PARTS, "epoch"):
        raise refused(node, f"The date part {part!r} is not understood", f"Known: {', '.join(sorted(DATE_PARTS))}.")
    return call(node, name, (scalar(node.expressions[1]),))


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
        exp.DateFromParts: _moment,
        exp.TimestampFromParts: _moment,
    }
)
