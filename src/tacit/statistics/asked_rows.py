"""The rows of a curator that a study was given by the names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit import parameters
from tacit.curator import Curator, Rows


def rows_of_table(curator: Curator, columns: list[str] | None, rows_per_unit: int | None) -> Rows:
    """Columns of one table, written "table.column"; the table may be left out where there is only one."""
    if not columns:
        raise parameters.refuse("columns", 'given with a curator, written "table.column"', columns)
    known = list(curator.policy.tables)
    whole = [str(each) if "." in str(each) or len(known) != 1 else f"{known[0]}.{each}" for each in columns]
    parted = [each.rpartition(".") for each in whole]
    tables = {table for table, _, _ in parted}
    if len(tables) != 1 or "" in tables:
        allowed = 'written "table.column", all of one table'
        raise parameters.refuse("columns", allowed, ", ".join(map(str, columns)), "Or make rows: curator.rows(sql).")
    return curator.rows(tables.pop(), [name for _, _, name in parted], rows_per_unit=rows_per_unit)


def narrowed(rows: Rows, columns: Sequence[str]) -> Rows:
    """The same rows with these columns alone."""
    plan = rows.plan
    kept = tuple(plan.variable(name) for name in columns)
    return Rows(rows.curator, replace(plan, variables=kept))
