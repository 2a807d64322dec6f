"""Public data as a starting point: what is known before anything is paid, so that little data has to say less.

Promise: a prior is public, so it costs nothing and changes no sensitivity; it is part of the key of a release. It adds
a tree of its pairs of columns to the model (those with the largest mutual information: Chow and Liu 1968), and the
model starts from the prior's tables instead of independent columns. Then it is fitted to what was measured, as far as
the noise allows: where the measurements say little, the prior counts; where they say much, they do.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.statistics.source import Whole
from tacit.synthesis.asking.points import pieces_of
from tacit.synthesis.cells import Field
from tacit.synthesis.merging import Merge
from tacit.synthesis.model.fitting import potentials_of
from tacit.synthesis.model.tables import Columns, Table
from tacit.synthesis.model.trees import Tree

_SPREAD: Final = 1.0  # rows that are spread evenly over the cells of a table, so that nothing is impossible
_MOST_CELLS: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Public rows: for each column their cells."""

    codes: tuple[Whole, ...]

    def named(self) -> dict[str, Any]:
        """Part of the key of a release."""
        digest = hashlib.sha256()
        for each in self.codes:
            digest.update(each.astype("<i8").tobytes())
        return {"prior": digest.hexdigest()}

    def over(self, merges: Sequence[Merge]) -> Prior:
        """The same rows over merged cells."""
        return Prior(tuple(merge.codes[own] for merge, own in zip(merges, self.codes, strict=True)))

    def table(self, columns: Columns, sizes: Sequence[int]) -> Table:
        """Shares of the cells, none of them 0; tables agree where they share columns."""
        shape = tuple(sizes[place] for place in columns)
        flat = np.ravel_multi_index(tuple(self.codes[place] for place in columns), shape)
        counts = np.bincount(flat, minlength=math.prod(shape)) + _SPREAD / math.prod(shape)
        return np.asarray(counts / counts.sum()).reshape(shape)

    def potentials(self, model: Tree) -> list[Table]:
        """Where a fit on this tree starts."""
        return potentials_of(model, [self.table(clique, model.sizes) for clique in model.cliques])

    def pairs(self, sizes: Sequence[int]) -> list[Columns]:
        """A spanning tree of pairs with the largest mutual information."""
        weighted = []
        for a, b in itertools.combinations(range(len(sizes)), 2):
            if sizes[a] * sizes[b] <= _MOST_CELLS:
                table = self.table((a, b), sizes)
                alone = np.multiply.outer(table.sum(axis=1), table.sum(axis=0))
                weighted.append((float((table * np.log(table / alone)).sum()), (a, b)))
        part = list(range(len(sizes)))
        found: list[Columns] = []
        for _, (a, b) in sorted(weighted, reverse=True):
            if part[a] != part[b]:
                found.append((a, b))
                part = [part[a] if each == part[b] else each for each in part]
        return found


def prior_of(frame: Any, fields: Sequence[Field]) -> Prior | None:
    """The cells of public rows: a frame or a mapping of arrays with the model's columns. Rows without a cell are left
    out, as the private ones are."""
    if frame is None:
        return None
    names = set(frame.keys()) if isinstance(frame, Mapping) or hasattr(frame, "keys") else set()
    lacking = [each.name for each in fields if each.name not in names]
    if lacking:
        raise parameters.refuse("prior", f"a frame with the columns {', '.join(e.name for e in fields)}", lacking)
    columns = [_cells(frame[each.name], each) for each in fields]
    if len({len(own) for own in columns}) != 1:
        raise parameters.refuse("prior", "columns of one length", [len(own) for own in columns])
    inside = np.all(np.stack(columns) >= 0, axis=0)
    if not inside.any():
        raise parameters.refuse("prior", "at least one row with the model's values in every column", "none")
    return Prior(tuple(own[inside] for own in columns))


def _cells(values: Any, field: Field) -> Whole:
    """The cell of each value; -1 for a value without one."""
    listed = np.asarray(values)
    if field.values is not None:
        known: dict[Any, int] = {each: place for place, each in enumerate(field.values)}
        plain = listed.tolist() if listed.dtype.kind != "M" else listed.astype("datetime64[us]").tolist()
        if field.kind == "date":
            plain = [each.date() if hasattr(each, "date") else each for each in plain]
        found = np.array([_known(known, each) for each in plain], dtype=np.int64)
        return np.where(found < 0, field.known, found) if field.nullable else found
    if field.kind in ("date", "timestamp"):
        unit = "datetime64[D]" if field.kind == "date" else "datetime64[us]"
        moments = listed.astype(unit)
        codes = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
    else:
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise parameters.refuse("prior", f"numbers in column {field.name!r}", str(listed.dtype)) from None
        codes = np.rint(numbers / float(Fraction(field.step)))
    starts = np.array([start for start, _ in pieces_of(field)], dtype=np.float64)
    cut = np.clip(codes, field.edges[0], field.edges[-1])  # as private values are clamped to their bounds
    found = np.searchsorted(starts, cut, side="right") - 1
    return np.where(np.isnan(codes), field.known if field.nullable else -1, found).astype(np.int64)


def _known(known: Mapping[Any, int], value: Any) -> int:
    try:
        return known.get(value, -1)
    except TypeError:  # a value of a type that no listed one has
        return -1
