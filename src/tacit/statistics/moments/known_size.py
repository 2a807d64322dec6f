"""Studies of arrays whose number of rows is public: neighbours then have one row replaced, not added or removed.

A curator's ledger is about adding or removing a unit, so there a known size is refused. The length of the arrays is the
same for all neighbours, so looking at it, and refusing a different `size`, tells nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit import parameters
from tacit.statistics.finding import Finding
from tacit.statistics.source import ArraySource, Source

NOTE = (
    "The number of rows is public, and neighbours have one row replaced by another; a missing value counts as mid-way."
)


LEFT_OUT = "Rows without a value are left out."
"""What becomes of missing values where the number of rows is not public."""


def public_size(source: Source, size: Any, least: int = 1) -> int:
    """The size; refused where it may not be public, or is not the arrays' own."""
    stated = parameters.whole("size", size, least=least)
    if not isinstance(source, ArraySource):
        raise parameters.refuse("size", "left out with a curator, whose ledger is about adding or removing units", size)
    length = len(next(iter(source.columns.values())))
    if stated != length:
        raise parameters.refuse("size", f"the arrays' length, {length}", size)
    return stated


def one_replaced(finding: Finding) -> Finding:
    """The finding, with the neighbours that it was made for."""
    return replace(finding, facts={**finding.facts, "neighbours": "one row, replaced by another"})
