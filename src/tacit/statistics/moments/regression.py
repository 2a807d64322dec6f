"""Linear regression by sufficient statistics: the least-squares line from noisy second moments.

Theorem. The count, sums and second moments of the features and the target are released as in `covariance`; the
coefficients solve (C_xx + ridge) b = C_xy with the positive-semidefinite C, and the intercept makes the line pass
through the means: post-processing. The ridge, in units of half the bounds' distance, is the deviation that the noise
gives to an entry of the covariance, so that directions in which the features vary less than the noise are not trusted;
it falls as 1/n, and vanishes beside C as the rows grow.

Neighbours: one unit's rows, added or removed. Intervals cover the noise (`plausible`), not the sampling of the rows.
Source: Vu, Slavkovic 2009; Wang 2018 (noisy sufficient statistics with a ridge).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import QuestionError
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.matrices import Matrices, centres, release, scales
from tacit.statistics.moments.plausible import middle
from tacit.statistics.moments.positive import nearest_positive
from tacit.statistics.moments.several import several
from tacit.statistics.source import Opened

Reals = NDArray[np.float64]


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
    """The line that predicts the column `target` from the other columns; the table has the intercept first."""
    facts = {"epsilon": epsilon, "delta": delta, "bounds": bounds, "rows_per_unit": rows_per_unit}
    of = several(data, columns, **facts, norm=norm, radius=radius, level=level, least=2)
    wanted = str(target).rpartition(".")[2].casefold()
    places = [place for place, name in enumerate(of.names) if name.casefold() == wanted]
    if not places:
        raise QuestionError(f"The target {target!r} is not among the columns: {', '.join(of.names)}.")
    aim = places[0]
    features = [place for place in range(len(of.names)) if place != aim]

    def compute(opened: Opened, bits: BitSource) -> Content:
        found = release(of.design, opened, bits)
        ridge = _ridge(found)
        own, middles = scales(of.design), centres(of.design)
        mean = middles + found.mean * own
        slopes = _slopes(found.covariance, features, aim, ridge) * own[aim] / own[features]
        intercept = mean[aim] - slopes @ mean[features]
        draws = _slopes(nearest_positive(found.covariance_draws), features, aim, ridge) * own[aim] / own[features]
        means = middles + found.mean_draws * own
        crossings = means[:, aim] - np.einsum("bi,bi->b", draws, means[:, features])
        low, high = middle(np.column_stack([crossings, draws]), float(of.level))
        names = ["intercept", *(of.names[place] for place in features)]
        values = np.array([intercept, *slopes])
        table = (
            column("term", names),
            column("coefficient", values, np.minimum(low, values), np.maximum(high, values)),
        )
        explained, total = slopes / own[aim] * own[features], found.covariance[aim, aim]
        fit = float(explained @ found.covariance[features, aim] / total) if total > 0 else 0.0
        words = "Intervals cover the noise, not the sampling of the rows."
        arrays = {"count": found.count, "r_squared": min(max(fit, 0.0), 1.0), "ridge": ridge}
        return Content(f"Linear regression of {of.names[aim]}", table, (words, of.clipping), arrays)

    asked = of.asked("linear regression", target=of.names[aim])
    return of.source.release(asked, of.design.noise.price, compute, level=level, analyst=analyst)


def _ridge(found: Matrices) -> float:
    """The deviation that the noise gives to an entry of the covariance."""
    return found.expected_error / len(found.mean)


def _slopes(covariance: Reals, features: list[int], aim: int, ridge: float) -> Reals:
    """(C_xx + ridge)^-1 C_xy, for one matrix or a stack of them."""
    rows, aimed = np.ix_(features, features), [(place, aim) for place in features]
    inner = covariance[..., rows[0], rows[1]] + max(ridge, 1e-12) * np.eye(len(features))
    crossed = covariance[..., [i for i, _ in aimed], aim]
    return np.asarray(np.linalg.solve(inner, crossed[..., None])[..., 0])
