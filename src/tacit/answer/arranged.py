"""Released rows sorted and cut. Everything here is free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def arranged(
    columns: Sequence[Sequence[Any]],
    rows: list[int],
    order: Iterable[tuple[int, bool, bool]],
    offset: int,
    limit: int | None,
) -> list[int]:
    """The rows by (column, descending, NULLs first), the first criterion first, without `offset`, at most `limit`."""
    for column, descending, nulls_first in reversed(list(order)):  # the sort is stable
        values = columns[column]
        present = sorted((row for row in rows if values[row] is not None), key=values.__getitem__, reverse=descending)
        absent = [row for row in rows if values[row] is None]
        rows = absent + present if nulls_first else present + absent
    rows = rows[offset:]
    return rows if limit is None else rows[:limit]
