"""The grid that sums of gradients are put on, and the exact noise that is added there.

Theorem. A step's sum on the grid has sensitivity S (`floats`); it gets round(sigma Z) on each coordinate with sigma at
least z S, so a step is PoissonSampled(Gaussian(1, z), q): rounding a Gaussian number that is added to whole numbers is
post-processing of continuous Gaussian noise. Sums of whole numbers below 2**53 are exact in float64.

Noise does not depend on the data, so it is drawn on threads of its own while gradients are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import torch

from tacit.errors import TacitError
from tacit.learning.neural.floats import sensitivity, units_for
from tacit.learning.neural.sums.inverse import inverse
from tacit.loss.numbers.rounding import dyadic_up
from tacit.noise import BitSource, rounded_normal, secure

_THREADS: Final = 2
_EXACT: Final = 2.0**52
_FAR: Final = 64.0  # no draw of the noise is so many deviations away, but with probability exp(-2000)
_POOL = ThreadPoolExecutor(_THREADS, thread_name_prefix="tacit-noise")


@dataclass(frozen=True, slots=True)
class Grid:
    """2**exponent steps make 1; noise of deviation `sigma` steps on each of `coordinates`."""

    exponent: int
    sigma: Fraction
    coordinates: int

    def round_(self, sums: Any) -> Any:
        """Flat sums in float64, rounded to whole numbers of the grid where they stand.

        A float times a power of two is exact, and so is the whole number nearest to it.
        """
        return sums.mul_(2.0**self.exponent).round_()

    def released(self, whole: Any, noise: Any, per: float) -> Any:
        """Whole numbers and their noise, as real numbers over `per` in float64: what may leave.

        Whole numbers below 2**52 and noise below it are exact in float64, and so is their sum.
        """
        low, high = torch.aminmax(whole)
        if max(-float(low), float(high)) >= _EXACT:
            raise TacitError("A sum on the grid is beyond 2**52.")
        if float(self.sigma) * _FAR >= _EXACT:
            raise TacitError("The noise of this grid is beyond 2**52.")
        noisy = torch.from_numpy(noise.astype(np.float64))
        return noisy.add_(whole).mul_(2.0**-self.exponent / per)

    def draw(self, bits: Callable[[], BitSource] = secure, finer: int = 0) -> Drawing:
        """Begin to draw the noise of one step, in steps that are 2**finer times as fine."""
        sigma = self.sigma * (1 << finer)
        each = -(-self.coordinates // _THREADS)
        sizes = [min(each, self.coordinates - start) for start in range(0, self.coordinates, each)]

        def drawn(size: int) -> Any:
            return rounded_normal(sigma, size, bits(), inverse())

        return Drawing([_POOL.submit(drawn, size) for size in sizes])


class Drawing:
    """Noise on its way; it can be taken once."""

    def __init__(self, parts: list[Future[Any]]) -> None:
        self._parts: list[Future[Any]] | None = parts

    def take(self) -> Any:
        """The noise; a second time there is none."""
        if self._parts is None:
            raise TacitError("This noise was used before. A step draws its own.")
        parts, self._parts = self._parts, None
        return np.concatenate([each.result() for each in parts])


def grid_for(clip: Fraction, multiplier: Fraction, coordinates: int, error: float) -> Grid:
    """The grid of a run, and how wide its noise is."""
    exponent = units_for(clip, multiplier, coordinates)
    reach = sensitivity(clip, error, coordinates, exponent)
    return Grid(exponent, dyadic_up(multiplier * reach, 40), coordinates)
