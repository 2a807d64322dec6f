"""Public facts in words: tables and columns, prices that the policy names, and what a receipt says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit import parameters
from tacit.answer.shown import readable, safe
from tacit.doors.http.datasets import Seat
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Table

_MOST_LISTED: Final = 12


def tables_of(policy: Policy) -> list[dict[str, Any]]:
    """Tables and columns with what is public about them, in words."""
    return [
        {
            "name": safe(name),
            "unit": _unit(table),
            "columns": [{"name": safe(each), "facts": _facts(column)} for each, column in table.columns.items()],
        }
        for name, table in policy.tables.items()
    ]


def facts(seat: Seat) -> dict[str, str]:
    """Prices that the policy names."""
    policy = seat.curator.policy
    return {
        "default": readable(parameters.as_text(policy.default_epsilon)),
        "largest": readable(parameters.as_text(policy.largest_epsilon)),
    }


def _unit(table: Table) -> str:
    if table.public:
        return "public: says nothing about anyone"
    unit = table.unit
    if isinstance(unit, ColumnUnit):
        return safe(f"protects everyone by {unit.column}, {_at_most(table.rows_per_unit)}")
    if isinstance(unit, PathUnit):
        return safe(f"protects everyone through {unit.table}, {_at_most(table.rows_per_unit)}")
    return "protects every row"


def _at_most(rows: int | None) -> str:
    return "one row each" if rows == 1 else f"at most {rows:,} rows each"


def _facts(column: Column) -> str:
    if column.values is not None:
        listed = ", ".join(safe(str(each)) for each in column.values[:_MOST_LISTED])
        more = f", and {len(column.values) - _MOST_LISTED:,} more" if len(column.values) > _MOST_LISTED else ""
        return f"{column.kind}: {listed}{more}"
    if column.lower is not None:
        return f"{column.kind} from {column.lower} to {column.upper}"
    return f"{column.kind}, bounds to be bought" if column.auto else column.kind


_FIRST: Final = ("epsilon", "delta", "unit", "rows_per_unit", "noise", "entry")
_NOT_IN_WORDS: Final = ("notes", "chosen", "event")


def receipt_of(receipt: Mapping[str, str]) -> dict[str, Any]:
    """A receipt in the order in which people ask: the price, who is protected, and the rest; and its event apart."""
    names = [*(each for each in _FIRST if each in receipt), *(each for each in receipt if each not in _FIRST)]
    lines = {
        name.replace("_", " "): safe(readable(receipt[name]) if name in ("epsilon", "delta") else receipt[name])
        for name in names
        if name not in _NOT_IN_WORDS
    }
    return {"lines": lines, "event": safe(receipt.get("event", ""))}
