"""The cells of a column: its listed values, its whole numbers, or bins of it. Public, and known before anything is
paid.

Promise: a row that has a code has at most one cell, decided by that code alone, in whole numbers. So rows that come and
go change counts of cells by exactly their own number: one unit with r rows moves a table of cells by at most r in L1,
and by at most r in L2 (r where all its rows share a cell).

Bins are half open, [a, b), and the last one is closed, as numpy's histogram has them. A code c with c * step >= a is
one with c >= ceil(a/step), so the edges are whole numbers too, and no value is compared in floating point. Edges of
real numbers are rounded to the grid as the values are.
"""

from __future__ import annotations

import datetime
import itertools
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tacit import parameters
from tacit.plan.row_plan import Coded, Cut, OrMissing, Variable, missing_code
from tacit.policy.dates import EPOCH
from tacit.statistics.source import Opened, Whole

MOST_CELLS = 1 << 20
Bins: TypeAlias = int | Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class Domain:
    """The cells of one column. A row is in cell `code of asked - first`, or in none where that is beyond `size`."""

    name: str
    asked: Coded
    first: int
    size: int
    labels: tuple[Any, ...]  # of the cells; of bins, the lower ends
    edges: tuple[Fraction, ...] | None = None  # of bins: one more than there are cells
    uppers: tuple[Any, ...] = ()  # of bins: the upper ends
    missing: int | None = None  # the code of missing values, where they have a cell: the last one

    @property
    def has_all(self) -> bool:
        """Whether every row has a cell, whatever is in it."""
        return self.missing is not None and self.edges is None

    def with_missing(self, variable: Variable) -> Domain:
        """The same cells, and one more for missing values."""
        assert not isinstance(self.asked, OrMissing)
        code = missing_code(variable, self.asked)
        return replace(self, asked=OrMissing(self.asked), size=self.size + 1, missing=code)

    def cells(self, codes: Whole) -> Whole:
        """The cell of each code: below 0, or beyond the last cell, for codes that have none."""
        if self.missing is None:
            return codes - self.first
        known = self.size - 1
        moved = np.where(codes == self.missing, known, codes - self.first)
        return np.where((moved == known) & (codes != self.missing), -1, moved)

    def merged(self) -> Domain:
        """All cells joined to one: every row that has a cell here has that one."""
        if self.missing is not None:
            assert isinstance(self.asked, OrMissing)
            assert not isinstance(self.asked.asked, str)
            ends = (self.asked.asked.edges[0], self.asked.asked.edges[-1])
            return Domain(self.name, OrMissing(Cut(self.name, ends)), 1, 2, (self.name,) * 2, missing=len(ends) + 1)
        if self.edges is None:  # cut nowhere: one code for all that is not missing
            return Domain(self.name, Cut(self.name, ()), 0, 1, (self.name,))
        assert isinstance(self.asked, Cut)
        outer = (self.asked.edges[0], self.asked.edges[-1])
        return Domain(self.name, Cut(self.name, outer), 1, 1, (self.name,))

    @property
    def cell_names(self) -> tuple[Any, ...]:
        """One label for each cell; for bins, both ends."""
        if self.edges is None:
            return self.labels
        closing = ")" * (self.size - 1) + "]"
        return tuple(
            f"[{low}, {high}{close}" for low, high, close in zip(self.labels, self.uppers, closing, strict=True)
        )


def domain_of(variable: Variable, bins: Bins = None) -> Domain:
    """The cells of a column; refused where they are not public, or too many to list."""
    if bins is not None:
        return _binned(variable, bins)
    if variable.values is not None:
        return _listed(variable)
    low, high = limits_of(variable)
    if variable.rounded or high - low >= MOST_CELLS:
        hint = "Say how many equal bins, or list their edges; whole numbers come in an array of an integer type."
        raise parameters.refuse(f"bins of {variable.name!r}", "given for a column of real or many numbers", None, hint)
    labels = tuple(reading(variable, code) for code in range(low, high + 1))
    return Domain(variable.name, variable.name, low, high - low + 1, labels)


def limits_of(variable: Variable) -> tuple[int, int]:
    """The least and the largest code, where the policy (or the caller) bounds them."""
    if variable.low is None or variable.high is None:
        raise parameters.refuse(
            f"column {variable.name!r}",
            "one with bounds or listed values",
            "neither",
            "They are public facts: the policy states them, or `bounds` and `values` do for arrays.",
        )
    return variable.low, variable.high


def reading(variable: Variable, code: int | str | None) -> Any:
    """A code as people read it: a number, a date, a time, a truth value or a text."""
    if code is None or isinstance(code, str):
        return code
    if variable.meaning == "boolean":
        return bool(code)
    if variable.meaning == "date":
        return EPOCH.date() + datetime.timedelta(days=code)
    if variable.meaning == "timestamp":
        return EPOCH + datetime.timedelta(microseconds=code)
    return _number(code * variable.step)


