"""Several sets of the same keys (ROLLUP, CUBE, GROUPING SETS): all of them noisy, then made to agree.

A level is a set s of keys; its cells are all combinations of their values, its numbers the sums of the finest cells.

Theorem (sensitivity). One unit changes the finest cells by at most L in L1; every level is a sum of them over disjoint
groups, so it changes by at most L as well, and S levels together by at most S L. If every level changes by at most L2
in L2, all together change by at most sqrt(S) L2.

Theorem (agreement). Let y_s = A_s x + noise of one variance v in every cell of every level. The least-squares x makes
all A_s x agree (children sum to parents), and as an orthogonal projection onto what exact answers can be it never
raises the total squared error, whatever the noise was. With n_j values of key j, A_s' A_s is a product over the keys of
the identity (j in s) or the all-ones matrix (j not in s); all of them share eigenspaces, one for each set T of keys
(deviations from the mean along the keys of T, constant along the others), on which A_s' A_s is N_s = prod_{j not in s}
n_j if T is inside s and 0 otherwise. So x is found by averages along axes, over lambda_T = sum_{s contains T} N_s; and
the variance of a cell of level s is v times the sum over T inside s of
N_s / lambda_T prod_{j in T} (n_j - 1) / prod_{j in s} n_j. (Barak et al. 2007 and Hay et al. 2010 for the idea.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Levels:
    """Which keys each level has, and how many values each key has."""

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many cells each level has."""
        return tuple(math.prod(self.sizes[key] for key in one) for one in self.sets)

    def cells(self, values: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """The cells of all levels, one after the other; a key that a level leaves out is None."""
        for one in self.sets:
            yield from itertools.product(*(values[key] if key in one else (None,) for key in range(len(values))))

    def left_out(self, key: int) -> Floats:
        """1 in the cells whose level leaves out this key."""
        parts = [np.full(length, float(key not in one)) for one, length in zip(self.sets, self.lengths, strict=True)]
        return np.concatenate(parts)

    def sums(self, finest: NDArray[Any]) -> NDArray[Any]:
        """The numbers of all levels from those of the finest cells, exactly."""
        grid = finest.reshape(self.sizes)
        sums = [np.asarray(grid.sum(axis=self._others(one)), dtype=finest.dtype) for one in self.sets]
        return np.concatenate([each.reshape(-1) for each in sums])

    def agreeing(self, noisy: Floats, shown: Levels) -> Floats:
        """The noisy numbers of these levels, moved as little as possible so that children sum to parents.

        They come back for the levels that are shown; a level about which these say nothing is filled as if its finest
        cells did not differ.
        """
        back = np.zeros(self.sizes)
        for one, part in zip(self.sets, np.split(noisy, np.cumsum(self.lengths)[:-1]), strict=True):
            back = back + part.reshape([size if key in one else 1 for key, size in enumerate(self.sizes)])
        finest = np.zeros(self.sizes)
        for subset in self._subsets():
            weight = self._weight(subset)
            if weight:
                finest = finest + self._component(back, subset) / weight
        return shown.sums(finest)

    def spread(self, shown: Levels) -> Floats:
        """The factor on the noise's standard deviation for each shown cell; infinite where nothing is known."""
        parts = []
        for one, length in zip(shown.sets, shown.lengths, strict=True):
            inside = math.prod(self.sizes[key] for key in one)
            outside = math.prod(self.sizes[key] for key in self._others(one))
            share = 0.0
            for subset in self._subsets():
                dimensions = math.prod(self.sizes[key] - 1 for key in subset)
                if set(subset) <= set(one) and dimensions:
                    weight = self._weight(subset)
                    share += outside * dimensions / (weight * inside) if weight else math.inf
            parts.append(np.full(length, math.sqrt(share)))
        return np.concatenate(parts)

    def _others(self, one: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(key for key in range(len(self.sizes)) if key not in one)

    def _subsets(self) -> Iterator[tuple[int, ...]]:
        keys = range(len(self.sizes))
        return itertools.chain.from_iterable(itertools.combinations(keys, count) for count in range(len(keys) + 1))

    def _weight(self, subset: tuple[int, ...]) -> int:
        return sum(
            math.prod(self.sizes[key] for key in self._others(one)) for one in self.sets if set(subset) <= set(one)
        )

    def _component(self, grid: Floats, subset: tuple[int, ...]) -> Floats:
        """The part of the grid that deviates from the mean along these keys and is constant along the others."""
        part = grid
        for key in range(len(self.sizes)):
            mean = part.mean(axis=key, keepdims=True)
            part = part - mean if key in subset else np.broadcast_to(mean, part.shape)
        return part
