"""The covariance matrix of several columns, and their correlations.

Theorem. The count, the sums and the second moments are released together with noise for their joint sensitivity; rows
may be clipped to an L1 or L2 ball first, so that one row moves them less (`second_moments` has the sensitivities and
proofs, `clipping` the exact clipping). The rest is post-processing: the covariance is projected to the nearest
positive-semidefinite matrix, which never takes it farther from the exact one.

Neighbours: one unit's rows, added or removed. Intervals cover the noise: they are for the rows as they were clamped or
clipped, each by itself (`matrices` has the law of the errors, `correlation_interval` the tests behind correlations).
Source: Dwork, Talwar, Thakurta, Zhang 2014 (symmetric Gaussian noise on second moments).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.correlation_interval import correlation_ends
from tacit.statistics.moments.matrices import centres, release, scales
from tacit.statistics.moments.positive import correlations
from tacit.statistics.moments.several import Several, several
from tacit.statistics.source import Opened

Reals = NDArray[np.float64]


def covariance(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    delta: Number = 0,
    bounds: Any = None,
    norm: str | None = None,
    radius: Number | None = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The covariance matrix. `norm` ("l1" or "l2") and `radius` clip the rows, in units of half the bounds' distance.

    The finding's arrays: `matrix`, `mean`, `count`, `expected_error` (Frobenius) and `repair`.

    >>> found = covariance({"x": [20, 30], "y": [25, 35]}, bounds=(0, 100), epsilon=1)
    >>> list(zip(found["column"], found["other"]))
    [('x', 'x'), ('x', 'y'), ('y', 'y')]
    """
    facts = {"epsilon": epsilon, "delta": delta, "bounds": bounds, "rows_per_unit": rows_per_unit}
    of = several(data, columns, **facts, norm=norm, radius=radius, level=level, least=1)

    def compute(opened: Opened, bits: BitSource) -> Content:
        found = release(of.design, opened, bits)
        own = scales(of.design)
        units = own[:, None] * own[None, :]
        arrays = {
            "matrix": found.covariance * units,
            "mean": centres(of.design) + found.mean * own,
            "count": found.count,
            "expected_error": found.expected_error(units),
            "repair": float(np.linalg.norm((found.covariance - found.raw) * units)),
        }
        title = f"Covariances of {', '.join(of.names)}"
        low, high = found.ends(float(of.level))
        return _content(of, title, "covariance", arrays, (low * units, high * units), diagonal=True)

    return of.source.release(
        of.asked("covariance"), of.design.noise.price, compute, level=level, analyst=analyst
    )  # fmt: skip


def correlation(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    delta: Number = 0,
    bounds: Any = None,
    norm: str | None = None,
    radius: Number | None = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The correlations of columns; the matrix is the finding's array `matrix`.

    >>> found = correlation({"x": [20, 30], "y": [25, 35]}, bounds=(0, 100), epsilon=1)
    >>> -1 <= found["correlation"][0] <= 1
    True
    """
    facts = {"epsilon": epsilon, "delta": delta, "bounds": bounds, "rows_per_unit": rows_per_unit}
    of = several(data, columns, **facts, norm=norm, radius=radius, level=level, least=2)

    def compute(opened: Opened, bits: BitSource) -> Content:
        found = release(of.design, opened, bits)
        arrays = {"matrix": correlations(found.covariance), "count": found.count}
        ends = correlation_ends(found, float(of.level))
        return _content(of, f"Correlations of {', '.join(of.names)}", "correlation", arrays, ends, diagonal=False)

    return of.source.release(
        of.asked("correlation"), of.design.noise.price, compute, level=level, analyst=analyst
    )  # fmt: skip


def _content(
    of: Several, title: str, name: str, arrays: dict[str, Any], ends: tuple[Reals, Reals], *, diagonal: bool
) -> Content:
    matrix = np.asarray(arrays["matrix"])
    # the projection may leave the interval of an entry: it then reaches to what is shown
    low, high = np.minimum(ends[0], matrix), np.maximum(ends[1], matrix)
    shown = [(i, j) for i, j in of.design.pairs if diagonal or i < j]
    lines, others = [of.names[i] for i, _ in shown], [of.names[j] for _, j in shown]
    at = tuple(np.array(shown).T)
    columns = (column("column", lines), column("other", others), column(name, matrix[at], low[at], high[at]))
    words = "Intervals cover the noise, each by itself. The matrix is the nearest positive-semidefinite one."
    return Content(title, columns, (words, of.clipping), arrays)
