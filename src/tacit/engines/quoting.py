"""Names and values as SQL text. The policy's words reach the engine through these functions only."""

from __future__ import annotations

import math
from fractions import Fraction


def identifier(*parts: str) -> str:
    """A quoted, possibly qualified name."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def text(value: str) -> str:
    """A string literal. DuckDB's only escape inside plain quotes is the doubled quote."""
    return "'" + value.replace("'", "''") + "'"


def whole(value: int) -> str:
    """An integer literal of 64 bits."""
    return f"CAST({value:d} AS BIGINT)"


def double(value: float) -> str:
    """A double literal that reads back as the same double."""
    return (
        f"CAST({value!r} AS DOUBLE)" if math.isfinite(value) and "e" in repr(value) else f"CAST('{value!r}' AS DOUBLE)"
    )


def least_double_from(exact: Fraction) -> float:
    """The least double that is at least `exact`: x >= exact and x >= this are the same for every double x."""
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = math.inf if exact > 0 else -math.inf
    if nearest == -math.inf or (nearest != math.inf and Fraction(nearest) < exact):
        return math.nextafter(nearest, math.inf)
    return nearest


def greatest_double_to(exact: Fraction) -> float:
    """The greatest double that is at most `exact`."""
    return -least_double_from(-exact)
