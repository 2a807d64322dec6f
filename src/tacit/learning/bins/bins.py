"""Columns cut into bins, at public places: what histograms of rows are made of.

Promise: edges come from public facts (equal widths between the bounds, or edges that were stated or bought before),
never from the rows at hand. A row has at most one bin of each column: a number beyond the bounds is in the first or the
last one, and a value that is not listed is in none (-1). So a row adds to at most one cell of each column's histogram.

Edges are codes, ascending; a row's bin is how many of them are at or below its code, which an engine counts itself
(`Cut`). A column with listed values has one bin for each of them and no edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.learning.columns import Feature
from tacit.plan.row_plan import Cut
from tacit.statistics.source import Opened, Whole

MOST_BINS = 1 << 12


@dataclass(frozen=True, slots=True)
class Bins:
    """A column and its edges, as codes; a column with listed values has none."""

    feature: Feature
    edges: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many bins there are."""
        return self.feature.size if self.feature.options is not None else len(self.edges) + 1

    @property
    def is_ordered(self) -> bool:
        """Whether bins next to each other have values next to each other: those of a number have."""
        return self.feature.options is None

    @property
    def asked(self) -> str | Cut:
        """The column as a tally asks for it."""
        return self.feature.name if self.feature.options is not None else Cut(self.feature.name, self.edges)

    @property
    def ends(self) -> tuple[float, ...]:
        """Where the bins of a number begin and end, in its own units: one more than there are bins."""
        own = self.feature
        inner = (float(edge * own.step) for edge in self.edges)
        return (float(own.low * own.step), *inner, float((own.low + own.width) * own.step))

    @property
    def labels(self) -> tuple[Any, ...]:
        """The names of the bins: the listed values, or where each begins and ends."""
        if self.feature.options is not None:
            return self.feature.labels
        return tuple(f"{low:g} to {high:g}" for low, high in pairwise(self.ends))

    def of_tally(self, codes: Whole, meaning: str) -> Whole:
        """The bins of what a tally gave for `asked`; -1 where a value is not listed."""
        if self.feature.options is not None:
            return self.feature.places(codes, meaning)
        return codes

    def of_values(self, values: Any) -> Whole:
        """The bins of values as their owner writes them, for predictions; -1 where there is none."""
        own = self.feature
        if own.options is not None:
            given = np.asarray(values, dtype=object)
            found = np.full(len(given), -1, dtype=np.int64)
            for place, label in enumerate(own.labels):
                found[np.asarray(given == label, dtype=bool)] = place
            return found
        numbers = np.asarray(values, dtype=np.float64)
        with np.errstate(all="ignore"):
            codes = np.clip(np.rint(numbers / float(own.step)), own.low, own.low + own.width)
        known = ~np.isnan(codes)
        bins = np.searchsorted(self.edges, np.where(known, codes, 0).astype(np.int64), side="right")
        return np.where(known, bins, -1)


def uniform(feature: Feature, count: int) -> Bins:
    """Bins of equal width between the bounds, at most as many as there are codes."""
    if feature.options is not None:
        return Bins(feature)
    codes = feature.width + 1
    count = min(count, codes)
    return Bins(feature, tuple(feature.low + -(-place * codes // count) for place in range(1, count)))


def stated(feature: Feature, edges: Any) -> Bins:
    """Bins between edges in the column's own units; those at or beyond the bounds are left out."""
    allowed = "numbers in ascending order"
    try:
        exact = [parameters.rational("edges", each, allowed) for each in edges]
    except TypeError:
        raise parameters.refuse(f"edges of {feature.name!r}", allowed, edges) from None
    if exact != sorted(set(exact)):
        raise parameters.refuse(f"edges of {feature.name!r}", allowed, [float(each) for each in exact][:9])
    codes = dict.fromkeys(_code(each, feature.step) for each in exact)
    inside = tuple(each for each in codes if feature.low < each <= feature.low + feature.width)
    if len(inside) >= MOST_BINS:
        raise parameters.refuse(f"edges of {feature.name!r}", f"fewer than {MOST_BINS:,}", len(inside))
    return Bins(feature, inside)


def _code(value: Fraction, step: Fraction) -> int:
    """The first code at or above a value."""
    return -(-value.numerator * step.denominator // (value.denominator * step.numerator))


def cut_columns(features: Sequence[Feature], given: Any, count: int) -> tuple[Bins, ...]:
    """Every column's bins. `given`: None or a number of equal widths, or a mapping from columns to their edges."""
    if given is None or isinstance(given, (int, np.integer)):
        many = count if given is None else parameters.whole("bins", given, least=2)
        if many > MOST_BINS:
            raise parameters.refuse("bins", f"at most {MOST_BINS:,}", many)
        return tuple(uniform(each, many) for each in features)
    if not isinstance(given, Mapping):
        raise parameters.refuse("bins", "a number of bins, or a mapping from columns to their edges", given)
    names = [each.name for each in features]
    known = {names[key] if isinstance(key, int) and 0 <= key < len(names) else str(key): e for key, e in given.items()}
    for name in known:
        if name not in names:
            raise parameters.refuse("bins", f"for columns among {', '.join(names)}", name)
    listed = [each.name for each in features if each.options is not None and each.name in known]
    if listed:
        raise parameters.refuse("bins", "left out for columns with listed values: each value is a bin", listed[0])
    return tuple(stated(each, known[each.name]) if each.name in known else uniform(each, count) for each in features)


def read_bins(opened: Opened, bins: Sequence[Bins], *others: str) -> tuple[list[NDArray[Any]], list[Whole], Whole]:
    """Every row's bins, column by column in small numbers, then the codes of `others`, then the number of such rows.

    Rows with a value that is not listed are left out.
    """
    columns, counts = opened.columns(*(each.asked for each in bins), *others)
    meanings = opened.meanings(*(each.feature.name for each in bins))
    found, kept = [], np.ones(len(counts), dtype=bool)
    for place, (each, meaning) in enumerate(zip(bins, meanings, strict=True)):
        own = each.of_tally(columns[place], meaning)
        kept &= (own >= 0) & (own < each.size)
        found.append(own.astype(np.uint8 if each.size <= 1 << 8 else np.uint16, copy=False))
    rest = [each.astype(np.int64) for each in columns[len(bins) :]]
    if not kept.all():
        found, rest, counts = [each[kept] for each in found], [each[kept] for each in rest], counts[kept]
    return [np.ascontiguousarray(each) for each in found], rest, counts
