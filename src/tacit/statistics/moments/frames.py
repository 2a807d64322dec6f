"""Frames that fit the rows, bought by rank: how narrow rows lie within bounds that are far wider.

The noise of second moments grows with the width of the bounds, whatever the spread of the rows; the noise of a choice
by rank is a number of rows, and the bounds hardly matter to it. So a share of epsilon first finds where the rows lie,
and then the moments of rows that are clipped to that place are released. How they are clipped is released too.

Method. For a column: its quartiles by rank, stretched by 2.5 times their distance to either side (for a normal column
4 deviations from the middle), within the bounds. For one feature x and a target y more is possible: a line through the
medians of what random pairs of rows say (`order.robust_regression`), and how far rows are from it, 3.5 times the upper
quartile of the distances. y is then clipped to that band around the line, and what is summed up is the distance from
the line. A frame that is not narrower than `_WORTH` of its bounds is not used: those rows are clamped to their bounds,
and to nothing else.

Theorem. The choices cost what each of them is said to cost, together the epsilon that is given; a pair's height is a
function of two rows, for which a unit counts as 2 r rows (`robust_regression`). Frames are made of what they release.
Given the frames, a row's whole numbers depend on that row alone and lie between -FINE and FINE, so what is released of
their moments has the sensitivity that `second_moments` proves, whatever the frames are: adaptive composition. Floating
point decides at most which whole number a row gets.

Neighbours: one unit's rows, added or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.loss import events
from tacit.mechanisms import Quantiles
from tacit.noise import BitSource
from tacit.statistics.moments.bounded import Bounded
from tacit.statistics.moments.clipping import FINE
from tacit.statistics.order.interquartile import QUARTILES
from tacit.statistics.order.robust_regression import heights, on_grid, pairs
from tacit.statistics.source import Whole

Reals = NDArray[np.float64]
MOST_FEATURES = 4
"""With more of them, finding the frames would cost more than it brings."""

_POINTS = 1 << 14
_HEIGHTS = 1 << 20  # the grid of `on_grid`
_STRETCH, _BAND, _WORTH = 2.5, 3.5, 0.9
_SURE = 2  # the rows must be this many times the error of a rank
_SHARES = {
    True: (Fraction(15, 100), Fraction(20, 100), Fraction(15, 100)),
    False: (Fraction(25, 100), Fraction(0), Fraction(0)),
}
"""Shares of epsilon for the columns' frames, the line and the band around it; with one feature, and with several."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows are clipped to within `half` of `centre`, in codes; `narrowed` where that is less than the bounds."""

    centre: float
    half: float
    narrowed: bool


@dataclass(frozen=True, slots=True)
class Frames:
    """A frame for each column; the target's is around the `line` (height at 0, slope), of codes, where there is one."""

    columns: tuple[Frame, ...]
    line: tuple[float, float] | None = None

    @property
    def narrowed(self) -> bool:
        """Whether any frame is narrower than the bounds."""
        return any(each.narrowed for each in self.columns)


