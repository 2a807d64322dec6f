"""Trees grown by private choices: every split, and the class of every leaf, is chosen by permute and flip.

A tree is full: 2**d leaves at depth d, whatever the rows are. A split of a number sends rows up to an edge to the left,
one of listed values sends one of them there. The candidates are public: every edge and every listed value, or a random
part of them that no row decides.

Theorem. The score of a split is the number of rows that would be right if each side took its most frequent class: the
sum of two maxima of counts. One more row raises it by 0 or 1 for every candidate: sensitivity 1, monotone. The score of
a class in a leaf is its count: the same. The nodes of one level have rows of their own, so with sensitivity r in every
choice, r rows of a unit, r_i of them in node i, change the law of the choice there by a factor of at most exp(epsilon
r_i/r); in all by exp(epsilon). So a tree of depth d costs d times the epsilon of a level and that of the leaves, and
trees add up. The number of rows, bought first with Laplace noise, decides how deep and how many; the whole is pure
epsilon whatever it decides, by basic composition of steps that are chosen one after the other.

Where rows are so few compared with 1/epsilon that no split would be found, splits are drawn at random and all of
epsilon is spent on the leaves: random trees are the best method known there.

Neighbours: one unit's rows, added or removed. Assumptions: bounds, listed values, classes and edges are public.
Source: McKenna, Sheldon 2020 (permute and flip); Friedman, Schuster 2010 (trees by private choices, the score of
splits); Fletcher, Islam 2017 (random trees with private leaves).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.curator import Price
from tacit.learning.bins.bins import Bins
from tacit.loss import events
from tacit.mechanisms import Laplace, PermuteAndFlip
from tacit.noise import BitSource, uniform_below
from tacit.statistics.source import Whole

_COUNT_SHARE = Fraction(5, 100)
_LEAF_SHARE = Fraction(3, 10)
_FEW, _MORE_CLASSES = 15.0, 1.7  # rows times epsilon for two classes, and how that grows with their number
_RANDOM_DEPTH, _DEEPER = 3, 1.75  # for two classes, and for each doubling of them
_ROWS_OF_A_TREE = 400.0  # times epsilon
_PART = 3  # one in this many candidates is looked at, where there are several trees


@dataclass(frozen=True, slots=True)
class Grown:
    """Released: for each tree and node the column and the bin that it splits at, and for each leaf its class."""

    splits: Whole  # trees x nodes x 2
    leaves: Whole  # trees x leaves
    rows: float


@dataclass(frozen=True, slots=True)
class Growing:
    """What is chosen, and at which price. The bought number of rows decides how deep the trees are, and how many."""

    bins: tuple[Bins, ...]
    classes: int
    rows_per_unit: int
    epsilon: Fraction
    trees: int | None  # None: by the number of rows
    depth: int | None

    @property
    def price(self) -> Price:
        """All of epsilon, and it is pure."""
        return Price(events.Pure(self.epsilon), self.epsilon)

    def grow(self, columns: Sequence[NDArray[Any]], target: Whole, counts: Whole, bits: BitSource) -> Grown:
        """Trees from every row's bins and class, and how many rows each line stands for."""
        r = self.rows_per_unit
        bought = Laplace(sensitivity=r, epsilon=self.epsilon * _COUNT_SHARE)
        rows = max(float(bought.release(int(counts.sum()), bits=bits)), 1.0)
        clear = rows * float(self.epsilon) / r
        depth, trees = self.depth or depth_for(clear, self.classes), self.trees or trees_for(clear)
        own = self.epsilon * (1 - _COUNT_SHARE) / trees
        chosen = own * (1 - _LEAF_SHARE) if clear >= few(self.classes) else Fraction(0)
        field = _Field(self.bins, list(columns), target, counts, self.classes)
        splits, leaves = [], []
        for _ in range(trees):
            tree = _Tree(
                field,
                depth,
                None if not chosen else PermuteAndFlip(sensitivity=r, epsilon=chosen / depth, monotone=True),
                PermuteAndFlip(sensitivity=r, epsilon=own - chosen, monotone=True),
                1 if trees == 1 else _PART,
            )
            made = tree.grown(bits)
            splits.append(made[0])
            leaves.append(made[1])
        return Grown(np.array(splits, dtype=np.int64), np.array(leaves, dtype=np.int64), rows)


def few(classes: int) -> float:
    """Below this many rows times epsilon splits are random: found on public data, for 2, 3 and 10 classes."""
    return _FEW * math.pow(classes / 2, _MORE_CLASSES)


