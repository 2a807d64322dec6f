"""Bit sources whose words the test chooses, and exact laws to compare with."""

from __future__ import annotations

from collections.abc import Iterable

import mpmath
import numpy as np
from numpy.typing import NDArray

from tacit.noise.bits import BitSource

mpmath.mp.dps = 60


class Served(BitSource):
    """Serves the given words in order and fails when they run out."""

    def __init__(self, words: Iterable[int] = ()) -> None:
        self.left = list(words)

    def words(self, count: int) -> NDArray[np.uint64]:
        assert len(self.left) >= count, "the sampler asked for more bits than the test gave"
        served, self.left = self.left[:count], self.left[count:]
        return np.array(served, dtype=np.uint64)


def every_word(width: int) -> NDArray[np.uint64]:
    """Every bit string of this width, at the top of a 64-bit word."""
    return np.arange(1 << width, dtype=np.uint64) << np.uint64(64 - width)


def chi_square_survival(observed: NDArray[np.int64], probabilities: list[float]) -> float:
    """The p-value of Pearson's test; cells expected fewer than 20 times are pooled."""
    total = int(observed.sum())
    expected = np.asarray(probabilities) * total
    assert abs(expected.sum() - total) < 1e-6 * total, "the probabilities of a law sum to 1"
    rare = expected < 20
    counts, means = observed[~rare].astype(float), expected[~rare]
    if rare.any():
        counts, means = np.append(counts, observed[rare].sum()), np.append(means, expected[rare].sum())
    usable = means > 0
    assert counts[~usable].sum() == 0, "a draw of probability zero"
    statistic = float((((counts - means)[usable]) ** 2 / means[usable]).sum())
    return float(mpmath.gammainc(mpmath.mpf(int(usable.sum()) - 1) / 2, statistic / 2, regularized=True))
