"""Histograms: how many rows lie in each cell of a column, under noise.

Theorem. Cells are disjoint (`domains`), so a unit with r rows moves the vector of counts by at most r in L1: discrete
Laplace noise of scale r/epsilon on each count is epsilon-differentially private. (In L2 it is r as well, so Gaussian
noise would only be larger.) Neighbours: one unit's rows, added or removed. Source: Dwork, McSherry, Nissim, Smith 2006.

Private bins. With `bins="private"` the edges themselves are chosen from the data: quantiles by the exponential
mechanism (`tacit.mechanisms.Quantiles`, sensitivity r) for a share of epsilon, so that bins hold about equally many
rows; the rest of epsilon pays for the counts in them. Both parts see the same rows, and their epsilons add up. Edges
that coincide are merged, which is post-processing.

Repair. Counts that noise alone may have made (in 95 of 100 histograms it reaches no further in any cell) share what
they add up to, and none is below zero; larger ones stay as they came (`projection.repaired`). Intervals cover the noise
of each count by itself, as it came; an interval that would end below zero ends at zero, and each one holds the count
that is shown.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.mechanisms import Laplace, Quantiles
from tacit.noise import BitSource
from tacit.plan.row_plan import Cut, Variable
from tacit.statistics.counts.counting_noise import price_of
from tacit.statistics.counts.projection import repaired
from tacit.statistics.domains import Bins, Domain, counts_of, cut_at, domain_of, limits_of
from tacit.statistics.finding import Column, Content, Finding, column
from tacit.statistics.source import Opened, Source, Whole, source_of


def histogram(
    data: Any,
    columns: str | None = None,
    *,
    epsilon: parameters.Number,
    bins: Bins | str = None,
    non_negative: bool = True,
    parts: int = 16,
    edges_share: parameters.Number = "1/4",
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """Counts of a column's values, or of bins of it.

    bins: None for the listed values or whole numbers themselves; a number of equal bins between the bounds; edges; or
    "private": about `parts` bins with equally many rows each, chosen for the share `edges_share` of epsilon.
    non_negative: counts below zero are repaired, and small ones with them; that is free. The array "noisy" has them as
    they came; with False the table has them so too.

    >>> found = histogram([20, 30, 70], bins=[0, 50, 100], bounds=(0, 100), epsilon=1)
    >>> list(zip(found["from"], found["to"])), min(found["count"]) >= 0
    ([(0, 50), (50, 100)], True)
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    exact = parameters.price("epsilon", epsilon)
    parameters.level("level", level)
    if isinstance(bins, str):
        if bins != "private":
            raise parameters.refuse("bins", 'a number of bins, their edges, "private" or left out', bins)
        count = parameters.whole("parts", parts, least=2)
        share = parameters.level("edges_share", edges_share)
        return _with_private_bins(source, exact, count, share, non_negative, level, analyst)
    cells = domain_of(source.only, bins)
    mechanism = Laplace(sensitivity=source.rows_per_unit, epsilon=exact)
    reach = mechanism.error(level)

    def compute(opened: Opened, bits: BitSource) -> Content:
        noisy = mechanism.release(counts_of(opened, [cells]), bits=bits)
        return _content(cells, noisy, _limit(mechanism, cells) if non_negative else None, reach, ())

    asked = {"study": "histogram", "cells": _described(cells), "non_negative": bool(non_negative)}
    return source.release(asked, price_of(exact, Fraction(0), mechanism.event), compute, level=level, analyst=analyst)