def depth_for(clear: float, classes: int) -> int:
    """How deep a tree is, by the number of rows times epsilon; more classes need more leaves."""
    if clear < few(classes):
        return min(_RANDOM_DEPTH + math.floor(_DEEPER * math.log2(classes / 2)), 8)
    return min(max(math.floor(math.log2(clear) / 2 - 1.5 + 0.6 * math.log2(classes / 2)), 1), 8)


def trees_for(clear: float) -> int:
    """How many trees a forest has, by the number of rows times epsilon."""
    return min(max(math.floor(clear / _ROWS_OF_A_TREE), 1), 20)


@dataclass(frozen=True, slots=True)
class _Field:
    """All rows: their bins by column, their classes, and how many rows each line stands for."""

    bins: tuple[Bins, ...]
    columns: list[NDArray[Any]]
    target: Whole
    counts: Whole
    classes: int

    def table(self, place: int, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Counts of a column's bins by class among some rows."""
        size = self.bins[place].size
        cells = self.columns[place][rows].astype(np.int64) * self.classes + self.target[rows]
        found = np.bincount(cells, weights=self.counts[rows], minlength=size * self.classes)
        return found.astype(np.int64).reshape(size, self.classes)

    def left(self, place: int, at: int, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of the rows a split sends to the left."""
        own = self.columns[place][rows]
        return np.asarray(own <= at if self.bins[place].is_ordered else own == at)


@dataclass(frozen=True, slots=True)
class _Tree:
    """One tree: how its splits (None: at random) and its leaves are chosen."""

    field: _Field
    depth: int
    split: PermuteAndFlip | None
    leaf: PermuteAndFlip
    part: int

    def grown(self, bits: BitSource) -> tuple[Whole, Whole]:
        """Splits and leaves, level by level, each from left to right."""
        splits: list[tuple[int, int]] = []
        level: list[NDArray[np.intp]] = [np.arange(len(self.field.target))]
        for _ in range(self.depth):
            below = []
            for rows in level:
                place, at = self._chosen(rows, bits)
                splits.append((place, at))
                goes = self.field.left(place, at, rows)
                below += [rows[goes], rows[~goes]]
            level = below
        classes = list(range(self.field.classes))
        leaves = []
        for rows in level:
            found = np.bincount(self.field.target[rows], weights=self.field.counts[rows], minlength=len(classes))
            leaves.append(self.leaf.choose(classes, scores=[int(each) for each in found], bits=bits))
        return np.array(splits, dtype=np.int64).reshape(-1, 2), np.array(leaves, dtype=np.int64)

    def _chosen(self, rows: NDArray[np.intp], bits: BitSource) -> tuple[int, int]:
        options = candidates(self.field.bins)
        if self.part > 1:
            drawn = np.flatnonzero(uniform_below(self.part, len(options), bits) == 0)
            options = options[drawn] if len(drawn) else options
        if self.split is None:
            place, at = options[int(uniform_below(len(options), 1, bits)[0])]
            return int(place), int(at)
        scores = np.empty(len(options), dtype=np.int64)
        for place in np.unique(options[:, 0]):
            own = options[:, 0] == place
            found = split_scores(self.field.table(int(place), rows), self.field.bins[place].is_ordered)
            scores[own] = found[options[own, 1]]
        number = self.split.choose(list(range(len(options))), scores=scores.tolist(), bits=bits)
        return int(options[number, 0]), int(options[number, 1])


def candidates(bins: Sequence[Bins]) -> Whole:
    """All splits: (column, bin). Of two listed values one split is enough, and a column of one bin has none."""
    found = [
        (place, at)
        for place, each in enumerate(bins)
        for at in range(each.size - 1 if each.is_ordered or each.size == 2 else each.size)
    ]
    return np.array(found or [(0, 0)], dtype=np.int64).reshape(-1, 2)


def split_scores(table: NDArray[np.int64], ordered: bool) -> Whole:
    """For a split at each bin, the rows that are right if each side takes its most frequent class."""
    left = np.cumsum(table, axis=0) if ordered else table
    right = table.sum(axis=0) - left
    return np.asarray(left.max(axis=1) + right.max(axis=1))


def leaf_of(grown_splits: Whole, bins: Sequence[Bins], rows: Sequence[Whole]) -> Whole:
    """Which leaf of a tree each row to predict for is in; a row without a bin goes to the right."""
    count = len(rows[0])
    node = np.zeros(count, dtype=np.int64)
    depth = (len(grown_splits) + 1).bit_length() - 1
    matrix = np.stack(rows, axis=1)
    ordered = np.array([each.is_ordered for each in bins])
    for _ in range(depth):
        place, at = grown_splits[node, 0], grown_splits[node, 1]
        own = matrix[np.arange(count), place]
        goes = np.where(ordered[place], (own <= at) & (own >= 0), own == at)
        node = 2 * node + np.where(goes, 1, 2)
    return node - len(grown_splits)
