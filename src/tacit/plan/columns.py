"""How a key, or a picked value, is shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias

RawKey: TypeAlias = int | str | None


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key as the query returns it, and how it is shown: number * step, a date, a time, a truth value, or text."""

    name: str
    meaning: OneOf["number", "date", "timestamp", "boolean", "text"]
    step: Fraction
    values: tuple[RawKey, ...] | None
