"""Intervals for what is computed from noisy numbers: what it would have been, had the noise been another draw.

The noise is symmetric and its law is public, so (released - another draw of the noise) is where the exact numbers may
have been. The interval is that of the middle share `level` of what those give. Where the result is linear in the
numbers it has the stated probability; where it is nearly so, nearly. The draws are for words about the noise, not for
hiding anything: they come from a plain generator with a fixed seed, so equal releases get equal intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.moments.additive import Additive

Reals = NDArray[np.float64]


def draws_of(noise: Additive, size: int, draws: int, unit: Any = 1.0) -> Reals:
    """Noises of a vector, one draw a line, each coordinate divided by its unit."""
    generator = np.random.default_rng(20_230_501)
    scale = noise.mechanism.scale
    drawn = generator.laplace if noise.is_laplace else generator.normal
    return np.asarray(drawn(0.0, scale, (draws, size)) / unit, dtype=np.float64)


def middle(results: Reals, level: float) -> tuple[Reals, Reals]:
    """The ends of the middle share of the results, along the first axis."""
    tail = (1 - level) / 2
    ends = np.quantile(results, [tail, 1 - tail], axis=0)
    return ends[0], ends[1]
