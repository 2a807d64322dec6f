"""A tree of boxes that follows the rows: where clusters are, from noisy histograms.

In each of L levels every leaf's rows are counted in bins, column by column: numbers in 8 bins of equal width between
the ends of the leaf's box, listed values one by one. All these counts are released together. Each leaf whose count
stands out of the noise is then cut in two, at the bin and the column that lessen the squared distances most; the
others are counted again in the next level, and their counts added up. The leaves, as points of a weight, are a coreset:
k-means of them costs nothing more.

Theorem. A row stands in one leaf, and in at most one bin of each of m columns. So r rows of a unit move the counts of
a level by at most r m in the L1 norm, and by at most r m**(1/2) in the L2 norm (the triangle inequality over its rows).
Everything else is made of released counts and public facts. Boxes are in whole numbers: a row's bin depends on that row
and on released counts alone.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and listed values are public.
Source: Chang, Ghazi, Kumar, Manurangsi 2021 (a private tree as a coreset); Otsu 1979 (the cut). The histograms of all
columns at once, in place of random directions, are our own choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.learning.columns import Feature, Reals
from tacit.statistics.source import Whole

BINS = 8
_STANDS_OUT = 1.0  # deviations of a leaf's count that it must reach to be cut
_MOST_LEAVES = 256

Release: TypeAlias = Callable[[Whole], Whole]


@dataclass(frozen=True, slots=True)
class Box:
    """A leaf: for each number its first and last code; the sums of its released counts, and how many there were."""

    ends: tuple[tuple[int, int], ...]
    sums: Reals
    times: int = 0

    @property
    def counts(self) -> Reals:
        """The released counts, all columns side by side."""
        return self.sums / max(self.times, 1)


@dataclass(frozen=True, slots=True)
class Cut:
    """Rows go to the second of two leaves where this column's code is at least `code`, or is listed value `code`."""

    column: int
    code: int


@dataclass(frozen=True, slots=True)
class Coreset:
    """Points with weights, in units of the vectors times `sizes`, and how far rows are from their point, squared."""

    points: Reals
    weights: Reals
    spread: float


