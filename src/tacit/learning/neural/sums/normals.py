"""Rounded normal noise by torch: as exact as `noise.rounded_normal`, in half the time.

Theorem. Let V be uniform below 2**64 and v = V - 2**63 the same bits as a signed number. X, uniform on the cell from
v/2**63 to (v + 1)/2**63, is uniform on (-1, 1), so Z = sqrt(2) erfinv(X) is standard normal. Where |X| is at most 1 -
2**-9, W = scale Z is computed in float64. Where W stays further from every half than its error, round(W) is the same
for the whole cell. The rest, and all of the tails (one draw in 512), are left to `noise.normal`: with m = v, or -v - 1
where v is negative, |X| begins with the 63 bits of m, so U = P(|Z| >= |z|) = 1 - |X| begins with those of
2**63 - 1 - m.

Error of W. Rounding v to float64, and the cell, move X by at most 2**-54 + 2**-63; as dZ/dX is at most 153 up to the
edge (z = 3.1), that is below 2**-46 for Z. erfinv is taken to be such that its Z is within 2**-45 of the truth: the
tests measure below 2**-46 against 40 digits, and as builds of torch differ, it is compared with scipy's at 6,144 places
before it is first used; where they are further apart than 2**-46, all draws are those of `noise.normal`. Two products
and the constant add less than 3.2 scale 2**-51. In all below scale 2**-44; the band is twice that. W is below 2**23, so
W minus the whole number nearest to it is exact. From scale 2**21 on `noise.normal` draws remainders that do not follow
from U, and a part of its draws would not be the rest of these; there, all draws are its own.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.noise import BitSource, rounded_normal
from tacit.noise.bits import Words
from tacit.noise.normal import IN_ONE_PIECE, magnitudes

_EDGE: Final = 1.0 - 2.0**-9
_BAND: Final = 2.0**-43
_TOGETHER: Final = 1 << 15
"""Draws at a time for each thread of torch: the least that it shares out, and what stays in a processor's cache."""
_NEAR: Final = 2.0**-46
_ROOT: Final = math.sqrt(2.0)
_ALL: Final = np.uint64((1 << 63) - 1)


def rounded_normals(scale: Fraction, size: int, bits: BitSource, *, threads: int = 1) -> Any:
    """round(scale * Z) in float64, which holds these whole numbers exactly, or in int64 where it could not.

    threads: how many of torch's take part; a single one gets parts that torch does not share out.
    """
    if scale >= IN_ONE_PIECE or not agrees():
        return torch.from_numpy(rounded_normal(scale, size, bits))
    found = torch.empty(size, dtype=torch.float64)
    left: list[tuple[NDArray[np.intp], Words]] = []
    for start in range(0, size, _TOGETHER * threads):
        out = found[start : start + _TOGETHER * threads]
        words = bits.words(len(out))
        places = _draw(out, words, float(scale))
        left.append((places + start, words[places]))
    if left:  # all at once: for so few, calls take most of the time
        places, words = (np.concatenate(each) for each in zip(*left, strict=True))
        found.numpy()[places] = settled(words, scale, bits)
    return found


def _draw(out: Any, words: Words, scale: float) -> NDArray[np.intp]:
    """The draws of these words, and the places of draws that are still to be settled."""
    x = torch.from_numpy(words.view(np.int64)).double().mul_(2.0**-63)
    far = np.flatnonzero((x.abs() > _EDGE).numpy())
    x.numpy()[far] = 0.0
    w = x.erfinv_().mul_(_ROOT * scale)
    # no zero has a sign: a sum with it could show the sign
    torch.round(w, out=out).add_(0.0)
    away = w.sub_(out).abs_()
    limit = 0.5 - scale * _BAND
    if float(away.max()) < limit:
        return far
    return np.concatenate([far, np.flatnonzero((away >= limit).numpy())])


def settled(words: Words, scale: Fraction, bits: BitSource) -> Any:
    """The draws of these words, whatever they are, in float64."""
    minus = words.view(np.int64) >> 63  # -1 or 0, and x ^ -1 is -x - 1
    own = words ^ minus.view(np.uint64)
    found = magnitudes((_ALL - own) << np.uint64(1), scale, bits)
    return ((found ^ minus) - minus).astype(np.float64)


@cache
def agrees() -> bool:
    """Whether torch's erfinv is accurate enough on this machine."""
    from scipy.special import erfinv

    far = 1.0 - np.geomspace(1.0 - _EDGE, 0.5, 2048)
    places = np.concatenate([np.linspace(0.0, _EDGE, 2048), np.geomspace(2.0**-60, _EDGE, 2048), far])
    found = torch.from_numpy(places).erfinv().numpy()
    return bool(np.all(np.abs(found - erfinv(places)) * _ROOT <= _NEAR))
