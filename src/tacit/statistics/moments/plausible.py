"""Draws of a mechanism's noise, and what share of them an interval must leave out.

The law of the noise is public, so what it does to anything that is computed afterwards can be drawn any number of
times. These draws describe the noise and hide nothing: they come from a plain generator with a fixed
seed, so equal releases get equal intervals.

A quantile of B draws is off by sqrt(t (1 - t)/B) in probability at a tail of t. Intervals take their tails smaller by
that, so that this error is on the side of wider ones.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.moments.additive import Additive

Reals = NDArray[np.float64]


def draws_of(noise: Additive, size: int, draws: int, unit: Any = 1.0) -> Reals:
    """Noises of a vector, one draw a line, each coordinate divided by its unit."""
    return np.asarray(standard_draws(noise.is_laplace, draws, size) * (noise.mechanism.scale / unit), dtype=np.float64)


@lru_cache(maxsize=8)
def standard_draws(is_laplace: bool, draws: int, size: int) -> Reals:
    """Draws of scale 1: they follow from public sizes alone, so keeping them tells nothing."""
    generator = np.random.Generator(np.random.PCG64(20_230_501))
    found = generator.laplace(size=(draws, size)) if is_laplace else generator.normal(size=(draws, size))
    found.setflags(write=False)
    return found


def tails(results: Reals, level: float) -> tuple[Reals, Reals]:
    """The results lie beyond each of these two ends with probability (1 - level)/2 at most, along the first axis."""
    tail = _less((1 - level) / 2, len(results))
    ends = np.quantile(results, [tail, 1 - tail], axis=0)
    return ends[0], ends[1]


def most(results: Reals, level: float) -> Reals:
    """A size that the results exceed with probability 1 - level at most, along the first axis."""
    return np.asarray(np.quantile(np.abs(results), 1 - _less(1 - level, len(results)), axis=0))


def _less(tail: float, draws: int) -> float:
    return max(tail - math.sqrt(tail * (1 - tail) / draws), 0.0)
