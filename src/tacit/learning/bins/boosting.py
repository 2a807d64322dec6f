"""Boosting on bins: scores that are sums of one table for each column, learnt from noisy histograms alone.

First every column's histogram is released (rows in each bin, by class, or with the sums of the target). Then T rounds
go over the columns, one after the other: the sums of the rows' residuals in each bin of that column are released, and
its table moves as they say. Nothing else touches the rows.

Theorem. Residuals are whole numbers, functions of the row and of tables made of released numbers (`losses`): no row's
part changes because another row came or went. A row is in one bin of each column. So the first release moves by at most
what `losses` says for m columns, and each of the T m others by at most the reach of a residual, in the L1 and the L2
norm for one score, in the L2 norm for several. r rows of a unit move them r times as far, by the triangle inequality.
All releases are charged together (`calibrated`). Everything computed from them is post-processing.

Post-processing. With H the rows in each bin times the residuals' slope, the histogram of residuals is about H u + noise
for the step u that is wanted; u is found by least squares under a prior by which neighbouring bins of a number are
alike (a random walk) and tables are small.

Neighbours: one unit's rows, added or removed. Assumptions: bounds, listed values, classes and edges are public.
Source: Nori, Caruana, Bu, Shen, Kulkarni 2021 (boosting on bins with noise in histograms, DP-EBM); Friedman 2001
(boosting); Wiener 1949 (the least-squares filter).
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
from tacit.learning.bins.losses import FINE, WEIGHT, Begun, Loss
from tacit.learning.calibrated import Noise, Part, calibrated, deviation
from tacit.learning.columns import Reals
from tacit.noise import BitSource
from tacit.statistics.source import Whole

_FIRST_SHARE = Fraction(15, 100)
_RATE, _FIRST_RATE = 0.6, 0.3
_SLOPE = 0.7  # of residuals, as a share of what it is where all scores are equal
_TRUST = 0.3  # the weight of the prior
_WALK = 1.0
_CLEAR = 200.0  # with fewer rows than this in units of a cell's noise, tables are held back more
_SHRINK = 1.0
_MOST_SCORE = 16 * WEIGHT
# (epsilon below, rounds): with more rounds, each has more noise. Found on public data; without a delta noise adds up
# faster, and few rounds are best.
_ROUNDS = ((0.2, 4), (2.0, 8), (math.inf, 16))
_PURE_ROUNDS = ((2.0, 1), (5.0, 2), (math.inf, 4))
# (epsilon below, bins of a number): with more bins, each has fewer rows
_BINS = ((0.2, 16), (0.5, 24), (2.0, 32), (math.inf, 64))


@dataclass(frozen=True, slots=True)
class Boosting:
    """What is released, and with which noise; all of it is known before a row is read."""

    bins: tuple[Bins, ...]
    loss: Loss
    rounds: int
    first: Noise
    each: Noise
    price: Price

    def learn(self, columns: Sequence[NDArray[Any]], target: Whole, counts: Whole, bits: BitSource) -> Learnt:
        """Tables from every row's bins and target, and how many rows each line stands for."""
        sizes = [each.size for each in self.bins]
        exact = self.loss.first_sums(columns, sizes, target, counts)
        begun = self.loss.begin(np.asarray(self.first.release(exact, bits=bits)), sizes, deviation(self.first))
        noise = deviation(self.each) / FINE
        # equal rows count as often as they occur: each of them adds the same number
        times = None if bool(np.all(counts == 1)) else counts
        held = _TRUST * begun.held * max(1.0, _CLEAR * noise / begun.rows)
        filters = [
            _filters(own, begun, noise, held, each.is_ordered)
            for own, each in zip(begun.counts, self.bins, strict=True)
        ]
        tables = [_FIRST_RATE * (first @ sums) for (first, _), sums in zip(filters, begun.sums, strict=True)]
        whole = [_whole(each) for each in tables]
        scores = np.tile(_whole(begun.level), (len(target), 1))
        for own, column in zip(whole, columns, strict=True):
            scores += own[column]
        mean, kept = [np.zeros_like(each) for each in tables], 0
        for number in range(self.rounds):
            for place, (column, (_, filtered)) in enumerate(zip(columns, filters, strict=True)):
                found = self.loss.residuals(scores, target, begun.scale)
                sums = np.asarray(self.each.release(histogram(column, found, sizes[place], times), bits=bits))
                tables[place] = tables[place] + _RATE * (filtered @ (sums / FINE))
                moved = _whole(tables[place])
                scores += (moved - whole[place])[column]
                whole[place] = moved
            if 2 * number >= self.rounds - 1:
                kept += 1
                mean = [total + own for total, own in zip(mean, tables, strict=True)]
        final = [total / kept for total in mean]
        return Learnt(begun.level, final, begun.counts, begun.scale)


