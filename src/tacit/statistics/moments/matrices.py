"""Released second moments as matrices, and the law of their errors, on which every interval of several columns rests.

Post-processing of what `second_moments` released. The covariance that is shown is made positive semidefinite
(`positive`), and its diagonal at most what the bounds allow; means are cut to their bounds.

Theorem (the error of a covariance). Let e be the noise on (n, sums, second moments) as they are solved for, N = n +
e_n the noisy count, M = (sums + e)/N the noisy mean, m the exact one, c an exact covariance, C the noisy one (noisy
second moment over N, less M_i M_j). With h_i = e_i - m_i e_n, so that N (M_i - m_i) = h_i,
    N (C_ij - c_ij) = e_ij - m_i e_j - m_j e_i + (m_i m_j - c_ij) e_n - h_i h_j/N.
Proof. N C_ij = sum u_i u_j + e_ij - N M_i M_j, and N M_i M_j = N m_i m_j + m_i h_j + m_j h_i + h_i h_j/N; now put in
N = n + e_n, sum u_i u_j = n (c_ij + m_i m_j) and the h.
N is released, so nothing is divided by an unknown count. Except for the last term, which falls as 1/N, the error is
linear in noise whose law is public. The weights of that noise, m and c, are not known; the released ones are put in
their place (for the ends of an interval of c: the ends themselves, as Fieller does).

With a count that does not stand out of its noise (`enough`) nothing is said: the intervals are all that bounds allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.noise import BitSource
from tacit.statistics.moments.plausible import draws_of, tails
from tacit.statistics.moments.positive import nearest_positive, within
from tacit.statistics.moments.second_moments import Design
from tacit.statistics.source import Opened

Reals = NDArray[np.float64]
DRAWS, FEWER, MANY_COLUMNS = 4_000, 1_000, 12
ENOUGH = 4.0
_STEPS = 3


@dataclass(frozen=True, slots=True)
class Matrices:
    """The count, the mean and the covariance in units of the half widths, and draws of their errors, one a line.

    The covariance is positive semidefinite; `raw` is the released one as it came. Of the draws `count_noise` is e_n,
    `mean_errors` h/N, and `errors` the right side of the theorem over N without the term -c e_n/N.
    """

    count: float
    mean: Reals
    covariance: Reals
    raw: Reals
    enough: bool
    count_noise: Reals
    mean_errors: Reals
    errors: Reals

    def errors_at(self, covariance: Reals) -> Reals:
        """Draws of the error of the released covariance, if this were the exact one."""
        return np.asarray(self.errors - covariance * (self.count_noise / self.count)[:, None, None])

    @property
    def plain_errors(self) -> Reals:
        """Draws of the error at the covariance that is shown."""
        return self.errors_at(self.covariance)

    def expected_error(self, units: Reals | float = 1.0) -> float:
        """The root mean square of the Frobenius error of the covariance, before it was repaired."""
        return float(np.sqrt(np.mean(np.square(self.plain_errors * units).sum(axis=(1, 2)))))

    def ends(self, level: float) -> tuple[Reals, Reals]:
        """The ends between which each covariance lies with probability `level`, by itself."""
        d = len(self.mean)
        least, most = np.where(np.eye(d, dtype=bool), 0.0, -1.0), np.ones((d, d))
        if not self.enough:
            return least, most
        above = np.triu_indices(d)  # each pair once
        raw, least, most, errors = self.raw[above], least[above], most[above], self.errors[:, above[0], above[1]]
        share = (self.count_noise / self.count)[:, None]
        low = high = np.clip(raw, least, most)
        for _ in range(_STEPS):
            low = np.clip(raw - tails(errors - low * share, level)[1], least, most)
            high = np.clip(raw - tails(errors - high * share, level)[0], least, most)
        return _symmetric(low, d), _symmetric(high, d)


def release(design: Design, opened: Opened, bits: BitSource) -> Matrices:
    """The second moments with noise, as matrices."""
    noisy = np.array([float(each) for each in design.noise.release(design.exact(opened), bits)])
    return matrices(design, noisy)


def matrices(design: Design, noisy: Reals) -> Matrices:
    """What the released vector says of the moments."""
    d = len(design.columns)
    solver = design.solver()
    moments = solver @ noisy
    noise = draws_of(design.noise, len(noisy), DRAWS if d <= MANY_COLUMNS else FEWER) @ solver.T
    sums, second = moments[1 : 1 + d], _square(design, moments[None, 1 + d :])[0]
    noises = (noise[:, 0], noise[:, 1 : 1 + d], _square(design, noise[:, 1 + d :]))
    return with_errors(float(moments[0]), sums, second, *noises)


def with_errors(
    number: float, sums: Reals, second: Reals, count_noise: Reals, sum_noise: Reals, second_noise: Reals
) -> Matrices:
    """A noisy number of rows, their noisy sums and second moments, and draws of the noise of each."""
    count = max(number, 1.0)
    cut = np.clip(sums / count, -1.0, 1.0)
    raw = second / count - cut[:, None] * cut[None, :]
    shifts = sum_noise - cut * count_noise[:, None]  # h
    crossed = sum_noise[:, :, None] * cut[None, None, :]
    errors = second_noise - crossed - np.swapaxes(crossed, 1, 2)
    errors = errors + cut[:, None] * cut[None, :] * count_noise[:, None, None]
    errors = (errors - shifts[:, :, None] * shifts[:, None, :] / count) / count
    return Matrices(
        count=count,
        mean=cut,
        covariance=within(nearest_positive(raw), np.ones(len(cut))),
        raw=raw,
        enough=bool(number > ENOUGH * float(np.std(count_noise))),
        count_noise=count_noise,
        mean_errors=shifts / count,
        errors=errors,
    )


def _square(design: Design, pairs: Reals) -> Reals:
    """Numbers for pairs i <= j as symmetric matrices."""
    d = len(design.columns)
    made = np.empty((len(pairs), d, d))
    for place, (i, j) in enumerate(design.pairs):
        made[:, i, j] = made[:, j, i] = pairs[:, place]
    return made


def _symmetric(above: Reals, d: int) -> Reals:
    """Numbers for pairs i <= j, row by row, as one symmetric matrix."""
    made = np.empty((d, d))
    made[np.triu_indices(d)] = above
    return np.asarray(np.where(np.tri(d, dtype=bool), made.T, made))


def scales(design: Design) -> Reals:
    """Half the distance of each column's bounds: one unit, in the units of the data."""
    return np.array([each.span / 2 for each in design.columns])


def centres(design: Design) -> Reals:
    """The middle of each column's bounds."""
    return np.array([each.value(0.5) for each in design.columns])
