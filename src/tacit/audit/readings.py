"""How releases of any kind are read: as numbers, as the lowest bits of numbers, as texts, as shapes.

Promise: a reading is a total function, fixed before it meets the draws that are counted: whatever a mechanism releases
(numbers, vectors, labels, texts, None, a mixture) is read and nothing raises. A number that is missing is read as NaN.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.audit.draws import Releases

WIDEST = 256


class Reading(Protocol):
    """From releases to an array with one row for each."""

    def __call__(self, releases: Releases) -> NDArray[Any]: ...


@singledispatch
def numbers_in(release: Any) -> list[float]:
    """The numbers in one release, in order; none in a text, in None, in an object."""
    return []


@numbers_in.register
def _(release: numbers.Real) -> list[float]:
    try:
        return [float(release)]
    except OverflowError:
        return [math.copysign(math.inf, 1 if release > 0 else -1)]  # type: ignore[operator]  # a number is compared


@numbers_in.register(np.bool_)
def _(release: Any) -> list[float]:
    return [float(release)]


@numbers_in.register(list)
@numbers_in.register(tuple)
@numbers_in.register(np.ndarray)
def _(release: Any) -> list[float]:
    # in a sequence, an entry that is not a number keeps its place
    return [number for part in release for number in (numbers_in(part) or [math.nan])]


@numbers_in.register(Mapping)
def _(release: Any) -> list[float]:
    return [number for key in sorted(release, key=repr) for number in numbers_in(release[key])]


@singledispatch
def shape_of(release: Any) -> str:
    """The kind of a release, without its numbers: "dict a, b", "list of 3", "float"."""
    return type(release).__name__


@shape_of.register(list)
@shape_of.register(tuple)
@shape_of.register(np.ndarray)
def _(release: Any) -> str:
    return f"{type(release).__name__} of {len(release)}"


@shape_of.register(Mapping)
def _(release: Any) -> str:
    return "dict " + ", ".join(sorted(map(repr, release)))


@singledispatch
def text_of(release: Any) -> str:
    """A text that is the same for equal releases only."""
    return repr(release)


@text_of.register(np.ndarray)
def _(release: Any) -> str:
    return repr(release.tolist())


def plain_numbers(releases: Releases) -> bool:
    """Whether the releases are an array of numbers already."""
    return isinstance(releases, np.ndarray) and releases.dtype.kind in "biuf"


def width_of(releases: Releases) -> int:
    """How many numbers the widest release has."""
    if plain_numbers(releases):
        return min(int(np.prod(np.shape(releases)[1:])), WIDEST)
    return min(max((len(numbers_in(release)) for release in releases[:2000]), default=0), WIDEST)


@dataclass(frozen=True, slots=True)
class Numbers:
    """A matrix of the first `width` numbers of every release."""

    width: int

    def __call__(self, releases: Releases) -> NDArray[Any]:
        if plain_numbers(releases):
            return np.asarray(releases, dtype=np.float64).reshape(len(releases), -1)[:, : self.width]
        matrix = np.full((len(releases), self.width), np.nan)
        for place, release in enumerate(releases):
            found = numbers_in(release)[: self.width]
            matrix[place, : len(found)] = found
        return matrix


@dataclass(frozen=True, slots=True)
class LowBits:
    """The exponent of the lowest bit that is set in each number: floats near zero have small ones, sums do not."""

    width: int

    def __call__(self, releases: Releases) -> NDArray[Any]:
        values = Numbers(self.width)(releases)
        finite = np.isfinite(values) & (values != 0)
        fraction, exponent = np.frexp(np.where(finite, values, 1.0))
        whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
        lowest = np.log2((whole & -whole).astype(np.float64))
        return np.where(finite, exponent - 53 + lowest, np.nan)


@dataclass(frozen=True, slots=True)
class Summaries:
    """The summary of a vector: mean, least, greatest, spread, and how many of its numbers are missing."""

    width: int

    def __call__(self, releases: Releases) -> NDArray[Any]:
        values = Numbers(self.width)(releases)
        there = np.isfinite(values)
        count = there.sum(axis=1)
        some = np.maximum(count, 1)
        filled = np.where(there, values, 0.0)
        mean = filled.sum(axis=1) / some
        spread = np.where(there, np.abs(values - mean[:, None]), 0.0).sum(axis=1) / some
        least = np.where(there, values, np.inf).min(axis=1)
        greatest = np.where(there, values, -np.inf).max(axis=1)
        return np.stack([mean, least, greatest, spread, self.width - count], axis=1)


@dataclass(frozen=True, slots=True)
class Texts:
    """Every release as a label: equal releases have equal labels, and numbers stay numbers.

    Rows of numbers become one number each by a fixed hash of their bits. Two rows with the same hash would be one
    label: that can hide a leak, but cannot make a bound wrong.
    """

    def __call__(self, releases: Releases) -> NDArray[Any]:
        if plain_numbers(releases):
            return np.asarray(releases) if np.ndim(releases) == 1 else _hashed(np.asarray(releases))
        return np.array([text_of(release) for release in releases], dtype=object)


def _hashed(rows: NDArray[Any]) -> NDArray[Any]:
    bits = np.ascontiguousarray(rows.reshape(len(rows), -1), dtype=np.float64).view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    odd = np.random.default_rng(7).integers(0, 2**63, bits.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return np.asarray(((mixed ^ (mixed >> np.uint64(32))) * odd).sum(axis=1, dtype=np.uint64))


@dataclass(frozen=True, slots=True)
class Shapes:
    """The kind of each release."""

    def __call__(self, releases: Releases) -> NDArray[Any]:
        if plain_numbers(releases):
            return np.full(len(releases), "number", dtype=object)
        return np.array([shape_of(release) for release in releases], dtype=object)