@dataclass(frozen=True, slots=True)
class Learnt:
    """Released: the level of the scores, what each bin of each column adds to them, and the rows in each bin."""

    level: Reals
    tables: list[Reals]
    counts: list[Reals]
    scale: float


def bins_for(epsilon: Fraction) -> int:
    """How many bins a number is cut into where the caller does not say."""
    return next(count for below, count in _BINS if epsilon < below)


def plan_boosting(
    bins: tuple[Bins, ...], loss: Loss, rows_per_unit: int, epsilon: Fraction, delta: Fraction, rounds: int | None
) -> Boosting:
    """The releases for a budget, from public numbers."""
    schedule = _ROUNDS if delta else _PURE_ROUNDS
    many = next(count for below, count in schedule if epsilon < below) if rounds is None else rounds
    m, r = len(bins), rows_per_unit
    taxicab, squared = loss.first_moves(m)
    total = 3 + max(loss.scores, 2) * (1 + sum(each.size for each in bins))
    largest = loss.scores * max(each.size for each in bins)
    step_taxicab, step_squared = loss.round_moves()
    parts = (
        Part(r * taxicab, r * r * squared, total, _FIRST_SHARE),
        Part(r * step_taxicab, r * r * step_squared, largest, 1 - _FIRST_SHARE, many * m),
    )
    (first, each), price = calibrated(parts, epsilon, delta)
    return Boosting(bins, loss, many, first, each, price)


def histogram(column: NDArray[Any], found: NDArray[Any], size: int, times: Whole | None) -> Whole:
    """The sums of residuals in each bin, one column for each score: exact, as they are whole and stay below 2**53."""
    total = np.empty((size, found.shape[1]), dtype=np.int64)
    for score in range(found.shape[1]):
        own = found[:, score] if times is None else found[:, score] * times
        total[:, score] = np.bincount(column, weights=own, minlength=size).astype(np.int64)
    return total


def _whole(table: Reals) -> Whole:
    return np.clip(np.rint(table * WEIGHT), -_MOST_SCORE, _MOST_SCORE).astype(np.int32)


def _filters(counts: Reals, begun: Begun, noise: float, held: float, ordered: bool) -> tuple[Reals, Reals]:
    """The matrices that turn sums of residuals into a step: for the first release, and for a round."""
    size, rows = len(counts), np.maximum(counts, 0.0)
    # a count that does not stand out of its noise says little about how many rows there are
    steep = _SLOPE * begun.slope * rows * np.square(rows) / (np.square(rows) + _SHRINK * begun.count_noise**2 + 1e-9)
    prior = np.eye(size)
    if ordered and size > 1:
        ways = np.diff(np.eye(size), axis=0)
        prior += _WALK * size / 16 * (ways.T @ ways)

    def made(own: float) -> Reals:
        system = np.diag(np.square(steep)) + (held * own**2 + 1e-9) * prior
        return np.asarray(np.linalg.solve(system, np.diag(steep)))

    return made(begun.noise), made(noise)
