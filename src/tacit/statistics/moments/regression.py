"""Linear regression by sufficient statistics: the least-squares line from noisy second moments.

Theorem. The count, sums and second moments of the features and the target are released as in `covariance`; the
coefficients solve C_xx b = C_xy, and the intercept makes the line pass through the means: post-processing. With up to
four features a share of epsilon first finds by rank where in their bounds the rows lie (`frames`), and the moments are
those of rows clipped to that; for one feature those of the distances from a line that was found by rank, whose slope
and height are added back, which gives the least-squares line of the clipped rows exactly.

Where the features' spread does not stand out of the noise in some direction, a ridge holds the coefficients back, there
is no interval, and the finding says so (`least_squares` has the law of the errors, and when this is).

Neighbours: one unit's rows, added or removed. Intervals cover the noise, not the sampling of the rows: they are for
the least-squares line of the clamped, or clipped, rows.
Source: Vu, Slavkovic 2009; Wang 2018 (noisy sufficient statistics); Alabi, McMillan, Sarathy, Smith, Vadhan 2022 for
lines by rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import parameters
from tacit.errors import QuestionError
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.frames import MOST_FEATURES
from tacit.statistics.moments.least_squares import least_squares
from tacit.statistics.moments.routes import InBounds, InFrames, Route
from tacit.statistics.moments.several import several
from tacit.statistics.source import Opened

_COVERED = "Intervals cover the noise, not the sampling of the rows."
_NOTHING_SAID = (
    "No intervals: in some direction the features spread less than the noise, and a ridge holds the coefficients back, "
    "and it is not known how far. More rows, a larger epsilon, fewer columns or narrower bounds tell more; for one "
    "feature, robust_regression may."
)
_FEW = (
    "No intervals: there are too few rows, for this epsilon, to tell where in their bounds they lie. "
    "More rows, or a larger epsilon, tell more."
)


def linear_regression(
    data: Any,
    columns: Any = None,
    *,
    target: str,
    epsilon: Number,
    delta: Number = 0,
    bounds: Any = None,
    norm: str | None = None,
    radius: Number | None = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The line that predicts the column `target` from the other columns; the table has the intercept first.

    >>> found = linear_regression({"x": [20, 30], "y": [25, 35]}, target="y", bounds=(0, 100), epsilon=1)
    >>> found.names, len(found)
    (('term', 'coefficient'), 2)
    """
    facts = {"epsilon": epsilon, "delta": delta, "bounds": bounds, "rows_per_unit": rows_per_unit}
    of = several(data, columns, **facts, norm=norm, radius=radius, level=level, least=2)
    wanted = str(target).rpartition(".")[2].casefold()
    places = [place for place, name in enumerate(of.names) if name.casefold() == wanted]
    if not places:
        raise QuestionError(f"The target {target!r} is not among the columns: {', '.join(of.names)}.")
    aim = places[0]
    features = [place for place in range(len(of.names)) if place != aim]
    in_bounds = of.design.ball is not None or len(features) > MOST_FEATURES
    route: Route = InBounds(of) if in_bounds else InFrames.of(of, aim, *parameters.budget(epsilon, delta))

    def compute(opened: Opened, bits: BitSource) -> Content:
        found, placed = route.release(opened, bits)
        own, middles = placed.halves, placed.middles
        origin = -middles[features] / own[features]  # where the features are zero
        line = least_squares(found, features, aim, float(of.level), origin)
        units = np.array([own[aim], *(own[aim] / own[features])])
        values = np.array([line.intercept, *line.slopes]) * units + np.array([middles[aim], *placed.slopes[features]])
        reach = line.reach if found.count >= placed.least_rows else None
        ends = (None, None) if reach is None else (values - reach * units, values + reach * units)
        names = ["intercept", *(of.names[place] for place in features)]
        table = (column("term", names), column("coefficient", values, *ends))
        whole = values[1:] / units[1:]
        explained = float(whole @ found.covariance[np.ix_(features, features)] @ whole)
        left = float(found.covariance[aim, aim] - line.slopes @ found.covariance[features, aim])
        fit = explained / (explained + max(left, 0.0)) if explained > 0 else 0.0
        words = _COVERED if reach is not None else _NOTHING_SAID if line.reach is None else _FEW
        arrays = {"count": found.count, "r_squared": min(max(fit, 0.0), 1.0), "ridge": line.ridge, **placed.arrays}
        return Content(f"Linear regression of {of.names[aim]}", table, (words, placed.words), arrays)

    asked = of.asked("linear regression", target=of.names[aim], route=type(route).__name__)
    return of.source.release(asked, route.price, compute, level=level, analyst=analyst)
