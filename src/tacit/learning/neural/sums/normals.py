"""Rounded normal noise by torch: as exact as `noise.rounded_normal`, in half the time.

Theorem. Let V be uniform below 2**64 and v = V - 2**63 the same bits as a signed number. X, uniform on the cell from
v/2**63 to (v + 1)/2**63, is uniform on (-1, 1), so Z = sqrt(2) erfinv(X) is standard normal. Where |X| is at most 1 -
2**-6, W = scale Z is computed in float64. Where W stays further from every half than its error, round(W) is the same
for the whole cell. The rest, and all of the tails (one draw in 64), are left to `noise.normal`: with m = v, or -v - 1
where v is negative, |X| begins with the 63 bits of m, so U = P(|Z| >= |z|) = 1 - |X| begins with those of
2**63 - 1 - m.

Error of W. Rounding v to float64, and the cell, move X by at most 2**-54 + 2**-63; as dZ/dX is at most 23.4 up to the
edge (z = 2.42), that is below 2**-49 for Z. erfinv is taken to be such that its Z is within 2**-46 of the truth: the
tests measure below 2**-47 against 40 digits, and as builds of torch differ, it is compared with scipy's at 4,096 places
before it is first used; where they are further apart than 2**-48, all draws are those of `noise.normal`. Two products
and the constant add less than 2.5 scale 2**-51. In all below scale 2**-45; the band is twice that. W is below 2**23, so
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

from tacit.noise import BitSource, rounded_normal
from tacit.noise.bits import Words
from tacit.noise.normal import IN_ONE_PIECE, magnitudes

_EDGE: Final = 1.0 - 2.0**-6
_BAND: Final = 2.0**-44
_TOGETHER: Final = 1 << 15
"""Draws at a time for each thread of torch: the least that it shares out, and what stays in a processor's cache."""
_NEAR: Final = 2.0**-48
_ROOT: Final = math.sqrt(2.0)
_ALL: Final = np.uint64((1 << 63) - 1)


def rounded_normals(scale: Fraction, size: int, bits: BitSource, *, threads: int = 1) -> Any:
    """round(scale * Z) in float64, which holds these whole numbers exactly, or in int64 where it could not.

    threads: how many of torch's take part; one alone is given parts that torch does not share out.
    """
    if scale >= IN_ONE_PIECE or not agrees():
        return torch.from_numpy(rounded_normal(scale, size, bits))
    found = torch.empty(size, dtype=torch.float64)
    for part in found.split(_TOGETHER * threads) if size else ():
        _draw(part, scale, bits)
        part.add_(0.0)  # no zero has a sign: whatever is added to it could tell from it
    return found


def _draw(out: Any, scale: Fraction, bits: BitSource) -> None:
    words = bits.words(len(out))
    x = torch.from_numpy(words.view(np.int64)).double().mul_(2.0**-63)
    far = (x.abs() > _EDGE).nonzero()[:, 0]
    x[far] = 0.0
    w = x.erfinv_().mul_(_ROOT * float(scale))
    torch.round(w, out=out)
    away = w.sub_(out).abs_()
    limit = 0.5 - float(scale) * _BAND
    left = far
    if float(away.max()) >= limit:
        left = torch.cat([far, (away >= limit).nonzero()[:, 0]])
    places = left.numpy()
    out[left] = torch.from_numpy(settled(words[places], scale, bits))


def settled(words: Words, scale: Fraction, bits: BitSource) -> Any:
    """The draws of these words, whatever they are, in float64."""
    minus = words.view(np.int64) >> 63  # -1 or 0, and x ^ -1 is -x - 1
    own = words ^ minus.view(np.uint64)
    found = magnitudes((_ALL - own) << np.uint64(1), scale, bits)
    return ((found ^ minus) - minus).astype(np.float64)


@cache
def agrees() -> bool:
    """Whether torch's erfinv is near enough on this machine."""
    from scipy.special import erfinv

    places = np.concatenate([np.linspace(0.0, _EDGE, 2048), np.geomspace(2.0**-60, _EDGE, 2048)])
    found = torch.from_numpy(places).erfinv().numpy()
    return bool(np.all(np.abs(found - erfinv(places)) * _ROOT <= _NEAR))
