"""Averages in which a client with more rows counts more: up to a number of rows that is fixed beforehand.

A client of r rows has the weight w = min(r, full) / full. It adds (w m, w s), m being its motion, shortened to `norm`,
and s a public number; the mean motion is the sum of the first over the sum of the weights.

Sensitivity. The vector of a client is at most sqrt(norm**2 + s**2) long, and neighbours replace it by nothing:
everything that a client's rows say, even their number, is in this vector alone. s is a quarter of the norm: 3 % more
noise. The sum of weights tells how many rows all clients have, under noise like everything else. The quotient is one of
opened numbers; a noisy weight below that of one client counts as that of one, and the mean is shortened to `norm`
again, which no mean of shortened motions exceeds.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.federated.distributed.rotation import clipped
from tacit.federated.distributed.tasks import VectorAverage
from tacit.federated.jobs.models import Reals

_SHARE: Final = 0.25  # of the norm, for the weight


class Weighted:
    """What a round adds up where clients have weights; `full` rows make a weight of 1."""

    def __init__(self, size: int, norm: float, among: int, full: int) -> None:
        self.full, self.norm, self._among = parameters.whole("full_weight", full, least=1), float(norm), among
        self.task = VectorAverage(size + 1, self.norm * math.hypot(1.0, _SHARE), among)

    def vector(self, motion: Reals, rows: int) -> Reals:
        """What a client adds: nothing where it has no rows."""
        weight = min(rows, self.full) / self.full
        return weight * np.append(clipped(motion, self.norm), _SHARE * self.norm)

    def mean(self, opened: Any) -> Reals:
        """The mean motion, from the opened mean of the vectors."""
        found = np.asarray(opened, dtype=np.float64)
        weight = max(float(found[-1]) / (_SHARE * self.norm), 1 / self._among)
        return clipped(found[:-1] / weight, self.norm)
