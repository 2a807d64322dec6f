"""Uniform whole numbers, without modulo bias: draw just enough bits, redraw what is too large."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource

_LARGEST_VECTORISED = 1 << 63


@overload
def uniform_below(n: int, size: None, bits: BitSource) -> int: ...
@overload
def uniform_below(n: int, size: int, bits: BitSource) -> NDArray[np.int64]: ...
def uniform_below(n: int, size: int | None, bits: BitSource) -> int | NDArray[np.int64]:
    """Uniform on 0, 1, ..., n - 1. Above 2**63 an array holds Python integers.

    >>> from tacit.noise import secure
    >>> set(uniform_below(6, 1000, secure()).tolist()) <= {0, 1, 2, 3, 4, 5}
    True
    """
    n = parameters.whole("n", n, least=1)
    if size is None:
        return _one(n, bits)
    if n > _LARGEST_VECTORISED:
        return np.array([_one(n, bits) for _ in range(size)], dtype=object)
    width = (n - 1).bit_length()
    if width == 0:
        return np.zeros(size, dtype=np.int64)
    if n & (n - 1) == 0:
        return (bits.words(size) >> np.uint64(64 - width)).view(np.int64)
    out = np.zeros(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        drawn = (bits.words(missing.size) >> np.uint64(64 - width)).astype(np.int64)
        out[missing] = drawn
        missing = missing[drawn >= n]
    return out


def _one(n: int, bits: BitSource) -> int:
    width = (n - 1).bit_length()
    while width:
        drawn = bits.bits(width)
        if drawn < n:
            return drawn
    return 0
