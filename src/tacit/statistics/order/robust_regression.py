"""Robust linear regression: a line through the private medians of what random pairs of rows say (Theil and Sen).

Method. Put the rows into random order and pair them off, two by two. The line through a pair is read at two public
points, a quarter and three quarters of the way between the bounds of x; its heights there are clamped to the bounds of
y, stretched by half their width to either side, and rounded to a public grid. A pair with equal x says nothing about a
slope, and counts with its mean y at both points. The median of the heights at each of the points is chosen by rank
(`tacit.mechanisms.Quantiles`), with half of epsilon each; the line through the two is released. The whole is repeated
over `matchings` independent pairings, whose pairs count together. A share of epsilon buys intervals of the two heights
that hold at once (`rank_interval`), and with them the least and the greatest slope and intercept, which are linear in
the heights.

Theorem. Let neighbours differ by at most r rows, added or removed. All choices, of heights and of intervals, have the
bounded range that each is said to cost, if a unit is taken to have 2 r h rows, h the number of matchings.
Proof. Add one row w to n rows. If n is odd, a uniformly random pairing leaves out one row, uniformly; with w paired to
it, it is a uniformly random pairing of n + 1 rows: one pair more. If n is even, leave out a uniformly random row of the
n + 1, and where that is not w, let w take its place in its pair: again a uniformly random pairing of n + 1 rows, in
which one pair has been replaced. So the two data sets' pairings can be drawn jointly such that the pairs differ by at
most one removed and one added; r rows differ by at most 2 r of them, and h matchings by at most 2 r h. The draw of both
pairings has the same law for both data sets; releasing it as well costs nothing, and given it the choices compose as
choices do for lists that differ in so many rows. What a pair says is a function of its two rows alone, so it may be
computed in floating point.

Neighbours: one unit's rows, added or removed. No bounds on slopes are needed.
Source: Alabi, McMillan, Sarathy, Smith, Vadhan 2022 (DPTheilSen); the argument about random pairings is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.curator import Price
from tacit.loss import events
from tacit.mechanisms import Quantiles
from tacit.noise import BitSource, uniform_below
from tacit.parameters import Number
from tacit.plan.row_plan import Variable
from tacit.statistics.domains import limits_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.order.rank_interval import RankInterval
from tacit.statistics.smooth_interval import INTERVAL_SHARE, read_share
from tacit.statistics.source import Opened, Whole, source_of

Reals: TypeAlias = NDArray[np.float64]

_POINTS = 1 << 20
_KEYS = 1 << 62
_MOST_MATCHINGS = 100


def robust_regression(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    matchings: int = 1,
    interval_share: Number = INTERVAL_SHARE,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """A line of the second column on the first: intercept, slope, and its heights at the two points.

    `interval_share` of epsilon buys the intervals.

    >>> found = robust_regression({"x": [20, 30], "y": [25, 35]}, bounds=(0, 100), epsilon=1)
    >>> found.title
    'Robust regression of y on x'
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    if len(source.variables) != 2:
        raise parameters.refuse("columns", "two: x, then y", len(source.variables))
    across, along = source.variables
    for each in (across, along):
        if each.meaning != "number":
            raise parameters.refuse(f"column {each.name!r}", "one of numbers", each.meaning)
    exact = parameters.price("epsilon", epsilon)
    count = parameters.whole("matchings", matchings, least=1)
    if count > _MOST_MATCHINGS:
        raise parameters.refuse("matchings", f"at most {_MOST_MATCHINGS}", matchings)
    confidence = parameters.level("level", level)
    bought = read_share(interval_share)
    plan = Heights.of(source.rows_per_unit, count, exact, bought, confidence)
    places, (low, high) = _places(across), _heights(along)

    def compute(opened: Opened, bits: BitSource) -> Content:
        rows = opened.values(across.name, along.name)
        x, y = (rows[:, place] * np.float64(each.step) for place, each in enumerate((across, along)))
        told = [heights(x, y, *pairs(len(rows), bits), places) for _ in range(count)]
        points = [on_grid(np.concatenate([each[place] for each in told]), low, high) for place in range(2)]
        # a pair's height is within half a step of its point
        first, second = (
            [
                low + (high - low) * (each + shift) / _POINTS
                for each, shift in zip(found, (0.0, -0.5, 0.5), strict=False)
            ]
            for found in plan.find(points, bits)
        )
        shown = line_through(places, first, second)
        names = ("intercept", "slope", *(f"at {place:g}" for place in places))
        off = plan.choice.errors(confidence)[0]
        notes = (
            f"Medians over random pairs of rows. With probability {float(confidence):g} each, the rank of a height "
            f"among the pairs is off by at most {off:,}.",
            "Intervals enclose the line through the pairs' own medians, all at once."
            if bought
            else "interval_share=0: no intervals.",
        )
        parts = (column("part", list(names)), column("value", *(list(each) for each in zip(*shown, strict=True))))
        return Content(f"Robust regression of {along.name} on {across.name}", parts, notes)

    asked = {"study": "robust_regression", "epsilon": str(exact), "matchings": count, "interval_share": str(bought)}
    price = Price(plan.event, exact)
    return source.release(asked, price, compute, level=confidence, analyst=analyst)


