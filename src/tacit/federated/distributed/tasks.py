"""What clients add up: how one client's value becomes a vector of whole numbers of bounded norm, and what a sum means.

    Tally(options)            one of the options; how many clients have each. Anything else counts nowhere
    Average(low, high)        a number, clamped to the bounds; the mean over the clients that stayed
    VectorAverage(length, c)  a list of numbers, shortened to L2 norm c; the mean of each

A value never makes an error: what cannot be read counts as nothing (a Tally) or as the middle (an average), so that a
client's silence says nothing about its value. Bounds and options are public.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.federated.distributed.rotation import Reals, Rotation, clipped, norm_squared, rounded

_STEPS = 1 << 12  # of half the range of an average, and of one client in a tally: a grid far finer than any noise


class Task(ABC):
    """A kind of sum."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many whole numbers a client adds."""

    @property
    @abstractmethod
    def norm_squared(self) -> int:
        """A bound on the squared norm of a client's vector."""

    @property
    def places(self) -> int:
        """How many numbers of a client's vector are not 0 at most."""
        return min(self.size, self.norm_squared)

    @abstractmethod
    def encoded(self, value: Any, bits: noise.BitSource) -> NDArray[np.int64]:
        """A client's vector, of squared norm at most `norm_squared`."""

    @abstractmethod
    def decoded(self, total: NDArray[np.int64], clients: int) -> Any:
        """The result that follows from the sum of this many clients."""

    @abstractmethod
    def unit(self, clients: int) -> float:
        """How far one number of the result moves if one number of the sum moves by 1."""


@dataclass(frozen=True, slots=True)
class Tally(Task):
    """How many clients have each of the options.

    >>> Tally(("tea", "coffee")).options
    ('tea', 'coffee')
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.options or len(set(self.options)) != len(self.options):
            raise parameters.refuse("options", "different values, at least one", self.options)

    @property
    def size(self) -> int:
        """A number for each option."""
        return len(self.options)

    @property
    def norm_squared(self) -> int:
        """A client counts in one place. Steps are fine, so that shares of noise are wide in steps: see `shares`."""
        return _STEPS**2

    @property
    def places(self) -> int:
        """A client counts in one place."""
        return 1

    def encoded(self, value: Any, bits: noise.BitSource) -> NDArray[np.int64]:
        """One client at its option."""
        found = [type(each) is type(value) and each == value for each in self.options]
        return np.array(found, dtype=np.int64) * _STEPS

    def decoded(self, total: NDArray[np.int64], clients: int) -> dict[Any, float]:
        """Noisy counts: they are not whole, and may be negative."""
        return {option: int(each) * self.unit(clients) for option, each in zip(self.options, total, strict=True)}

    def unit(self, clients: int) -> float:
        """A step of one client."""
        return 1 / _STEPS


@dataclass(frozen=True, slots=True)
class Average(Task):
    """The mean of a number between two bounds.

    >>> Average(0.0, 100.0).high
    100.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise parameters.refuse("low", "a finite number below `high`", (self.low, self.high))

    @property
    def size(self) -> int:
        """One number."""
        return 1

    @property
    def norm_squared(self) -> int:
        """From the middle to either end."""
        return _STEPS**2

    def encoded(self, value: Any, bits: noise.BitSource) -> NDArray[np.int64]:
        """Steps from the middle, rounded at random so that the mean is kept."""
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        half, middle = (self.high - self.low) / 2, self.low + (self.high - self.low) / 2
        steps = 0.0 if math.isnan(number) else (min(max(number, self.low), self.high) - middle) / half * _STEPS
        return rounded(np.array([min(max(steps, -_STEPS), _STEPS)]), self.norm_squared, bits)

    def decoded(self, total: NDArray[np.int64], clients: int) -> float:
        """The mean over those who stayed; their number is not secret."""
        found = self.low + (self.high - self.low) / 2 + int(total[0]) * self.unit(clients)
        return min(max(found, self.low), self.high)

    def unit(self, clients: int) -> float:
        """A step of one client."""
        return (self.high - self.low) / 2 / _STEPS / clients


@dataclass(frozen=True, slots=True)
class VectorAverage(Task):
    """The mean of vectors that are shortened to an L2 norm; `among` is roughly how many clients there are.

    >>> VectorAverage(3, 1.0, 10).length
    3
    """

    length: int
    norm: float
    among: int
    seed: bytes = b""
    _rotation: Rotation = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parameters.whole("length", self.length, least=1)
        parameters.whole("among", self.among, least=1)
        parameters.positive("norm", self.norm)
        object.__setattr__(self, "_rotation", Rotation(self.length, self.seed))

    @property
    def size(self) -> int:
        """The power of two that vectors are rotated in."""
        return self._rotation.size

    @property
    def steps(self) -> float:
        """The norm in steps of the grid: so many that rounding adds only a few percent to norm and noise."""
        return math.sqrt(16.0 * max(self.size, self.among))

    @property
    def norm_squared(self) -> int:
        """The bound for a rounded vector."""
        return norm_squared(self.steps, self.size)

    def encoded(self, value: Any, bits: noise.BitSource) -> NDArray[np.int64]:
        """Shortened, rotated, rounded; a vector of another form counts as zeros."""
        vector = _as_vector(value, self.length)
        turned = self._rotation.turned(clipped(vector, self.norm)) * (self.steps / self.norm)
        return rounded(turned, self.norm_squared, bits)

    def decoded(self, total: NDArray[np.int64], clients: int) -> Reals:
        """The mean over those who stayed."""
        return self._rotation.back(total.astype(np.float64)) * self.unit(clients)

    def unit(self, clients: int) -> float:
        """A step of one client."""
        return self.norm / self.steps / clients


def _as_vector(value: Any, length: int) -> Reals:
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    return vector if vector.shape == (length,) else np.zeros(length)