def counts_of(opened: Opened, domains: Sequence[Domain], also: Sequence[Domain] = ()) -> Whole:
    """The table of counts over the cells, of the rows that have a cell in the domains `also` too."""
    used = {each.name for each in domains}
    merged = [each.merged() for each in also if each.name not in used and not each.has_all]
    every = [*domains, *merged]
    codes, rows = opened.tally(*(each.asked for each in every))
    moved = moved_codes(codes, every)
    inside = np.all((moved >= 0) & (moved < np.array([each.size for each in every], dtype=np.int64)), axis=1)
    if not inside.all():
        moved, rows = moved[inside], rows[inside]
    shape = tuple(each.size for each in domains)
    flat = np.zeros(len(moved), dtype=np.int64)
    for place, size in enumerate(shape):
        flat = flat * size + moved[:, place]
    # sums of whole numbers in floats, exact up to 2**53 rows
    table = np.bincount(flat, weights=rows, minlength=math.prod(shape))
    return table.astype(np.int64).reshape(shape)


def moved_codes(codes: Whole, domains: Sequence[Domain]) -> Whole:
    """Cells for codes, column by column."""
    if all(each.missing is None for each in domains):
        return np.asarray(codes - np.array([each.first for each in domains], dtype=np.int64))
    return np.stack([each.cells(codes[:, place]) for place, each in enumerate(domains)], axis=1)


def _listed(variable: Variable) -> Domain:
    assert variable.values is not None
    listed = tuple(each for each in variable.values if each is not None)
    labels = tuple(reading(variable, each) for each in listed)
    if variable.meaning == "text":
        return Domain(variable.name, variable.name, 0, len(listed), labels)
    points = sorted(int(each) for each in listed)
    labels = tuple(reading(variable, each) for each in points)
    if points == list(range(points[0], points[0] + len(points))):
        return Domain(variable.name, variable.name, points[0], len(points), labels)
    return Domain(variable.name, Cut(variable.name, tuple(points[1:])), 0, len(points), labels)


def _binned(variable: Variable, bins: Any) -> Domain:
    if variable.meaning in ("text", "boolean"):
        raise parameters.refuse(f"bins of {variable.name!r}", "left out: its values are listed", bins)
    if isinstance(bins, str):
        allowed = 'a number of bins, or their edges in ascending order ("private" is for a histogram, or mst and aim)'
        raise parameters.refuse(f"bins of {variable.name!r}", allowed, bins)
    if not isinstance(bins, numbers.Number):
        if not hasattr(bins, "__iter__"):
            raise parameters.refuse(f"bins of {variable.name!r}", "a number of bins, or their edges", bins)
        return cut_at(variable, tuple(edge_of(variable, each) for each in bins))
    count = parameters.whole("bins", bins, least=1)
    low, high = (code * variable.step for code in limits_of(variable))
    if low == high:
        raise parameters.refuse(f"bounds of {variable.name!r}", "two different ones, to be cut into bins", float(low))
    if count > MOST_CELLS:
        raise parameters.refuse("bins", f"at most {MOST_CELLS:,}", count)
    return cut_at(variable, tuple(low + (high - low) * place / count for place in range(count + 1)))


def cut_at(variable: Variable, edges: tuple[Fraction, ...]) -> Domain:
    """Bins between edges, in the unit of the variable's values; rows beyond the outer edges have no cell."""
    if len(edges) < 2 or any(low >= high for low, high in itertools.pairwise(edges)):
        shown = [float(edge) for edge in edges[:5]]
        raise parameters.refuse(f"bins of {variable.name!r}", "edges in ascending order, two at least", shown)
    if variable.rounded:  # an edge goes where a value that equals it went
        codes = [round(edge / variable.step) for edge in edges]
    else:
        codes = [*(math.ceil(edge / variable.step) for edge in edges[:-1]), math.floor(edges[-1] / variable.step)]
    codes[-1] += 1  # the last bin is closed
    ends = tuple(_end(variable, edge) for edge in edges)
    return Domain(variable.name, Cut(variable.name, tuple(codes)), 1, len(edges) - 1, ends[:-1], edges, ends[1:])


def edge_of(variable: Variable, edge: Any) -> Fraction:
    """An edge as it was written, in the unit of codes times step."""
    if isinstance(edge, datetime.datetime) and variable.meaning == "timestamp":
        return Fraction((edge - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(edge, datetime.date) and variable.meaning == "date":
        return Fraction((edge - EPOCH.date()).days)
    return parameters.rational(f"bins of {variable.name!r}", edge)


def _end(variable: Variable, edge: Fraction) -> Any:
    if variable.meaning in ("date", "timestamp") and edge.denominator == 1:
        return reading(variable, int(edge))
    return _number(edge)


def _number(exact: Fraction) -> int | float:
    return exact.numerator if exact.denominator == 1 else float(exact)
