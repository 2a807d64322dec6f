"""Cells that hold several values: a list ("real[]") or a map from bins to counts ("map(text, integer)").

In Python a list is a tuple and a map a dict. Stored, and as JSON, a list is a list and a map a list of [bin, count],
because JSON has no keys but texts; CSV holds that JSON as a text. Dataframes get their own lists and maps where they
have them.
"""

from __future__ import annotations

import datetime
import json
from typing import Any, Final

from tacit.plan.answers.bends import UNKNOWN

_TIMES: Final = {"date": datetime.date.fromisoformat, "timestamp": datetime.datetime.fromisoformat}


def element(kind: str) -> str | None:
    """The kind of a list's values; None for anything else."""
    return kind.removesuffix("[]") if kind.endswith("[]") else None


def bin_kind(kind: str) -> str | None:
    """The kind of a map's keys; None for anything else."""
    return kind[len("map(") :].partition(",")[0] if kind.startswith("map(") else None


def is_nested(kind: str) -> bool:
    """Whether a cell holds several values."""
    return element(kind) is not None or bin_kind(kind) is not None


def plain(value: Any) -> Any:
    """A cell as JSON has it."""
    if isinstance(value, dict):
        return [[plain(key), plain(item)] for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value


def read(kind: str, value: Any) -> Any:
    """What `plain` wrote."""
    if value is None:
        return None
    inside, key = element(kind), bin_kind(kind)
    if inside is not None:
        return tuple(read(inside, item) for item in value)
    if key is not None:
        return {read(key, each): number for each, number in value}
    return _TIMES[kind](value) if kind in _TIMES else value


def in_csv(value: Any) -> Any:
    """A cell of a CSV file."""
    return json.dumps(plain(value)) if isinstance(value, (dict, tuple)) else value


def around(value: Any, reach: float) -> Any:
    """The interval of a value; for a map one for each of its bins; None where nothing is known of the exact value."""
    if not reach <= UNKNOWN:
        return None
    if isinstance(value, dict):
        return {key: (number - reach, number + reach) for key, number in value.items()}
    return (value - reach, value + reach)
