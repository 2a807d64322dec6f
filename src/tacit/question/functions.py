"""The scalar functions that may be asked for. Each is total: it has a value, or NULL, on every row.

Promise: a function not listed here does not exist. This table says how each is read; the table of the same names in
`plan.functions` says what it is on a row and what it is on an answer. A function that the parser has a node for names
it here with its arguments, and needs no more to be read; what is written in several ways has a reader in
`dates`, `texts` or `rewritten`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, what it does, and the parser's nodes for it with the arguments in order."""

    name: str
    least: int
    most: int
    about: str
    nodes: tuple[type[exp.Expr], ...] = ()
    arguments: tuple[str, ...] = ("this",)


TABLE: tuple[Function, ...] = (
    Function("abs", 1, 1, "the size of a number", (exp.Abs,)),
    Function("sign", 1, 1, "-1, 0 or 1", (exp.Sign,)),
    Function("floor", 1, 1, "the whole number below", (exp.Floor,)),
    Function("ceil", 1, 1, "the whole number above", (exp.Ceil,)),
    Function(
        "round", 1, 2, "the nearest number with so many decimals, halves upwards", (exp.Round,), ("this", "decimals")
    ),
    Function("least", 2, 20, "the smallest argument that is not NULL", (exp.Least,), ("this", "expressions")),
    Function("greatest", 2, 20, "the largest argument that is not NULL", (exp.Greatest,), ("this", "expressions")),
    Function("year", 1, 1, "the year of a date", (exp.Year,)),
    Function("quarter", 1, 1, "1 to 4", (exp.Quarter,)),
    Function("month", 1, 1, "1 to 12", (exp.Month,)),
    Function("day", 1, 1, "the day of the month", (exp.Day, exp.DayOfMonth)),
    Function("dayofweek", 1, 1, "0 (Sunday) to 6", (exp.DayOfWeek,)),
    Function("isodow", 1, 1, "1 (Monday) to 7", (exp.DayOfWeekIso,)),
    Function("dayofyear", 1, 1, "1 to 366", (exp.DayOfYear,)),
    Function("hour", 1, 1, "0 to 23", (exp.Hour,)),
    Function("minute", 1, 1, "0 to 59", (exp.Minute,)),
    Function("second", 1, 1, "0 to 59", (exp.Second,)),
    Function("week", 1, 1, "the week of the year, 1 to 53, as ISO 8601 counts them", (exp.Week, exp.WeekOfYear)),
    Function("date_trunc", 2, 2, "the beginning of the year, quarter, month, week, day, hour, minute or second"),
    Function("date_diff", 3, 3, "how many days (months, years, hours, ...) begin between two moments"),
    Function("last_day", 1, 1, "the last day of the month", (exp.LastDay,)),
    Function("epoch", 1, 1, "seconds since 1970-01-01", (exp.TimeToUnix,)),
    Function("strftime", 2, 2, "a date as text, by a pattern of %Y %m %d %j %H %M %S"),
    Function("interval", 2, 2, "what is added to a date or time: + INTERVAL 7 DAY"),
    Function(
        "width_bucket",
        4,
        4,
        "the place among so many equal buckets between constants",
        (exp.WidthBucket,),
        ("this", "min_value", "max_value", "num_buckets"),
    ),
    Function("trunc", 1, 1, "the number without its fraction", (exp.Trunc,)),
    Function("sqrt", 1, 1, "the square root; NULL of a negative number", (exp.Sqrt,)),
    Function("ln", 1, 1, "the natural logarithm; NULL of zero and below", (exp.Ln,)),
    Function("log10", 1, 1, "the logarithm to base 10; NULL of zero and below"),
    Function("log2", 1, 1, "the logarithm to base 2; NULL of zero and below"),
    Function("exp", 1, 1, "e to the power of a number of at most 34", (exp.Exp,)),
    Function("magnitude", 1, 1, "the sign and binary exponent of a number, as one whole number that grows with it"),
    Function("lower", 1, 1, "a text in small letters", (exp.Lower,)),
    Function("upper", 1, 1, "a text in capital letters", (exp.Upper,)),
    Function("length", 1, 1, "the number of characters, at most 1,000", (exp.Length,)),
    Function("substring", 2, 3, "a part of a text, by constant places"),
    Function("right", 2, 2, "the last characters of a text", (exp.Right,), ("this", "expression")),
    Function("concat", 1, 20, "texts one after the other, each cut to 1,000 characters"),
    Function("trim", 1, 2, "a text without spaces (or another character) at its ends"),
    Function("ltrim", 1, 2, "a text without spaces (or another character) at its beginning"),
    Function("rtrim", 1, 2, "a text without spaces (or another character) at its end"),
    Function(
        "replace",
        3,
        3,
        "a text with a constant part of it exchanged, cut to 1,000 characters before",
        (exp.Replace,),
        ("this", "expression", "replacement"),
    ),
    Function(
        "position",
        2,
        2,
        "where a constant text begins first, from 1 to 1,000; 0 if nowhere",
        (exp.StrPosition,),
        ("this", "substr"),
    ),
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({each.name: each for each in TABLE})
OF_NODES: Mapping[type[exp.Expr], Function] = MappingProxyType({node: each for each in TABLE for node in each.nodes})

DATE_PARTS = frozenset(
    {"year", "quarter", "month", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second", "week"}
)
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
