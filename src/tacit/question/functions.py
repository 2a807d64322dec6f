"""The scalar functions that may be asked for. Each is total: it has a value, or NULL, on every row.

Promise: a function not listed here does not exist. Adding one means giving its bounds in the plan's arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, and what it does."""

    least: int
    most: int
    about: str


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "abs": Function(1, 1, "the size of a number"),
        "sign": Function(1, 1, "-1, 0 or 1"),
        "floor": Function(1, 1, "the whole number below"),
        "ceil": Function(1, 1, "the whole number above"),
        "round": Function(1, 2, "the nearest number with so many decimals, halves upwards"),
        "least": Function(2, 20, "the smallest argument that is not NULL"),
        "greatest": Function(2, 20, "the largest argument that is not NULL"),
        "year": Function(1, 1, "the year of a date"),
        "quarter": Function(1, 1, "1 to 4"),
        "month": Function(1, 1, "1 to 12"),
        "day": Function(1, 1, "the day of the month"),
        "dayofweek": Function(1, 1, "0 (Sunday) to 6"),
        "isodow": Function(1, 1, "1 (Monday) to 7"),
        "dayofyear": Function(1, 1, "1 to 366"),
        "hour": Function(1, 1, "0 to 23"),
        "minute": Function(1, 1, "0 to 59"),
        "second": Function(1, 1, "0 to 59"),
        "week": Function(1, 1, "the week of the year, 1 to 53, as ISO 8601 counts them"),
        "date_trunc": Function(2, 2, "the beginning of the year, quarter, month, week, day, hour, minute or second"),
        "date_diff": Function(3, 3, "how many days (months, years, hours, ...) begin between two moments"),
        "last_day": Function(1, 1, "the last day of the month"),
        "epoch": Function(1, 1, "seconds since 1970-01-01"),
        "strftime": Function(2, 2, "a date as text, by a pattern of %Y %m %d %j %H %M %S"),
        "interval": Function(2, 2, "what goes beside a date or time: + INTERVAL 7 DAY"),
        "width_bucket": Function(4, 4, "the place among so many equal buckets between constants"),
        "trunc": Function(1, 1, "the number without its fraction"),
        "sqrt": Function(1, 1, "the square root; NULL of a negative number"),
        "ln": Function(1, 1, "the natural logarithm; NULL of zero and below"),
        "log10": Function(1, 1, "the logarithm to base 10; NULL of zero and below"),
        "log2": Function(1, 1, "the logarithm to base 2; NULL of zero and below"),
        "exp": Function(1, 1, "e to the power of a number of at most 34"),
        "magnitude": Function(1, 1, "the sign and binary exponent of a number, as one whole number that grows with it"),
        "lower": Function(1, 1, "a text in small letters"),
        "upper": Function(1, 1, "a text in capital letters"),
        "length": Function(1, 1, "the number of characters, at most 1,000"),
        "substring": Function(2, 3, "a part of a text, by constant places"),
        "right": Function(2, 2, "the last characters of a text"),
        "concat": Function(1, 20, "texts one after the other, each cut to 1,000 characters"),
        "trim": Function(1, 2, "a text without spaces (or another character) at its ends"),
        "ltrim": Function(1, 2, "a text without spaces (or another character) at its beginning"),
        "rtrim": Function(1, 2, "a text without spaces (or another character) at its end"),
        "replace": Function(3, 3, "a text with a constant part of it exchanged, cut to 1,000 characters before"),
        "position": Function(2, 2, "where a constant text begins first, from 1 to 1,000; 0 if nowhere"),
    }
)

DATE_PARTS = frozenset(
    {"year", "quarter", "month", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second", "week"}
)
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
