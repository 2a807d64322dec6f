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
        "date_trunc": Function(2, 2, "the first day of the year, quarter, month, week or day"),
        "magnitude": Function(1, 1, "the sign and binary exponent of a number, as one whole number that grows with it"),
        "lower": Function(1, 1, "a text in small letters"),
        "upper": Function(1, 1, "a text in capital letters"),
        "length": Function(1, 1, "the number of characters, at most 1,000"),
        "substring": Function(2, 3, "a part of a text, by constant places"),
    }
)

DATE_PARTS = frozenset({"year", "quarter", "month", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute"})
TRUNCATIONS = ("year", "quarter", "month", "week", "day")
