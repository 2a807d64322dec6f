"""Real vectors as short vectors of whole numbers: clipped, rotated, put on a grid, rounded, and back.

    encoded   clip to L2 norm c; flip signs by a public random pattern; rotate by the Hadamard matrix (so that no place
              is much larger than the others, whatever the vector was); divide by the grid's step; round each number up
              or down at random so that its mean is kept, again and again until the squared norm is at most S2
    decoded   the sum times the step, rotated back

Privacy rests on one fact that is checked in whole numbers: what leaves has squared norm at most S2. What floating point
did before does not matter. After some tries numbers are rounded towards zero instead, which makes no norm larger; if
even that is too long (floating point again), zeros are sent.

S2. Rounding a vector of norm c/g at random gives a squared norm of at most c**2/g**2 + d/4 + sqrt(2 log(1/b)) (c/g +
sqrt(d)/2) with probability 1 - b, and at most (c/g + sqrt(d))**2 always (Kairouz, Liu, Steinke 2021): the smaller one,
rounded up. Trying again until it holds moves the mean of a vector a little towards 0.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters

Reals = NDArray[np.float64]

_TRIES = 20
_MISSED = 0.5  # b: every second try succeeds


def norm_squared(ratio: float, size: int) -> int:
    """S2 for vectors whose norm is `ratio` steps of the grid, in `size` places."""
    probable = ratio**2 + size / 4 + math.sqrt(2 * math.log(1 / _MISSED)) * (ratio + math.sqrt(size) / 2)
    return math.ceil(min(probable, (ratio + math.sqrt(size)) ** 2) * (1 + 1e-9)) or 1


@dataclass(frozen=True, slots=True)
class Rotation:
    """A public rotation of vectors of `length` numbers into `size` places, a power of two."""

    length: int
    seed: bytes

    @property
    def size(self) -> int:
        """The power of two that the length fits in."""
        return 1 << (self.length - 1).bit_length()

    def turned(self, vector: Reals) -> Reals:
        """The rotated vector."""
        out = np.zeros(self.size, dtype=np.float64)
        out[: self.length] = vector
        return _hadamard(np.asarray(out * self._signs(), dtype=np.float64))

    def back(self, vector: Reals) -> Reals:
        """The vector before it was rotated."""
        return np.asarray((_hadamard(vector) * self._signs())[: self.length], dtype=np.float64)

    def _signs(self) -> Reals:
        drawn = hashlib.shake_256(b"tacit rotation" + self.seed).digest((self.size + 7) // 8)
        bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8))[: self.size]
        return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)


def _hadamard(vector: Reals) -> Reals:
    """The orthonormal Hadamard transform: its own inverse."""
    out, half = vector.copy(), 1
    while half < len(out):
        table = out.reshape(-1, 2, half)
        out = np.stack([table[:, 0] + table[:, 1], table[:, 0] - table[:, 1]], axis=1).reshape(-1)
        half *= 2
    return np.asarray(out / math.sqrt(len(out)))


def clipped(vector: Reals, norm: float) -> Reals:
    """The vector, shortened to this norm if it is longer; what is not a number counts as 0."""
    finite = np.asarray(np.where(np.isfinite(vector), vector, 0.0), dtype=np.float64)
    largest = float(np.abs(finite).max(initial=0.0))
    if largest == 0.0:
        return finite
    found = largest * float(np.linalg.norm(finite / largest))
    return finite if found <= norm else finite * (norm / found)


def rounded(vector: Reals, most: int, bits: noise.BitSource) -> NDArray[np.int64]:
    """Whole numbers of squared norm at most `most`, whose mean is nearly the vector."""
    if len(vector) * (math.isqrt(most) + 2) ** 2 >= 1 << 62:
        raise parameters.refuse("norm", "such that squared norms fit into 64 bits", most, "Take a coarser grid.")
    limit = float(math.isqrt(most) + 1)
    inside = np.clip(np.where(np.isfinite(vector), vector, 0.0), -limit, limit)
    below = np.floor(inside)
    for _ in range(_TRIES):
        # 53 random bits against the part above: off by 2**-53 at most, and privacy does not rest on it
        up = (bits.words(len(inside)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 < inside - below
        found: NDArray[np.int64] = (below + up).astype(np.int64)
        if int(np.dot(found, found)) <= most:
            return found
    found = np.trunc(inside).astype(np.int64)
    return found if int(np.dot(found, found)) <= most else np.zeros(len(inside), dtype=np.int64)
