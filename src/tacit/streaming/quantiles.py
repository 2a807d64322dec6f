"""Quantiles of everything a stream has brought so far, released after every step and paid for once.

Bounds are cut into 2^k equal bins. A row is counted in its bin and in the 2, 4, 8, ... bins twice, four times, ... as
wide that hold it, each with a running total of its own: it moves k totals by 1 each, L1 norm k and L2 norm sqrt k, and
`mechanisms.continual` hides that. A quantile is found from the widest bins down: in each pair of halves by the noisy
share of the left one. That is post-processing; the middle of the last bin is released. No interval is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit import parameters
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms.continual import Change, Protects
from tacit.parameters import Number
from tacit.streaming.streams import Stream, clamped, ends


class RunningQuantiles(Stream):
    """Quantiles since the beginning, of values clamped to the bounds, on 2**`fineness` bins.

    >>> ages = RunningQuantiles((0, 110), 365, quantiles=["0.5"], epsilon=1, delta="1e-6")
    >>> len(ages.step([31, 40]))
    1
    """

    def __init__(
        self,
        bounds: tuple[Number, Number],
        steps: int | None,
        *,
        quantiles: Sequence[Number] = ("0.25", "0.5", "0.75"),
        fineness: int = 8,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        protects: Protects | None = None,
        path: str | Path | None = None,
    ) -> None:
        self.low, self.high = ends(bounds)
        self.levels = parameters.whole("fineness", fineness, least=1)
        if self.levels > 12:
            raise parameters.refuse("fineness", "at most 12", fineness)
        self.quantiles = tuple(float(parameters.level("quantiles", each)) for each in quantiles)
        change = Change(self.levels, sqrt_up(Fraction(self.levels)), self.levels)
        super().__init__(
            steps,
            (2 << self.levels) - 2,
            change,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            protects=protects,
            path=path,
            largest=1 << 25,
        )

    def step(self, rows: Iterable[Any], *, number: int | None = None) -> tuple[float, ...]:
        """The quantiles after one more step."""
        bins = 1 << self.levels
        values = clamped(rows, self.low, self.high)
        places = np.minimum((values - self.low) / (self.high - self.low) * bins, bins - 1).astype(np.int64)
        finest = np.bincount(places, minlength=bins)
        row: list[int] = []
        for level in range(1, self.levels + 1):
            row += finest.reshape(1 << level, -1).sum(axis=1).tolist()
        sent = self._sent(row, number)
        return tuple(self._found(sent, each) for each in self.quantiles)

    def _found(self, sent: list[float], wanted: float) -> float:
        place, rank = 0, wanted * max(sum(sent[:2]), 0.0)
        for level in range(1, self.levels + 1):
            first = (1 << level) - 2
            left = max(sent[first + 2 * place], 0.0)
            place = 2 * place
            if rank > left:
                rank -= left
                place += 1
        return self.low + (place + 0.5) * (self.high - self.low) / (1 << self.levels)
