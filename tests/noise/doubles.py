"""Bit sources whose words the test chooses, and exact laws to compare with."""

from __future__ import annotations

import math
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


def chance_at_most(observed: NDArray[np.int64], probabilities: list[float]) -> float:
    """An upper bound of the probability that draws from a law lie as far from it as these.

    Theorem (Agrawal 2020, "Finite-sample concentration of the multinomial in relative entropy"). Let P' be the shares
    of n draws from P in k cells. For s > k - 1, n D(P'||P) >= s has probability at most exp(-s) (e s/(k - 1))**(k - 1).
    It holds whatever is expected of a cell. The tail of a chi-square law is no such bound: where a cell is expected a
    few times (or 0.1 times), it is passed at 1e-9 a thousand times too often.

    Cells expected fewer than 20 times are pooled, so that fewer cells see more.
    """
    total = int(observed.sum())
    expected = np.asarray(probabilities) * total
    assert abs(expected.sum() - total) < 1e-6 * total, "the probabilities of a law sum to 1"
    rare = expected < 20
    counts, means = observed[~rare].astype(float), expected[~rare]
    if rare.any():
        counts, means = np.append(counts, observed[rare].sum()), np.append(means, expected[rare].sum())
    usable = means > 0
    assert counts[~usable].sum() == 0, "a draw of probability zero"
    seen = counts > 0
    far = math.fsum(counts[seen] * np.log(counts[seen] / means[seen]))
    freedom = int(usable.sum()) - 1
    return 1.0 if far <= freedom else math.exp(-far + freedom * (1 + math.log(far / freedom)) if freedom else -far)