def _with_private_bins(
    source: Source,
    epsilon: Fraction,
    parts: int,
    share: Fraction,
    non_negative: bool,
    level: parameters.Number,
    analyst: str | None,
) -> Finding:
    variable = source.only
    if variable.meaning in ("text", "boolean"):
        raise parameters.refuse("bins", "left out where values are listed", "private")
    low, high = limits_of(variable)
    wanted = [Fraction(place, parts) for place in range(1, parts)]
    chooser = Quantiles(high - low + 1, wanted, source.rows_per_unit, epsilon * share)
    mechanism = Laplace(sensitivity=source.rows_per_unit, epsilon=epsilon * (1 - share))
    reach = mechanism.error(level)
    note = f"The edges are quantiles, chosen privately for {float(share):.4g} of epsilon."

    def compute(opened: Opened, bits: BitSource) -> Content:
        codes, rows = opened.tally(variable.name)
        points, places = np.unique(codes[:, 0] - low, return_inverse=True)
        counts = np.zeros(len(points), dtype=np.int64)
        np.add.at(counts, places.reshape(-1), rows)
        below = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)[: len(points)]
        chosen = chooser.choose(points, below, counts, int(counts.sum()), bits=bits)
        cells = private_cells(variable, chosen)
        held = np.searchsorted(_inner_codes(cells), points + low, side="right")
        exact = np.zeros(cells.size, dtype=np.int64)
        np.add.at(exact, held, counts)
        limit = _limit(mechanism, cells) if non_negative else None
        return _content(cells, mechanism.release(exact, bits=bits), limit, reach, (note,))

    asked = {
        "study": "histogram",
        "bins": "private",
        "parts": parts,
        "edges_share": str(share),
        "non_negative": bool(non_negative),
    }
    price = price_of(epsilon, Fraction(0), chooser.event, mechanism.event)
    return source.release(asked, price, compute, level=level, analyst=analyst)


def private_cells(variable: Variable, chosen: list[int]) -> Domain:
    """Bins with edges at chosen points of the grid, which count from the lower bound."""
    low, high = limits_of(variable)
    inner = sorted({low + point for point in chosen} - {low, high})
    return cut_at(variable, tuple(code * variable.step for code in (low, *inner, high)))


def _inner_codes(cells: Domain) -> tuple[int, ...]:
    assert isinstance(cells.asked, Cut)
    return cells.asked.edges[1:-1]


def _described(cells: Domain) -> list[str]:
    """What shapes the cells, for the study's key."""
    return [str(each) for each in (cells.edges if cells.edges is not None else cells.labels)]


def _limit(mechanism: Laplace, cells: Domain) -> float:
    """A size that no cell's noise exceeds in 95 of 100 histograms: public, as the number of cells is."""
    return float(mechanism.error(1 - Fraction(1, 20 * cells.size)))


def _content(cells: Domain, noisy: Whole, limit: float | None, reach: int | float, notes: tuple[str, ...]) -> Content:
    shown = noisy if limit is None else repaired(noisy, limit)
    low, high = interval_ends(noisy, shown, reach, non_negative=limit is not None)
    words = ("Intervals cover the noise in each count.", *notes)
    if limit is not None:
        words += (f"Counts up to {limit:,.0f} may be noise alone: they share what they add up to, none below zero.",)
    return Content(
        f"Histogram of {cells.name}",
        (*cell_columns(cells), column("count", shown, low, high)),
        words,
        {**edge_arrays(cells), "noisy": noisy},
    )


def interval_ends(noisy: Any, shown: Any, reach: float, non_negative: bool) -> tuple[Any, Any]:
    """Ends of intervals around the noisy counts; repaired ones are known not to be below zero, and lie inside."""
    low, high = noisy - reach, noisy + reach
    if non_negative:
        low, high = np.minimum(np.maximum(low, 0), shown), np.maximum(np.maximum(high, 0), shown)
    return low, high


def cell_columns(cells: Domain) -> tuple[Column, ...]:
    """The columns that name the cells."""
    if cells.edges is None:
        return (column(cells.name, list(cells.labels)),)
    return column("from", list(cells.labels)), column("to", list(cells.uppers))


def edge_arrays(cells: Domain) -> dict[str, Any]:
    """The edges of bins, as an array."""
    return {} if cells.edges is None else {"edges": np.array([float(edge) for edge in cells.edges])}
