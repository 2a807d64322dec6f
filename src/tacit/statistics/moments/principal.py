"""Principal components of several columns, from their noisy covariance matrix.

Theorem. The covariance is released as in `covariance`; its eigenvectors are post-processing. If C' is the released
matrix, V' its first k eigenvectors and V those of the exact C, the variance that V' captures is short of what V
captures by at most 2 |C' - C| k (Weyl: tr(V^T C V) <= tr(V^T C' V) + k|E| <= tr(V'^T C' V') + k|E| and once more).

Intervals. Directions are chosen on the noisy matrix, so the noise along them is not that of a fixed direction. Whatever
was chosen, this holds: each eigenvalue of C' = C + E is within |E| (the largest singular value) of the same one of C
(Weyl); and with g the distance of an eigenvalue of C' from its neighbours, its eigenvector is at an angle of at most
arcsin(2 |E|/g) to that of C (Davis, Kahan; in this form Yu, Wang, Samworth 2015). With t the size that |E| exceeds with
probability 1 - level, found from draws of the noise (`matrices`), the variances and the angles hold all at once.

Neighbours: one unit's rows, added or removed. Intervals cover the noise: they are for the rows' own components.
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
from tacit.statistics.moments.matrices import Matrices, centres, release, scales
from tacit.statistics.moments.plausible import most
from tacit.statistics.moments.several import several
from tacit.statistics.source import Opened

Reals = NDArray[np.float64]


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

    The table has each component's variance, its share of the total, and the angle in degrees within which its direction
    lies from that of the rows (90: nothing can be said).

    >>> found = pca({"x": [20, 30], "y": [25, 35]}, bounds=(0, 100), epsilon=1)
    >>> found.names
    ('component', 'variance', 'share', 'angle')
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
        low, high, angles = _uncertain(found, units, float(of.level))
        total = float(np.trace(found.covariance * units))
        shares = variances / total if total > 0 else np.zeros(kept)
        table = (
            column("component", list(range(1, kept + 1))),
            column("variance", variances, np.minimum(low[:kept], variances), np.maximum(high[:kept], variances)),
            column("share", shares),
            column("angle", angles[:kept]),
        )
        words = (
            "Intervals cover the noise: they are for the variances of the rows' own components, whose directions are "
            f"within the angle (in degrees) of those released. All hold at once with probability {float(of.level):g}."
        )
        arrays = {"components": directions, "mean": centres(of.design) + found.mean * own, "count": found.count}
        return Content(f"Principal components of {', '.join(of.names)}", table, (words, of.clipping), arrays)

    asked = of.asked("pca", components=kept)
    return of.source.release(asked, of.design.noise.price, compute, level=level, analyst=analyst)


def _uncertain(found: Matrices, units: Reals, level: float) -> tuple[Reals, Reals, Reals]:
    """The ends of the variances' intervals, and the angles, from the largest component to the smallest."""
    shown = found.covariance * units
    d, ranks = len(shown), np.arange(1, len(shown) + 1)
    greatest = float(np.trace(units)) / ranks  # no variance is above its column's bounds; k of them add up
    if not found.enough:
        return np.zeros(d), greatest, np.full(d, 90.0)
    reach = float(most(np.abs(np.linalg.eigvalsh(found.plain_errors * units)).max(axis=1), level))
    released = np.linalg.eigvalsh(found.raw * units)[::-1]
    # directions are those of the repaired matrix, which is farther off by the repair at most
    moved = reach + float(np.abs(np.linalg.eigvalsh(shown - found.raw * units)).max())
    apart = np.concatenate([[np.inf], -np.diff(np.linalg.eigvalsh(shown)[::-1]), [np.inf]])
    gaps = np.minimum(apart[:-1], apart[1:])
    sines = np.minimum(2 * moved / np.maximum(gaps, 1e-300), 1.0)
    return (
        np.clip(released - reach, 0.0, greatest),
        np.clip(released + reach, 0.0, greatest),
        np.degrees(np.arcsin(sines)),
    )


def _signed(directions: Reals) -> Reals:
    """Each direction with its largest entry positive, so that equal matrices give equal components."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0))
