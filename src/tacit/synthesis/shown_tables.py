"""A model's table for people: expected counts, and an interval for each cell that a measured table covers.

Theorem (intervals). A measured table over columns that hold the wanted ones gives, summed over the others, a count with
the noise of `many` independent cells of deviation sigma: noisy - z sigma many**(1/2) to noisy + z sigma many**(1/2)
holds the exact count with the stated probability, for normal noise of that variance; it is widened to hold the model's
own count. The widths alone decide which measured table is taken, not the measured numbers, so the probability holds. A
table of Laplace noise takes the wider of the two laws' intervals. Cells that were merged, and tables that were never
measured, have none: how far the model is off there is not known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from tacit.statistics.finding import Column, Finding, column
from tacit.synthesis.model.tables import Columns, Table, summed
from tacit.synthesis.released import Measurement, Release

if TYPE_CHECKING:
    from tacit.synthesis.synthetic import Synthetic


def shown_table(synthetic: Synthetic, places: Columns, level: float) -> Finding:
    """The table over these columns, one line for each cell."""
    release = synthetic._release
    ascending = tuple(sorted(places))
    expected = synthetic._table(ascending) * release.fitted.total
    ends = intervals(release, ascending, expected, level)
    order = np.argsort(np.argsort(places))
    turned = [np.transpose(each, order).reshape(-1) for each in (expected, *(ends or ()))]
    fields = [release.fields[place] for place in places]
    grid = np.indices(tuple(each.size for each in fields)).reshape(len(fields), -1)
    keys: list[Column] = []
    for each, codes in zip(fields, grid, strict=True):
        listed = each.listed
        keys.append(column(each.name, [listed[code] for code in codes]))
    low, high = (turned[1], turned[2]) if ends is not None else (None, None)
    name = "n" if "n" not in {each.name for each in fields} else "n_"
    counts = column(name, turned[0], low, high)
    title = f"Synthetic table of {', '.join(each.name for each in fields)}"
    note = (
        "Intervals are for what the noise did to each count; cells of merged rare values have none."
        if ends is not None
        else "The model never measured this table: it follows from others, and how far it is off is not known."
    )
    return Finding(title, (*keys, counts), (note,), {}, level, synthetic.receipt, repeated=True)


def telling(release: Release, columns: Columns) -> Measurement | None:
    """The best measured table for these columns: the one with the least noise in each of their cells."""
    held = [each for each in release.measured if set(columns) <= set(each.columns)]
    return min(held, key=lambda each: each.sigma**2 * _many(each, columns), default=None)


def _many(measured: Measurement, columns: Columns) -> int:
    """How many measured cells are added up for one cell over `columns`."""
    return math.prod(
        size for each, size in zip(measured.columns, measured.noisy.shape, strict=True) if each not in columns
    )


def reach_of(release: Release, level: float) -> float:
    """How many deviations an interval reaches: for normal noise, or the larger of normal and Laplace noise."""
    normal = float(ndtri((1 + level) / 2))
    if release.facts.get("noise") == "laplace":
        return max(normal, -math.log(1 - level) / math.sqrt(2))
    return normal


def intervals(release: Release, columns: Columns, expected: Table, level: float) -> tuple[Table, Table] | None:
    """Ends for every cell, NaN for merged cells; None where no measured table holds these columns."""
    found = telling(release, columns)
    if found is None:
        return None
    noisy = summed(found.noisy, found.columns, columns).astype(np.float64)
    spread = found.sigma * math.sqrt(_many(found, columns))
    reach = reach_of(release, level) * spread
    if found.merged:
        for axis, each in enumerate(columns):
            merge = release.merges[each]
            if not merge.is_plain:
                alone = np.bincount(merge.codes)[merge.codes] == 1
                shape = [1] * noisy.ndim
                shape[axis] = len(alone)
                noisy = np.where(alone.reshape(shape), np.take(noisy, merge.codes, axis=axis), np.nan)
    return np.fmax(np.minimum(noisy - reach, expected), 0.0), np.maximum(noisy + reach, expected)
