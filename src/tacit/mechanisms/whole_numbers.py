"""Whole numbers in, whole numbers out: how integer values are read, and how noise is added to them.

- A Python (or numpy scalar) integer is answered by a Python integer: exact, without bounds.
- An integer array of any shape, or a list of integers, is answered by an int64 array of that shape. Values beyond int64
  (from unsigned arrays or Python integers) are clamped to it: clamping moves two numbers no further apart, so
  sensitivity is kept. The noisy sum saturates at the ends of int64, which is post-processing of the exact sum.

The type of the answer follows from the type of the question, never from a value. Truth values and floats are refused: a
float is a value for a grid, see `grid`. The types inside a list are public like any type; nothing of a value is quoted.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.mechanisms.base import Draw

LEAST, LARGEST = -(1 << 63), (1 << 63) - 1
_HINT = "Give the mechanism a float sensitivity (or a grid) to release real numbers."


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """The integers, and the most values one release may hold (None: any number)."""

    most: int | None = None
    unit: ClassVar[Fraction] = Fraction(1)

    def taxicab(self, sensitivity: Fraction) -> int:
        """L1 sensitivity in units."""
        hint = "Whole numbers that differ, differ by 1 or more. Real values want a float sensitivity."
        if sensitivity.denominator != 1 or sensitivity < 1:
            raise parameters.refuse("sensitivity", "a whole number of at least 1", sensitivity, hint)
        return int(sensitivity)

    def euclidean(self, sensitivity: Fraction) -> Fraction:
        """L2 sensitivity in units."""
        if sensitivity < 1:
            raise parameters.refuse("sensitivity", "at least 1: whole numbers that differ, differ by 1", sensitivity)
        return sensitivity

    def for_euclidean(self, units: Fraction, size: int) -> WholeNumbers:
        """The integers with the declared size where it matters for Gaussian noise.

        Within an L2 distance of `units` at most units**2 coordinates change, each by 1 or more. If that many were
        declared, a longer vector adds only coordinates that do not change, and any number of values may be released.
        """
        return WholeNumbers(None if int(units * units) <= size else size)

    def error(self, units: int) -> int:
        """An error of the noise as one of the released number."""
        return units

    def release(self, values: Any, draw: Draw) -> Any:
        """`values` plus noise."""
        if type(values) is int:  # the common case, kept fast
            return values + draw(None)
        if isinstance(values, numbers.Integral) and not isinstance(values, bool):
            return int(values) + draw(None)
        array = integers(values)
        check_size(array.size, self.most)
        return saturating_sum(array, draw(array.size).reshape(array.shape))


def as_array(values: Any) -> NDArray[Any]:
    """`values` as an array whose type is that of the values, or object: never a guess by numpy from what they are."""
    typed = hasattr(values, "dtype") or hasattr(values, "__array__") or isinstance(values, (int, float, complex))
    return np.asarray(values) if typed else np.array(values, dtype=object)


def integers(values: Any, name: str = "values") -> NDArray[np.int64]:
    """`values` as int64, clamped to it where larger."""
    array = as_array(values)
    if array.dtype == object:
        if not all(isinstance(item, numbers.Integral) and not isinstance(item, bool) for item in array.flat):
            raise parameters.refuse(name, "whole numbers", "something else among them", _HINT)
        clamped = [min(max(int(item), LEAST), LARGEST) for item in array.flat]
        return np.array(clamped, dtype=np.int64).reshape(array.shape)
    if array.dtype.kind == "u":
        return np.asarray(np.minimum(array, np.uint64(LARGEST)), dtype=np.int64)
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    raise parameters.refuse(name, "whole numbers", f"values of type {array.dtype}", _HINT)


def check_size(found: int, most: int | None) -> None:
    """Refuse an array larger than the size that was declared."""
    if most is not None and found > most:
        hint = f"Build the mechanism with size={found}."
        raise parameters.refuse("values", f"at most {most} numbers, the declared size", f"{found} numbers", hint)


def saturating_sum(values: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[np.int64]:
    """values + noise as int64, stopping at its ends."""
    if noise.dtype == object:
        total = np.minimum(np.maximum(values.astype(object) + noise, LEAST), LARGEST)
        return np.asarray(total, dtype=object).astype(np.int64)
    total = np.add(values, noise)
    # the sum of two numbers of one sign has wrapped where its sign is the other one
    wrapped = ((values ^ total) & (noise ^ total)) < 0
    if wrapped.any():
        total = np.where(wrapped, np.where(values < 0, np.int64(LEAST), np.int64(LARGEST)), total)
    return np.asarray(total)
