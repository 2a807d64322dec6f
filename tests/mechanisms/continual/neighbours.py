"""Neighbouring streams through the encoder: how near to its sensitivity two of them come.

python -m tests.mechanisms.continual.neighbours 10000 SEED       # the long form
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np

from tacit.mechanisms.continual.matrix import Encoder, matrix_for


def worst_distance(cases: int, *, seed: int) -> float:
    """The largest distance of two encoded neighbours, as a share of the stated sensitivity, over random cases.

    Streams, lengths, sizes of change, numbers of changed steps and their distances are random; later values differ in
    nothing, whatever the earlier ones were. Distances are exact: sums of squares of whole numbers.
    """
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(cases):
        steps = int(rng.integers(1, 260))
        width = int(rng.integers(1, 4))
        size = int(rng.choice([1, 1, 2, 7, 1_000, 10**6]))
        apart = int(rng.choice([1, 1, 2, 5, 30]))
        times = int(min(rng.choice([1, 1, 2, 5, 20]), 1 + (steps - 1) // apart))
        matrix = matrix_for(steps, Fraction(size))
        stream = rng.integers(-(10 ** int(rng.integers(1, 12))), 10 ** int(rng.integers(1, 12)), (steps, width))
        stream = stream.astype(object)
        places = np.arange(times) * apart
        if rng.random() < 0.5:
            places = places + int(rng.integers(0, steps - places[-1]))
        other = stream.copy()
        cells = set()
        for place in places:
            cell = 0 if rng.random() < 0.7 else int(rng.integers(width))
            cells.add(cell)
            other[place, cell] += size if rng.random() < 0.9 else -size
        one, two = (Encoder(matrix, width).extend(each) for each in (stream, other))
        squared = sum(int(each) ** 2 for each in (one - two).flat)
        stated = matrix.sensitivity(Fraction(size), times, apart, len(cells))
        worst = max(worst, math.sqrt(squared / stated**2))
        assert squared <= stated**2, (steps, width, size, apart, times, places)
    return worst


if __name__ == "__main__":
    share = worst_distance(int(sys.argv[1]), seed=int(sys.argv[2]))
    sys.stdout.write(f"closest to the sensitivity: {share:.6f} of it\n")
