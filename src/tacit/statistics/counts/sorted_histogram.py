"""Sorted ("popularity") histograms: the size of the largest cell, of the second largest, ..., but not which they are.

Theorem 1. Sorting moves two vectors no further apart, in L1 as in L2 (rearrangement). So a unit with r rows moves the
sorted counts by at most r in L1, and discrete Laplace noise of scale r/epsilon on each is epsilon-differentially
private. Neighbours: one unit's rows, added or removed.

Theorem 2. The true counts fall; falling non-negative sequences are a convex set, and the nearest one of them is at
least as near to the truth as the noisy sequence: the error never grows. It is found by pooling neighbours that rise
(O(n)) and lifting what is below zero. Where true counts repeat, noise averages out: the squared error drops from
d/epsilon**2 for d counts to about k log(d)**3/epsilon**2 for k different values.

Source: Hay, Rastogi, Miklau, Suciu 2010.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.statistics.counts.counting_noise import price_of, variance_of
from tacit.statistics.counts.histogram import interval_ends
from tacit.statistics.counts.projection import pooled
from tacit.statistics.domains import Bins, counts_of, domain_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, source_of


def sorted_histogram(
    data: Any,
    columns: str | None = None,
    *,
    epsilon: parameters.Number,
    bins: Bins = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The counts of a column's cells from the largest to the smallest, made to fall again after the noise.

    >>> found = sorted_histogram([20, 30, 70], bins=2, bounds=(0, 100), epsilon=1)
    >>> found["rank"], found["count"][0] >= found["count"][1]
    ((1, 2), True)
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    exact = parameters.price("epsilon", epsilon)
    parameters.level("level", level)
    cells = domain_of(source.only, bins)
    mechanism = Laplace(sensitivity=source.rows_per_unit, epsilon=exact)
    reach = mechanism.error(level)
    expected = cells.size * variance_of(mechanism)

    def compute(opened: Opened, bits: BitSource) -> Content:
        falling = -np.sort(-counts_of(opened, [cells]))
        noisy = mechanism.release(falling, bits=bits)
        shown = np.maximum(pooled(noisy.astype(np.float64)), 0.0)
        low, high = interval_ends(noisy, shown, reach, non_negative=True)
        notes = (
            "Intervals cover the noise in each count by itself.",
            f"Expected total squared error: {expected:.4g} before pooling; pooling never makes an error larger.",
        )
        columns = (column("rank", np.arange(1, cells.size + 1)), column("count", shown, low, high))
        return Content(f"Sorted histogram of {cells.name}", columns, notes, {"noisy": noisy})

    asked = {
        "study": "sorted histogram",
        "cells": [str(each) for each in (cells.edges if cells.edges is not None else cells.labels)],
    }
    return source.release(asked, price_of(exact, Fraction(0), mechanism.event), compute, level=level, analyst=analyst)
