"""Intervals around released points that enclose quantiles of the rows; all have one width, which is chosen by rank.

Setting. Rows lie on the points 0..N-1 of a public grid; V is a point that has been released; q = p/d is the quantile.
Of n rows let B(y) lie below y and A(y) at or below y. The rows' own quantile, row ceil(q n) of them, lies at or above y
if p n - d B(y) >= 1, and at or below y if d A(y) - p n >= 0. So the interval from V - w to V + w holds it if

    g(w) = min(p n - d B(V - w), d A(V + w) - p n) >= 1.

For q = 0 (the least row) the lower end is that of the grid, since nothing private can say how low the very last row
lies. So the first of the two numbers is left out: the condition is A >= 1. For q = 1 it is the other way around.
Several quantiles (of one list of rows, or each of its own) can have intervals of one width that hold all at once: g is
the least of theirs, with one d.

The choice. w is one of about 4 log2(N) public widths 0 = w_0 < w_1 < ... , each 2**(1/4) times the one before; the last
is the whole grid. Width w_j stands for the whole numbers above g(w_(j-1)) and up to g(w_j), without end below for the
first and above for the last, and loses the larger of g(w_(j-1)) + 1 - E and E - g(w_j), at least 0, for a public target
E. The choice is exponential.

Theorem. It has a privacy loss of bounded range epsilon if the loss is taken to have the sensitivity r max(p, d - p)
(the largest, of several p), where neighbours differ by at most r rows in each list; or r d, where at most r rows of
each list are replaced by others.
Proof. Adding a row changes p n - d B and d A - p n by at most max(p, d - p) each, in size; so their minimum; so the
larger of two numbers each of which is a constant plus or minus g. V is public by now: adaptive composition. Replacing a
row leaves n as it is, and moves A and B by at most 1, so d A and d B by at most d.

Coverage. g never falls with w, so E is among the numbers of some width, which loses nothing. With probability at least
`level` the chosen one loses less than the shortfall of the mechanism, which E is at least: so E - g(w_j) < E, and
g(w_j) > 0. Whatever the rows are, and wherever V is, the interval holds their quantile. (Without rows it holds
nothing.)

Source: the exponential mechanism, McSherry and Talwar 2007; the interval is argued here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np

from tacit import parameters
from tacit.loss import events
from tacit.mechanisms import Exponential
from tacit.noise import BitSource
from tacit.statistics.order.windows import MOST_PARTS
from tacit.statistics.source import Whole

Tally: TypeAlias = tuple[Whole, Whole]
"""Points in ascending order, and the rows at each."""

_FINENESS = 4  # widths for each doubling
_LARGEST = 1 << 60


@dataclass(frozen=True, slots=True)
class RankInterval:
    """How the width of intervals around released points is chosen: what it costs, and the loss that it allows for."""

    points: int
    shares: tuple[Fraction, ...]
    choice: Exponential
    target: int

    @classmethod
    def of(
        cls,
        points: int,
        shares: Sequence[Fraction],
        rows: int,
        epsilon: Fraction,
        level: Fraction,
        *,
        replaced: bool = False,
    ) -> RankInterval:
        """Neighbours differ by at most `rows` rows, or have as many `replaced`.

        All intervals together hold with probability `level`.
        """
        if _parts(shares) > MOST_PARTS:
            raise parameters.refuse("q", "numbers of at most six decimals, together", [float(q) for q in shares])
        steepest = Fraction(1) if replaced else max(max(share, 1 - share) for share in shares)
        choice = Exponential(rows * steepest * _parts(shares), epsilon)
        target = math.ceil(choice.shortfall(len(widths_of(points)), confidence=level))
        if target >= _LARGEST:
            raise parameters.refuse("epsilon", "larger: losses outgrow 60 bits", float(epsilon))
        return cls(points, tuple(shares), choice, target)

    @property
    def event(self) -> events.Event:
        """The choice."""
        return self.choice.event

    def around(self, chosen: Sequence[int], rows: Sequence[Tally], bits: BitSource) -> list[tuple[int, int]]:
        """The ends, as points, around the point released for each quantile, from the tally of its rows."""
        widths = widths_of(self.points)
        place = self.choice.choose(range(widths.size), losses=self._losses(chosen, rows, widths), bits=bits)
        width, last = int(widths[place]), self.points - 1
        return [
            (0 if share == 0 else max(point - width, 0), last if share == 1 else min(point + width, last))
            for share, point in zip(self.shares, chosen, strict=True)
        ]

    def _losses(self, chosen: Sequence[int], rows: Sequence[Tally], widths: Whole) -> Whole:
        """How far the target is from the numbers that each width stands for."""
        parts = _parts(self.shares)
        room = np.full(widths.size, _LARGEST)
        for share, point, (values, counts) in zip(self.shares, chosen, rows, strict=True):
            up_to = np.append(0, np.cumsum(counts))
            wanted = int(share * parts) * int(up_to[-1])
            if share > 0:
                below = up_to[np.searchsorted(values, point - widths, side="left")]
                room = np.minimum(room, wanted - parts * below)
            if share < 1:
                at_most = up_to[np.searchsorted(values, point + widths, side="right")]
                room = np.minimum(room, parts * at_most - wanted)
        first = np.append(-_LARGEST, room[:-1] + 1)
        last = np.append(room[:-1], _LARGEST)
        losses: Whole = np.maximum(np.maximum(first - self.target, self.target - last), 0)
        return losses


def _parts(shares: Sequence[Fraction]) -> int:
    """d: the common denominator of the quantiles."""
    return reduce(math.lcm, (share.denominator for share in shares))


def widths_of(points: int) -> Whole:
    """0, whole numbers each about 2**(1/4) times the one before, and the whole grid."""
    count = math.ceil(_FINENESS * math.log2(points + 1)) + 1
    grown = np.ceil(2.0 ** (np.arange(count) / _FINENESS)).astype(np.int64)
    return np.unique(np.concatenate([[0], grown[grown < points], [points]]))
