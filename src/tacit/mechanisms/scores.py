"""How private scores are read: every content is accepted, and no two scores move further apart.

Integers are clamped to [-(2**63 - 1), 2**63 - 1], floats to [-B, B] with B computed from public parameters so large
that no arithmetic on a log-weight overflows. Clamping moves no two numbers apart, so sensitivity is kept. NaN and
minus infinity are read as the lowest score, -B, and plus infinity as B: a candidate whose score is unknown is the
worst one (so is one whose loss is unknown). No content raises an error, as an error would tell something about the
data.

The sensitivity that a caller states is that of the scores read this way, and exactly so: a float is the binary number
it is, and scores computed in floats should be rounded to whole numbers or to a grid before their sensitivity is
claimed. The length and the types are public, and wrong ones are refused.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss.numbers.rounding import float_down
from tacit.mechanisms.base import only_one
from tacit.mechanisms.whole_numbers import LARGEST, as_array
from tacit.noise.race import Scores

_EXACT_IN_FLOATS = 1 << 53
_LARGEST_LOG_WEIGHT = Fraction(10) ** 300
_READABLE = (numbers.Integral, float, np.float32, np.float16)


def read_scores(scores: Any, losses: Any, count: int, factor: Fraction) -> Scores:
    """The scores of `count` candidates as int64 or float64, from scores or from losses (exactly one is given).

    One point of score is worth `factor` in a log-weight.
    """
    name = only_one(scores=scores, losses=losses)
    values = scores if name == "scores" else losses
    array = as_array(values)
    if array.shape != (count,):
        raise parameters.refuse(name, f"{count} numbers, one for each candidate", f"an array of shape {array.shape}")
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind in "iu":
        whole = whole_scores(array)
        return whole if name == "scores" else np.negative(whole, out=whole)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        with np.errstate(all="ignore"):  # a signalling NaN is no reason to warn
            reals = array.astype(np.float64, copy=False)
        bound = float_down(min(_LARGEST_LOG_WEIGHT, _LARGEST_LOG_WEIGHT / (2 * factor)))
        # the sign is turned first, so that an unknown loss is the worst; fmax would pass on a signalling NaN
        signed = reals if name == "scores" else -reals
        floats = np.maximum(np.where(np.isnan(signed), -bound, signed), -bound)
        return np.asarray(np.minimum(floats, bound, out=floats))
    raise parameters.refuse(name, "integers, or floats of at most 64 bits", f"values of type {array.dtype}")


def whole_scores(array: NDArray[Any]) -> NDArray[np.int64]:
    """An integer array as int64, clamped to where both signs exist; always a copy."""
    if array.dtype.kind == "u":
        return np.asarray(np.minimum(array, np.uint64(LARGEST)), dtype=np.int64)
    return np.maximum(array.astype(np.int64, copy=False), np.int64(-LARGEST))


def _from_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """An array of whole numbers if all are, of floats if some are not."""
    if any(isinstance(item, bool) or not isinstance(item, _READABLE) for item in array):
        raise parameters.refuse(name, "integers, or floats of at most 64 bits", "something else among them")
    if all(isinstance(item, numbers.Integral) for item in array):
        return np.array([_clamped(int(item), LARGEST) for item in array], dtype=np.int64)
    # A whole number among floats is exact up to 2**53 and is clamped there: rounding it could move two scores apart.
    return np.array([_as_float(item) for item in array], dtype=np.float64)


def _as_float(item: Any) -> float:
    return float(_clamped(int(item), _EXACT_IN_FLOATS) if isinstance(item, numbers.Integral) else item)


def _clamped(value: int, limit: int) -> int:
    return min(max(value, -limit), limit)
