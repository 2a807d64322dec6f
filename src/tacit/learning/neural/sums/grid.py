"""The grid that sums of gradients are put on, and the exact noise that is added there.

Theorem. A step's sum on the grid has sensitivity S (`floats`); it gets round(sigma Z) on each coordinate with sigma at
least z S, so a step is PoissonSampled(Gaussian(1, z), q): rounding a Gaussian number that is added to whole numbers is
post-processing of continuous Gaussian noise. Sums of whole numbers below 2**53 are exact in float64.

Noise does not depend on the data, so where a processor is free it is drawn on a thread of its own while gradients are
computed. Where torch's threads have every processor, a thread more would make all of them wait for each other, and a
step would take twice as long: there noise is drawn between two passes, by all of torch's threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from threading import Thread
from typing import Any, Final

import torch

from tacit.errors import TacitError
from tacit.learning.neural.floats import sensitivity, units_for
from tacit.learning.neural.sums.normals import rounded_normals
from tacit.loss.numbers.rounding import dyadic_up
from tacit.noise import BitSource, rounded_normal, secure

_EXACT: Final = 2.0**52
_FAR: Final = 64.0  # a draw of the noise is this many deviations away with probability exp(-2000)


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
        if not max(-float(low), float(high)) < _EXACT:  # also where it is no number
            raise TacitError("A sum on the grid is beyond 2**52.")
        if float(self.sigma) * _FAR >= _EXACT:
            raise TacitError("The noise of this grid is beyond 2**52.")
        return noise.double().add_(whole).mul_(2.0**-self.exponent / per)

    def draw(self, bits: Callable[[], BitSource] = secure, finer: int = 0) -> Drawing:
        """Begin to draw the noise of one step, in steps that are 2**finer times as fine: whole numbers."""
        sigma = self.sigma * (1 << finer)
        beside = has_spare_processor()

        def drawn() -> Any:
            if finer:
                return torch.from_numpy(rounded_normal(sigma, self.coordinates, bits()))
            return rounded_normals(sigma, self.coordinates, bits(), threads=1 if beside else torch.get_num_threads())

        return Drawing(_beside(drawn) if beside else drawn)


def _beside(drawn: Callable[[], Any]) -> Callable[[], Any]:
    """Begin on a thread that is made for this alone: neither a fork nor an interrupt leaves a broken pool behind."""
    found: list[Any] = []
    wrong: list[BaseException] = []

    def run() -> None:
        try:
            found.append(drawn())
        except BaseException as error:  # noqa: BLE001  # told to whoever takes the noise
            wrong.append(error)

    thread = Thread(target=run, name="tacit-noise", daemon=True)
    thread.start()

    def taken() -> Any:
        thread.join()
        if wrong:
            raise wrong[0]
        return found[0]

    return taken


class Drawing:
    """Noise on its way; it can be taken once."""

    def __init__(self, drawn: Callable[[], Any]) -> None:
        self._drawn: Callable[[], Any] | None = drawn

    def take(self) -> Any:
        """The noise; asking a second time is an error."""
        if self._drawn is None:
            raise TacitError("This noise was used before. A step draws its own.")
        drawn, self._drawn = self._drawn, None
        return drawn()


def has_spare_processor() -> bool:
    """Whether this process may use more processors than torch has threads."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return own > int(torch.get_num_threads())


def grid_for(clip: Fraction, multiplier: Fraction, coordinates: int, error: float) -> Grid:
    """The grid of a run, and how wide its noise is."""
    exponent = units_for(clip, multiplier, coordinates)
    reach = sensitivity(clip, error, coordinates, exponent)
    return Grid(exponent, dyadic_up(multiplier * reach, 40), coordinates)