@dataclass(frozen=True, slots=True)
class Heights:
    """The choice of a median, made twice, and the choice of the intervals of both where there are any."""

    choice: Quantiles
    interval: RankInterval | None

    @classmethod
    def of(cls, rows_per_unit: int, matchings: int, epsilon: Fraction, share: Fraction, level: Fraction) -> Heights:
        """The plan at this epsilon, a share of which is for intervals."""
        size, half, pairs_of_unit = _POINTS + 1, Fraction(1, 2), 2 * rows_per_unit * matchings
        choice = Quantiles(size, [half], pairs_of_unit, epsilon * (1 - share) / 2)
        return cls(choice, RankInterval.of(size, [half] * 2, pairs_of_unit, epsilon * share, level) if share else None)

    @property
    def event(self) -> events.Event:
        """All choices."""
        both = events.Repeated(self.choice.event, 2)
        return both if self.interval is None else events.Composed((both, self.interval.event))

    def find(self, points: Sequence[Whole], bits: BitSource) -> list[tuple[int, ...]]:
        """The chosen points, each with the ends of its interval."""
        tallies = [np.unique(each, return_counts=True) for each in points]
        chosen = [
            self.choice.choose(values, np.cumsum(counts) - counts, counts, int(counts.sum()), bits=bits)[0]
            for values, counts in tallies
        ]
        if self.interval is None:
            return [(point,) for point in chosen]
        ends = self.interval.around(chosen, tallies, bits)
        return [(point, *each) for point, each in zip(chosen, ends, strict=True)]


def line_through(
    places: tuple[float, float], first: Sequence[float], second: Sequence[float]
) -> list[tuple[float, ...]]:
    """Intercept, slope and the two heights, each with the ends of its interval where the heights have them.

    A height is (value, low, high), or (value,).
    """
    run = places[1] - places[0]
    shown = []
    for by_first, by_second in ((places[1] / run, -places[0] / run), (-1 / run, 1 / run), (1.0, 0.0), (0.0, 1.0)):
        value = by_first * first[0] + by_second * second[0]
        reaches = [
            sorted((factor * height[1], factor * height[2]))
            for factor, height in ((by_first, first), (by_second, second))
            if len(height) > 1
        ]
        ends = tuple(sum(each) for each in zip(*reaches, strict=True))
        shown.append((value, *ends))
    return shown


def _places(variable: Variable) -> tuple[float, float]:
    """The two public points of x."""
    low, high = limits_of(variable)
    if low == high:
        raise parameters.refuse(f"bounds of {variable.name!r}", "two different ones", low)
    quarter = (high - low) * variable.step / 4
    return float(low * variable.step + quarter), float(low * variable.step + 3 * quarter)


def _heights(variable: Variable) -> tuple[float, float]:
    """The bounds of y, stretched."""
    low, high = (float(each * variable.step) for each in limits_of(variable))
    reach = (high - low) / 2 or 1.0
    return low - reach, high + reach


def pairs(rows: int, bits: BitSource) -> tuple[Whole, Whole]:
    """A uniformly random pairing: the order of random numbers, drawn again if two of them are equal."""
    while True:
        keys = uniform_below(_KEYS, rows, bits)
        order = np.argsort(keys)
        if rows < 2 or bool((np.diff(keys[order]) != 0).all()):
            return order[0 : rows - 1 : 2], order[1::2]


def heights(x: Reals, y: Reals, first: Whole, second: Whole, places: tuple[float, float]) -> tuple[Reals, Reals]:
    """What each pair says at the two points; a function of its two rows alone, whichever comes first."""
    with np.errstate(all="ignore"):  # what is no number becomes one on the grid, without a warning
        run, rise = x[second] - x[first], y[second] - y[first]
        slope = np.divide(rise, run, out=np.zeros(len(first)), where=run != 0)
        middle_x, middle_y = (x[first] + x[second]) / 2, (y[first] + y[second]) / 2
        return middle_y + slope * (places[0] - middle_x), middle_y + slope * (places[1] - middle_x)


def on_grid(values: Reals, low: float, high: float) -> Whole:
    """Heights as points of the grid between the bounds; those beyond are clamped."""
    with np.errstate(all="ignore"):
        share = np.clip(np.nan_to_num((values - low) / (high - low), nan=0.5, posinf=1.0, neginf=0.0), 0.0, 1.0)
    return np.rint(share * _POINTS).astype(np.int64)
