"""Released second moments as matrices: the mean, the covariance, and what they would be under other draws of the noise.

Post-processing of what `second_moments` released. The count is taken as at least 1; means are cut to their bounds; the
covariance is made positive semidefinite (`positive`), and its diagonal at most what the bounds allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.noise import BitSource
from tacit.statistics.moments.plausible import draws_of
from tacit.statistics.moments.positive import nearest_positive, within
from tacit.statistics.moments.second_moments import Design
from tacit.statistics.source import Opened

Reals = NDArray[np.float64]
DRAWS = 1_000


@dataclass(frozen=True, slots=True)
class Matrices:
    """The count, the mean and the covariance in units of the half widths; `draws` of the same, one a line.

    The covariance is positive semidefinite, those of the draws are as they come (`raw` is the released one as it came).
    """

    count: float
    mean: Reals
    covariance: Reals
    raw: Reals
    mean_draws: Reals
    covariance_draws: Reals

    @property
    def repair(self) -> float:
        """How far the covariance was moved to be one, in the Frobenius norm."""
        return float(np.linalg.norm(self.covariance - self.raw))

    @property
    def expected_error(self) -> float:
        """The root mean square of the Frobenius error of the covariance, before it was repaired."""
        return float(np.sqrt(np.mean(np.square(self.covariance_draws - self.raw).sum(axis=(1, 2)))))


def release(design: Design, opened: Opened, bits: BitSource) -> Matrices:
    """The second moments with noise, as matrices."""
    noisy = np.array([float(each) for each in design.noise.release(design.exact(opened), bits)])
    solver = design.solver()
    moments = solver @ noisy
    others = moments - draws_of(design.noise, len(noisy), DRAWS) @ solver.T
    count, mean, raw = (each[0] for each in _matrices(design, moments[None, :]))
    _, mean_draws, covariance_draws = _matrices(design, others)
    most = np.ones(len(design.columns))
    return Matrices(
        float(count), mean, within(nearest_positive(raw), most), raw, mean_draws, covariance_draws
    )  # fmt: skip


def _matrices(design: Design, moments: Reals) -> tuple[Reals, Reals, Reals]:
    d = len(design.columns)
    count = np.maximum(moments[:, 0], 1.0)
    mean = np.clip(moments[:, 1 : 1 + d] / count[:, None], -1.0, 1.0)
    second = np.empty((len(moments), d, d))
    for place, (i, j) in enumerate(design.pairs):
        second[:, i, j] = second[:, j, i] = moments[:, 1 + d + place] / count
    return count, mean, second - mean[:, :, None] * mean[:, None, :]


def scales(design: Design) -> Reals:
    """Half the distance of each column's bounds: what one unit is in the data's own."""
    return np.array([each.span / 2 for each in design.columns])


def centres(design: Design) -> Reals:
    """The middle of each column's bounds."""
    return np.array([each.value(0.5) for each in design.columns])
