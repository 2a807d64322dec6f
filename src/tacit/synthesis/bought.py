"""Bins with about equally many rows in each, bought: their edges are quantiles that the exponential mechanism chooses.

Theorem. A column's edges are chosen by `tacit.mechanisms.Quantiles` from all rows that have a value in it, of which a
unit has at most r: L = ceil(log2(PARTS)) choices of bounded range eta = epsilon/L each, so L eta**2/8 in zCDP (Cesar
and Rogers 2021), or epsilon by pure privacy. The edges of all such columns share a fixed part of the budget, which the
method's own measurements do not get; what is charged is the composition of both. Whatever follows knows the edges as
released numbers. Edges that coincide are merged, which is post-processing; so a column has at most PARTS bins. Each
code is rounded down to a point of a public grid first, by itself, so that rows stay rows.

Neighbours: one unit's rows, added or removed. Assumptions: the column's bounds are public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.loss import events
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Quantiles
from tacit.noise import BitSource
from tacit.plan.row_plan import Variable
from tacit.statistics.counts.histogram import private_cells
from tacit.statistics.domains import limits_of
from tacit.statistics.source import Opened, Source
from tacit.synthesis.cells import Layout, is_wide, recut

PRIVATE: Final = "private"
PARTS: Final = 16
_MOST_POINTS: Final = 1 << 32
SHARE: Final = Fraction(1, 10)  # of the budget, for the edges of all columns together


def public_and_bought(source: Source, bins: Any) -> tuple[Any, frozenset[str]]:
    """The stated bins without the columns whose edges are to be bought, and those columns."""
    if isinstance(bins, str):
        if bins != PRIVATE:
            raise parameters.refuse("bins", 'a number, a mapping from columns, or "private" for all wide columns', bins)
        return None, frozenset(each.name for each in source.variables if each.values is None and is_wide(each))
    if not isinstance(bins, Mapping):
        return bins, frozenset()
    bought = frozenset(name for name, own in bins.items() if isinstance(own, str) and own == PRIVATE)
    for name in bought:
        known = source.variable(name)
        if known.values is not None or known.meaning in ("text", "boolean"):
            raise parameters.refuse(f"bins of {name!r}", "left out: its values are listed", PRIVATE)
    return {name: PARTS if name in bought else own for name, own in bins.items()}, bought


@dataclass(frozen=True, slots=True)
class Edges:
    """The columns whose edges are bought, by their places, and how each is bought."""

    choosers: tuple[tuple[int, Variable, Quantiles], ...] = ()

    @property
    def events(self) -> tuple[events.Event, ...]:
        """The cost of all edges."""
        return tuple(each.event for _, _, each in self.choosers)

    @property
    def rho(self) -> Fraction:
        """The same in zCDP, exactly: L eta**2/8 each."""
        return sum((each.levels * (each.epsilon / each.levels) ** 2 / 8 for _, _, each in self.choosers), Fraction(0))

    def settled(self, opened: Opened, layout: Layout, bits: BitSource) -> Layout:
        """The layout with the edges that were chosen: a release, already paid for."""
        for place, variable, chooser in self.choosers:
            low, _ = limits_of(variable)
            codes, rows = opened.tally(variable.name)
            points, at = np.unique((codes[:, 0] - low) // _width(variable), return_inverse=True)
            counts = np.zeros(len(points), dtype=np.int64)
            np.add.at(counts, at.reshape(-1), rows)
            below = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)[: len(points)]
            chosen = chooser.choose(points, below, counts, int(counts.sum()), bits=bits)
            edges = [point * _width(variable) for point in chosen]
            layout = recut(layout, place, variable, private_cells(variable, edges))
        return layout

    def named(self) -> dict[str, Any]:
        """Part of the key of a release: which columns have edges of their own."""
        return {"private_bins": [variable.name for _, variable, _ in self.choosers]} if self.choosers else {}


def edges_by_rho(source: Source, layout: Layout, rho: Fraction) -> tuple[Edges, Fraction]:
    """How edges are bought for their share of rho, and what is left of it."""
    if not layout.bought:
        return Edges(), rho
    levels = Quantiles.levels_of(PARTS - 1)
    own = rho * SHARE / len(layout.bought)
    edges = _edges(source, layout, 1 / sqrt_up(1 / (8 * levels * own)))
    return edges, rho - edges.rho


def edges_by_epsilon(source: Source, layout: Layout, epsilon: Fraction) -> tuple[Edges, Fraction]:
    """The same for a share of epsilon."""
    if not layout.bought:
        return Edges(), epsilon
    own = epsilon * SHARE / len(layout.bought)
    return _edges(source, layout, own), epsilon * (1 - SHARE)


def _edges(source: Source, layout: Layout, epsilon: Fraction) -> Edges:
    wanted = [Fraction(part, PARTS) for part in range(1, PARTS)]
    found = []
    for place, variable in enumerate(source.variables):
        if place in layout.bought:
            low, high = limits_of(variable)
            points = (high - low) // _width(variable) + 1
            found.append((place, variable, Quantiles(points, wanted, source.rows_per_unit, epsilon)))
    return Edges(tuple(found))


def _width(variable: Variable) -> int:
    """How many codes are one point of the grid that edges are chosen from: more than one for very long ranges."""
    low, high = limits_of(variable)
    return (high - low) // _MOST_POINTS + 1


def with_bought(layout: Layout, names: frozenset[str]) -> Layout:
    """The layout that knows which of its edges stand for edges that are to be bought."""
    places = frozenset(place for place, name in enumerate(layout.names) if name in names)
    return replace(layout, bought=places)
