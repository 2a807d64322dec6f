"""How far an order statistic can move: its local sensitivity at every distance, exactly, from the sorted rows.

Setting. Codes x[1] <= ... <= x[n] between the public ends; x[i] is the lower end for i < 1, the upper one for i > n.
The statistic is x[m(n)], m(n) = ceil(q n) for 0 < q <= 1, and 1 for q = 0; so an empty list gives the lower end (for
q = 0 the upper). Let q <= 1/2; for q > 1/2 negate the rows, which turns m(n) into n + 1 - m(n). Neighbours differ by at
most r rows, all added or all removed. A(a) is the most that the statistic moves between y and a neighbour of y, over
all y that adding and removing `a` rows makes of x.

Theorem 1 (add or remove). For a <= n - r, A(a) is the largest of x[j] - x[i - v] over v = 0..a, with n' = n - a + 2 v,
    (1)  i = m(n'),          j = n - n' + r + m(n' - r):   y loses r low rows,
    (2)  i = m(n' + r) - r,  j = n - n' + m(n'):           y gains r low rows,
where j > i + n - n' (else the statistic does not move). For q = 1/2, v = 0 is enough. For larger `a` A is at most, and
here is taken to be, high - low; for r = 1 it is just that.
Proof. Let the statistic be at most x[i] on the one data set and at least x[j] on the other, x[i] < x[j], n' rows in y.
As m(k + 2) - m(k) is 0 or 1 for q <= 1/2, losing r low rows moves it up by at least as many places, r - m(n') +
m(n' - r), as gaining r high ones, m(n' + r) - m(n'); downwards the same holds for gaining low and losing high rows. In
(1) y needs at least m(n') rows up to x[i], and the other at most m(n' - r) - 1 rows below x[j]; in (2) they need
m(n' + r) - r and at most m(n') - 1. To make such a y of x, rows between x[i] and x[j] are removed, u of them, and rows
are added beyond, v below: u + v = a, and what was i becomes i - v. Removing a row outside of the window is no better
than removing the one next to its end, which widens it; adding w rows above is no better than removing w more inside.
With q = 1/2 the same is true of rows below: v one up and n' two up move i - v nowhere and lower j.

Within `a` rows added or removed the statistic lies between x[min(m(n + a) - a, m(n - a))] and
x[max(m(n + a), m(n - a) + a)], and reaches both (the same argument with one data set); anywhere for a >= n.

Theorem 2 (replace, n public). A(k) = max over t = 0..k+1 of x[m+t] - x[m+t-k-1].
Proof. k rows of the window are moved out of it, to whichever end, and one more moves the statistic across it.

What it is for. S = max over a of exp(-b a / r) A(a) is a b-smooth bound: one unit is worth r rows, so A(a; x) <=
A(a + r; x') for neighbours, and A(0) is the local sensitivity. The rows that must change before the local sensitivity
exceeds B are the least `a` with A(a) > B, and a unit changes them by r. For r = 1 both are exact; else A counts every
set of r rows as a unit, so they are on the safe side. From `reach` = 2**14 rows on A is taken to be the whole range,
which keeps S a smooth bound (A(a; x) <= A(a + r; x') still) and its time bounded; it is exact where
exp(-b reach / r) (high - low) < S, and always for q = 1/2 when rows are added or removed.

Checked against enumeration of all data sets on small grids in tests/statistics/order/test_windows.py.
Source: Nissim, Raskhodnikova, Smith 2007 (the median under replacement). Ranks that follow n are argued here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters

Whole: TypeAlias = NDArray[np.int64]

REACH = 1 << 14
_HALF = Fraction(1, 2)

MOST_PARTS = 10**6
"""The largest denominator of a share: with it ranks of up to 2**43 rows are words."""


@dataclass(frozen=True, slots=True)
class Rank:
    """Which row is meant: the quantile q of n rows is row m(n) of them, in ascending order."""

    q: Fraction

    def __post_init__(self) -> None:
        if self.q.denominator > MOST_PARTS:  # then q n could outgrow 64 bits, and one more row would move m(n) anywhere
            raise parameters.refuse("q", "a number of at most six decimals", float(self.q))

    def __call__(self, rows: int) -> int:
        """m(rows)."""
        return int(self.of(np.array([rows], dtype=np.int64))[0])

    def of(self, rows: Whole) -> Whole:
        """m of each number of rows."""
        top, bottom = self.q.numerator, self.q.denominator
        return np.maximum(-((-top * rows) // bottom), 0 if self.q else 1)


@dataclass(frozen=True, slots=True)
class Sorted:
    """Sorted codes between public ends, and which of them is wanted."""

    codes: Whole
    low: int
    high: int
    rank: Rank
    rows: int = 1  # of one unit

    @property
    def value(self) -> int:
        """The order statistic."""
        return int(self._at(np.array([self.rank(self.codes.size)]))[0])

    def _at(self, places: Whole) -> Whole:
        """x[place], counted from 1."""
        n = self.codes.size
        inside = np.clip(places, 1, max(n, 1)) - 1
        found = self.codes[inside] if n else np.zeros(places.shape, dtype=np.int64)
        return np.where(places < 1, self.low, np.where(places > n, self.high, found))

    @property
    def whole(self) -> int:
        """From this distance on fewer rows than one unit may have can be left, and A is the whole range."""
        return max(self.codes.size - self.rows + 1, 0)

    def moves(self, distance: Whole, added: Whole) -> Whole:
        """The wider of the windows (1) and (2) of Theorem 1 for each pair (a, v)."""
        n, r, turned = self.codes.size, self.rows, self.rank.q > _HALF

        def m(count: Whole) -> Whole:
            return count + 1 - self.rank.of(count) if turned else self.rank.of(count)

        def width(i: Whole, j: Whole) -> Whole:
            """x[j] - x[i]; of the negated rows where q > 1/2."""
            return self._at(n + 1 - i) - self._at(n + 1 - j) if turned else self._at(j) - self._at(i)

        left = n - distance + 2 * added
        widest = np.where(distance >= self.whole, self.high - self.low, 0)
        for i, j in ((m(left), n - left + r + m(left - r)), (m(left + r) - r, n - left + m(left))):
            moved = (j > i + n - left) & (distance < self.whole)
            widest = np.maximum(widest, np.where(moved, width(i - added, j), 0))
        return widest

    def moves_within(self, distance: int) -> int:
        """A(distance), when rows are added or removed."""
        added = np.arange(1 if self.rank.q == _HALF else distance + 1)
        return int(self.moves(np.full(added.shape, distance), added).max())

    def lowest(self, distance: Whole) -> Whole:
        """The least value of the statistic within each distance: of y made by adding and removing this many rows."""
        n = self.codes.size
        fewer = self.rank.of(np.maximum(n - distance, 0))
        least = self._at(np.minimum(self.rank.of(n + distance) - distance, fewer))
        return np.where(distance >= n, self.low, least)

    def highest(self, distance: Whole) -> Whole:
        """The greatest value, likewise."""
        n = self.codes.size
        fewer = self.rank.of(np.maximum(n - distance, 0)) + distance
        most = self._at(np.maximum(self.rank.of(n + distance), fewer))
        return np.where(distance >= n, self.high, most)

    def replaced_within(self, distance: int) -> int:
        """A(distance), when rows are replaced."""
        top = self.rank(self.codes.size) + np.arange(distance + 2)
        return int((self._at(top) - self._at(top - distance - 1)).max())


def smooth_sensitivity(line: Sorted, smoothness: Fraction) -> float:
    """S for neighbours that add or remove the rows of one unit, within a relative error of 2**-42."""
    rate = float(smoothness / line.rows)
    span, stop = float(line.high - line.low), line.whole
    if line.rank.q == _HALF:
        distance = np.arange(stop + 1)
        return float((line.moves(distance, np.zeros_like(distance)) * np.exp(-rate * distance)).max())
    best = math.exp(-rate * min(REACH, stop)) * span
    for added in range(min(REACH, stop)):
        if math.exp(-rate * added) * span <= best:
            break  # adding this many rows cannot gain any more
        # by two logarithms, because the quotient of a range and a very small number is no float
        useful = math.ceil((math.log(span) - math.log(best)) / rate) + 1 if best > 0 else stop
        distance = np.arange(added, min(REACH, stop, useful))
        found = line.moves(distance, np.full(distance.shape, added)) * np.exp(-rate * distance)
        best = max(best, float(found.max(initial=0.0)))
    return best


def smooth_sensitivity_replaced(line: Sorted, smoothness: Fraction) -> float:
    """S for neighbours that replace one row, n being public, within a relative error of 2**-42."""
    rate = float(smoothness)
    span, best = float(line.high - line.low), math.exp(-rate * REACH) * float(line.high - line.low)
    for distance in range(REACH):
        weight = math.exp(-rate * distance)
        if weight * span <= best:
            break
        best = max(best, weight * line.replaced_within(distance))
    return best


def units_to_exceed(line: Sorted, bound: int, *, replaced: bool = False) -> int:
    """How many units must change before a neighbour moves the statistic by more than `bound`; at most REACH.

    It changes by at most 1 between neighbours (the cut at REACH does not change that), and is 0 where one does.
    """
    if bound >= line.high - line.low:
        return REACH
    moves = line.replaced_within if replaced else line.moves_within
    # A(low) <= bound < A(high), by convention at the ends
    low, high = -1, min(REACH * line.rows, line.codes.size if replaced else line.whole)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if moves(middle) > bound else (middle, high)
    return -(-high // line.rows)