@dataclass(frozen=True, slots=True)
class Framing:
    """Which choices find the frames of these columns, the target among them."""

    columns: tuple[Bounded, ...]
    aim: int
    spreads: tuple[Quantiles, ...]  # of the features, and of the target where there are several features
    height: Quantiles | None
    band: Quantiles | None
    share: Fraction  # of epsilon

    @classmethod
    def of(cls, columns: tuple[Bounded, ...], aim: int, rows_per_unit: int, epsilon: Fraction) -> Framing:
        """The choices for a share of epsilon."""
        alone = len(columns) == 2
        for_columns, for_line, for_band = (each * epsilon for each in _SHARES[alone])
        framed = 1 if alone else len(columns)
        spreads = tuple(
            Quantiles(_points(each) + 1, QUARTILES, rows_per_unit, for_columns / framed)
            for place, each in enumerate(columns)
            if not (alone and place == aim)
        )
        share = sum(_SHARES[alone], Fraction(0))
        if not alone:
            return cls(columns, aim, spreads, None, None, share)
        height = Quantiles(_HEIGHTS + 1, [Fraction(1, 2)], 2 * rows_per_unit, for_line / 2)
        band = Quantiles(_POINTS + 1, QUARTILES[1:], rows_per_unit, for_band)
        return cls(columns, aim, spreads, height, band, share)

    @property
    def event(self) -> events.Event:
        """All choices."""
        line = [] if self.height is None else [events.Repeated(self.height.event, 2)]
        band = [] if self.band is None else [self.band.event]
        return events.Composed((*(each.event for each in self.spreads), *line, *band))

    def least_rows(self) -> float:
        """How many rows there must be for narrow frames to mean something, with probability 0.95 each."""
        made = [*self.spreads, *(each for each in (self.height, self.band) if each is not None)]
        return _SURE * max(max(each.errors("0.95")) for each in made)

    def find(self, codes: Whole, bits: BitSource) -> Frames:
        """The frames, from every row's codes."""
        features = [place for place in range(len(self.columns)) if place != self.aim]
        framed = features if self.height is not None else list(range(len(self.columns)))
        found = {
            place: _spread(self.columns[place], choice, codes[:, place], bits)
            for place, choice in zip(framed, self.spreads, strict=True)
        }
        if self.height is None or self.band is None:
            return Frames(tuple(found[place] for place in range(len(self.columns))))
        (across,), target = features, self.columns[self.aim]
        x, y = _within(codes[:, across], found[across]), codes[:, self.aim].astype(np.float64)
        places = (found[across].centre - found[across].half / 2, found[across].centre + found[across].half / 2)
        low, high = target.low - target.width / 2, target.low + 1.5 * target.width
        told = heights(x, y, *pairs(len(codes), bits), places)
        first, second = (
            low + (high - low) * _chosen(self.height, on_grid(each, low, high), bits) / _HEIGHTS for each in told
        )
        slope = (second - first) / (places[1] - places[0])
        height = first - slope * places[0]
        away = np.minimum(np.abs(y - _heights((height, slope), x)) / target.width, 1.0)
        point = _chosen(self.band, np.rint(away * _POINTS).astype(np.int64), bits)
        half = _BAND * max(point, 1) / _POINTS * target.width
        if half > _WORTH * target.width / 2:
            found[self.aim] = _whole(target)
            return Frames(tuple(found[place] for place in range(2)))
        found[self.aim] = Frame(0.0, half, True)
        return Frames(tuple(found[place] for place in range(2)), (height, slope))


def framed(codes: Whole, frames: Frames, aim: int) -> Whole:
    """Every row's whole numbers, from -FINE to FINE: where in its frame each column lies."""
    features = [place for place in range(codes.shape[1]) if place != aim]
    out = np.empty(codes.shape, dtype=np.int64)
    for place, frame in enumerate(frames.columns):
        value = codes[:, place].astype(np.float64)
        if place == aim and frames.line is not None:
            x = _within(codes[:, features[0]], frames.columns[features[0]])
            value = value - _heights(frames.line, x)
        with np.errstate(all="ignore"):  # what is no number becomes one within the frame, without a warning
            share = np.nan_to_num((value - frame.centre) / frame.half, nan=0.0, posinf=1.0, neginf=-1.0)
        out[:, place] = np.rint(np.clip(share, -1.0, 1.0) * FINE)
    return out


def _heights(line: tuple[float, float], x: Reals) -> Reals:
    """The line at x, as far as a float reaches."""
    with np.errstate(all="ignore"):
        return np.asarray(np.nan_to_num(line[0] + line[1] * x))


def _spread(column: Bounded, choice: Quantiles, codes: Whole, bits: BitSource) -> Frame:
    points = _points(column)
    placed = (codes - column.low) if points == column.width else _placed(codes - column.low, column.width, points)
    ends = _all_chosen(choice, placed, bits)
    low, high = (column.low + each * column.width / points for each in ends)
    reach = _STRETCH * (high - low)
    bottom, top = max(low - reach, float(column.low)), min(high + reach, float(column.low + column.width))
    if not low < high or top - bottom > _WORTH * column.width:
        return _whole(column)
    return Frame((bottom + top) / 2, (top - bottom) / 2, True)


def _placed(shares: Whole, width: int, points: int) -> Whole:
    return np.rint(shares / width * points).astype(np.int64)


def _whole(column: Bounded) -> Frame:
    return Frame(column.low + column.width / 2, column.width / 2, False)


def _points(column: Bounded) -> int:
    return min(column.width, _POINTS)


def _within(codes: Whole, frame: Frame) -> Reals:
    return np.clip(codes.astype(np.float64), frame.centre - frame.half, frame.centre + frame.half)


def _all_chosen(choice: Quantiles, points: Whole, bits: BitSource) -> Sequence[int]:
    values, counts = np.unique(points, return_counts=True)
    return choice.choose(values, np.cumsum(counts) - counts, counts, int(counts.sum()), bits=bits)


def _chosen(choice: Quantiles, points: Whole, bits: BitSource) -> int:
    return int(_all_chosen(choice, points, bits)[0])
