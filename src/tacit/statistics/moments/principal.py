"""Principal components of several columns, from their noisy covariance matrix.

Theorem. The covariance is released as in `covariance`; its eigenvectors are post-processing. If C' is the released
matrix, V' its first k eigenvectors and V those of the exact C, the variance that V' captures is short of what V
captures by at most 2 |C' - C| k (Weyl: tr(V^T C V) <= tr(V^T C' V) + k|E| <= tr(V'^T C' V') + k|E| and once more).

Neighbours: one unit's rows, added or removed. Intervals (for the variance along each component) cover the noise.
Source: Chaudhuri, Sarwate, Sinha 2013; Dwork, Talwar, Thakurta, Zhang 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.matrices import centres, release, scales
from tacit.statistics.moments.plausible import middle
from tacit.statistics.moments.several import several
from tacit.statistics.source import Opened


def pca(
    data: Any,
    columns: Any = None,
    *,
    components: int | None = None,
    epsilon: Number,
    delta: Number = 0,
    bounds: Any = None,
    norm: str | None = None,
    radius: Number | None = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """Principal components, in the data's own units: the array `components` has one a line, `mean` what to subtract.

    The table has each component's variance and its share of the total.
    """
    facts = {"epsilon": epsilon, "delta": delta, "bounds": bounds, "rows_per_unit": rows_per_unit}
    of = several(data, columns, **facts, norm=norm, radius=radius, level=level, least=2)
    kept = len(of.names) if components is None else parameters.whole("components", components, least=1)
    if kept > len(of.names):
        raise parameters.refuse("components", f"at most the number of columns, {len(of.names)}", components)

    def compute(opened: Opened, bits: BitSource) -> Content:
        found = release(of.design, opened, bits)
        own = scales(of.design)
        units = own[:, None] * own[None, :]
        values, vectors = np.linalg.eigh(found.covariance * units)
        variances, directions = np.maximum(values[::-1], 0.0)[:kept], _signed(vectors[:, ::-1].T[:kept])
        # the variance along the released directions, under other draws of the noise
        along = np.einsum("ki,bij,kj->bk", directions, found.covariance_draws * units, directions)
        low, high = middle(along, float(of.level))
        total = float(np.trace(found.covariance * units))
        shares = variances / total if total > 0 else np.zeros(kept)
        table = (
            column("component", list(range(1, kept + 1))),
            column("variance", variances, np.minimum(np.maximum(low, 0.0), variances), np.maximum(high, variances)),
            column("share", shares),
        )
        words = "Intervals cover the noise: they are for the rows' variance along the released directions."
        arrays = {"components": directions, "mean": centres(of.design) + found.mean * own, "count": found.count}
        return Content(f"Principal components of {', '.join(of.names)}", table, (words, of.clipping), arrays)

    asked = of.asked("pca", components=kept)
    return of.source.release(asked, of.design.noise.price, compute, level=level, analyst=analyst)


def _signed(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each direction with its largest entry positive, so that equal matrices give equal components."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0))
