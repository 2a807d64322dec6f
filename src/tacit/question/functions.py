"""The scalar functions that may be asked for. Each is total: it has a value, or NULL, on every row.

Promise: a function not listed here does not exist. Its record says all there is to it: how it is read, what it is on
a row, and what it is on an answer, where it is computed from finished numbers and keys. Dates and most texts are
keys by then and mean nothing there (None). Most records hold the whole mathematics (`forms`), so one record is all
that a new curve needs. What takes more is computed in the plan by the name that stands here (`InPlan`), or read in
the file of this room that stands here (`ReadIn`). What is only another word (COALESCE, NULLIF, IF, power, left,
date_add, ...) is written out as it is read, in `scalars`, `dates`, `texts` and `rewritten`, and no plan ever sees it;
a cast is a node of the tree by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from sqlglot import exp

from tacit.question.forms import (
    LEAST_ROOT,
    ByName,
    CalendarPart,
    ClockPart,
    Curve,
    InPlan,
    Letters,
    Nodes,
    OfBase,
    OnAnswer,
    OnRow,
    Outermost,
    ReadIn,
    Reading,
    Straight,
    Trimmed,
    logarithm,
)


@dataclass(frozen=True, slots=True)
class Function:
    """What a function does, how it is read, its value on a row and on an answer, and how many arguments it takes.

    `counted` are the words for it of which the parser's library drops what is too much, so that their arguments are
    counted in the text (`arguments`).
    """

    name: str
    about: str
    read: Reading
    on_row: OnRow
    on_answer: OnAnswer | None = None
    least: int = 1
    most: int = 1
    counted: tuple[str, ...] = ()


def _both(
    name: str,
    about: str,
    read: Reading,
    form: Curve | Outermost | Letters,
    *,
    least: int = 1,
    most: int = 1,
    counted: tuple[str, ...] = (),
) -> Function:
    """The same on a row and on an answer."""
    return Function(name, about, read, form, form, least, most, counted)


def _part(name: str, about: str, part: CalendarPart | ClockPart, *kinds: type[exp.Expr]) -> Function:
    """A part of a date or a time."""
    return Function(name, about, Nodes(kinds), part)


TABLE: tuple[Function, ...] = (
    Function(
        "abs",
        "the size of a number",
        Nodes((exp.Abs,)),
        InPlan("arithmetic.absolute"),
        Straight(lambda x, _: np.abs(x), "slides"),
    ),
    Function(
        "sign",
        "-1, 0 or 1",
        Nodes((exp.Sign,)),
        InPlan("arithmetic.sign"),
        Straight(lambda x, _: np.sign(x), "flips"),
    ),
    Function(
        "floor",
        "the whole number below",
        Nodes((exp.Floor,)),
        InPlan("arithmetic.whole_floor"),
        Straight(lambda x, _: np.floor(x), "steps", ranged=True),
    ),
    Function(
        "ceil",
        "the whole number above",
        Nodes((exp.Ceil,)),
        InPlan("arithmetic.whole_ceil"),
        Straight(lambda x, _: np.ceil(x), "steps", ranged=True),
    ),
    Function(
        "round",
        "the nearest number with so many decimals, halves upwards",
        Nodes((exp.Round,), ("this", "decimals")),
        InPlan("arithmetic.rounded_to"),
        # a number whose digits no float holds is round already
        Straight(
            lambda x, scale: np.where(np.abs(x) < 2.0**52, np.floor(x * scale + 0.5) / scale, x), "steps", ranged=True
        ),
        most=2,
    ),
    _both(
        "least",
        "the smallest argument that is not NULL",
        Nodes((exp.Least,), ("this", "expressions")),
        Outermost(exp.Least),
        least=2,
        most=20,
    ),
    _both(
        "greatest",
        "the largest argument that is not NULL",
        Nodes((exp.Greatest,), ("this", "expressions")),
        Outermost(exp.Greatest),
        least=2,
        most=20,
    ),
    _part("year", "the year of a date", CalendarPart("YEAR"), exp.Year),
    _part("quarter", "1 to 4", CalendarPart("QUARTER", 1, 4), exp.Quarter),
    _part("month", "1 to 12", CalendarPart("MONTH", 1, 12), exp.Month),
    _part("day", "the day of the month", CalendarPart("DAY", 1, 31), exp.Day, exp.DayOfMonth),
    _part("dayofweek", "0 (Sunday) to 6", CalendarPart("DOW", 0, 6), exp.DayOfWeek),
    _part("isodow", "1 (Monday) to 7", CalendarPart("ISODOW", 1, 7), exp.DayOfWeekIso),
    _part("dayofyear", "1 to 366", CalendarPart("DOY", 1, 366), exp.DayOfYear),
    _part("hour", "0 to 23", ClockPart(3_600_000_000, 24), exp.Hour),
    _part("minute", "0 to 59", ClockPart(60_000_000, 60), exp.Minute),
    _part("second", "0 to 59", ClockPart(1_000_000, 60), exp.Second),
    _part(
        "week",
        "the week of the year, 1 to 53, as ISO 8601 counts them",
        CalendarPart("WEEK", 1, 53),
        exp.Week,
        exp.WeekOfYear,
    ),
    Function(
        "date_trunc",
        "the beginning of the year, quarter, month, week, day, hour, minute or second",
        ReadIn("scalars"),
        InPlan("dates.truncated"),
        least=2,
        most=2,
        counted=("date_trunc", "datetrunc", "timestamp_trunc", "datetime_trunc", "trunc"),  # trunc(day, MONTH)
    ),
    Function(
        "date_diff",
        "how many days (months, years, hours, ...) begin between two moments",
        ReadIn("dates"),
        InPlan("clock.difference"),
        least=3,
        most=3,
        counted=("date_diff", "datediff", "timestamp_diff", "timestampdiff", "datetime_diff"),
    ),
    Function("last_day", "the last day of the month", Nodes((exp.LastDay,)), InPlan("clock.last_day")),
    Function("epoch", "seconds since 1970-01-01", Nodes((exp.TimeToUnix,)), InPlan("clock.epoch")),
    Function(
        "strftime",
        "a date as text, by a pattern of %Y %m %d %j %H %M %S",
        ReadIn("dates"),
        InPlan("texts.formatted"),
        least=2,
        most=2,
        counted=("strftime", "format_date", "format_timestamp", "to_char", "date_format"),
    ),
    Function(
        "interval",
        "what is added to a date or time: + INTERVAL 7 DAY",
        ReadIn("dates"),
        InPlan("date_arithmetic.interval_of"),
        least=2,
        most=2,
    ),
    Function(
        "width_bucket",
        "the place among so many equal buckets between constants",
        Nodes((exp.WidthBucket,), ("this", "min_value", "max_value", "num_buckets")),
        InPlan("float_functions.width_bucket"),
        least=4,
        most=4,
    ),
    Function(
        "trunc",
        "the number without its fraction",
        Nodes((exp.Trunc,)),
        InPlan("arithmetic.whole_part"),
        Straight(lambda x, _: np.where(np.isfinite(x), np.trunc(x), np.nan), "steps"),
    ),
    _both(
        "sqrt",
        "the square root; NULL of a negative number",
        Nodes((exp.Sqrt,)),
        Curve(
            exp.Sqrt,
            math.sqrt,
            np.sqrt,
            lambda x: 0.5 / np.maximum(np.sqrt(x), LEAST_ROOT),
            domain="from zero",
            step="multiplied",
        ),
    ),
    _both("ln", "the natural logarithm; NULL of zero and below", Nodes((exp.Ln,)), logarithm(math.e)),
    _both("log10", "the logarithm to base 10; NULL of zero and below", OfBase(10), logarithm(10.0), counted=("log10",)),
    _both("log2", "the logarithm to base 2; NULL of zero and below", OfBase(2), logarithm(2.0), counted=("log2",)),
    _both(
        "exp",
        "e to the power of a number of at most 34",
        Nodes((exp.Exp,)),
        Curve(exp.Exp, math.exp, np.exp, np.exp, flat=-40, most=34),  # exp(34) is below 2**50
    ),
    Function(
        "magnitude",
        "the sign and binary exponent of a number, as one whole number that grows with it",
        ByName(),
        InPlan("magnitude.magnitude"),
    ),
    _both("lower", "a text in small letters", Nodes((exp.Lower,)), Letters(exp.Lower, str.lower)),
    _both("upper", "a text in capital letters", Nodes((exp.Upper,)), Letters(exp.Upper, str.upper)),
    Function("length", "the number of characters, at most 1,000", Nodes((exp.Length,)), InPlan("texts.length")),
    Function(
        "substring",
        "a part of a text, by constant places",
        ReadIn("texts"),
        InPlan("texts.substring"),
        InPlan("applied.Wording.places"),
        least=2,
        most=3,
    ),
    Function(
        "right",
        "the last characters of a text",
        Nodes((exp.Right,), ("this", "expression")),
        InPlan("texts.right"),
        least=2,
        most=2,
    ),
    Function(
        "concat",
        "texts one after the other, each cut to 1,000 characters",
        ReadIn("texts"),
        InPlan("texts.concat"),
        InPlan("applied.Wording"),
        most=20,
    ),
    Function(
        "trim",
        "a text without spaces (or another character) at its ends",
        ReadIn("texts"),
        Trimmed(None, str.strip),
        most=2,
        counted=("trim", "btrim"),
    ),
    Function(
        "ltrim",
        "a text without spaces (or another character) at its beginning",
        ReadIn("texts"),
        Trimmed("LEADING", str.lstrip),
        most=2,
        counted=("ltrim",),
    ),
    Function(
        "rtrim",
        "a text without spaces (or another character) at its end",
        ReadIn("texts"),
        Trimmed("TRAILING", str.rstrip),
        most=2,
        counted=("rtrim",),
    ),
    Function(
        "replace",
        "a text with a constant part of it exchanged, cut to 1,000 characters before",
        Nodes((exp.Replace,), ("this", "expression", "replacement")),
        InPlan("texts.replaced"),
        least=3,
        most=3,
    ),
    Function(
        "position",
        "where a constant text begins first, from 1 to 1,000; 0 if nowhere",
        Nodes((exp.StrPosition,), ("this", "substr")),
        InPlan("texts.position"),
        least=2,
        most=2,
    ),
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({each.name: each for each in TABLE})
OF_NODES: Mapping[type[exp.Expr], tuple[Function, Nodes]] = MappingProxyType(
    {node: (each, each.read) for each in TABLE if isinstance(each.read, Nodes) for node in each.read.kinds}
)
LOGARITHMS: Mapping[object, str] = MappingProxyType(
    {each.read.base: each.name for each in TABLE if isinstance(each.read, OfBase)}
)
"""By their bases."""

CURVES: Mapping[str, Curve] = MappingProxyType(
    {each.name: each.on_answer for each in TABLE if isinstance(each.on_answer, Curve)}
)
STRAIGHT: Mapping[str, Straight] = MappingProxyType(
    {each.name: each.on_answer for each in TABLE if isinstance(each.on_answer, Straight)}
)
LETTERS: Mapping[str, Letters] = MappingProxyType(
    {each.name: each.on_answer for each in TABLE if isinstance(each.on_answer, Letters)}
)
DATE_PARTS: Mapping[str, CalendarPart | ClockPart] = MappingProxyType(
    {each.name: each.on_row for each in TABLE if isinstance(each.on_row, (CalendarPart, ClockPart))}
)
PARTS_BY_WORD: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in (*DATE_PARTS, "epoch")},
        **{part.word.lower(): name for name, part in DATE_PARTS.items() if isinstance(part, CalendarPart)},
    }
)
"""What EXTRACT and date_part take out of a date: by the function's own name, or by SQL's word for the part."""
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