@dataclass(frozen=True, slots=True)
class Partition:
    """How the tree is grown: the columns, the levels, the length of each column's coordinate, the noise of a count."""

    features: tuple[Feature, ...]
    levels: int
    sizes: tuple[float, ...]  # one for each column
    deviation: float

    @property
    def widths(self) -> list[int]:
        """How many bins each column has."""
        return [BINS if each.options is None else each.size for each in self.features]

    @property
    def starts(self) -> list[int]:
        """Where each column's bins begin, and where the last of them ends."""
        return [0, *np.cumsum(self.widths).tolist()]

    @property
    def most(self) -> int:
        """The largest number of counts that a level releases."""
        return min(1 << (self.levels - 1), _MOST_LEAVES) * self.starts[-1]

    def grow(self, codes: Whole, release: Release) -> Coreset:
        """The leaves. `codes` of listed columns are places; `release` adds the noise of one level."""
        ends = tuple((each.low, each.low + each.width) for each in self.features)
        leaves, home = [Box(ends, np.zeros(self.starts[-1]))], np.zeros(len(codes), dtype=np.int64)
        for level in range(self.levels):
            released = release(self.counts(codes, home, leaves))
            leaves = [
                replace(leaf, sums=leaf.sums + found, times=leaf.times + 1)
                for leaf, found in zip(leaves, released, strict=True)
            ]
            if level + 1 < self.levels:
                leaves, home = self._cut(codes, home, leaves)
        return self._coreset(leaves)

    def counts(self, codes: Whole, home: Whole, leaves: Sequence[Box]) -> Whole:
        """For each leaf the number of its rows in every bin of every column."""
        table = np.zeros((len(leaves), self.starts[-1]), dtype=np.int64)
        for place, (feature, start, width) in enumerate(zip(self.features, self.starts, self.widths, strict=False)):
            own = codes[:, place]
            if feature.options is None:
                low = np.array([leaf.ends[place][0] for leaf in leaves], dtype=np.int64)[home]
                high = np.array([leaf.ends[place][1] for leaf in leaves], dtype=np.int64)[home]
                bins = (np.clip(own, low, high) - low) * BINS // (high - low + 1)
                kept, at = home, bins
            else:
                known = own >= 0
                kept, at = home[known], own[known]
            found = np.bincount(kept * width + at, minlength=len(leaves) * width)
            table[:, start : start + width] = found.reshape(len(leaves), width)
        return table

    def _cut(self, codes: Whole, home: Whole, leaves: list[Box]) -> tuple[list[Box], Whole]:
        """Leaves cut in two where it helps, the most helpful first."""
        found = [self._best(leaf) for leaf in leaves]
        order = sorted((place for place, each in enumerate(found) if each), key=lambda place: -_gain(found[place]))
        chosen = set(order[: _MOST_LEAVES - len(leaves)])
        grown, moved = list(leaves), home.copy()
        for place, (leaf, best) in enumerate(zip(leaves, found, strict=True)):
            if place not in chosen or best is None:
                continue
            cut, feature = best[1], self.features[best[1].column]
            own = codes[:, cut.column]
            second = own == cut.code if feature.options is not None else own >= cut.code
            moved[(home == place) & second] = len(grown)
            first, last = leaf.ends[cut.column]
            empty = np.zeros_like(leaf.sums)
            below = above = leaf.ends
            if feature.options is None:
                below = (*below[: cut.column], (first, cut.code - 1), *below[cut.column + 1 :])
                above = (*above[: cut.column], (cut.code, last), *above[cut.column + 1 :])
            grown[place] = Box(below, empty)
            grown.append(Box(above, empty))
        return grown, moved

    def _best(self, leaf: Box) -> tuple[float, Cut] | None:
        """The cut that lessens the squared distances most; None where the leaf's count does not stand out."""
        shares = self._shares(leaf)
        if shares is None:
            return None
        weight = self._weight(leaf)
        best: tuple[float, Cut] | None = None
        for place, (feature, share) in enumerate(zip(self.features, shares, strict=True)):
            if feature.options is None:
                first, last = leaf.ends[place]
                if last == first:
                    continue
                gains = _between(share, self._middles(leaf, place))
                at = int(gains.argmax())
                code = first - (-(at + 1) * (last - first + 1) // BINS)  # the first code of the next bin, rounded up
            else:
                rest = 1 - share
                gains = share * rest + share * (np.square(share).sum() - np.square(share)) / np.maximum(rest, 1e-12)
                code = at = int(gains.argmax())
            gain = weight * float(gains[at]) * self.sizes[place] ** 2
            cuts = feature.options is not None or first < code <= last
            if cuts and gain > 0 and (best is None or gain > best[0]):
                best = gain, Cut(place, code)
        return best

    def _middles(self, leaf: Box, place: int) -> Reals:
        """The middles of a number's bins, in units of u."""
        first, last = leaf.ends[place]
        feature = self.features[place]
        codes = first - feature.low - 0.5 + (np.arange(BINS) + 0.5) * (last - first + 1) / BINS
        return np.asarray(2 * np.clip(codes, 0, feature.width) / feature.width - 1)

    def _weight(self, leaf: Box) -> float:
        """The leaf's number of rows: the mean over the columns."""
        return max(float(leaf.counts.sum()) / len(self.features), 0.0)

    def _shares(self, leaf: Box) -> list[Reals] | None:
        """For each column the shares of its bins; None where there is nothing but noise."""
        weight, counts = self._weight(leaf), leaf.counts
        noise = self.deviation * BINS**0.5 / max(leaf.times, 1) ** 0.5
        if weight < _STANDS_OUT * noise or weight <= 0:
            return None
        columns = [counts[start : start + width] for start, width in zip(self.starts, self.widths, strict=False)]
        return [nearest_shares(each / weight) for each in columns]

    def _coreset(self, leaves: Sequence[Box]) -> Coreset:
        points, weights, spreads = [], [], []
        for leaf in leaves:
            shares = self._shares(leaf)
            weights.append(self._weight(leaf) if shares is not None else 0.0)
            parts, spread = [], 0.0
            for place, (feature, size) in enumerate(zip(self.features, self.sizes, strict=True)):
                width = self.widths[place]
                share = np.full(width, 1 / width) if shares is None else shares[place]
                if feature.options is not None:
                    parts.append(share * size)
                    spread += float(1 - np.square(share).sum()) * size**2
                else:
                    middles = self._middles(leaf, place)
                    mean = float(share @ middles)
                    parts.append(np.array([mean * size]))
                    spread += float(share @ np.square(middles - mean)) * size**2
            points.append(np.concatenate(parts))
            spreads.append(spread)
        found = np.array(weights)
        if not found.any():
            found[:] = 1.0
        return Coreset(np.array(points), found, float(found @ np.array(spreads) / found.sum()))


def _gain(best: tuple[float, Cut] | None) -> float:
    return 0.0 if best is None else best[0]


def _between(share: Reals, middles: Reals) -> Reals:
    """What a cut after each bin but the last takes off the variance."""
    below, sums = np.cumsum(share)[:-1], np.cumsum(share * middles)[:-1]
    above = 1 - below
    with np.errstate(all="ignore"):
        apart = sums / below - (share @ middles - sums) / above
        gains = below * above * np.square(apart)
    return np.where((below > 1e-12) & (above > 1e-12), gains, 0.0)


def nearest_shares(numbers: NDArray[np.float64]) -> Reals:
    """The nearest point with entries of at least 0 that sum to 1."""
    falling = np.sort(numbers)[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, len(numbers) + 1)
    last = int(np.flatnonzero(falling > over)[-1])
    return np.asarray(np.maximum(numbers - over[last], 0.0))
