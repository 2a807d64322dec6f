"""How a key, or a picked value, is shown."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias
from typing import Literal as OneOf

from tacit.plan.values.dates import calendar_date, microseconds
from tacit.policy.dates import EPOCH, FIRST_DAY, LAST_DAY

_FIRST_TIME, _LAST_TIME = (microseconds(each) for each in (datetime.datetime.min, datetime.datetime.max))
"""The ends of Python's calendar; a key beyond them reads as the end."""

RawKey: TypeAlias = int | str | None


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key as the query returns it, and how it is shown: number * step, a date, a time, a truth value, or text."""

    name: str
    meaning: OneOf["number", "date", "timestamp", "boolean", "text"]
    step: Fraction
    values: tuple[RawKey, ...] | None


def read_key(column: KeyColumn, raw: RawKey) -> Any:
    """A key of the query as it reads."""
    if raw is None or isinstance(raw, str) or (column.meaning == "number" and column.step == 1):
        return raw
    if column.meaning == "date":
        return calendar_date(max(FIRST_DAY, min(LAST_DAY, int(raw))))
    if column.meaning == "timestamp":
        return EPOCH + datetime.timedelta(microseconds=max(_FIRST_TIME, min(_LAST_TIME, int(raw))))
    if column.meaning == "boolean":
        return bool(raw)
    exact = raw * column.step
    return exact.numerator if exact.denominator == 1 else exact
