"""Exact tables of a source, once they are paid for: counted in the engine, or from arrays.

Theorem. All tables are about the same rows, those that have a cell in every column. A unit with at most r rows changes
a table over any columns by at most r in L1 and at most r in L2; so a weighted set of tables, with weights w, changes by
at most r (sum w**2)**(1/2) in L2. Counts are whole numbers, and nothing is computed in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from tacit.statistics.counts.covers import cover
from tacit.statistics.domains import counts_of, moved_codes
from tacit.statistics.source import EngineRows, Opened, Whole
from tacit.synthesis.cells import Layout
from tacit.synthesis.model.tables import Columns, summed

_SCAN_CELLS = 1 << 17


class Tables:
    """Exact tables by their columns. Only a study's computation sees one, and adds noise to what it takes."""

    def __init__(self, opened: Opened, layout: Layout) -> None:
        self._opened, self._layout = opened, layout
        self._scans: dict[Columns, Whole] = {}
        self._codes: list[Whole] | None = None
        if not isinstance(opened, EngineRows):
            self._codes = _codes(opened, layout)

    def __repr__(self) -> str:
        return "Tables(...)"

    def prepare(self, wanted: Iterable[Columns]) -> None:
        """Count these in few scans of the rows."""
        if self._codes is None:
            for block in cover(list(wanted), self._layout.sizes, _SCAN_CELLS):
                if block not in self._scans:
                    domains = [self._layout.domains[place] for place in block]
                    self._scans[block] = counts_of(self._opened, domains, also=self._layout.domains)

    def table(self, columns: Columns) -> Whole:
        """The table over these columns."""
        sizes = tuple(self._layout.sizes[place] for place in columns)
        if self._codes is not None:
            flat = np.zeros(len(self._codes[0]), dtype=np.int64)
            for place, size in zip(columns, sizes, strict=True):
                flat = flat * size + self._codes[place]
            return np.bincount(flat, minlength=math.prod(sizes)).reshape(sizes)
        held = [block for block in self._scans if set(columns) <= set(block)]
        if not held:
            self._scans[columns] = counts_of(
                self._opened, [self._layout.domains[place] for place in columns], also=self._layout.domains
            )
            held = [columns]
        block = min(held, key=lambda each: self._scans[each].size)
        return summed(self._scans[block], block, columns)


def _codes(opened: Opened, layout: Layout) -> list[Whole]:
    """Each column's cells of the rows that have one in every column."""
    codes, rows = opened.tally(*(each.asked for each in layout.domains))
    moved = moved_codes(codes, layout.domains)
    inside = np.all((moved >= 0) & (moved < np.array(layout.sizes, dtype=np.int64)), axis=1)
    kept = moved[inside]
    if not bool(np.all(rows == 1)):
        kept = np.repeat(kept, rows[inside], axis=0)
    return [np.ascontiguousarray(kept[:, place]) for place in range(len(layout.domains))]
