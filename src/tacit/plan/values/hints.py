"""How to bound a number inside a question, as refusals suggest it.

least and greatest ignore NULL, as in DuckDB and PostgreSQL: least(greatest(x, 0), 100) is 0 where x is NULL, which
changes a mean. So the suggestion tests for NULL first, and keeps it.
"""

from __future__ import annotations


def bound_here(low: int, high: int) -> str:
    """x held between two numbers, NULL where it is NULL."""
    return f"CASE WHEN x IS NOT NULL THEN least(greatest(x, {low}), {high}) END"


def top_here(high: int) -> str:
    """x held from above, NULL where it is NULL."""
    return f"CASE WHEN x IS NOT NULL THEN least(x, {high}) END"
