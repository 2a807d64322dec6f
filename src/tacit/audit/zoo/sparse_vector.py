"""The sparse vector technique as it should be, and four published variants that are not private.

Source of the list, and of the inputs that break them: Lyu, Su, Li 2017, "Understanding the sparse vector technique".
Questions are answered 1 (above), 0 (below) or not at all (missing) once the session has ended. T = 0 throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.zoo.specimen import Specimen, noise, specimen
from tacit.parameters import Number


def _answers(
    values: Sequence[int], size: int, *, threshold: Number, each: Number | None, most: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Answers (size x questions), and the noisy values that were compared."""
    bar = noise(size, threshold)[:, None]
    noisy = np.tile(np.array(values, dtype=np.int64), (size, 1))
    if each is not None:
        noisy += noise(noisy.shape, each)
    found = (noisy >= bar).astype(np.float64)
    if most is not None:
        before = np.cumsum(found, axis=1) - found
        found[before >= most] = np.nan
    return found, noisy


def right(x: Sequence[int], *, size: int) -> Any:
    """Half of epsilon for the threshold, half for at most one "above": noise of scale 2 c/(epsilon/2)."""
    return _answers(x, size, threshold=2, each=4, most=1)[0]


def right_ten(x: Sequence[int], *, size: int) -> Any:
    """The same for ten "above"s."""
    return _answers(x, size, threshold=2, each=40, most=10)[0]


def no_question_noise(x: Sequence[int], *, size: int) -> Any:
    """Noise on the threshold only (Stoddard, Chen, Machanavajjhala 2014)."""
    return _answers(x, size, threshold=2, each=None, most=None)[0]


def never_ends(x: Sequence[int], *, size: int) -> Any:
    """Any number of "above"s for the price of one (Chen, Xiao, Zhang, Xu 2015)."""
    return _answers(x, size, threshold=2, each=2, most=None)[0]


def noise_for_one(x: Sequence[int], *, size: int) -> Any:
    """Ten "above"s with the noise for one (Lee, Clifton 2014)."""
    return _answers(x, size, threshold=4, each=Fraction(4, 3), most=10)[0]


def noise_reused(x: Sequence[int], *, size: int) -> Any:
    """Releases the very value that was compared (lecture notes of 2011): it reveals an upper bound of the threshold."""
    found, noisy = _answers(x, size, threshold=2, each=2, most=1)
    return np.where(found == 1, noisy, np.where(found == 0, np.nan, -1000.0))


def noise_afresh(x: Sequence[int], *, size: int) -> Any:
    """A third each for the threshold, for the comparison and for the value, which has fresh noise."""
    found, _ = _answers(x, size, threshold=3, each=6, most=1)
    fresh = np.array(x) + noise((size, len(x)), 3)
    return np.where(found == 1, fresh, np.where(found == 0, np.nan, -1000.0))


_UP_AND_DOWN = [1] * 10 + [-1] * 10

SPECIMENS: tuple[Specimen, ...] = (
    specimen(
        "sparse vector without noise on the questions",
        "Below, then above, cannot happen where the first value is the larger.",
        no_question_noise,
        right,
        [0, 1],
        [1, 0],
        1,
    ),
    specimen(
        "sparse vector that never ends",
        "Every answer above costs, and nobody counts them.",
        never_ends,
        right,
        [0] * 20,
        _UP_AND_DOWN,
        1,
        samples=10_000,
    ),
    specimen(
        "sparse vector with the noise of one answer for ten",
        "The noise on the questions must grow with the number of answers above.",
        noise_for_one,
        right_ten,
        [0] * 20,
        _UP_AND_DOWN,
        1,
        samples=10_000,
    ),
    specimen(
        "sparse vector that releases the value compared",
        "A value above the threshold bounds it; all questions below are then compared with a known number.",
        noise_reused,
        noise_afresh,
        [0] * 5 + [1],
        [1] * 5 + [0],
        1,
        samples=200_000,
    ),
)
